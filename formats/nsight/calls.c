/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/nsight/nsight.h"

/*
 * Function visits (ranges) and API calls of the CPU, thread by thread in order of start time. The path of a call is the innermost
 * range that encloses it, or a path from another source. A call that is enclosed by another call, and has the same path or none,
 * is a child of that call (a runtime function calls a driver function).
 *
 * The export has inclusive times only: those of the visits. A context's exclusive time is its inclusive time minus the inclusive
 * times of its children.
 */

/*
 * A range or call, sorted by thread and start. At equal starts, calls come before ranges, since a range encloses only what starts
 * after it; then longer calls, and less deep ranges, come first.
 */
enum { THREAD, START, ORDER, END, NUMBER, WHAT, RECORD_WORDS };
#define IS_RANGE (UINT64_C(1) << 63)

/* Maximum number of open ranges and of open calls; further ones enclose nothing. SEARCH_MAX: innermost ranges that are searched. */
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

/* Sums of a context's visits in the current thread. Times in ns. */
struct visits {
    int64_t calls, api_calls, inclusive;
    int64_t below; /* sum of the children's inclusive times */
    bool own;      /* the context was visited itself, so that `inclusive` is valid */
    bool listed;   /* in `touched` */
};

struct reading {
    struct nsight_model *model;
    struct pf_sorter *sorter;
    uint64_t rows;
    uint64_t rows_of_ranges; /* ranges among `rows` */
    uint64_t process;        /* process of the last call */
    bool processes;          /* the calls belong to more than one process */
    bool exclusive;          /* durations exclude children: visits of imported paths */
    struct visits *visits;   /* by context */
    size_t visits_room;
    uint32_t *
        touched; /* contexts visited in this thread, and their ancestors; all other contexts have zeroed visits */
    size_t n_touched, touched_room;
    struct open_range ranges[OPEN_MAX];
    unsigned n_ranges;
    struct open_call calls[OPEN_MAX];
    unsigned n_calls;
};

/* ---- sorting ------------------------------------------------------------------------------------- */

/* Returns the value, saturated at INT32_MAX, in bits 32 to 62: sorts ascending. */
static uint64_t order_by(uint64_t value)
{
    return (value < INT32_MAX ? value : INT32_MAX) << 32;
}

static int add_range(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct reading *reading = arg;
    struct nsight_model *model = reading->model;
    uint32_t context;
    if (!nsight_is_visit(model->partitions, row))
        return 0;
    reading->rows_of_ranges++;
    int64_t start = pf_sql_int(row, NVTX_START), duration = nsight_duration(model, row);
    if (nsight_path_of_range(model, row, &context, error))
        return -1;
    uint64_t depth = context == PF_NO_CONTEXT ? 0 : model->tree->depth[context];
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = pf_ordered(pf_sql_int(row, NVTX_TID)),
        [START] = pf_ordered(start),
        [ORDER] = IS_RANGE | order_by(depth) | (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [WHAT] = context,
    };
    return pf_sorter_add(reading->sorter, record, error);
}

static int add_call(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct reading *reading = arg;
    struct nsight_model *model = reading->model;
    uint32_t path;
    int64_t thread = pf_sql_int(row, RUNTIME_TID);
    uint64_t process = nsight_process_of(thread);
    reading->processes |= reading->rows > reading->rows_of_ranges && process != reading->process;
    reading->process = process;
    int64_t start = pf_sql_int(row, RUNTIME_START), duration = nsight_duration(model, row);
    if (nsight_path_of_call(model, row, &path, error))
        return -1;
    uint32_t name = nsight_name(model, pf_sql_int(row, RUNTIME_NAME), error);
    if (name == PF_NO_STRING)
        return -1;
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = pf_ordered(thread),
        [START] = pf_ordered(start),
        [ORDER] = order_by(INT32_MAX - (uint64_t)(duration < INT32_MAX ? duration : INT32_MAX)) |
                  (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [NUMBER] = (uint64_t)pf_sql_int(row, RUNTIME_CORRELATION),
        [WHAT] = (uint64_t)name << 32 | path,
    };
    return pf_sorter_add(reading->sorter, record, error);
}

/* ---- visits -------------------------------------------------------------------------------------- */

/* Adds a context and its ancestors to `touched`. */
static int touch(struct reading *reading, uint32_t context, struct pf_error *error)
{
    const uint32_t *parent = reading->model->tree->parent;
    for (; context != PF_NO_CONTEXT && !reading->visits[context].listed; context = parent[context]) {
        if (pf_array_room(&reading->touched, &reading->touched_room, reading->n_touched,
                          sizeof *reading->touched, error))
            return -1;
        reading->touched[reading->n_touched++] = context;
        reading->visits[context].listed = true;
    }
    return 0;
}

static int visit(struct reading *reading, uint32_t context, bool api, int64_t duration,
                 struct pf_error *error)
{
    if (pf_array_reach(&reading->visits, &reading->visits_room, context, sizeof *reading->visits, error) ||
        touch(reading, context, error))
        return -1;
    struct visits *visits = &reading->visits[context];
    visits->calls += !api;
    visits->api_calls += api;
    visits->inclusive = nsight_plus(visits->inclusive, duration);
    visits->own = true;
    return 0;
}

static int add_values(struct reading *reading, uint32_t thread, uint32_t context, int64_t inclusive,
                      struct pf_error *error)
{
    struct nsight_model *model = reading->model;
    const struct visits *visits = &reading->visits[context];
    int64_t exclusive = (int64_t)((uint64_t)inclusive - (uint64_t)visits->below);
    return (visits->calls && nsight_add(model, thread, context, NSIGHT_CALLS, visits->calls, error)) ||
                   nsight_add(model, thread, context, NSIGHT_TIME, exclusive, error) ||
                   nsight_add(model, thread, context, NSIGHT_TIME_INC, inclusive, error) ||
                   (visits->api_calls &&
                    nsight_add(model, thread, context, NSIGHT_API_CALLS, visits->api_calls, error))
               ? -1
               : 0;
}

static int from_highest(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* Adds the values of a thread. Children have higher numbers than their parents, so descending order visits children first. */
static int end_thread(struct reading *reading, uint32_t thread, struct pf_error *error)
{
    const struct pf_tree *tree = reading->model->tree;
    if (reading->n_touched)
        qsort(reading->touched, reading->n_touched, sizeof *reading->touched, from_highest);
    for (size_t i = 0; i < reading->n_touched; i++) {
        uint32_t c = reading->touched[i];
        if (i % ROWS_PER_STEP == ROWS_PER_STEP - 1 && pf_sql_step(reading->model->sql, error))
            return -1;
        struct visits *visits = &reading->visits[c];
        if (visits->own || visits->below) {
            int64_t inclusive = reading->exclusive ? nsight_plus(visits->inclusive, visits->below)
                                : visits->own      ? visits->inclusive
                                                   : visits->below;
            if (add_values(reading, thread, c, inclusive, error))
                return -1;
            if (tree->parent[c] != PF_NO_CONTEXT) {
                int64_t *below = &reading->visits[tree->parent[c]].below;
                *below = nsight_plus(*below, inclusive);
            }
        }
        *visits = (struct visits){0};
    }
    reading->n_touched = 0;
    reading->n_ranges = reading->n_calls = 0;
    return 0;
}

/* ---- ranges and calls in the order of their starts ----------------------------------------------- */

static int take_range(struct reading *reading, const uint64_t *record, struct pf_error *error)
{
    struct open_range range = {pf_signed(record[START]), pf_signed(record[END]), (uint32_t)record[WHAT]};
    if (range.context == PF_NO_CONTEXT)
        return 0;
    while (reading->n_ranges && reading->ranges[reading->n_ranges - 1].end <= range.start)
        reading->n_ranges--;
    if (reading->n_ranges < OPEN_MAX)
        reading->ranges[reading->n_ranges++] = range;
    return visit(reading, range.context, false, range.end - range.start, error);
}

/* Returns the context of the innermost range that encloses a call, or PF_NO_CONTEXT. */
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

/* Returns the open call that encloses a call and has the same path; NULL if there is none. */
static const struct open_call *call_around(struct reading *reading, int64_t start, int64_t end, uint32_t path)
{
    while (reading->n_calls && reading->calls[reading->n_calls - 1].end <= start)
        reading->n_calls--;
    if (!reading->n_calls)
        return NULL;
    const struct open_call *last = &reading->calls[reading->n_calls - 1];
    return end <= last->end && (path == PF_NO_CONTEXT || path == last->found.path) ? last : NULL;
}

/* Returns the context of a call. If a sampled path already ends with the call itself, this is the path's context. */
static uint32_t context_of_call(struct reading *reading, uint32_t path, uint32_t name,
                                const struct open_call *around, struct pf_error *error)
{
    const struct pf_tree *tree = reading->model->tree;
    bool sampled = reading->model->partitions->origin == NSIGHT_SAMPLED;
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
    if (reading->model->partitions->origin == NSIGHT_RANGES)
        found.path = range_around(reading, start, end);
    const struct open_call *around = call_around(reading, start, end, found.path);
    found.call = context_of_call(reading, found.path, name, around, error);
    if (found.call == PF_NO_CONTEXT)
        return -1;
    if (!nsight_is_timed(model, start, end))
        return nsight_lookup_add(&model->calls, process, (int64_t)record[NUMBER], found, error);
    if (visit(reading, found.call, true, end - start, error))
        return -1;
    struct nsight_tally_key key = {.sum = NSIGHT_SUM_API, .path = found.path, .name = name};
    if (!nsight_tally(&model->tallies, &key, end - start, 0, error) ||
        nsight_lookup_add(&model->calls, process, (int64_t)record[NUMBER], found, error))
        return -1;
    if (reading->n_calls < OPEN_MAX)
        reading->calls[reading->n_calls++] = (struct open_call){end, found};
    return 0;
}

static int read_sorted(struct reading *reading, struct pf_error *error)
{
    struct nsight_partitions *partitions = reading->model->partitions;
    const uint64_t *record;
    uint64_t rows = 0, thread = 0, process = 0;
    int more;
    while ((more = pf_sorter_next(reading->sorter, &record, error)) > 0) {
        if (rows++ % ROWS_PER_STEP == 0 && pf_sql_step(reading->model->sql, error))
            return -1;
        if (!partitions->count || record[THREAD] != thread) {
            if ((partitions->count && end_thread(reading, partitions->count - 1, error)) ||
                nsight_add_thread(partitions, record[THREAD], error))
                return -1;
            thread = record[THREAD];
            process = nsight_correlation_process(partitions, pf_signed(thread));
        }
        int failed = record[ORDER] & IS_RANGE ? take_range(reading, record, error)
                                              : take_call(reading, record, process, error);
        if (failed)
            return -1;
    }
    if (more < 0)
        return -1;
    return partitions->count ? end_thread(reading, partitions->count - 1, error) : 0;
}

/* Adds a call of an imported path. The call itself is not in the export, so that its activities become children of the path. */
static int take_imported_call(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct nsight_model *model = arg;
    struct nsight_found found;
    bool call;
    if (nsight_imported_path(model, row, &call, &found.path, error))
        return -1;
    found.call = found.path;
    return call && found.path != PF_NO_CONTEXT
               ? nsight_lookup_add(&model->calls, 0, pf_sql_int(row, RESOLVED_CORRELATION), found, error)
               : 0;
}

static int take_imported_visit(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct reading *reading = arg;
    uint32_t path;
    bool call;
    if (nsight_imported_path(reading->model, row, &call, &path, error))
        return -1;
    return call || path == PF_NO_CONTEXT
               ? 0
               : visit(reading, path, false, pf_sql_int(row, RESOLVED_DURATION), error);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static enum nsight_origin origin_of(const struct reading *reading)
{
    const struct pf_sql *sql = reading->model->sql;
    if (reading->rows_of_ranges)
        return NSIGHT_RANGES;
    if (pf_sql_has_table(sql, NSIGHT_CHAINS) && pf_sql_has(sql, NSIGHT_RUNTIME, RUNTIME_CHAIN))
        return NSIGHT_SAMPLED;
    return pf_sql_has_table(sql, NSIGHT_RESOLVED) ? NSIGHT_IMPORTED : NSIGHT_PATHLESS;
}

/* Each process numbers its correlations from 1. Returns false if the export does not have the process of every activity. */
static bool tells_processes(const struct pf_sql *sql)
{
    for (unsigned table = NSIGHT_KERNEL; table <= NSIGHT_SYNC; table++)
        if (pf_sql_has_table(sql, table) && !pf_sql_has(sql, table, ACTIVITY_PID))
            return false;
    return true;
}

static int read_all(struct reading *reading, struct pf_error *error)
{
    struct nsight_model *model = reading->model;
    struct nsight_partitions *partitions = model->partitions;
    if (pf_strings_count(partitions->domains) &&
        pf_sql_each(model->sql, NSIGHT_NVTX, add_range, reading, error))
        return -1;
    partitions->origin = origin_of(reading);
    if (nsight_read_paths(model, error) || pf_sql_each(model->sql, NSIGHT_RUNTIME, add_call, reading, error))
        return -1;
    partitions->by_process = reading->processes && tells_processes(model->sql);
    if (pf_sorter_finish(reading->sorter, error) || read_sorted(reading, error))
        return -1;
    return (partitions->origin == NSIGHT_IMPORTED &&
            pf_sql_each(model->sql, NSIGHT_RESOLVED, take_imported_call, model, error)) ||
                   nsight_lookup_finish(&model->calls, error)
               ? -1
               : 0;
}

int nsight_read_calls(struct nsight_model *model, struct pf_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return pf_fail_memory(error);
    reading->model = model;
    reading->sorter = pf_sorter_new(RECORD_WORDS, ORDER + 1, model->limit);
    int failed = reading->sorter ? read_all(reading, error) : pf_fail_memory(error);
    pf_sorter_free(reading->sorter);
    free(reading->visits);
    free(reading->touched);
    free(reading);
    return failed;
}

int nsight_read_imported(struct nsight_model *model, struct pf_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return pf_fail_memory(error);
    reading->model = model;
    reading->exclusive = true;
    int failed = pf_sql_each(model->sql, NSIGHT_RESOLVED, take_imported_visit, reading, error) ||
                 end_thread(reading, model->partitions->count - 1, error);
    free(reading->visits);
    free(reading->touched);
    free(reading);
    return failed ? -1 : 0;
}
