/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading records and strings -------------------------------------------------------------------- */

/*
 * Writers store the tree level by level, but the reader walks it depth first, so it reads at many places of the file in
 * turn. The windows cache a page around each of these places.
 */
enum { PAGE = 16 * 1024, WINDOWS = HPC_META_WINDOWS };

const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size)
{
    if (!hpc_fits(offset, size, 1, meta->size))
        return NULL;
    return hpc_window_at(meta->run, &meta->windows[offset / PAGE % WINDOWS], offset, size);
}

size_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit)
{
    size_t size = 0;
    /* The first 16 bytes contain no strings. A pointer of 0 means that there is no string. */
    for (uint64_t at = pointer; pointer >= 16 && at < meta->size && size < limit; at = pointer + size) {
        const unsigned char *bytes = hpc_meta_record(meta, at, 1);
        size_t have = pf_window_rest(&meta->windows[at / PAGE % WINDOWS], bytes);
        if (have > limit - size)
            have = limit - size;
        const unsigned char *end = memchr(bytes, 0, have);
        size_t more = end ? (size_t)(end - bytes) : have;
        memcpy(meta->string + size, bytes, more);
        size += more;
        meta->scanned += more;
        if (end)
            return size;
    }
    return 0;
}

static const char *name_at(struct hpc_meta *meta, uint64_t pointer)
{
    size_t size = hpc_meta_string(meta, pointer, HPC_NAME_MAX);
    return hpc_keep(meta->run, meta->string, size);
}

/*
 * Reads the header, which has the magic bytes, two bytes of version, and {u64 size, u64 offset} per section. Truncates
 * a section that exceeds the file.
 */
static void read_sections(struct hpc_meta *meta, bool quiet)
{
    const unsigned char *header = hpc_meta_record(meta, 0, 16 + 16 * SECTIONS);
    if (!header) {
        pf_fail_at(meta->run->error, EINVAL, 0, "meta.db ends inside its header");
        pf_run_fail(meta->run);
    }
    for (int i = 0; i < SECTIONS; i++) {
        struct hpc_extent *section = &meta->sections[i];
        section->size = pf_u64(header + 16 + 16 * i, false);
        section->offset = pf_u64(header + 24 + 16 * i, false);
        if (hpc_fits(section->offset, section->size, 1, meta->size))
            continue;
        if (!quiet)
            pf_run_warn(meta->run, "fatal", "section-beyond-end", 0, 16 + 16 * i,
                        "meta.db: section %d exceeds the file: truncated", i);
        section->size = section->offset < meta->size ? meta->size - section->offset : 0;
    }
}

static void free_meta(struct hpc_meta *meta)
{
    for (int i = 0; i < WINDOWS; i++)
        pf_window_close(&meta->windows[i]);
    free(meta);
}

struct hpc_meta *hpc_meta_begin(struct pf_run *run, bool quiet)
{
    struct hpc_meta *meta = PF_OWN(run, calloc(1, sizeof *meta), free_meta);
    meta->run = run;
    meta->state = hpc_state(run->model);
    meta->size = pf_input_size(meta->state->description);
    for (int i = 0; i < WINDOWS; i++)
        meta->windows[i] = (struct pf_window){.input = meta->state->description, .room = PAGE};
    read_sections(meta, quiet);
    return meta;
}

/* ---- metrics ---------------------------------------------------------------------------------------- */

/*
 * A metric has several scopes, because the cost measured at a point of the code is also propagated to the enclosing
 * contexts. Each pair of a metric and a scope has one id for the threads' values, and one id per statistic for the
 * summary.
 */

/* A metric in one scope, or a statistic of a metric in one scope. */
struct instance {
    struct hpc_metric_facts facts;
    uint32_t metric;               /* index of the metric in the file */
    const char *formula, *combine; /* of a statistic */
};

struct instances {
    PF_LIST(struct instance) list;
};

/* An undamaged file has at most this many instances, since ids have 16 bits. */
enum { INSTANCES_MAX = 1 << 16 };

struct metrics {
    struct hpc_meta *meta;
    bool draft;
    unsigned scope_stride, statistic_stride;
    struct instances threads, summary;
    struct pf_hash_table names; /* maps a name to its first instance in the list that is being arranged */
};

static void add_instance(struct metrics *all, struct instances *instances, const struct instance *instance)
{
    if (instances->list.n < INSTANCES_MAX)
        *PF_PUSH(all->meta->run, instances->list) = *instance;
}

/* Returns the name of a scope. In the released layout the pointer refers to the scope's record, in drafts to the name. */
static const char *scope_name(struct metrics *all, uint64_t pointer)
{
    if (!all->draft) {
        const unsigned char *scope = hpc_meta_record(all->meta, pointer, 8);
        if (!scope)
            return "";
        pointer = pf_u64(scope, false);
    }
    return name_at(all->meta, pointer);
}

/* Returns the name of the operation that combines a statistic's values; the operation's number if it has no known name. */
static const char *combine_word(const struct metrics *all, unsigned combine)
{
    static const char *const words[] = {"sum", "min", "max"};
    char text[16];
    if (combine < sizeof words / sizeof *words)
        return words[combine];
    int size = snprintf(text, sizeof text, "%u", combine);
    return hpc_keep(all->meta->run, text, (size_t)size);
}

/*
 * Reads an array of statistics. In the released layout, a record is u64 scope, u64 formula, u8 combine, and u16 id at byte 18.
 * In drafts, each scope has its own statistics, and a record is u64 formula, u8 combine, and u16 id at byte 10.
 */
static void read_statistics(struct metrics *all, uint64_t array, unsigned count, struct instance instance)
{
    size_t scope_size = all->draft ? 0 : 8;
    for (unsigned i = 0; i < count && all->summary.list.n < INSTANCES_MAX; i++) {
        const unsigned char *bytes =
            hpc_meta_record(all->meta, array + (uint64_t)i * all->statistic_stride, scope_size + 12);
        if (!bytes)
            return;
        uint64_t scope_at = pf_u64(bytes, false), formula = pf_u64(bytes + scope_size, false);
        instance.facts.id = pf_u16(bytes + scope_size + 10, false);
        instance.combine = combine_word(all, bytes[scope_size + 8]);
        if (!all->draft)
            instance.facts.scope = scope_name(all, scope_at);
        instance.formula = name_at(all->meta, formula);
        add_instance(all, &all->summary, &instance);
    }
}

/*
 * Reads an array of a metric's scopes. In the released layout, a record is u64 scope, u16 id. In drafts, it is u64 name,
 * u16 number of statistics, u16 id, and u64 statistics at byte 16.
 */
static void read_scopes(struct metrics *all, uint64_t array, unsigned count, struct instance instance)
{
    for (unsigned i = 0; i < count && all->threads.list.n < INSTANCES_MAX; i++) {
        const unsigned char *bytes =
            hpc_meta_record(all->meta, array + (uint64_t)i * all->scope_stride, all->draft ? 24 : 10);
        if (!bytes)
            return;
        uint64_t scope = pf_u64(bytes, false), statistics = all->draft ? pf_u64(bytes + 16, false) : 0;
        unsigned n_statistics = all->draft ? pf_u16(bytes + 8, false) : 0;
        instance.facts.id = pf_u16(bytes + (all->draft ? 10 : 8), false);
        instance.facts.scope = scope_name(all, scope);
        add_instance(all, &all->threads, &instance);
        read_statistics(all, statistics, n_statistics, instance);
    }
}

/*
 * Reads a metric. In the released layout, its record is u64 name, u64 scopes, u64 statistics, u16 number of scopes, u16
 * number of statistics. In drafts, it is u64 name, u16 number of scopes, padding, u64 scopes.
 */
static void read_metric_record(struct metrics *all, const unsigned char *bytes, uint32_t i)
{
    uint64_t scopes = pf_u64(bytes + (all->draft ? 16 : 8), false);
    unsigned n_scopes = pf_u16(bytes + (all->draft ? 8 : 24), false);
    uint64_t statistics = all->draft ? 0 : pf_u64(bytes + 16, false);
    unsigned n_statistics = all->draft ? 0 : pf_u16(bytes + 26, false);
    struct instance instance = {.facts.name = name_at(all->meta, pf_u64(bytes, false)), .metric = i};
    read_scopes(all, scopes, n_scopes, instance);
    read_statistics(all, statistics, n_statistics, instance);
}

/*
 * Reads the section of metrics. It is u64 offset of the metrics, u32 number of metrics, and the strides of metrics, of
 * scopes and of statistics, each u8.
 */
static void read_instances(struct metrics *all)
{
    struct hpc_meta *meta = all->meta;
    uint64_t offset = meta->sections[METRICS].offset;
    const unsigned char *section =
        hpc_meta_record(meta, offset, 15); /* is not NULL, since hpc_meta_open has read it */
    uint64_t metrics = pf_u64(section, false), least = all->draft ? 24 : 28;
    uint32_t count = pf_u32(section + 8, false);
    unsigned stride = section[12];
    all->scope_stride = section[13];
    all->statistic_stride = section[14];
    if (stride < least || all->scope_stride < (all->draft ? 24 : 10) ||
        all->statistic_stride < (all->draft ? 12 : 20)) {
        pf_run_warn(meta->run, "error", "metrics", 0, offset,
                    "meta.db: records of metrics are too short: no metrics are read");
        return;
    }
    if (!hpc_fits(metrics, count, stride, meta->size)) {
        pf_run_warn(meta->run, "error", "metrics", 0, offset,
                    "meta.db: the table of metrics exceeds the file: no metrics are read");
        return;
    }
    for (uint32_t i = 0; i < count && i < INSTANCES_MAX && all->threads.list.n < INSTANCES_MAX; i++)
        read_metric_record(all, hpc_meta_record(meta, metrics + (uint64_t)i * stride, least), i);
}

/*
 * Returns the position of a scope in the order of scopes. Values of the scope `function` are exclusive, those of
 * `execution` inclusive.
 */
static int rank_of_scope(const char *scope)
{
    static const char *const order[] = {"function", "execution", "point"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(scope, order[i]))
            return i;
    return 3;
}

static int compare_instances(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    int order = rank_of_scope(a->facts.scope) - rank_of_scope(b->facts.scope);
    return order ? order : (a->facts.id > b->facts.id) - (a->facts.id < b->facts.id);
}

/* The suffix that hpcviewer appends to the name of a metric with several scopes. */
static const char *suffix_of_scope(const char *scope)
{
    return !strcmp(scope, "execution") ? "I" : !strcmp(scope, "function") ? "E" : scope;
}

/* Compares pointers, since equal names are interned as one string. */
static bool hpc_is_metric_name(const void *of, uint32_t number, const void *key)
{
    return ((const struct instances *)of)->list.at[number].facts.name == key;
}

/* Sorts the instances, and gives suffixes to metrics that share a name. */
static void arrange_instances(struct metrics *all, struct instances *instances)
{
    struct pf_run *run = all->meta->run;
    if (instances->list.n)
        qsort(instances->list.at, instances->list.n, sizeof *instances->list.at, compare_instances);
    for (size_t i = 0; i < instances->list.n; i++) {
        struct hpc_metric_facts *facts = &instances->list.at[i].facts;
        uint64_t hash = pf_siphash_number((uintptr_t)facts->name);
        int64_t first = pf_hash_find(&all->names, hash, hpc_is_metric_name, instances, facts->name);
        if (first == PF_NOT_THERE) {
            pf_run_check(run, pf_hash_add(&all->names, hash, (uint32_t)i, run->error));
            continue;
        }
        struct hpc_metric_facts *other = &instances->list.at[first].facts;
        other->suffix = suffix_of_scope(other->scope);
        facts->suffix = suffix_of_scope(facts->scope);
    }
    pf_hash_free(&all->names);
}

/*
 * Sets the partners of the metrics from index `first` on. These are the scopes of one metric of the file. The partner
 * of `function` and of `point` is `execution`. The partner of `execution` is `function` or, if there is none, `point`.
 */
static void pair_scopes(struct hpc_metrics *metrics, size_t first)
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

static void publish_metrics(const struct metrics *all)
{
    struct pf_run *run = all->meta->run;
    struct hpc_metrics *metrics = &all->meta->state->metrics;
    size_t first = 0, n = all->threads.list.n;
    for (size_t i = 0; i < n; i++) {
        const struct instance *at = &all->threads.list.at[i];
        if (!hpc_add_metric(run, &at->facts))
            pf_run_warn(run, "warning", "metric-id", 0, -1,
                        "meta.db: duplicate metric id %lld: the second metric is skipped",
                        (long long)at->facts.id);
        if (i + 1 < n && at[1].metric == at->metric)
            continue;
        pair_scopes(metrics, first);
        first = metrics->count;
    }
    for (size_t i = 0; i < all->summary.list.n; i++) {
        const struct instance *at = &all->summary.list.at[i];
        (void)hpc_add_summary_metric(run, &at->facts, at->formula, at->combine);
    }
}

static void free_meta_metrics(struct metrics *all)
{
    pf_hash_free(&all->names);
    free(all);
}

static void read_metrics(struct hpc_meta *meta)
{
    struct metrics *all = PF_OWN(meta->run, calloc(1, sizeof *all), free_meta_metrics);
    all->meta = meta;
    all->draft = meta->state->layout == HPC_DRAFT;
    read_instances(all);
    arrange_instances(all, &all->threads);
    arrange_instances(all, &all->summary);
    publish_metrics(all);
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* Reads the general section: u64 title, u64 description. */
static void read_general_section(struct hpc_meta *meta)
{
    struct pf_run *run = meta->run;
    const unsigned char *general = hpc_meta_record(meta, meta->sections[GENERAL].offset, 16);
    if (!general)
        return;
    struct pf_cell cells[] = {pf_string("Experiment"), pf_string(name_at(meta, pf_u64(general, false)))};
    pf_run_check(run, pf_rows_add(run->model->info, cells, run->error));
}

/*
 * Reads the names of the kinds of identifiers. Their section is u64 offset of an array of u64 pointers, u8 number of
 * pointers.
 */
static void read_identifiers(struct hpc_meta *meta)
{
    struct hpc_state *state = meta->state;
    const unsigned char *section = hpc_meta_record(meta, meta->sections[ID_NAMES].offset, 9), *pointer;
    if (!section)
        return;
    uint64_t names = pf_u64(section, false);
    state->n_identifiers = section[8];
    state->identifiers =
        pf_run_memory(meta->run, calloc(state->n_identifiers + 1, sizeof *state->identifiers));
    for (size_t i = 0; i < state->n_identifiers && (pointer = hpc_meta_record(meta, names + 8 * i, 8)); i++) {
        const char *name = name_at(meta, pf_u64(pointer, false));
        state->identifiers[i] = *name ? name : NULL;
    }
}

void hpc_meta_open(struct pf_run *run)
{
    struct hpc_meta *meta = hpc_meta_begin(run, false);
    const unsigned char *header = hpc_meta_record(meta, 0, 16);
    unsigned major = header[HPC_META_VERSION], minor = header[HPC_META_VERSION + 1];
    if (memcmp(header, HPC_META_MAGIC, HPC_META_VERSION) != 0)
        pf_run_check(run, pf_fail_at(run->error, EINVAL, 0, "meta.db has a bad magic number"));
    if (major != 4)
        pf_run_check(run, pf_fail_at(run->error, EINVAL, HPC_META_VERSION,
                                     "version %u.%u of meta.db is not supported", major, minor));
    /* The stride of a metric distinguishes the layouts: 32 in the released one, 24 in drafts. */
    const unsigned char *metrics = hpc_meta_record(meta, meta->sections[METRICS].offset, 15);
    if (!metrics) {
        pf_fail_at(run->error, EINVAL, 16, "meta.db has no section of metrics");
        pf_run_fail(run);
    }
    meta->state->layout = metrics[12] == 24 ? HPC_DRAFT : HPC_META;
    snprintf(run->model->version, sizeof run->model->version, "%u.%u%s", major, minor,
             meta->state->layout == HPC_DRAFT ? " draft" : "");
    read_general_section(meta);
    read_identifiers(meta);
    read_metrics(meta);
}
