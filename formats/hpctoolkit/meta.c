/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* ---- reading records and strings -------------------------------------------------------------------- */

/*
 * Writers store the tree level by level, but the reader walks it depth first, so many places in the file are in use at
 * once, each advancing slowly. The windows are a direct-mapped cache of the file's pages.
 */
enum { PAGE = 16 * 1024, WINDOWS = 256 };

const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size,
                                     struct pf_error *error)
{
    error->code = 0;
    return hpc_fits(offset, size, 1, meta->size)
               ? pf_window_at(&meta->windows[offset / PAGE % WINDOWS], offset, size, error)
               : NULL;
}

ssize_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit, struct pf_error *error)
{
    size_t size = 0;
    /* The header contains no strings: a null pointer means no string. */
    for (uint64_t at = pointer; pointer >= 16 && at < meta->size && size < limit; at = pointer + size) {
        const unsigned char *bytes = hpc_meta_record(meta, at, 1, error);
        if (!bytes)
            return -1;
        size_t have = pf_window_rest(&meta->windows[at / PAGE % WINDOWS], bytes);
        if (have > limit - size)
            have = limit - size;
        const unsigned char *end = memchr(bytes, 0, have);
        size_t more = end ? (size_t)(end - bytes) : have;
        memcpy(meta->string + size, bytes, more);
        size += more;
        if (end)
            return (ssize_t)size;
    }
    return 0;
}

static const char *name_at(struct hpc_meta *meta, uint64_t pointer, struct pf_error *error)
{
    ssize_t size = hpc_meta_string(meta, pointer, HPC_NAME_MAX, error);
    return size < 0 ? NULL : hpc_keep(meta->state, meta->string, (size_t)size, error);
}

/* Header: magic, two bytes of version, pairs of {u64 size, u64 offset}. A section that exceeds the file is truncated. */
static int read_sections(struct hpc_meta *meta, struct pf_error *error)
{
    const unsigned char *header = hpc_meta_record(meta, 0, 16 + 16 * SECTIONS, error);
    if (!header)
        return error->code ? -1 : pf_fail_at(error, EINVAL, 0, "meta.db ends inside its header");
    for (int i = 0; i < SECTIONS; i++) {
        struct hpc_extent *section = &meta->sections[i];
        section->size = pf_u64(header + 16 + 16 * i, false);
        section->offset = pf_u64(header + 24 + 16 * i, false);
        if (hpc_fits(section->offset, section->size, 1, meta->size))
            continue;
        (void)hpc_note(meta->notes, "fatal", "section-beyond-end", 0, 16 + 16 * i,
                       "meta.db: section %d reaches beyond the end of the file", i);
        section->size = section->offset < meta->size ? meta->size - section->offset : 0;
    }
    return 0;
}

int hpc_meta_begin(struct hpc_meta *meta, struct hpc_state *state, struct pf_notes *notes,
                   struct pf_error *error)
{
    *meta = (struct hpc_meta){.state = state, .notes = notes, .size = pf_input_size(state->description)};
    meta->budget = meta->size;
    meta->windows = calloc(WINDOWS, sizeof *meta->windows);
    meta->string = malloc(HPC_STRING_MAX);
    if (!meta->windows || !meta->string)
        return pf_fail_memory(error);
    for (int i = 0; i < WINDOWS; i++)
        meta->windows[i] = (struct pf_window){.input = state->description, .room = PAGE};
    return read_sections(meta, error);
}

void hpc_meta_end(struct hpc_meta *meta)
{
    for (int i = 0; meta->windows && i < WINDOWS; i++)
        pf_window_close(&meta->windows[i]);
    free(meta->windows);
    free(meta->string);
}

/* ---- metrics ---------------------------------------------------------------------------------------- */

/*
 * Metrics have scopes: the cost measured at a point of the code is also propagated to the enclosing contexts. Each pair
 * of a metric and a scope has an id in the threads' profiles, and one id per statistic in the summary.
 */

/* One metric in one scope, or one statistic of it. */
struct instance {
    struct hpc_metric_facts facts;
    uint32_t metric;               /* index of the metric in the file */
    const char *formula, *combine; /* of a statistic */
};

struct instances {
    struct instance *items;
    size_t count, room;
};

/* Ids have 16 bits: an undamaged file has at most this many instances. */
enum { INSTANCES_MAX = 1 << 16 };

struct metrics {
    struct hpc_meta *meta;
    bool draft;
    unsigned scope_stride, statistic_stride;
    struct instances threads, summary;
};

static int add_instance(struct instances *list, const struct instance *instance, struct pf_error *error)
{
    if (list->count == INSTANCES_MAX)
        return 0;
    if (pf_array_room(&list->items, &list->room, list->count, sizeof *list->items, error))
        return -1;
    list->items[list->count++] = *instance;
    return 0;
}

/* Returns the name of a scope. In the released layout the pointer refers to the scope's record, in drafts to the name. */
static const char *scope_name(struct metrics *all, uint64_t pointer, struct pf_error *error)
{
    if (!all->draft) {
        const unsigned char *scope = hpc_meta_record(all->meta, pointer, 8, error);
        if (!scope)
            return error->code ? NULL : "";
        pointer = pf_u64(scope, false);
    }
    return name_at(all->meta, pointer, error);
}

/*
 * The word for how a statistic combines values; an unknown one (of a later minor version) as its number. NULL with
 * *error filled.
 */
static const char *combine_word(struct metrics *all, unsigned combine, struct pf_error *error)
{
    static const char *const words[] = {"sum", "min", "max"};
    char text[16];
    if (combine < sizeof words / sizeof *words)
        return words[combine];
    int size = snprintf(text, sizeof text, "%u", combine);
    return hpc_keep(all->meta->state, text, (size_t)size, error);
}

/*
 * Released: u64 scope, u64 formula, u8 combine, u16 id at 18. Draft, where each scope has its own statistics: u64
 * formula, u8 combine, u16 id at 10.
 */
static int read_statistics(struct metrics *all, uint64_t array, unsigned count, struct instance instance,
                           struct pf_error *error)
{
    size_t scope = all->draft ? 0 : 8;
    for (unsigned i = 0; i < count && all->summary.count < INSTANCES_MAX; i++) {
        const unsigned char *bytes =
            hpc_meta_record(all->meta, array + (uint64_t)i * all->statistic_stride, scope + 12, error);
        if (!bytes)
            return error->code ? -1 : 0;
        uint64_t scope_at = pf_u64(bytes, false), formula = pf_u64(bytes + scope, false);
        unsigned combine = bytes[scope + 8];
        instance.facts.id = pf_u16(bytes + scope + 10, false);
        if (!(instance.combine = combine_word(all, combine, error)) ||
            (!all->draft && !(instance.facts.scope = scope_name(all, scope_at, error))) ||
            !(instance.formula = name_at(all->meta, formula, error)) ||
            add_instance(&all->summary, &instance, error))
            return -1;
    }
    return 0;
}

/* Released: u64 scope, u16 id. Draft: u64 name, u16 number of statistics, u16 id, u64 statistics at 16. */
static int read_scopes(struct metrics *all, uint64_t array, unsigned count, struct instance instance,
                       struct pf_error *error)
{
    for (unsigned i = 0; i < count && all->threads.count < INSTANCES_MAX; i++) {
        const unsigned char *bytes =
            hpc_meta_record(all->meta, array + (uint64_t)i * all->scope_stride, all->draft ? 24 : 10, error);
        if (!bytes)
            return error->code ? -1 : 0;
        uint64_t scope = pf_u64(bytes, false), statistics = all->draft ? pf_u64(bytes + 16, false) : 0;
        unsigned n_statistics = all->draft ? pf_u16(bytes + 8, false) : 0;
        instance.facts.id = pf_u16(bytes + (all->draft ? 10 : 8), false);
        if (!(instance.facts.scope = scope_name(all, scope, error)) ||
            add_instance(&all->threads, &instance, error) ||
            read_statistics(all, statistics, n_statistics, instance, error))
            return -1;
    }
    return 0;
}

/*
 * Released: u64 name, u64 scopes, u64 statistics, u16 number of scopes, u16 number of statistics. Draft: u64 name, u16 number
 * of scopes, padding, u64 scopes.
 */
static int read_metric(struct metrics *all, const unsigned char *bytes, uint32_t i, struct pf_error *error)
{
    uint64_t scopes = pf_u64(bytes + (all->draft ? 16 : 8), false);
    unsigned n_scopes = pf_u16(bytes + (all->draft ? 8 : 24), false);
    uint64_t statistics = all->draft ? 0 : pf_u64(bytes + 16, false);
    unsigned n_statistics = all->draft ? 0 : pf_u16(bytes + 26, false);
    struct instance instance = {.facts.name = name_at(all->meta, pf_u64(bytes, false), error), .metric = i};
    return !instance.facts.name || read_scopes(all, scopes, n_scopes, instance, error) ||
                   read_statistics(all, statistics, n_statistics, instance, error)
               ? -1
               : 0;
}

/*
 * Section: u64 metrics, u32 number of metrics, then u8 strides of: a metric, a scope instance (draft: a scope), a
 * statistic.
 */
static int read_instances(struct metrics *all, struct pf_error *error)
{
    struct hpc_meta *meta = all->meta;
    uint64_t offset = meta->sections[METRICS].offset;
    const unsigned char *section = hpc_meta_record(meta, offset, 15, error);
    if (!section)
        return -1;
    uint64_t metrics = pf_u64(section, false), least = all->draft ? 24 : 28;
    uint32_t count = pf_u32(section + 8, false);
    unsigned stride = section[12];
    all->scope_stride = section[13];
    all->statistic_stride = section[14];
    if (stride < least || all->scope_stride < (all->draft ? 24 : 10) ||
        all->statistic_stride < (all->draft ? 12 : 20))
        return hpc_note(meta->notes, "error", "metrics", 0, (int64_t)offset,
                        "meta.db: the records of metrics are too short; no metric is read");
    if (!hpc_fits(metrics, count, stride, meta->size))
        return hpc_note(meta->notes, "error", "metrics", 0, (int64_t)offset,
                        "meta.db: the metrics reach beyond the end of the file; none is read");
    for (uint32_t i = 0; i < count && i < INSTANCES_MAX && all->threads.count < INSTANCES_MAX; i++) {
        const unsigned char *bytes = hpc_meta_record(meta, metrics + (uint64_t)i * stride, least, error);
        if (!bytes || read_metric(all, bytes, i, error))
            return -1;
    }
    return 0;
}

/* Sorts exclusive metrics first: the first metric of a profile is its primary one. */
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
    int order = rank(a->facts.scope) - rank(b->facts.scope);
    return order ? order : (a->facts.id > b->facts.id) - (a->facts.id < b->facts.id);
}

/* The suffix that hpcviewer appends to the name of a metric with several scopes. */
static const char *suffix_of(const char *scope)
{
    return !strcmp(scope, "execution") ? "I" : !strcmp(scope, "function") ? "E" : scope;
}

/* Compares pointers: names are interned, so equal names are the same pointer. */
static bool hpc_is_metric_name(const void *of, uint32_t number, const void *key)
{
    return ((const struct instances *)of)->items[number].facts.name == key;
}

/* Sorts the list, and gives suffixes to metrics that share a name. */
static int arrange(struct instances *list, struct pf_error *error)
{
    struct pf_hash_table seen = {0};
    int failed = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare);
    for (size_t i = 0; i < list->count && !failed; i++) {
        struct hpc_metric_facts *facts = &list->items[i].facts;
        uint64_t hash = pf_siphash_number((uintptr_t)facts->name);
        int64_t first = pf_hash_find(&seen, hash, hpc_is_metric_name, list, facts->name);
        if (first == PF_NOT_THERE) {
            failed = pf_hash_add(&seen, hash, (uint32_t)i, error);
            continue;
        }
        list->items[first].facts.suffix = suffix_of(list->items[first].facts.scope);
        facts->suffix = suffix_of(facts->scope);
    }
    pf_hash_free(&seen);
    return failed;
}

/*
 * Makes the scopes of one metric partners; they are adjacent, from index `first` on. Function and execution are each
 * other's partner; the partner of a point is execution.
 */
static void pair(struct hpc_metrics *metrics, size_t first)
{
    struct pf_metric *function = NULL, *execution = NULL;
    for (struct pf_metric *metric = metrics->items + metrics->count; metric-- > metrics->items + first;) {
        if (!strcmp(metric->scope, "execution"))
            execution = metric;
        if (!strcmp(metric->scope, "function"))
            function = metric;
    }
    for (size_t i = first; i < metrics->count && execution; i++) {
        struct pf_metric *metric = &metrics->items[i];
        bool twin = metric == function;
        if (!twin && strcmp(metric->scope, "point") != 0)
            continue;
        metric->partner = (int)(execution - metrics->items);
        if (twin || !function)
            execution->partner = (int)i;
    }
}

static int publish(struct metrics *all, struct pf_error *error)
{
    struct hpc_state *state = all->meta->state;
    const struct instances *threads = &all->threads, *summary = &all->summary;
    size_t first = 0;
    for (size_t i = 0; i < threads->count; i++) {
        const struct hpc_metric_facts *facts = &threads->items[i].facts;
        int added = hpc_add_metric(state, facts, error);
        if (added < 0)
            return -1;
        if (!added)
            (void)hpc_note(all->meta->notes, "warning", "metric-id", 0, -1,
                           "meta.db: two metrics have the id %lld; the second is left out",
                           (long long)facts->id);
        if (i + 1 < threads->count && threads->items[i + 1].metric == threads->items[i].metric)
            continue;
        pair(&state->metrics, first);
        first = state->metrics.count;
    }
    for (size_t i = 0; i < summary->count; i++) {
        const struct instance *at = &summary->items[i];
        if (hpc_add_summary_metric(state, &at->facts, at->formula, at->combine, error) < 0)
            return -1;
    }
    return 0;
}

static int read_metrics(struct hpc_meta *meta, struct pf_error *error)
{
    struct metrics all = {.meta = meta, .draft = meta->state->layout == HPC_DRAFT};
    int failed = read_instances(&all, error) || arrange(&all.threads, error) ||
                 arrange(&all.summary, error) || publish(&all, error);
    free(all.threads.items);
    free(all.summary.items);
    return failed ? -1 : 0;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* General section: u64 title, u64 description. */
static int read_title(struct hpc_meta *meta, struct pf_model *model, struct pf_error *error)
{
    const unsigned char *general = hpc_meta_record(meta, meta->sections[GENERAL].offset, 16, error);
    if (!general)
        return error->code ? -1 : 0;
    const char *title = name_at(meta, pf_u64(general, false), error);
    struct pf_cell cells[] = {pf_string("Experiment"), pf_string(title)};
    return title ? pf_rows_add(model->info, cells, error) : -1;
}

/* IdNames section: u64 array of u64 pointers, u8 number of pointers. */
static int read_identifiers(struct hpc_meta *meta, struct pf_error *error)
{
    struct hpc_state *state = meta->state;
    const unsigned char *section = hpc_meta_record(meta, meta->sections[ID_NAMES].offset, 9, error);
    if (!section)
        return error->code ? -1 : 0;
    uint64_t names = pf_u64(section, false);
    size_t count = section[8];
    if (!(state->identifiers = calloc(count + 1, sizeof *state->identifiers)))
        return pf_fail_memory(error);
    state->n_identifiers = count;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *pointer = hpc_meta_record(meta, names + 8 * i, 8, error);
        if (!pointer)
            return error->code ? -1 : 0;
        const char *name = name_at(meta, pf_u64(pointer, false), error);
        if (!name)
            return -1;
        state->identifiers[i] = *name ? name : NULL;
    }
    return 0;
}

static int read_all(struct hpc_meta *meta, struct pf_model *model, struct pf_error *error)
{
    const unsigned char *header = hpc_meta_record(meta, 0, 16, error);
    if (!header)
        return -1;
    unsigned major = header[HPC_META_VERSION], minor = header[HPC_META_VERSION + 1];
    if (memcmp(header, HPC_META_MAGIC, HPC_META_VERSION) != 0)
        return pf_fail_at(error, EINVAL, 0, "meta.db does not begin as one");
    if (major != 4)
        return pf_fail_at(error, EINVAL, HPC_META_VERSION, "version %u.%u of meta.db is not supported", major,
                          minor);
    /* The stride of a metric distinguishes the layouts: 32 in the released one, 24 in drafts. */
    const unsigned char *metrics = hpc_meta_record(meta, meta->sections[METRICS].offset, 15, error);
    if (!metrics)
        return error->code ? -1 : pf_fail_at(error, EINVAL, 16, "meta.db has no section of metrics");
    meta->state->layout = metrics[12] == 24 ? HPC_DRAFT : HPC_META;
    snprintf(model->version, sizeof model->version, "%u.%u%s", major, minor,
             meta->state->layout == HPC_DRAFT ? " draft" : "");
    return read_title(meta, model, error) || read_identifiers(meta, error) || read_metrics(meta, error) ? -1
                                                                                                          : 0;
}

int hpc_meta_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_meta meta;
    int failed = hpc_meta_begin(&meta, hpc_state(model), notes, error) || read_all(&meta, model, error);
    hpc_meta_end(&meta);
    if (failed && !*error->where)
        snprintf(error->where, sizeof error->where, "meta.db");
    return failed ? -1 : 0;
}
