/* SPDX-License-Identifier: MIT */
#include "fs/profile/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/profile/live_private.h"
#include "fs/profile/names.h"
#include "fs/sums/spill_guard.h"

/* Findings of passes that took this long, in all, are worth a file; of one that took that long, at once. */
enum { WORTH_SAVING_NS = 10 * 1000 * 1000, SAVE_AT_ONCE_NS = 250 * 1000 * 1000 };

/* ---- a folder of the source that is shown ---------------------------------------------------------- */

struct wanted {
    const char *name;
    bool found;
};

static int note_wanted(void *arg, const char *name, unsigned char type)
{
    struct wanted *wanted = arg;
    (void)type;
    wanted->found |= !strcmp(name, wanted->name);
    return wanted->found;
}

/* A driver names the folder that such sources have; this one may have none. Its coming is a change. */
static int find_src(struct pf_model *model, struct pf_error *error)
{
    struct wanted wanted = {model->src, false};
    if (!model->src)
        return 0;
    if (pf_source_list_folders(model->source, note_wanted, &wanted, error))
        return -1;
    if (!wanted.found)
        model->src = NULL;
    return 0;
}

/* ---- opening and closing ------------------------------------------------------------------------ */

struct pf_live *pf_live_new(struct pf_core *core, const struct pf_driver *driver, struct pf_error *error)
{
    struct pf_live *live = calloc(1, sizeof *live);
    if (!live) {
        pf_fail_memory(error);
        return NULL;
    }
    live->core = core;
    live->driver = driver;
    live->references = 1;
    live->access = (struct pf_access){.mode = 0444};
    pf_known_init(&live->known);
    pthread_mutex_init(&live->lock, NULL);
    pthread_mutex_init(&live->opening, NULL);
    return live;
}

/* Opens the profile as far as PF_OPENED. */
static int open_profile(struct pf_live *live, struct pf_error *error)
{
    struct pf_model *model = &live->model;
    if (live->core->others)
        pf_source_mind_others(live->source, live->driver->matters);
    if (pf_model_open(model, live->driver, live->source, &live->core->options, error) ||
        find_src(model, error) || pf_live_name(live, PF_OPENED, error))
        return -1;
    if (!pf_source_intact(live->source))
        return pf_fail(error, ESTALE, "the file has changed");
    pf_live_recall(live);
    return 0;
}

/* Frees all that open_profile and passes have made. */
static void close_profile(struct pf_live *live)
{
    pf_file_texts_free(live);
    free(live->facts);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_family_free(live->families[t]);
    pf_live_free_aggregates(live);
    for (size_t n = 0; n < PF_NAMED; n++) {
        pf_dirnames_free(live->names[n]);
        live->names[n] = NULL;
    }
    free(live->context_dir_size);
    pf_model_end(&live->model);
    live->model = (struct pf_model){0};
}

int pf_live_wake(struct pf_live *live, struct pf_error *error)
{
    int result = 0;
    if (atomic_load(&live->opened))
        return 0;
    pthread_mutex_lock(&live->opening);
    if (!atomic_load(&live->opened)) {
        result = pf_source_wake(live->source, error) || open_profile(live, error) ? -1 : 0;
        atomic_fetch_add(&live->core->opened, 1);
        if (result && live->model.driver)
            close_profile(live);
        if (result)
            pf_source_rest(live->source);
        atomic_store(&live->opened, !result);
    }
    pthread_mutex_unlock(&live->opening);
    return result;
}

struct pf_live *pf_live_hold(struct pf_live *live)
{
    atomic_fetch_add(&live->references, 1);
    return live;
}

void pf_live_save(struct pf_live *live)
{
    pf_live_keep_known(live);
    pthread_mutex_lock(&live->lock);
    bool save = live->unsaved_ns >= WORTH_SAVING_NS;
    if (save)
        live->unsaved_ns = 0;
    pthread_mutex_unlock(&live->lock);
    if (save)
        pf_live_remember(live);
}

void pf_live_release(struct pf_live *live)
{
    if (!live || atomic_fetch_sub(&live->references, 1) > 1)
        return;
    pf_live_save(live);
    if (atomic_load(&live->opened))
        close_profile(live);
    pf_source_free(live->source);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_failure_free(&live->family_failure[t]);
    pf_failure_free(&live->failure);
    pf_failure_free(&live->aggregate_failure);
    pf_failure_free(&live->names_failure);
    pf_known_free(&live->known);
    free(live->path);
    pthread_mutex_destroy(&live->opening);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

struct pf_model *pf_live_model(struct pf_live *live)
{
    return &live->model;
}

/* With live->lock held. */
static uint32_t contexts_now(const struct pf_live *live)
{
    const struct pf_tree *tree = live->stage >= PF_MODELLED ? live->model.contexts : NULL;
    return tree ? tree->count : 0;
}

uint32_t pf_live_context_count(struct pf_live *live)
{
    pthread_mutex_lock(&live->lock);
    uint32_t contexts = contexts_now(live);
    pthread_mutex_unlock(&live->lock);
    return contexts;
}

bool pf_live_busy(struct pf_live *live)
{
    pthread_mutex_lock(&live->lock);
    bool busy = live->tasks != NULL;
    pthread_mutex_unlock(&live->lock);
    return busy;
}

bool pf_live_is_spoilt(struct pf_live *live, bool *loaded)
{
    struct pf_error error;
    pthread_mutex_lock(&live->lock);
    bool failed = live->failure.error && !pf_failure_stands(&live->failure, &error);
    bool spoilt = failed || pf_live_lost_sums(live);
    *loaded = !live->failure.error && live->stage > PF_OPENED;
    pthread_mutex_unlock(&live->lock);
    return spoilt;
}

size_t pf_live_descriptors(struct pf_live *live)
{
    return pf_source_descriptors(live->source);
}

struct pf_access pf_live_access(struct pf_live *live)
{
    struct pf_access access = pf_source_access(live->source);
    pf_access_narrow(&access, &live->access, live->core->reader);
    return access;
}

void pf_live_let_go(struct pf_live *live)
{
    if (atomic_load(&live->references) == 1)
        pf_source_let_go(live->source);
}

int pf_live_check(struct pf_live *live, struct pf_error *error)
{
    return pf_source_check(live->source, error);
}

bool pf_live_intact(struct pf_live *live)
{
    bool intact = pf_source_intact(live->source);
    if (intact && pf_guard_any_lost()) {
        pthread_mutex_lock(&live->lock);
        intact = !pf_live_lost_sums(live);
        pthread_mutex_unlock(&live->lock);
    }
    return intact;
}

bool pf_live_may_cache(struct pf_live *live)
{
    return atomic_load(&live->core->ending) || pf_source_intact(live->source);
}

const struct pf_dirnames *pf_live_names(const struct pf_live *live, enum pf_named named)
{
    return live->names[named];
}

/* ---- passes ------------------------------------------------------------------------------------- */

/* What an earlier process found out about the rows holds for the cached sizes too. */
static int recall_facts(struct pf_live *live, struct pf_error *error)
{
    const struct pf_driver *driver = live->model.driver;
    if (!live->facts || !driver->recall)
        return 0;
    return driver->recall(&live->model, live->facts, live->facts_size, error);
}

static int load_stage(struct pf_live *live, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_model *model = &live->model;
    if (model->driver->load(model, stage, pass, error))
        return -1;
    if (!pf_source_intact(model->source))
        return pf_fail(error, ESTALE, "the file has changed");
    if ((stage == PF_PARTITIONED && recall_facts(live, error)) || pf_live_name(live, stage, error))
        return -1;
    pthread_mutex_lock(&live->lock);
    live->stage = stage;
    pthread_mutex_unlock(&live->lock);
    return 0;
}

static int run_stages(struct pf_live *live, enum pf_stage wanted, struct pf_pass *pass,
                      struct pf_error *error)
{
    int result = 0;
    while (!result && live->stage < wanted) /* only this thread changes it */
        result = load_stage(live, live->stage + 1, pass, error);
    if (result && error->code != ECANCELED) {
        pthread_mutex_lock(&live->lock);
        pf_failure_note(&live->failure, error);
        pthread_mutex_unlock(&live->lock);
    }
    return result;
}

static int run_family(struct pf_live *live, size_t table, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_family *family =
        pf_family_new(live->core->pool, &live->model, &live->model.tables[table], pass, error);
    if (family && !pf_source_intact(live->source)) {
        pf_family_free(family);
        family = NULL;
        pf_fail(error, ESTALE, "the file has changed");
    }
    pthread_mutex_lock(&live->lock);
    live->families[table] = family;
    pthread_mutex_unlock(&live->lock);
    return family ? 0 : -1;
}

static int run_names(struct pf_live *live, struct pf_error *error)
{
    int result = pf_live_name_contexts(live, error);
    pthread_mutex_lock(&live->lock);
    live->contexts_named = !result;
    pthread_mutex_unlock(&live->lock);
    return result;
}

static int run_task_itself(struct pf_task *task, struct pf_pass *pass, struct pf_error *error)
{
    switch (task->kind) {
    case PF_TASK_STAGE:
        return run_stages(task->live, (enum pf_stage)task->item, pass, error);
    case PF_TASK_FAMILY:
        return run_family(task->live, (size_t)task->item, pass, error);
    case PF_TASK_AGGREGATE:
        return pf_live_make_aggregate(task->live, (int)task->item - 1, pass, error);
    case PF_TASK_NAMES:
        return run_names(task->live, error);
    case PF_TASK_COVER:
        return pf_file_text_cover(task->text, task->offset, pass, error);
    case PF_TASK_BLOCKS:
        break;
    }
    return pf_file_text_blocks(task->text, task->offset, task->size, pass, error);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Long passes' findings go to the cache file at once, short ones' with the next or when the profile is closed. */
static void note_findings(struct pf_live *live, uint64_t took)
{
    pthread_mutex_lock(&live->lock);
    live->unsaved_ns += took;
    bool save = live->unsaved_ns >= SAVE_AT_ONCE_NS && !live->saving;
    if (save) {
        live->saving = true;
        live->unsaved_ns = 0;
    }
    pthread_mutex_unlock(&live->lock);
    if (!save)
        return;
    pf_live_remember(live);
    pthread_mutex_lock(&live->lock);
    live->saving = false;
    pthread_mutex_unlock(&live->lock);
}

static int run_task(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_task *task = arg;
    uint64_t start = now_ns();
    int result = run_task_itself(task, pass, error);
    bool for_cache =
        task->kind != PF_TASK_STAGE && task->kind != PF_TASK_NAMES && task->kind != PF_TASK_BLOCKS;
    if (!result && for_cache)
        note_findings(task->live, now_ns() - start);
    if (task->failure && !(result && error->code == ECANCELED)) {
        pthread_mutex_lock(&task->live->lock);
        if (result)
            pf_failure_note(task->failure, error);
        else
            task->failure->shortage = (struct pf_shortage){0};
        pthread_mutex_unlock(&task->live->lock);
    }
    return result;
}

static void task_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct pf_task *task = arg;
    struct pf_live *live = task->live;
    (void)job, (void)error;
    atomic_fetch_add(&live->core->passes, 1);
    pthread_mutex_lock(&live->lock);
    struct pf_task **at = &live->tasks;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    pthread_mutex_unlock(&live->lock);
    if (task->text)
        pf_file_text_release(task->text);
    pf_live_release(live);
    free(task);
}

static const char *const task_words[] = {"model", "sizes", "aggregates", "names", "sizes", "text"};

int pf_task_start(struct pf_live *live, const struct pf_task *wanted, struct pf_job **job,
                  struct pf_error *error)
{
    if (wanted->failure && pf_failure_stands(wanted->failure, error))
        return -1;
    for (struct pf_task *task = live->tasks; task; task = task->next)
        if (task->kind == wanted->kind &&
            (task->kind == PF_TASK_STAGE || (task->item == wanted->item && task->text == wanted->text))) {
            *job = pf_job_hold(task->job);
            return PF_PARKED;
        }
    struct pf_task *task = malloc(sizeof *task);
    if (!task)
        return pf_fail_memory(error);
    *task = *wanted;
    task->live = live;
    char what[64];
    snprintf(what, sizeof what, "%s of %.48s", task_words[task->kind], pf_source_name(live->source));
    /* The task is listed before anybody can find it over: the pass unlists it under the lock that is held
     * here. */
    task->next = live->tasks;
    task->job = pf_job_start(live->core->pool, what, run_task, task_over, task);
    if (!task->job) {
        free(task);
        return pf_fail_memory(error);
    }
    live->tasks = task;
    pf_live_hold(live);
    if (task->text)
        pf_file_text_hold(task->text);
    *job = task->job;
    return PF_PARKED;
}

/* ---- asking ------------------------------------------------------------------------------------- */

int pf_live_stage(struct pf_live *live, enum pf_stage stage, struct pf_job **job, struct pf_error *error)
{
    int result = 0;
    if (pf_live_wake(live, error))
        return -1;
    pthread_mutex_lock(&live->lock);
    if (live->stage < stage) {
        if (live->failure.error) {
            *error = *live->failure.error;
            result = -1;
        } else {
            result = pf_task_start(live, &(struct pf_task){.kind = PF_TASK_STAGE, .item = stage}, job, error);
        }
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

/* As few are named at once, by whoever needs them first. */
enum { FEW_CONTEXTS = 4096 };

static int need_context_names(struct pf_live *live, struct pf_job **job, struct pf_error *error)
{
    int result = 0;
    pthread_mutex_lock(&live->lock);
    bool few = contexts_now(live) < FEW_CONTEXTS;
    if (!live->contexts_named && few) {
        result = pf_live_name_contexts(live, error);
        live->contexts_named = !result;
    } else if (!live->contexts_named) {
        result = pf_task_start(
            live, &(struct pf_task){.kind = PF_TASK_NAMES, .failure = &live->names_failure}, job, error);
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

/* Opens the profile and loads what the node needs. */
static int load_node(struct pf_live *live, struct pf_node node, struct pf_job **job, struct pf_error *error)
{
    if (pf_live_wake(live, error))
        return -1;
    int result = pf_live_stage(live, pf_node_stage(&live->model, node), job, error);
    if (!result && pf_needs_context_names(node.kind))
        result = need_context_names(live, job, error);
    if (!result && !pf_node_exists(&live->model, node))
        result = pf_fail(error, ESTALE, "the file has changed");
    if (!result && pf_is_folder(node.kind))
        pf_live_learn_folder(live, node);
    return result;
}

int pf_live_ready(struct pf_live *live, struct pf_node node, struct pf_job **job, struct pf_error *error)
{
    return pf_is_folder(node.kind) && pf_known_lists(&live->known, node) ? 0
                                                                         : load_node(live, node, job, error);
}

int pf_live_parent_ready(struct pf_live *live, struct pf_node node, struct pf_job **job,
                         struct pf_error *error)
{
    struct pf_node parent;
    char name[PF_NAME_MAX + 1];
    return pf_known_parent(&live->known, node, &parent, name) ? 0 : load_node(live, node, job, error);
}

int pf_live_family(struct pf_live *live, size_t table, struct pf_family **family, struct pf_job **job,
                   struct pf_error *error)
{
    pthread_mutex_lock(&live->lock);
    *family = live->families[table]; /* perhaps from the cache file: then no stage is needed */
    pthread_mutex_unlock(&live->lock);
    if (*family)
        return 0;
    int result = pf_live_ready(live, (struct pf_node){PF_TABLE_WHOLE + (unsigned)table, 0}, job, error);
    if (result)
        return result;
    pthread_mutex_lock(&live->lock);
    *family = live->families[table];
    if (!*family)
        result = pf_task_start(
            live,
            &(struct pf_task){.kind = PF_TASK_FAMILY, .item = table, .failure = &live->family_failure[table]},
            job, error);
    pthread_mutex_unlock(&live->lock);
    return result;
}

int pf_live_load(struct pf_live *live, enum pf_stage stage, struct pf_error *error)
{
    return pf_live_wake(live, error) || run_stages(live, stage, NULL, error) ? -1 : 0;
}

int pf_live_add_up(struct pf_live *live, int metric, struct pf_aggregate **aggregate, struct pf_error *error)
{
    uint64_t start = now_ns();
    if (pf_live_load(live, PF_OPENED, error))
        return -1;
    bool all = metric < 0 || !pf_aggregate_skips(&live->model);
    enum pf_stage stage = pf_node_stage(&live->model, (struct pf_node){PF_PPROF, 0});
    if (run_stages(live, stage, NULL, error) || pf_live_make_aggregate(live, all ? -1 : metric, NULL, error))
        return -1;
    atomic_fetch_add(&live->core->passes, 1);
    note_findings(live, now_ns() - start);
    *aggregate = pf_live_aggregate_now(live, metric);
    return 0;
}
