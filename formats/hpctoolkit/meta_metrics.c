/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

#include "formats/hpctoolkit/meta.h"
#include "formats/hpctoolkit/read.h"

/*
 * Metrics come in scopes: what is measured at one point of the code is also propagated to what encloses it. Each
 * pair of a metric and a scope has an id in the threads' profiles, and one for each statistic in the summary.
 */

/* Where the records of a layout have what; strides are read from the file. */
struct metric_layout {
    size_t metric, n_scopes, scopes;                      /* of a metric: least size, u16, u64 */
    size_t scope, scope_name, scope_id;                   /* of a scope: least size, u64, u16 */
    size_t n_summaries, summaries;                        /* u16 and u64: of a metric, or of a scope */
    size_t summary, summary_formula, combine, summary_id; /* of a summary: least size, u64, u8, u16 */
    bool summaries_by_scope;                              /* the summaries hang off the scopes */
};

static const struct metric_layout released = {
    .metric = 28,
    .scopes = 8,
    .summaries = 16,
    .n_scopes = 24,
    .n_summaries = 26,
    .scope = 10,
    .scope_name = 0,
    .scope_id = 8,
    .summary = 20,
    .summary_formula = 8,
    .combine = 16,
    .summary_id = 18,
};

static const struct metric_layout draft = {
    .metric = 24,
    .n_scopes = 8,
    .scopes = 16,
    .scope = 24,
    .scope_name = 0,
    .n_summaries = 8,
    .scope_id = 10,
    .summaries = 16,
    .summary = 12,
    .summary_formula = 0,
    .combine = 8,
    .summary_id = 10,
    .summaries_by_scope = true,
};

/* An array of records in the file. */
struct array {
    uint64_t at, count, stride;
};

/* One metric in one scope, or one statistic of it. */
struct instance {
    int64_t id;
    const char *name, *scope;
    uint32_t metric;               /* which one in the file */
    const char *formula, *combine; /* of a statistic */
    bool shared;                   /* there are more scopes of this name */
};

struct instances {
    struct instance *items;
    size_t count, room;
};

/* Ids have 16 bits: an honest file has no more instances than that. */
enum { INSTANCES_MAX = 1 << 16 };

static int add_instance(struct instances *list, const struct instance *instance, struct pf_error *error)
{
    if (list->count == INSTANCES_MAX)
        return 0;
    if (pf_array_room(&list->items, &list->room, list->count, sizeof *list->items, error))
        return -1;
    list->items[list->count++] = *instance;
    return 0;
}

static const char *name_at(struct hpc_meta *meta, uint64_t pointer, struct pf_error *error)
{
    ssize_t size = hpc_meta_string(meta, pointer, HPC_NAME_MAX, error);
    return size < 0 ? NULL : hpc_keep(meta->state, meta->string, (size_t)size, error);
}

/* What is read at once. */
struct metrics {
    struct hpc_meta *meta;
    const struct metric_layout *layout;
    struct array metrics;
    uint64_t scope_stride, summary_stride;
    struct instances threads, summary;
};

/* A record that a pointer leads to; NULL with error->code 0 if it leads nowhere. */
static const unsigned char *record(struct metrics *all, const struct array *array, uint64_t i, size_t size,
                                   struct pf_error *error)
{
    uint64_t offset;
    error->code = 0;
    if (__builtin_mul_overflow(i, array->stride, &offset) ||
        __builtin_add_overflow(offset, array->at, &offset))
        return NULL;
    return hpc_meta_record(all->meta, offset, size, error);
}

/* The name of the scope that an instance refers to: in the released layout by way of the scope's record. */
static const char *scope_name(struct metrics *all, uint64_t pointer, struct pf_error *error)
{
    if (!all->layout->summaries_by_scope) {
        const unsigned char *scope = hpc_meta_record(all->meta, pointer, 8, error);
        if (!scope)
            return error->code ? NULL : "";
        pointer = pf_u64(scope, false);
    }
    return name_at(all->meta, pointer, error);
}

/* What stands for a word that a later minor version may have: its number. NULL with *error filled. */
static const char *numbered(struct metrics *all, unsigned number, struct pf_error *error)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%u", number);
    return hpc_keep(all->meta->state, text, (size_t)size, error);
}

static int read_summaries(struct metrics *all, const struct array *summaries, struct instance instance,
                          struct pf_error *error)
{
    static const char *const combines[] = {"sum", "min", "max"};
    const struct metric_layout *layout = all->layout;
    for (uint64_t i = 0; i < summaries->count && all->summary.count < INSTANCES_MAX; i++) {
        const unsigned char *bytes = record(all, summaries, i, layout->summary, error);
        if (!bytes)
            return error->code ? -1 : 0;
        uint64_t scope = pf_u64(bytes, false), formula = pf_u64(bytes + layout->summary_formula, false);
        uint8_t combine = bytes[layout->combine];
        instance.id = pf_u16(bytes + layout->summary_id, false);
        instance.combine = combine < 3 ? combines[combine] : numbered(all, combine, error);
        if (!instance.combine ||
            (!layout->summaries_by_scope && !(instance.scope = scope_name(all, scope, error))) ||
            !(instance.formula = name_at(all->meta, formula, error)) ||
            add_instance(&all->summary, &instance, error))
            return -1;
    }
    return 0;
}

static int read_scopes(struct metrics *all, const struct array *scopes, struct instance instance,
                       struct pf_error *error)
{
    const struct metric_layout *layout = all->layout;
    for (uint64_t i = 0; i < scopes->count && all->threads.count < INSTANCES_MAX; i++) {
        const unsigned char *bytes = record(all, scopes, i, layout->scope, error);
        if (!bytes)
            return error->code ? -1 : 0;
        struct array summaries = {.stride = all->summary_stride};
        uint64_t scope = pf_u64(bytes + layout->scope_name, false);
        instance.id = pf_u16(bytes + layout->scope_id, false);
        if (layout->summaries_by_scope) {
            summaries.at = pf_u64(bytes + layout->summaries, false);
            summaries.count = pf_u16(bytes + layout->n_summaries, false);
        }
        if (!(instance.scope = scope_name(all, scope, error)) ||
            add_instance(&all->threads, &instance, error) || read_summaries(all, &summaries, instance, error))
            return -1;
    }
    return 0;
}

static int read_metric(struct metrics *all, uint32_t i, struct pf_error *error)
{
    const struct metric_layout *layout = all->layout;
    const unsigned char *bytes = record(all, &all->metrics, i, layout->metric, error);
    if (!bytes)
        return error->code ? -1 : 0;
    struct array scopes = {pf_u64(bytes + layout->scopes, false), pf_u16(bytes + layout->n_scopes, false),
                           all->scope_stride};
    struct array summaries = {.stride = all->summary_stride};
    if (!layout->summaries_by_scope) {
        summaries.at = pf_u64(bytes + layout->summaries, false);
        summaries.count = pf_u16(bytes + layout->n_summaries, false);
    }
    struct instance instance = {.name = name_at(all->meta, pf_u64(bytes, false), error), .metric = i};
    if (!instance.name)
        return -1;
    return read_scopes(all, &scopes, instance, error) || read_summaries(all, &summaries, instance, error) ? -1
                                                                                                          : 0;
}

/* Section: u64 metrics, u32 their number, u8 strides of a metric, a scope instance (draft: scope), a summary. */
static int read_instances(struct metrics *all, struct pf_error *error)
{
    struct hpc_meta *meta = all->meta;
    const unsigned char *section = hpc_meta_record(meta, meta->sections[HPC_METRICS].offset, 15, error);
    if (!section)
        return -1;
    all->metrics = (struct array){pf_u64(section, false), pf_u32(section + 8, false), section[12]};
    all->scope_stride = section[13];
    all->summary_stride = section[14];
    if (all->metrics.stride < all->layout->metric || all->scope_stride < all->layout->scope ||
        all->summary_stride < all->layout->summary)
        return hpc_note(meta->notes, HPC_NOTE_ERROR_METRICS, 0, (int64_t)meta->sections[HPC_METRICS].offset,
                        "meta.db: the records of metrics are too short; no metric is read");
    if (!hpc_fits(all->metrics.at, all->metrics.count, all->metrics.stride, meta->size)) {
        all->metrics.count = 0;
        return hpc_note(meta->notes, HPC_NOTE_ERROR_METRICS, 0, (int64_t)meta->sections[HPC_METRICS].offset,
                        "meta.db: the metrics reach beyond the end of the file; none is read");
    }
    for (uint32_t i = 0; i < all->metrics.count && i < INSTANCES_MAX && all->threads.count < INSTANCES_MAX;
         i++)
        if (read_metric(all, i, error))
            return -1;
    return 0;
}

/* ---- telling them ----------------------------------------------------------------------------------- */

/* What is exclusive comes first, so that it is what a profile is primarily of. */
static int rank(const char *scope)
{
    static const char *const order[] = {"function", "execution", "point"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(scope, order[i]))
            return i;
    return 3;
}

static int compare(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    int order = rank(a->scope) - rank(b->scope);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* A name that stands for several scopes needs them beside it. The name is kept once: equal names are one string. */
static int mark_shared(struct instances *list, struct pf_error *error)
{
    struct hpc_idmap seen = {0};
    int added = 1;
    for (size_t i = 0; i < list->count && added >= 0; i++) {
        uint64_t name = (uintptr_t)list->items[i].name;
        added = hpc_idmap_add(&seen, name, (uint32_t)i, error);
        if (!added)
            list->items[i].shared = list->items[hpc_idmap_find(&seen, name)].shared = true;
    }
    hpc_idmap_free(&seen);
    return added < 0 ? -1 : 0;
}

/* As hpcviewer shows the scopes. */
static const char *suffix_of(const char *scope)
{
    if (!strcmp(scope, "execution"))
        return "I";
    if (!strcmp(scope, "function"))
        return "E";
    return scope;
}

static struct hpc_metric_facts facts_of(const struct instance *instance)
{
    return (struct hpc_metric_facts){
        .id = instance->id,
        .name = instance->name,
        .suffix = instance->shared ? suffix_of(instance->scope) : NULL,
        .scope = instance->scope,
    };
}

/* The scopes of one metric stand side by side, function and execution first. */
static void pair(struct hpc_state *state, size_t first, size_t end)
{
    size_t execution = end, function = end;
    for (size_t i = end; i-- > first;) {
        if (!strcmp(state->metrics.items[i].scope, "execution"))
            execution = i;
        if (!strcmp(state->metrics.items[i].scope, "function"))
            function = i;
    }
    for (size_t i = first; i < end && execution < end; i++)
        if (i == function || !strcmp(state->metrics.items[i].scope, "point"))
            hpc_pair_metrics(state, i, execution, i == function || function == end);
}

static int tell(struct metrics *all, struct pf_error *error)
{
    struct hpc_state *state = all->meta->state;
    struct instance *items = all->threads.items;
    size_t first = 0;
    for (size_t i = 0; i < all->threads.count; i++) {
        struct hpc_metric_facts facts = facts_of(&items[i]);
        int added = hpc_add_metric(state, &facts, error);
        if (added < 0)
            return -1;
        if (!added)
            (void)hpc_note(all->meta->notes, HPC_NOTE_WARNING_METRIC_ID, 0, -1,
                           "meta.db: two metrics have the id %lld; the second is left out",
                           (long long)facts.id);
        if (i + 1 < all->threads.count && items[i + 1].metric == items[i].metric)
            continue;
        pair(state, first, state->metrics.count);
        first = state->metrics.count;
    }
    for (size_t i = 0; i < all->summary.count; i++) {
        struct hpc_metric_facts facts = facts_of(&all->summary.items[i]);
        if (hpc_add_summary_metric(state, &facts, all->summary.items[i].formula,
                                   all->summary.items[i].combine, false, error) < 0)
            return -1;
    }
    return 0;
}

int hpc_meta_metrics(struct hpc_meta *meta, struct pf_error *error)
{
    struct metrics all = {.meta = meta, .layout = meta->state->layout == HPC_DRAFT ? &draft : &released};
    int failed = read_instances(&all, error);
    if (!failed) {
        if (all.threads.count)
            qsort(all.threads.items, all.threads.count, sizeof *all.threads.items, compare);
        if (all.summary.count)
            qsort(all.summary.items, all.summary.count, sizeof *all.summary.items, compare);
        failed = mark_shared(&all.threads, error) || mark_shared(&all.summary, error) || tell(&all, error);
    }
    free(all.threads.items);
    free(all.summary.items);
    return failed ? -1 : 0;
}
