/* SPDX-License-Identifier: MIT */
#include "fs/profile/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/profile/live_private.h"

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
static int find_src(struct pf_profile *profile, struct pf_error *error)
{
    struct wanted wanted = {profile->src, false};
    if (!profile->src)
        return 0;
    if (pf_source_list_folders(profile->source, note_wanted, &wanted, error))
        return -1;
    if (!wanted.found)
        profile->src = NULL;
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
    pthread_mutex_init(&live->lock, NULL);
    pthread_mutex_init(&live->opening, NULL);
    return live;
}

/* Opens the profile as far as PF_OPENED. */
static int open_profile(struct pf_live *live, struct pf_error *error)
{
    struct pf_profile *profile = &live->profile;
    pf_source_set_matters(live->source, live->driver->matters);
    if (pf_profile_open(profile, live->driver, live->source, &live->core->options, error) ||
        find_src(profile, error) || pf_live_name_carried(live, error) ||
        (profile->metrics_stage == PF_OPENED && pf_live_name_metrics(live, error)) ||
        (profile->keys.plural && profile->keys.stage == PF_OPENED && pf_live_name_keys(live, error)))
        return -1;
    if (!pf_source_intact(live->source))
        return pf_fail(error, ESTALE, "the file has changed");
    if (pf_live_check_known(live, error))
        return -1;
    live->more_inputs = pf_live_has_more_inputs(live);
    pf_live_recall(live);
    return 0;
}

/* Frees all that open_profile and passes have made. */
static void close_profile(struct pf_live *live)
{
    pf_file_texts_free(live);
    free(live->facts);
    free(live->packed_aggregate);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_family_free(live->families[t]);
    pf_aggregate_free(live->aggregate);
    for (size_t n = 0; n < PF_NAMED; n++) {
        pf_dirnames_free(live->names[n]);
        pf_reserved_free(live->reserved[n]);
        live->names[n] = NULL;
        live->reserved[n] = NULL;
    }
    free(live->context_dir_size);
    pf_profile_end(&live->profile);
    live->profile = (struct pf_profile){0};
    pf_source_free(live->source);
    live->source = NULL;
}

int pf_live_wake(struct pf_live *live, struct pf_error *error)
{
    int result = 0;
    if (atomic_load(&live->opened))
        return 0;
    pthread_mutex_lock(&live->opening);
    if (!atomic_load(&live->opened)) {
        result = pf_live_need_source(live, error) || open_profile(live, error) ? -1 : 0;
        atomic_fetch_add(&live->core->opened, 1);
        if (!result)
            atomic_store(&live->opened, true);
        else if (live->profile.driver)
            close_profile(live);
    }
    pthread_mutex_unlock(&live->opening);
    return result;
}

struct pf_live *pf_live_open(struct pf_core *core, const struct pf_driver *driver, struct pf_source *source,
                             struct pf_error *error)
{
    struct pf_live *live = pf_live_new(core, driver, error);
    if (!live) {
        pf_source_free(source);
        return NULL;
    }
    live->source = source;
    if (!pf_live_wake(live, error))
        return live;
    pf_live_release(live);
    return NULL;
}

struct pf_live *pf_live_hold(struct pf_live *live)
{
    atomic_fetch_add(&live->references, 1);
    return live;
}

void pf_live_release(struct pf_live *live)
{
    if (!live || atomic_fetch_sub(&live->references, 1) > 1)
        return;
    pf_live_keep_known(live);
    if (live->unsaved_ns >= WORTH_SAVING_NS)
        pf_live_remember(live);
    if (atomic_load(&live->opened))
        close_profile(live);
    pf_source_free(live->source);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_failure_free(&live->family_failure[t]);
    pf_failure_free(&live->failure);
    pf_failure_free(&live->aggregate_failure);
    pf_failure_free(&live->names_failure);
    pf_known_free(&live->known);
    pf_buf_free(&live->inputs);
    free(live->path);
    pthread_mutex_destroy(&live->opening);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

struct pf_profile *pf_live_profile(struct pf_live *live)
{
    return &live->profile;
}

/* With live->lock held. */
static uint32_t contexts_now(const struct pf_live *live)
{
    const struct pf_tree *tree = live->stage >= PF_MODELLED ? live->profile.contexts : NULL;
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

bool pf_live_is_spoilt(struct pf_live *live)
{
    struct pf_error error;
    pthread_mutex_lock(&live->lock);
    bool spoilt = live->failure.error && !pf_failure_stands(&live->failure, &error);
    pthread_mutex_unlock(&live->lock);
    return spoilt;
}

bool pf_live_is_one_file(struct pf_live *live)
{
    struct pf_packed_inputs known = {0};
    bool opened = atomic_load(&live->opened);
    if (live->directory || !live->path || (opened && live->more_inputs))
        return false;
    if (opened)
        return pf_source_input_count(live->source) == 1;
    pf_packed_inputs(&known, live->inputs.data, live->inputs.size);
    return known.left == 1;
}

size_t pf_live_descriptors(struct pf_live *live)
{
    pthread_mutex_lock(&live->lock);
    struct pf_source *source = live->source;
    pthread_mutex_unlock(&live->lock);
    return source ? pf_source_descriptors(source) : 0;
}

struct pf_access pf_live_access(struct pf_live *live)
{
    if (!atomic_load(&live->opened))
        return live->access;
    struct pf_access access = pf_source_access(live->source);
    pf_access_narrow(&access, &live->access, live->core->reader);
    return access;
}

void pf_live_let_go(struct pf_live *live)
{
    if (atomic_load(&live->references) == 1 && live->source)
        pf_source_let_go(live->source);
}

int pf_live_check(struct pf_live *live, struct pf_error *error)
{
    if (!atomic_load(&live->opened))
        return pf_live_check_known(live, error);
    if (pf_source_check(live->source, error))
        return -1;
    return live->more_inputs ? pf_live_check_known(live, error) : 0;
}

bool pf_live_intact(struct pf_live *live)
{
    return !atomic_load(&live->opened) || pf_source_intact(live->source);
}

const struct pf_dirnames *pf_live_names(const struct pf_live *live, enum pf_named named)
{
    return live->names[named];
}

struct pf_aggregate *pf_live_aggregate_now(struct pf_live *live)
{
    pthread_mutex_lock(&live->lock);
    struct pf_aggregate *aggregate = live->aggregate;
    pthread_mutex_unlock(&live->lock);
    return aggregate;
}

/* ---- passes ------------------------------------------------------------------------------------- */

/* What an earlier process found out about the rows holds for the cached sizes too. */
static int recall_facts(struct pf_live *live, struct pf_error *error)
{
    const struct pf_driver *driver = live->profile.driver;
    if (!live->facts || !driver->recall)
        return 0;
    return driver->recall(&live->profile, live->facts, live->facts_size, error);
}

/* As few are named at once. More take time and memory, which only those need who look at their folders. */
enum { FEW_CONTEXTS = 4096 };

static int load_stage(struct pf_live *live, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_profile *profile = &live->profile;
    if (profile->driver->load(profile, stage, pass, error))
        return -1;
    if (!pf_source_intact(profile->source))
        return pf_fail(error, ESTALE, "the file has changed");
    if (stage == PF_PARTITIONED && (recall_facts(live, error) || pf_live_name_partitions(live, error)))
        return -1;
    bool name_contexts =
        stage == PF_MODELLED && (!profile->contexts || profile->contexts->count < FEW_CONTEXTS);
    if (name_contexts && pf_live_name_contexts(live, error))
        return -1;
    if (stage == profile->metrics_stage && pf_live_name_metrics(live, error))
        return -1;
    if (profile->keys.plural && stage == profile->keys.stage && pf_live_name_keys(live, error))
        return -1;
    pthread_mutex_lock(&live->lock);
    live->stage = stage;
    live->contexts_named |= name_contexts;
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
        pf_family_new(live->core->pool, &live->profile, &live->profile.tables[table], pass, error);
    if (family && !pf_source_intact(live->source)) {
        pf_family_free(family);
        family = NULL;
        pf_fail(error, ESTALE, "the file has changed");
    }
    pthread_mutex_lock(&live->lock);
    if (family)
        live->families[table] = family;
    else if (error->code != ECANCELED)
        pf_failure_note(&live->family_failure[table], error);
    pthread_mutex_unlock(&live->lock);
    return family ? 0 : -1;
}

/* The aggregate of an earlier process, which is used up by this; NULL if there is none. */
static struct pf_aggregate *recall_aggregate(struct pf_live *live)
{
    pthread_mutex_lock(&live->lock);
    char *packed = live->packed_aggregate;
    live->packed_aggregate = NULL;
    pthread_mutex_unlock(&live->lock);
    struct pf_aggregate *aggregate =
        packed ? pf_aggregate_unpack(&live->profile, packed, live->packed_aggregate_size) : NULL;
    free(packed);
    return aggregate;
}

/* Of all metrics, or of one alone. */
static int run_aggregate(struct pf_live *live, int metric, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_aggregate *aggregate = recall_aggregate(live);
    if (!aggregate)
        aggregate = metric < 0 ? pf_aggregate_new(&live->profile, pass, error)
                               : pf_aggregate_of(&live->profile, (unsigned)metric, pass, error);
    if (aggregate && !pf_source_intact(live->source)) {
        pf_aggregate_free(aggregate);
        aggregate = NULL;
        pf_fail(error, ESTALE, "the file has changed");
    }
    pthread_mutex_lock(&live->lock);
    if (aggregate)
        live->aggregate = aggregate;
    else if (error->code != ECANCELED)
        pf_failure_note(&live->aggregate_failure, error);
    pthread_mutex_unlock(&live->lock);
    return aggregate ? 0 : -1;
}

static int run_names(struct pf_live *live, struct pf_error *error)
{
    int result = pf_live_name_contexts(live, error);
    pthread_mutex_lock(&live->lock);
    if (result)
        pf_failure_note(&live->names_failure, error);
    else
        live->contexts_named = true;
    pthread_mutex_unlock(&live->lock);
    return result;
}

static int run_task_itself(struct pf_task *task, struct pf_pass *pass, struct pf_error *error)
{
    int result = -1;
    switch (task->kind) {
    case PF_TASK_STAGE:
        return run_stages(task->live, (enum pf_stage)task->item, pass, error);
    case PF_TASK_FAMILY:
        return run_family(task->live, (size_t)task->item, pass, error);
    case PF_TASK_AGGREGATE:
        return run_aggregate(task->live, -1, pass, error);
    case PF_TASK_NAMES:
        return run_names(task->live, error);
    case PF_TASK_COVER:
        result = pf_file_text_cover(task->text, task->offset, pass, error);
        break;
    case PF_TASK_BLOCKS:
        result = pf_file_text_blocks(task->text, task->offset, task->size, pass, error);
        break;
    }
    if (result && error->code != ECANCELED)
        pf_file_text_failed(task->text, error);
    return result;
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

void pf_live_save(struct pf_live *live)
{
    pf_live_keep_known(live);
    pf_live_remember(live);
    pthread_mutex_lock(&live->lock);
    live->unsaved_ns = 0;
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

int pf_task_start(struct pf_live *live, enum pf_task_kind kind, uint64_t item, struct pf_file_text *text,
                  uint64_t offset, uint64_t size, struct pf_job **job, struct pf_error *error)
{
    for (struct pf_task *task = live->tasks; task; task = task->next)
        if (task->kind == kind && (kind == PF_TASK_STAGE || (task->item == item && task->text == text))) {
            *job = pf_job_hold(task->job);
            return PF_WAIT;
        }
    struct pf_task *task = calloc(1, sizeof *task);
    if (!task)
        return pf_fail_memory(error);
    *task = (struct pf_task){
        .live = live, .kind = kind, .item = item, .text = text, .offset = offset, .size = size};
    char what[64];
    snprintf(what, sizeof what, "%s of %.48s", task_words[kind], pf_source_name(live->source));
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
    if (text)
        pf_file_text_hold(text);
    *job = task->job;
    return PF_WAIT;
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
            result = pf_task_start(live, PF_TASK_STAGE, stage, NULL, 0, 0, job, error);
        }
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

static int need_context_names(struct pf_live *live, struct pf_job **job, struct pf_error *error)
{
    int result = 0;
    pthread_mutex_lock(&live->lock);
    if (!live->contexts_named)
        result = pf_failure_stands(&live->names_failure, error)
                     ? -1
                     : pf_task_start(live, PF_TASK_NAMES, 0, NULL, 0, 0, job, error);
    pthread_mutex_unlock(&live->lock);
    return result;
}

int pf_live_ready(struct pf_live *live, unsigned kind, uint32_t item, struct pf_job **job,
                  struct pf_error *error)
{
    struct pf_node node = {kind, item};
    pthread_mutex_lock(&live->lock);
    bool known = pf_is_folder(kind) && pf_known_lists(&live->known, node);
    pthread_mutex_unlock(&live->lock);
    if (known)
        return 0;
    if (pf_live_wake(live, error))
        return -1;
    int result = pf_live_stage(live, pf_node_stage(&live->profile, node), job, error);
    if (!result && pf_needs_context_names(kind))
        result = need_context_names(live, job, error);
    if (!result && !pf_node_exists(&live->profile, node))
        result = pf_fail(error, ESTALE, "the file has changed");
    if (!result && pf_is_folder(kind))
        pf_live_learn_folder(live, node);
    return result;
}
int pf_live_family(struct pf_live *live, size_t table, struct pf_family **family, struct pf_job **job,
                   struct pf_error *error)
{
    pthread_mutex_lock(&live->lock);
    *family = live->families[table]; /* perhaps from the cache file: then no stage is needed */
    pthread_mutex_unlock(&live->lock);
    if (*family)
        return 0;
    int result = pf_live_ready(live, PF_TABLE_WHOLE + (unsigned)table, 0, job, error);
    if (result)
        return result;
    pthread_mutex_lock(&live->lock);
    *family = live->families[table];
    if (!*family && pf_failure_stands(&live->family_failure[table], error)) {
        result = -1;
    } else if (!*family) {
        result = pf_task_start(live, PF_TASK_FAMILY, table, NULL, 0, 0, job, error);
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

int pf_live_aggregate(struct pf_live *live, struct pf_aggregate **aggregate, struct pf_job **job,
                      struct pf_error *error)
{
    int result = pf_live_ready(live, PF_METRIC_FILE, 0, job, error);
    if (result)
        return result;
    pthread_mutex_lock(&live->lock);
    *aggregate = live->aggregate;
    if (!*aggregate && pf_failure_stands(&live->aggregate_failure, error)) {
        result = -1;
    } else if (!*aggregate) {
        result = pf_task_start(live, PF_TASK_AGGREGATE, 0, NULL, 0, 0, job, error);
    }
    pthread_mutex_unlock(&live->lock);
    return result;
}

int pf_live_load(struct pf_live *live, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_pass part = {.outer = pass};
    return pf_live_wake(live, error) || run_stages(live, stage, &part, error) ? -1 : 0;
}

int pf_live_add_up(struct pf_live *live, int metric, struct pf_aggregate **aggregate, struct pf_pass *pass,
                   struct pf_error *error)
{
    struct pf_pass part = {.outer = pass};
    uint64_t start = now_ns();
    if (pf_live_load(live, PF_OPENED, pass, error))
        return -1;
    const struct pf_table *cells = live->profile.cells;
    bool all = metric < 0 || !cells || !(cells->flags & PF_SEEKS_METRIC);
    enum pf_stage stage = pf_node_stage(&live->profile, (struct pf_node){PF_METRIC_FILE, 0});
    if (run_stages(live, stage, &part, error) || run_aggregate(live, all ? -1 : metric, &part, error))
        return -1;
    atomic_fetch_add(&live->core->passes, 1);
    if (all) /* others are not to be kept as if they were all */
        note_findings(live, now_ns() - start);
    *aggregate = live->aggregate;
    return 0;
}
