/* SPDX-License-Identifier: MIT */
#include "fs/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/profile/names.h"
#include "fs/profile/profile_private.h"
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

struct pf_profile *pf_profile_new(struct pf_core *core, const struct pf_driver *driver,
                                  struct pf_error *error)
{
    struct pf_profile *profile = calloc(1, sizeof *profile);
    if (!profile) {
        pf_fail_memory(error);
        return NULL;
    }
    profile->core = core;
    profile->driver = driver;
    profile->references = 1;
    profile->access = (struct pf_access){.mode = 0444};
    pf_known_init(&profile->known);
    pf_lock_init(&profile->lock, PF_RANK_PROFILE);
    pf_lock_init(&profile->opening, PF_RANK_PROFILE_OPENING);
    return profile;
}

/* Opens the profile as far as PF_OPENED. */
static int open_profile(struct pf_profile *profile, struct pf_error *error)
{
    pf_may_block();
    struct pf_model *model = &profile->model;
    if (profile->core->others)
        pf_source_mind_others(profile->source, profile->driver->matters);
    if (pf_model_open(model, profile->driver, profile->source, &profile->core->options, error) ||
        find_src(model, error) || pf_profile_name(profile, PF_OPENED, error))
        return -1;
    if (!pf_source_intact(profile->source))
        return pf_fail(error, ESTALE, "the file has changed");
    pf_profile_recall(profile);
    return 0;
}

/* Frees all that open_profile and passes have made. */
static void close_profile(struct pf_profile *profile)
{
    pf_file_texts_free(profile);
    free(profile->facts);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_family_free(profile->families[t]);
    pf_profile_free_aggregates(profile);
    for (size_t n = 0; n < PF_NAMED; n++) {
        pf_dirnames_free(profile->names[n]);
        profile->names[n] = NULL;
    }
    free(profile->context_dir_size);
    pf_model_end(&profile->model);
    profile->model = (struct pf_model){0};
}

int pf_profile_wake(struct pf_profile *profile, struct pf_error *error)
{
    int result = 0;
    if (atomic_load(&profile->opened))
        return 0;
    pf_lock_take(&profile->opening);
    if (!atomic_load(&profile->opened)) {
        result = pf_source_wake(profile->source, error) || open_profile(profile, error) ? -1 : 0;
        atomic_fetch_add(&profile->core->opened, 1);
        if (result && profile->model.driver)
            close_profile(profile);
        if (result)
            pf_source_rest(profile->source);
        atomic_store(&profile->opened, !result);
    }
    pf_lock_drop(&profile->opening);
    return result;
}

struct pf_profile *pf_profile_hold(struct pf_profile *profile)
{
    atomic_fetch_add(&profile->references, 1);
    return profile;
}

void pf_profile_save(struct pf_profile *profile)
{
    pf_profile_keep_known(profile);
    pf_lock_take(&profile->lock);
    bool save = profile->unsaved_ns >= WORTH_SAVING_NS;
    if (save)
        profile->unsaved_ns = 0;
    pf_lock_drop(&profile->lock);
    if (save)
        pf_profile_remember(profile);
}

void pf_profile_release(struct pf_profile *profile)
{
    if (!profile || atomic_fetch_sub(&profile->references, 1) > 1)
        return;
    pf_profile_save(profile);
    if (atomic_load(&profile->opened))
        close_profile(profile);
    pf_source_free(profile->source);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_failure_free(&profile->family_failure[t]);
    pf_failure_free(&profile->failure);
    pf_failure_free(&profile->aggregate_failure);
    pf_failure_free(&profile->names_failure);
    pf_known_free(&profile->known);
    free(profile->path);
    pf_lock_destroy(&profile->opening);
    pf_lock_destroy(&profile->lock);
    free(profile);
}

struct pf_model *pf_profile_model(struct pf_profile *profile)
{
    return &profile->model;
}

static uint32_t contexts_now(const struct pf_profile *profile)
{
    pf_assert_held(&profile->lock);
    const struct pf_tree *tree = profile->stage >= PF_MODELLED ? profile->model.contexts : NULL;
    return tree ? tree->count : 0;
}

uint32_t pf_profile_context_count(struct pf_profile *profile)
{
    pf_lock_take(&profile->lock);
    uint32_t contexts = contexts_now(profile);
    pf_lock_drop(&profile->lock);
    return contexts;
}

bool pf_profile_busy(struct pf_profile *profile)
{
    pf_lock_take(&profile->lock);
    bool busy = profile->tasks != NULL;
    pf_lock_drop(&profile->lock);
    return busy;
}

bool pf_profile_is_spoilt(struct pf_profile *profile, bool *loaded)
{
    struct pf_error error;
    pf_lock_take(&profile->lock);
    bool failed = profile->failure.error && !pf_failure_stands(&profile->failure, &error);
    bool spoilt = failed || pf_profile_lost_sums(profile);
    *loaded = !profile->failure.error && profile->stage > PF_OPENED;
    pf_lock_drop(&profile->lock);
    return spoilt;
}

size_t pf_profile_descriptors(struct pf_profile *profile)
{
    return pf_source_descriptors(profile->source);
}

struct pf_access pf_profile_access(struct pf_profile *profile)
{
    struct pf_access access = pf_source_access(profile->source);
    pf_access_narrow(&access, &profile->access, profile->core->reader);
    return access;
}

void pf_profile_let_go(struct pf_profile *profile)
{
    if (atomic_load(&profile->references) == 1)
        pf_source_let_go(profile->source);
}

int pf_profile_check(struct pf_profile *profile, struct pf_error *error)
{
    return pf_source_check(profile->source, error);
}

bool pf_profile_intact(struct pf_profile *profile)
{
    bool intact = pf_source_intact(profile->source);
    if (intact && pf_guard_any_lost()) {
        pf_lock_take(&profile->lock);
        intact = !pf_profile_lost_sums(profile);
        pf_lock_drop(&profile->lock);
    }
    return intact;
}

bool pf_profile_may_cache(struct pf_profile *profile)
{
    return atomic_load(&profile->core->ending) || pf_source_intact(profile->source);
}

const struct pf_dirnames *pf_profile_names(const struct pf_profile *profile, enum pf_named named)
{
    return profile->names[named];
}

/* ---- passes ------------------------------------------------------------------------------------- */

/* Restores the facts about the rows that the cache holds: the cached sizes depend on them. */
static int recall_facts(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_driver *driver = profile->model.driver;
    if (!profile->facts || !driver->recall)
        return 0;
    return driver->recall(&profile->model, profile->facts, profile->facts_size, error);
}

static int load_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error)
{
    pf_may_block();
    struct pf_model *model = &profile->model;
    if (model->driver->load(model, stage, error))
        return -1;
    if (!pf_source_intact(model->source))
        return pf_fail(error, ESTALE, "the file has changed");
    if ((stage == PF_PARTITIONED && recall_facts(profile, error)) || pf_profile_name(profile, stage, error))
        return -1;
    pf_lock_take(&profile->lock);
    profile->stage = stage;
    pf_lock_drop(&profile->lock);
    return 0;
}

static int run_stages(struct pf_profile *profile, enum pf_stage wanted, struct pf_error *error)
{
    int result = 0;
    while (!result && profile->stage < wanted) /* only this thread changes it */
        result = load_stage(profile, profile->stage + 1, error);
    if (result && error->code != ECANCELED) {
        pf_lock_take(&profile->lock);
        pf_failure_note(&profile->failure, error);
        pf_lock_drop(&profile->lock);
    }
    return result;
}

static int run_family(struct pf_profile *profile, size_t table, struct pf_error *error)
{
    struct pf_family *family =
        pf_family_new(profile->core->pool, &profile->model, &profile->model.tables[table], error);
    if (family && !pf_source_intact(profile->source)) {
        pf_family_free(family);
        family = NULL;
        pf_fail(error, ESTALE, "the file has changed");
    }
    pf_lock_take(&profile->lock);
    profile->families[table] = family;
    pf_lock_drop(&profile->lock);
    return family ? 0 : -1;
}

static int run_names(struct pf_profile *profile, struct pf_error *error)
{
    int result = pf_profile_name_contexts(profile, error);
    pf_lock_take(&profile->lock);
    profile->contexts_named = !result;
    pf_lock_drop(&profile->lock);
    return result;
}

static int run_task_itself(struct pf_task *task, struct pf_error *error)
{
    switch (task->kind) {
    case PF_TASK_STAGE:
        return run_stages(task->profile, (enum pf_stage)task->item, error);
    case PF_TASK_FAMILY:
        return run_family(task->profile, (size_t)task->item, error);
    case PF_TASK_AGGREGATE:
        return pf_profile_make_aggregate(task->profile, (int)task->item - 1, error);
    case PF_TASK_NAMES:
        return run_names(task->profile, error);
    case PF_TASK_COVER:
        return pf_file_text_cover(task->text, task->offset, error);
    case PF_TASK_BLOCKS:
        break;
    }
    return pf_file_text_blocks(task->text, task->offset, task->size, error);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Long passes' findings go to the cache file at once, short ones' with the next or when the profile is closed. */
static void note_findings(struct pf_profile *profile, uint64_t took)
{
    pf_lock_take(&profile->lock);
    profile->unsaved_ns += took;
    bool save = profile->unsaved_ns >= SAVE_AT_ONCE_NS && !profile->saving;
    if (save) {
        profile->saving = true;
        profile->unsaved_ns = 0;
    }
    pf_lock_drop(&profile->lock);
    if (!save)
        return;
    pf_profile_remember(profile);
    pf_lock_take(&profile->lock);
    profile->saving = false;
    pf_lock_drop(&profile->lock);
}

static int run_task(void *arg, struct pf_error *error)
{
    struct pf_task *task = arg;
    uint64_t start = now_ns();
    int result = run_task_itself(task, error);
    bool for_cache =
        task->kind != PF_TASK_STAGE && task->kind != PF_TASK_NAMES && task->kind != PF_TASK_BLOCKS;
    if (!result && for_cache)
        note_findings(task->profile, now_ns() - start);
    if (task->failure && !(result && error->code == ECANCELED)) {
        pf_lock_take(&task->profile->lock);
        if (result)
            pf_failure_note(task->failure, error);
        else
            task->failure->shortage = (struct pf_shortage){0};
        pf_lock_drop(&task->profile->lock);
    }
    return result;
}

static void task_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct pf_task *task = arg;
    struct pf_profile *profile = task->profile;
    (void)job, (void)error;
    atomic_fetch_add(&profile->core->passes, 1);
    pf_lock_take(&profile->lock);
    struct pf_task **at = &profile->tasks;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    pf_lock_drop(&profile->lock);
    if (task->text)
        pf_file_text_release(task->text);
    pf_profile_release(profile);
    free(task);
}

static const char *const task_words[] = {"model", "sizes", "aggregates", "names", "sizes", "text"};

/* The listed task that makes what is wanted. NULL: none. */
static struct pf_task *find_task(const struct pf_profile *profile, const struct pf_task *wanted)
{
    pf_assert_held(&profile->lock);
    struct pf_task *task = profile->tasks;
    while (task &&
           (task->kind != wanted->kind ||
            (task->kind != PF_TASK_STAGE && (task->item != wanted->item || task->text != wanted->text))))
        task = task->next;
    return task;
}

/* Starts a pass and lists its task. The caller gets a reference to the job. NULL with *error filled. */
static struct pf_job *start_task(struct pf_profile *profile, const struct pf_task *wanted,
                                 struct pf_error *error)
{
    pf_assert_held(&profile->lock);
    struct pf_task *task = malloc(sizeof *task);
    char what[64];
    if (!task) {
        pf_fail_memory(error);
        return NULL;
    }
    *task = *wanted;
    task->profile = profile;
    snprintf(what, sizeof what, "%s of %.48s", task_words[task->kind], pf_source_name(profile->source));
    /* The pass unlists the task under the lock that is held here, so not before it is listed. */
    task->next = profile->tasks;
    task->job = pf_job_start(profile->core->pool, what, run_task, task_over, task);
    if (!task->job) {
        free(task);
        pf_fail_memory(error);
        return NULL;
    }
    profile->tasks = task;
    pf_profile_hold(profile);
    if (task->text)
        pf_file_text_hold(task->text);
    return task->job;
}

int pf_task_need(struct pf_profile *profile, const struct pf_task *wanted, struct pf_op *op)
{
    pf_assert_held(&profile->lock);
    if (wanted->failure && pf_failure_stands(wanted->failure, &op->error))
        return -1;
    struct pf_task *task = find_task(profile, wanted);
    struct pf_job *job = task ? pf_job_hold(task->job) : start_task(profile, wanted, &op->error);
    if (!job)
        return -1;
    pf_lock_drop(&profile->lock);
    int result = pf_job_wait(job, op);
    pf_job_release(job);
    pf_lock_take(&profile->lock);
    return result && op->error.code == ECANCELED ? 0 : result;
}

/* ---- asking ------------------------------------------------------------------------------------- */

int pf_profile_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_op *op)
{
    int result = 0;
    if (pf_profile_wake(profile, &op->error))
        return -1;
    pf_lock_take(&profile->lock);
    while (!result && profile->stage < stage)
        if (profile->failure.error) {
            op->error = *profile->failure.error;
            result = -1;
        } else {
            result = pf_task_need(profile, &(struct pf_task){.kind = PF_TASK_STAGE, .item = stage}, op);
        }
    pf_lock_drop(&profile->lock);
    return result;
}

/* As few are named at once, by whoever needs them first. */
enum { FEW_CONTEXTS = 4096 };

static int need_context_names(struct pf_profile *profile, struct pf_op *op)
{
    int result = 0;
    pf_lock_take(&profile->lock);
    bool few = contexts_now(profile) < FEW_CONTEXTS;
    while (!result && !profile->contexts_named)
        if (few) {
            result = pf_profile_name_contexts(profile, &op->error);
            profile->contexts_named = !result;
        } else {
            result = pf_task_need(
                profile, &(struct pf_task){.kind = PF_TASK_NAMES, .failure = &profile->names_failure}, op);
        }
    pf_lock_drop(&profile->lock);
    return result;
}

/* Opens the profile and loads what the node needs. */
static int load_node(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    if (pf_profile_wake(profile, &op->error))
        return -1;
    int result = pf_profile_stage(profile, pf_node_stage(&profile->model, node), op);
    if (!result && pf_needs_context_names(node.kind))
        result = need_context_names(profile, op);
    if (!result && !pf_node_exists(&profile->model, node))
        result = pf_fail(&op->error, ESTALE, "the file has changed");
    if (!result && pf_is_folder(node.kind))
        pf_profile_learn_folder(profile, node);
    return result;
}

int pf_profile_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    return pf_is_folder(node.kind) && pf_known_lists(&profile->known, node) ? 0
                                                                            : load_node(profile, node, op);
}

int pf_profile_parent_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    struct pf_node parent;
    char name[PF_NAME_MAX + 1];
    return pf_known_parent(&profile->known, node, &parent, name) ? 0 : load_node(profile, node, op);
}

int pf_profile_family(struct pf_profile *profile, size_t table, struct pf_family **family, struct pf_op *op)
{
    pf_lock_take(&profile->lock);
    *family = profile->families[table]; /* perhaps from the cache file: then no stage is needed */
    pf_lock_drop(&profile->lock);
    if (*family)
        return 0;
    int result = pf_profile_ready(profile, (struct pf_node){PF_TABLE_WHOLE + (unsigned)table, 0}, op);
    if (result)
        return result;
    pf_lock_take(&profile->lock);
    while (!result && !(*family = profile->families[table]))
        result = pf_task_need(profile,
                              &(struct pf_task){.kind = PF_TASK_FAMILY,
                                                .item = table,
                                                .failure = &profile->family_failure[table]},
                              op);
    pf_lock_drop(&profile->lock);
    return result;
}

int pf_profile_load(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error)
{
    return pf_profile_wake(profile, error) || run_stages(profile, stage, error) ? -1 : 0;
}

int pf_profile_add_up(struct pf_profile *profile, int metric, struct pf_aggregate **aggregate,
                      struct pf_error *error)
{
    uint64_t start = now_ns();
    if (pf_profile_load(profile, PF_OPENED, error))
        return -1;
    bool all = metric < 0 || !pf_aggregate_skips(&profile->model);
    enum pf_stage stage = pf_node_stage(&profile->model, (struct pf_node){PF_PPROF, 0});
    if (run_stages(profile, stage, error) || pf_profile_make_aggregate(profile, all ? -1 : metric, error))
        return -1;
    atomic_fetch_add(&profile->core->passes, 1);
    note_findings(profile, now_ns() - start);
    *aggregate = pf_profile_aggregate_now(profile, metric);
    return 0;
}
