/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/nsight/nsight.h"

/*
 * The CPU's side: visits of functions (ranges) and calls of the API, thread after thread in the order of their
 * starts. A call belongs to the innermost range that it lies in, or to the path that is known of it; one that lies
 * in another call of the same path, or has no path, is a call by that call (a runtime function calls the driver's).
 *
 * What a context took without the contexts below it is not what the export tells, but follows from it: inclusive
 * times are those of its visits, exclusive ones what is left of them.
 */

/* A range or call, sorted by the thread and its start. Of equal starts, calls come before ranges: a range holds
 * only what starts after it. Then what lasts longer, or lies less deep, comes first. */
enum { THREAD, START, ORDER, END, NUMBER, WHAT, RECORD_WORDS };
#define IS_RANGE (UINT64_C(1) << 63)

/* Ranges and calls that are open at a time. More are not remembered: what lies in them has no path. */
enum { OPEN_MAX = 4096, SEARCH_MAX = 1024 };

enum { ROWS_PER_STEP = 16384 };

struct open_range {
    int64_t start, end;
    uint32_t context;
};

struct open_call {
    int64_t end;
    struct nsight_found found;
};

/* What a context's visits come to in the thread that is being read. */
struct visits {
    int64_t calls, api_calls, inclusive;
    int64_t below; /* inclusive times of the contexts below */
    bool own;      /* inclusive is what is known of it, rather than what is below */
};

struct reading {
    struct nsight_model *model;
    struct pf_sorter *sorter;
    uint64_t rows;
    struct visits *visits; /* by context */
    size_t visits_room;
    uint32_t used;
    struct open_range *ranges; /* OPEN_MAX */
    unsigned n_ranges;
    struct open_call *calls; /* OPEN_MAX */
    unsigned n_calls;
};

/* ---- sorting ------------------------------------------------------------------------------------- */

/* 31 bits that order by `value`, ascending; greater ones are equal. */
static uint64_t order_by(uint64_t value)
{
    return (value < INT32_MAX ? value : INT32_MAX) << 32;
}

static const struct nsight_partitions *partitions_of(const struct reading *reading)
{
    return &nsight_state(reading->model->profile)->partitions;
}

static int add_range(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct reading *reading = arg;
    struct nsight_model *model = reading->model;
    uint32_t context, thread = nsight_thread_of(partitions_of(reading), nsight_int(scan, NVTX_TID));
    bool bad = false;
    int64_t start = nsight_int(scan, NVTX_START),
            duration = nsight_duration(scan, NVTX_START, NVTX_END, &bad);
    if (thread == NSIGHT_NONE || !nsight_is_visit(partitions_of(reading), scan))
        return 0;
    model->bad_times += bad;
    if (nsight_path_of_range(&model->paths, scan, &context, error))
        return -1;
    if (context == PF_NO_CONTEXT)
        return 0;
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = thread,
        [START] = pf_ordered(start),
        [ORDER] = IS_RANGE | order_by(model->tree->depth[context]) | (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [WHAT] = context,
    };
    return pf_sorter_add(reading->sorter, record, error);
}

static int add_call(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct reading *reading = arg;
    struct nsight_model *model = reading->model;
    uint32_t path, thread = nsight_thread_of(partitions_of(reading), nsight_int(scan, RUNTIME_TID));
    bool bad = false;
    int64_t start = nsight_int(scan, RUNTIME_START);
    int64_t duration = nsight_duration(scan, RUNTIME_START, RUNTIME_END, &bad);
    if (thread == NSIGHT_NONE)
        return 0;
    model->bad_times += bad;
    if (nsight_path_of_call(&model->paths, scan, &path, error))
        return -1;
    uint32_t name = nsight_name(&model->names, model->db, nsight_int(scan, RUNTIME_NAME), error);
    if (name == PF_NO_STRING)
        return -1;
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = thread,
        [START] = pf_ordered(start),
        [ORDER] = order_by(INT32_MAX - (uint64_t)(duration < INT32_MAX ? duration : INT32_MAX)) |
                  (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [NUMBER] = (uint64_t)nsight_int(scan, RUNTIME_CORRELATION),
        [WHAT] = (uint64_t)name << 32 | path,
    };
    return pf_sorter_add(reading->sorter, record, error);
}

static int add_rows(struct reading *reading, enum nsight_table table, nsight_take *add,
                    struct pf_error *error)
{
    struct nsight_model *model = reading->model;
    return nsight_each(model->db, table, NSIGHT_ALL_COLUMNS, model->damage, add, reading, error);
}

/* ---- visits -------------------------------------------------------------------------------------- */

static struct visits *visits_of(struct reading *reading, uint32_t context, struct pf_error *error)
{
    if (pf_array_reach(&reading->visits, &reading->visits_room, context, sizeof *reading->visits, error))
        return NULL;
    if (context >= reading->used)
        reading->used = context + 1;
    return &reading->visits[context];
}

static int visit(struct reading *reading, uint32_t context, bool api, int64_t duration,
                 struct pf_error *error)
{
    struct visits *visits = visits_of(reading, context, error);
    if (!visits)
        return -1;
    visits->calls += !api;
    visits->api_calls += api;
    visits->inclusive = nsight_plus(visits->inclusive, duration);
    visits->own = true;
    return 0;
}

static int fold_context(struct reading *reading, uint32_t context, const struct visits *visits,
                        struct pf_error *error)
{
    int64_t inclusive = visits->own ? visits->inclusive : visits->below;
    union pf_measure *measures = pf_fold_at(reading->model->fold, context, error);
    if (!measures)
        return -1;
    measures[NSIGHT_CALLS].i = visits->calls;
    measures[NSIGHT_API_CALLS].i = visits->api_calls;
    measures[NSIGHT_TIME].i = (int64_t)((uint64_t)inclusive - (uint64_t)visits->below);
    measures[NSIGHT_TIME_INC].i = inclusive;
    measures[NSIGHT_TIMED].i = 1;
    return 0;
}

/* Children have higher numbers than their parents: from the last to the first, all below is known. */
static int end_thread(struct reading *reading, struct pf_error *error)
{
    const struct pf_tree *tree = reading->model->tree;
    for (uint32_t c = reading->used; c-- > 0;) {
        struct visits visits = reading->visits[c];
        if (!visits.own && !visits.below)
            continue;
        if (fold_context(reading, c, &visits, error))
            return -1;
        if (tree->parent[c] != PF_NO_CONTEXT) {
            int64_t *below = &reading->visits[tree->parent[c]].below;
            *below = nsight_plus(*below, visits.own ? visits.inclusive : visits.below);
        }
    }
    if (reading->used)
        memset(reading->visits, 0, reading->used * sizeof *reading->visits);
    reading->used = 0;
    reading->n_ranges = reading->n_calls = 0;
    return pf_fold_end_partition(reading->model->fold, error);
}

/* ---- ranges and calls in the order of their starts ----------------------------------------------- */

static int take_range(struct reading *reading, const uint64_t *record, struct pf_error *error)
{
    struct open_range range = {pf_signed(record[START]), pf_signed(record[END]), (uint32_t)record[WHAT]};
    while (reading->n_ranges && reading->ranges[reading->n_ranges - 1].end <= range.start)
        reading->n_ranges--;
    if (reading->n_ranges < OPEN_MAX)
        reading->ranges[reading->n_ranges++] = range;
    return visit(reading, range.context, false, range.end - range.start, error);
}

/* The innermost range that a call lies in. */
static uint32_t range_around(struct reading *reading, int64_t start, int64_t end)
{
    while (reading->n_ranges && reading->ranges[reading->n_ranges - 1].end <= start)
        reading->n_ranges--;
    unsigned least = reading->n_ranges > SEARCH_MAX ? reading->n_ranges - SEARCH_MAX : 0;
    for (unsigned i = reading->n_ranges; i-- > least;)
        if (reading->ranges[i].start < start && end < reading->ranges[i].end)
            return reading->ranges[i].context;
    return PF_NO_CONTEXT;
}

/* The call that a call lies in; NULL if there is none. */
static const struct open_call *call_around(struct reading *reading, int64_t start, int64_t end, uint32_t path)
{
    while (reading->n_calls && reading->calls[reading->n_calls - 1].end <= start)
        reading->n_calls--;
    if (!reading->n_calls)
        return NULL;
    const struct open_call *last = &reading->calls[reading->n_calls - 1];
    return end <= last->end && (path == PF_NO_CONTEXT || path == last->found.path) ? last : NULL;
}

/* The context of a call. Where a sampled path ends with the call itself, it is the path's. */
static uint32_t context_of_call(struct reading *reading, uint32_t path, uint32_t name,
                                const struct open_call *around, struct pf_error *error)
{
    const struct pf_tree *tree = reading->model->tree;
    bool sampled = partitions_of(reading)->origin == NSIGHT_SAMPLED;
    if (around)
        return nsight_child(reading->model->tree, around->found.call, NSIGHT_API, name, error);
    if (sampled && path != PF_NO_CONTEXT && tree->name[path] == name)
        return path;
    return nsight_child(reading->model->tree, path, NSIGHT_API, name, error);
}

static int take_call(struct reading *reading, const uint64_t *record, uint64_t process,
                     struct pf_error *error)
{
    struct nsight_model *model = reading->model;
    int64_t start = pf_signed(record[START]), end = pf_signed(record[END]);
    uint32_t name = (uint32_t)(record[WHAT] >> 32);
    struct nsight_found found = {.path = (uint32_t)record[WHAT]};
    if (partitions_of(reading)->origin == NSIGHT_RANGES)
        found.path = range_around(reading, start, end);
    const struct open_call *around = call_around(reading, start, end, found.path);
    found.call = context_of_call(reading, found.path, name, around, error);
    if (found.call == PF_NO_CONTEXT || visit(reading, found.call, true, end - start, error))
        return -1;
    if (nsight_sums_add(&model->sums, NSIGHT_SUM_API, found.path, name, end - start, 0, error) ||
        nsight_lookup_add(&model->calls, process, (int64_t)record[NUMBER], found, error))
        return -1;
    if (reading->n_calls < OPEN_MAX)
        reading->calls[reading->n_calls++] = (struct open_call){end, found};
    return 0;
}

static uint64_t process_of(const struct reading *reading, uint32_t thread)
{
    const struct nsight_partitions *partitions = partitions_of(reading);
    return nsight_correlation_process(partitions, pf_signed(partitions->keys.key[thread].word[1]));
}

static int read_sorted(struct reading *reading, struct pf_error *error)
{
    const struct nsight_partitions *partitions = partitions_of(reading);
    const uint64_t *record;
    uint32_t thread = 0;
    uint64_t rows = 0;
    int more;
    while ((more = pf_sorter_next(reading->sorter, &record, error)) > 0) {
        if (++rows % ROWS_PER_STEP == 0 && nsight_db_step(reading->model->db, error))
            return -1;
        for (; thread < record[THREAD]; thread++)
            if (end_thread(reading, error))
                return -1;
        int failed = record[ORDER] & IS_RANGE
                         ? take_range(reading, record, error)
                         : take_call(reading, record, process_of(reading, thread), error);
        if (failed)
            return -1;
    }
    for (; more == 0 && thread < partitions->threads; thread++)
        if (end_thread(reading, error))
            return -1;
    return more;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int read_all(struct reading *reading, struct pf_error *error)
{
    bool ranges = partitions_of(reading)->origin == NSIGHT_RANGES;
    if (ranges && add_rows(reading, NSIGHT_NVTX, add_range, error))
        return -1;
    if (add_rows(reading, NSIGHT_RUNTIME, add_call, error))
        return -1;
    if (pf_sorter_finish(reading->sorter, error) || read_sorted(reading, error))
        return -1;
    struct nsight_model *model = reading->model;
    return nsight_paths_add_calls(&model->paths, &model->calls, error) ||
                   nsight_lookup_finish(&model->calls, model->limit, error)
               ? -1
               : 0;
}

int nsight_read_calls(struct nsight_model *model, struct pf_error *error)
{
    struct reading reading = {
        .model = model,
        .sorter = pf_sorter_new(RECORD_WORDS, ORDER + 1, model->limit),
        .ranges = calloc(OPEN_MAX, sizeof *reading.ranges),
        .calls = calloc(OPEN_MAX, sizeof *reading.calls),
    };
    int failed = !reading.sorter || !reading.ranges || !reading.calls ? pf_fail_memory(error)
                                                                      : read_all(&reading, error);
    pf_sorter_free(reading.sorter);
    free(reading.visits);
    free(reading.ranges);
    free(reading.calls);
    return failed;
}
