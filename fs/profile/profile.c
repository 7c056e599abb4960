/* SPDX-License-Identifier: MIT */
#include "fs/profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/model.h"
#include "fs/clock.h"
#include "fs/profile/profile_private.h"
#include "fs/sums/order.h"

/* Creates a profile at a path, opens it, loads it in stages, saves and closes it. Jobs do the work that takes long. */

/*
 * The results of passes are cached when the profile is saved if the passes took WORTH_SAVING_NS in total, and at once if they
 * took SAVE_AT_ONCE_NS.
 */
enum { WORTH_SAVING_NS = 10 * 1000 * 1000, SAVE_AT_ONCE_NS = 250 * 1000 * 1000 };

/* ---- opening and closing ------------------------------------------------------------------------ */

static const char *profile_name(const struct pf_owner *owner)
{
    return pf_source_name(((const struct pf_profile *)owner)->source);
}

static void release_profile(struct pf_owner *owner)
{
    pf_profile_release((struct pf_profile *)owner);
}

static void end_profile(struct pf_profile *profile);

static const struct pf_owner_type profile_type = {release_profile, profile_name};

struct pf_profile *pf_profile_new(struct pf_env *env, const struct pf_driver *driver, struct pf_error *error)
{
    struct pf_profile *profile = calloc(1, sizeof *profile);
    if (!profile) {
        pf_fail_memory(error);
        return NULL;
    }
    profile->env = env;
    profile->driver = driver;
    pf_owner_init(&profile->owner, &profile_type, env->pool, 1);
    profile->end = end_profile;
    profile->access = (struct pf_access){.mode = 0444};
    pf_cached_init(&profile->cached);
    pf_lock_init(&profile->lock, PF_RANK_PROFILE);
    return profile;
}

/* Opens the model (stage PF_OPENED) and restores cached results. */
static int open_profile(struct pf_profile *profile, struct pf_error *error)
{
    pf_may_block();
    struct pf_model *model = &profile->model;
    if (profile->env->others)
        pf_source_mind_others(profile->source, profile->driver->matters);
    if (pf_model_open(model, profile->driver, profile->source, &profile->env->options, error) ||
        pf_profile_name(profile, PF_OPENED, error))
        return -1;
    if (!pf_source_intact(profile->source))
        return pf_fail(error, ESTALE, "the file has changed");
    pf_datum_get_passes(profile);
    return 0;
}

/* Frees what open_profile makes before it restores cached results. */
static void close_model(struct pf_profile *profile)
{
    for (size_t n = 0; n < PF_NAMED; n++) {
        pf_dirnames_free(profile->names[n]);
        profile->names[n] = NULL;
    }
    pf_model_end(&profile->model);
    profile->model = (struct pf_model){0};
}

int pf_profile_open_here(struct pf_profile *profile, struct pf_error *error)
{
    int result = pf_source_reopen(profile->source, error) || open_profile(profile, error) ? -1 : 0;
    atomic_fetch_add(&profile->env->opened, 1);
    if (result && profile->model.driver)
        close_model(profile);
    if (result)
        pf_source_close(profile->source);
    atomic_store(&profile->opened, !result);
    return result;
}

/* Opens the source of a profile with a cached tree, once a caller needs more than the tree. */
static int run_profile_open(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    (void)number;
    return atomic_load(&profile->opened) ? 0 : pf_profile_open_here(profile, error);
}

/* Opening runs on the calling thread: members of archives have been unpacked by now (fs/tree/packed.c). */
static bool profile_opens_here(struct pf_owner *owner, uint64_t number)
{
    (void)owner, (void)number;
    return true;
}

static const struct pf_work source_work = {"opening", PF_WORK_OPEN, profile_opens_here, run_profile_open};

int pf_profile_open(struct pf_profile *profile, struct pf_op *op)
{
    return atomic_load(&profile->opened) ? 0 : pf_need(op, &source_work, &profile->owner, 0);
}

void pf_profile_save(struct pf_profile *profile)
{
    pf_datum_put_tree(profile);
    pf_lock_take(&profile->lock);
    bool save = profile->unsaved_ns >= WORTH_SAVING_NS;
    if (save)
        profile->unsaved_ns = 0;
    pf_lock_drop(&profile->lock);
    if (save)
        pf_datum_put_passes(profile);
}

/* Frees everything that open_profile and passes have made. */
static void close_profile(struct pf_profile *profile)
{
    pf_file_texts_free(profile);
    free(profile->facts);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        pf_table_sizes_free(profile->table_sizes[t]);
    pf_profile_free_aggregates(profile);
    free(profile->context_dir_size);
    close_model(profile);
}

static void end_profile(struct pf_profile *profile)
{
    pf_may_block(); /* end_profile writes to the cache and closes files of SOURCE */
    pf_profile_save(profile);
    if (atomic_load(&profile->opened))
        close_profile(profile);
    pf_owner_end(&profile->owner);
    pf_source_free(profile->source);
    free(profile->failure.error);
    pf_cached_free(&profile->cached);
    free(profile->path);
    pf_lock_destroy(&profile->lock);
    free(profile);
}

/* ---- profiles at paths --------------------------------------------------------------------------- */

/*
 * The path of a profile's source below SOURCE, allocated. A driver with
 * pf_driver_extra.beside makes a profile from a folder and lists it in that folder: the source is the folder.
 */
static char *source_path(const struct pf_env *env, const struct pf_driver *driver, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = !pf_driver_extra_of(driver)->beside ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    return size ? strndup(path, size) : strdup(env->root_name ? env->root_name : ".");
}

/* Creates a profile with a closed source. st: as for pf_profile_at. */
static struct pf_profile *profile_below(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                        const struct stat *st, struct pf_error *error)
{
    struct pf_profile *profile = pf_profile_new(env, driver, error);
    char *where = profile ? source_path(env, driver, path) : NULL;
    if (where && (profile->path = strdup(path)))
        profile->source = pf_source_at(env->top, where, driver->directories, error);
    free(where);
    if (profile && profile->source) {
        pf_source_set_matters(profile->source, driver->matters);
        profile->device = st ? st->st_dev : 0;
        profile->key = st ? pf_profile_key(profile, st->st_dev, st->st_ino) : 0;
        return profile;
    }
    pf_fail_memory(error);
    pf_profile_release(profile);
    return NULL;
}

struct pf_profile *pf_profile_at(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                 const struct stat *st, const struct pf_buf *inputs, struct pf_error *error)
{
    struct pf_profile *profile = profile_below(env, driver, path, st, error);
    if (!profile)
        return NULL;
    bool differ = inputs && inputs->size && pf_profile_expect(profile, inputs->data, inputs->size, error);
    if (differ || (!pf_datum_get_tree(profile) && pf_profile_open_here(profile, error))) {
        pf_profile_release(profile);
        return NULL;
    }
    return profile;
}

struct pf_profile *pf_profile_old_names(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                        const struct stat *st, const struct pf_buf *inputs)
{
    struct pf_error error;
    struct pf_profile *profile = inputs->size ? profile_below(env, driver, path, st, &error) : NULL;
    if (!profile)
        return NULL;
    if (pf_datum_get_old_names(profile, inputs))
        return profile;
    pf_profile_release(profile);
    return NULL;
}

char *pf_datum_get_excerpt(struct pf_env *env, const struct pf_driver *driver, const char *path,
                           const struct stat *st, size_t *size)
{
    struct pf_error error;
    struct pf_profile *profile = env->cache ? profile_below(env, driver, path, st, &error) : NULL;
    if (!profile)
        return NULL;
    char *bytes = pf_datum_get(profile, profile->key, PF_DATUM_EXCERPT, 0, size, &profile->access);
    pf_profile_release(profile);
    return bytes;
}

/* ---- passes ------------------------------------------------------------------------------------- */

void pf_profile_count_pass(struct pf_profile *profile, uint64_t start)
{
    atomic_fetch_add(&profile->env->passes, 1);
    pf_lock_take(&profile->lock);
    profile->unsaved_ns += pf_monotonic_ns() - start;
    bool save = profile->unsaved_ns >= SAVE_AT_ONCE_NS && !profile->saving;
    if (save) {
        profile->saving = true;
        profile->unsaved_ns = 0;
    }
    pf_lock_drop(&profile->lock);
    if (!save)
        return;
    pf_datum_put_passes(profile);
    pf_cache_flush(profile->env->cache);
    pf_lock_take(&profile->lock);
    profile->saving = false;
    pf_lock_drop(&profile->lock);
}

/* Restores the cached facts about the rows. The cached sizes depend on these facts. */
static int restore_facts(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_driver_extra *driver = pf_driver_extra_of(profile->model.driver);
    if (!profile->facts || !driver->restore)
        return 0;
    return driver->restore(&profile->model, profile->facts, profile->facts_size, error);
}

static int load_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error)
{
    pf_may_block();
    struct pf_model *model = &profile->model;
    if (model->driver->load(model, stage, error))
        return -1;
    if (!pf_source_intact(model->source))
        return pf_fail(error, ESTALE, "the file has changed");
    if ((stage == PF_PARTITIONED && restore_facts(profile, error)) || pf_profile_name(profile, stage, error))
        return -1;
    pf_lock_take(&profile->lock);
    profile->stage = stage;
    pf_lock_drop(&profile->lock);
    return 0;
}

/* 0 if the stage is loaded, 1 if it can be loaded, -1 with *error filled if a failure prevents that. */
static int check_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error)
{
    pf_lock_take(&profile->lock);
    int result = profile->stage >= stage ? 0 : profile->failure.error ? -1 : 1;
    if (result < 0)
        *error = *profile->failure.error;
    pf_lock_drop(&profile->lock);
    return result;
}

static const struct pf_work stage_works[PF_STAGES];

static int need_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_op *op)
{
    int result = check_stage(profile, stage, &op->error);
    return result > 0 ? pf_need(op, &stage_works[stage], &profile->owner, stage) : result;
}

static int run_stage(struct pf_owner *owner, uint64_t stage, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    struct pf_op op = PF_OP;
    int result = need_stage(profile, (enum pf_stage)stage - 1, &op);
    *error = op.error;
    if (!result)
        result = check_stage(profile, (enum pf_stage)stage, error);
    if (result <= 0)
        return result;
    result = load_stage(profile, (enum pf_stage)stage, error);
    atomic_fetch_add(&profile->env->passes, 1);
    if (result && error->code != ECANCELED) {
        pf_lock_take(&profile->lock);
        pf_failure_note(&profile->failure, error);
        pf_lock_drop(&profile->lock);
    }
    return result;
}

/* Each stage requires the previous one. */
static const struct pf_work stage_works[PF_STAGES] = {
    [PF_PARTITIONED] = {"model of", PF_WORK_STAGE, NULL, run_stage},
    [PF_MODELLED] = {"model of", PF_WORK_STAGE + 1, NULL, run_stage},
    [PF_CHECKED] = {"model of", PF_WORK_STAGE + 2, NULL, run_stage},
    [PF_DERIVED] = {"model of", PF_WORK_STAGE + 3, NULL, run_stage},
};

static struct pf_table_sizes *sizes_now(struct pf_profile *profile, size_t table)
{
    pf_lock_take(&profile->lock);
    struct pf_table_sizes *sizes = profile->table_sizes[table];
    pf_lock_drop(&profile->lock);
    return sizes;
}

static int run_sizes(struct pf_owner *owner, uint64_t table, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    uint64_t start = pf_monotonic_ns();
    if (sizes_now(profile, table))
        return 0;
    struct pf_table_sizes *sizes =
        pf_table_sizes_new(profile->env->pool, &profile->model, &profile->model.tables[table], error);
    if (sizes && !pf_source_intact(profile->source)) {
        pf_table_sizes_free(sizes);
        sizes = NULL;
        pf_fail(error, ESTALE, "the file has changed");
    }
    pf_lock_take(&profile->lock);
    profile->table_sizes[table] = sizes;
    pf_lock_drop(&profile->lock);
    if (sizes)
        pf_profile_count_pass(profile, start);
    return sizes ? 0 : -1;
}

static const struct pf_work sizes_work = {"sizes of", PF_WORK_SIZES, NULL, run_sizes};

/* Fewer contexts than this are named or sorted on the thread of the operation. */
enum { FEW_CONTEXTS = 4096 };

static bool contexts_are_few(struct pf_owner *owner, uint64_t number)
{
    (void)number;
    return pf_profile_context_count((struct pf_profile *)owner) < FEW_CONTEXTS;
}

static bool are_contexts_named(struct pf_profile *profile)
{
    pf_lock_take(&profile->lock);
    bool named = profile->contexts_named;
    pf_lock_drop(&profile->lock);
    return named;
}

static int run_names(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    if (are_contexts_named(profile))
        return 0;
    if (!contexts_are_few(owner, number))
        atomic_fetch_add(&profile->env->passes, 1);
    if (pf_profile_name_contexts(profile, error))
        return -1;
    pf_lock_take(&profile->lock);
    profile->contexts_named = true;
    pf_lock_drop(&profile->lock);
    return 0;
}

static const struct pf_work names_work = {"names of", PF_WORK_NAMES, contexts_are_few, run_names};

/* ---- loading on demand -------------------------------------------------------------------------- */

int pf_profile_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_op *op)
{
    return pf_profile_open(profile, op) || need_stage(profile, stage, op) ? -1 : 0;
}

/* Opens the profile and loads everything that the node needs. */
static int load_node(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    if (pf_profile_open(profile, op))
        return -1;
    int result = need_stage(profile, pf_node_stage(&profile->model, node), op);
    if (!result && pf_needs_context_names(node.kind) && !are_contexts_named(profile))
        result = pf_need(op, &names_work, &profile->owner, 0);
    if (!result && !pf_node_exists(&profile->model, node))
        result = pf_fail(&op->error, ESTALE, "the file has changed");
    if (!result && pf_is_folder(node.kind))
        pf_profile_put_folder(profile, node);
    return result;
}

int pf_profile_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    return pf_is_folder(node.kind) && pf_cached_has_folder(&profile->cached, node)
               ? 0
               : load_node(profile, node, op);
}

int pf_profile_parent_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    struct pf_node parent;
    char name[PF_NAME_MAX + 1];
    return pf_cached_get_parent(&profile->cached, node, &parent, name) ? 0 : load_node(profile, node, op);
}

int pf_profile_table_sizes(struct pf_profile *profile, size_t table, struct pf_table_sizes **sizes,
                           struct pf_op *op)
{
    *sizes = sizes_now(profile, table); /* may come from the cache, without any stage */
    if (*sizes)
        return 0;
    if (pf_profile_ready(profile, (struct pf_node){PF_TABLE_WHOLE + (unsigned)table, 0}, op) ||
        pf_need(op, &sizes_work, &profile->owner, table))
        return -1;
    *sizes = sizes_now(profile, table);
    return 0;
}

/* ---- sums, and their orders ---------------------------------------------------------------------- */

/*
 * The number of an order's job, unpacked. of_all: the order is made from the aggregate of all metrics, not from that of `metric`.
 */
struct order_key {
    unsigned metric;
    bool of_all;
    enum pf_order_kind kind;
};
enum { ORDER_KINDS = PF_LAST_ORDER + 1 };

static uint64_t order_number(struct order_key key)
{
    return ((uint64_t)key.metric * 2 + key.of_all) * ORDER_KINDS + key.kind;
}

static struct order_key order_key_of(uint64_t number)
{
    uint64_t rest = number / ORDER_KINDS;
    return (struct order_key){(unsigned)(rest / 2), rest % 2, (enum pf_order_kind)(number % ORDER_KINDS)};
}

static int run_order(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    struct order_key key = order_key_of(number);
    pf_lock_take(&profile->lock);
    struct pf_aggregate *aggregate = key.of_all ? profile->aggregate : profile->of_metric[key.metric];
    pf_lock_drop(&profile->lock);
    if (!contexts_are_few(owner, number))
        atomic_fetch_add(&profile->env->passes, 1);
    return pf_order_make(aggregate, key.metric, key.kind, error);
}

static const struct pf_work order_work = {"order of", PF_WORK_ORDER, contexts_are_few, run_order};

static int need_order(void *owner, struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                      struct pf_error *error)
{
    struct pf_profile *profile = owner;
    struct pf_op op = PF_OP; /* interrupted when the calling job is stopped */
    pf_lock_take(&profile->lock);
    bool of_all = aggregate == profile->aggregate;
    assert(of_all || aggregate == profile->of_metric[metric]);
    pf_lock_drop(&profile->lock);
    struct order_key key = {metric, of_all, kind};
    int result = pf_need(&op, &order_work, &profile->owner, order_number(key));
    if (result)
        *error = op.error;
    return result;
}

static int make_sums(struct pf_profile *profile, int metric, struct pf_error *error)
{
    struct pf_aggregate *aggregate = pf_datum_get_sums(profile, &metric);
    bool stored = aggregate;
    if (!stored)
        aggregate = metric < 0 ? pf_aggregate_new(&profile->model, error)
                               : pf_aggregate_of(&profile->model, (unsigned)metric, error);
    int result = aggregate ? 0 : -1;
    if (!result && !pf_source_intact(profile->source))
        result = pf_fail(error, ESTALE, "the file has changed");
    if (!result)
        pf_aggregate_share(aggregate, need_order, profile);
    pf_lock_take(&profile->lock);
    bool present = pf_aggregate_now(profile, metric); /* another job has aggregated all metrics meanwhile */
    if (!result && !present)
        result = pf_put_aggregate(profile, metric, aggregate, stored, error);
    pf_lock_drop(&profile->lock);
    if (result || present)
        pf_aggregate_free(aggregate);
    return result;
}

static int run_sums(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    uint64_t start = pf_monotonic_ns();
    int metric = (int)number - 1;
    if (pf_profile_aggregate_now(profile, metric))
        return 0;
    if (make_sums(profile, metric, error))
        return -1;
    pf_profile_count_pass(profile, start);
    return 0;
}

static const struct pf_work sums_work = {"aggregates of", PF_WORK_SUMS, NULL, run_sums};

/*
 * The metric to aggregate when the aggregates of `metric` are missing; negative: all metrics. With PF_SKIMS_METRIC, one
 * pass that aggregates all metrics is faster than one pass for each further metric.
 */
static int metric_to_make(const struct pf_profile *profile, int metric, bool one)
{
    pf_assert_held(&profile->lock);
    const struct pf_model *model = &profile->model;
    bool further = profile->of_metric && model->values->flags & PF_SKIMS_METRIC;
    bool separate = one ? pf_aggregate_skips_metrics(model) : pf_aggregate_is_large(model);
    return separate && !further ? metric : -1;
}

static int need_sums(struct pf_profile *profile, int metric, bool one, struct pf_aggregate **aggregate,
                     struct pf_op *op)
{
    if (pf_profile_open(profile, op) || need_stage(profile, pf_aggregate_stage(&profile->model), op))
        return -1;
    pf_lock_take(&profile->lock);
    *aggregate = pf_aggregate_now(profile, metric);
    int make = metric_to_make(profile, metric, one);
    pf_lock_drop(&profile->lock);
    if (*aggregate)
        return 0;
    if (pf_need(op, &sums_work, &profile->owner, (uint64_t)make + 1))
        return -1;
    *aggregate = pf_profile_aggregate_now(profile, metric);
    return 0;
}

int pf_profile_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate **aggregate,
                         struct pf_op *op)
{
    return need_sums(profile, metric, false, aggregate, op);
}

int pf_profile_aggregate_one(struct pf_profile *profile, unsigned metric, struct pf_aggregate **aggregate,
                             struct pf_op *op)
{
    return need_sums(profile, (int)metric, true, aggregate, op);
}
