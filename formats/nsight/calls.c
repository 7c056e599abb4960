/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/nsight/nsight.h"

/*
 * Reads the function visits and API calls of the CPU, thread by thread in order of start time. A function visit is an
 * NVTX range. The path of an API call is that of the innermost range that encloses the call, unless paths come from
 * another source. A call's context is a child of its path's context. But functions of the CUDA runtime call functions
 * of the driver: if another API call encloses a call whose path is unknown or the same, the inner call's context is a
 * child of the outer one's.
 *
 * Durations in the export are inclusive, except those of imported paths. A context's exclusive time is its inclusive
 * time minus the inclusive times of its children.
 */

/*
 * A record of the sorter holds a range or a call. These are its words; the first three are the sort key. Of records
 * with equal starts, calls come before ranges, because a range encloses only what starts after it. Of these calls, the
 * longest comes first, and of these ranges, the one with the shortest path. WHAT is the context of a range's path. In
 * calls, it has the name in the upper half and the context of the path in the lower one.
 */
enum { THREAD, START, ORDER, END, CORRELATION, WHAT, RECORD_WORDS };
#define IS_RANGE (UINT64_C(1) << 63)

/*
 * Ranges or calls that start while OPEN_MAX others are open are taken to enclose nothing. To find the range around a call, only the
 * innermost SEARCH_MAX open ranges are searched.
 */
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

/* Sums of the visits and API calls of a context in the current thread. Times are in ns. */
struct visits {
    int64_t calls, api_calls, inclusive; /* `inclusive`: total duration of the visits and API calls */
    int64_t below;                       /* sum of the children's inclusive times */
    bool visited;                        /* the context itself was visited, so `inclusive` is valid */
    bool listed;                         /* the context is in `touched` */
};

struct calls_reading {
    struct nsight_pass *pass;
    struct pf_sorter *sorter;
    uint64_t rows;
    uint64_t rows_of_ranges;       /* number of ranges among `rows` */
    uint64_t process;              /* process of the last call */
    bool several_processes;        /* the calls belong to more than one process */
    bool exclusive;                /* durations are exclusive, as in imported paths */
    PF_LIST(struct visits) visits; /* by context */
    /* Contexts that were visited in this thread, and their ancestors. The `visits` of all other contexts are zero. */
    PF_LIST(uint32_t) touched;
    struct open_range ranges[OPEN_MAX];
    unsigned n_ranges;
    struct open_call calls[OPEN_MAX];
    unsigned n_calls;
};

/* ---- sorting ------------------------------------------------------------------------------------- */

/* Returns the word ORDER for sorting by a value up to INT32_MAX; larger values count as INT32_MAX. The word's lower half is 0. */
static uint64_t order_by(uint64_t value)
{
    return (value < INT32_MAX ? value : INT32_MAX) << 32;
}

static void add_record(struct calls_reading *reading, const uint64_t record[RECORD_WORDS])
{
    struct pf_run *run = reading->pass->build->run;
    pf_run_check(run, pf_sorter_add(reading->sorter, record, run->error));
}

static void add_range(void *arg, struct pf_sql_row *row)
{
    struct calls_reading *reading = arg;
    struct nsight_pass *pass = reading->pass;
    if (!nsight_is_visit(&pass->partitions, row))
        return;
    reading->rows_of_ranges++;
    int64_t start = pf_sql_int(row, NVTX_START), duration = nsight_duration(pass, row);
    uint32_t context = nsight_path_of_range(pass, row);
    uint64_t depth = context == PF_NO_CONTEXT ? 0 : pass->build->model->contexts->depth[context];
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = pf_ordered(pf_sql_int(row, NVTX_TID)),
        [START] = pf_ordered(start),
        [ORDER] = IS_RANGE | order_by(depth) | (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [WHAT] = context,
    };
    add_record(reading, record);
}

static void add_call(void *arg, struct pf_sql_row *row)
{
    struct calls_reading *reading = arg;
    struct nsight_pass *pass = reading->pass;
    int64_t thread = pf_sql_int(row, RUNTIME_TID);
    uint64_t process = nsight_process_of(thread);
    reading->several_processes |= reading->rows > reading->rows_of_ranges && process != reading->process;
    reading->process = process;
    int64_t start = pf_sql_int(row, RUNTIME_START), duration = nsight_duration(pass, row);
    uint32_t path = nsight_path_of_call(pass, row);
    uint64_t name = nsight_name(pass, pf_sql_int(row, RUNTIME_NAME));
    uint64_t record[RECORD_WORDS] = {
        [THREAD] = pf_ordered(thread),
        [START] = pf_ordered(start),
        [ORDER] = order_by(INT32_MAX - (uint64_t)(duration < INT32_MAX ? duration : INT32_MAX)) |
                  (uint32_t)reading->rows++,
        [END] = pf_ordered(start + duration),
        [CORRELATION] = (uint64_t)pf_sql_int(row, RUNTIME_CORRELATION),
        [WHAT] = name << 32 | path,
    };
    add_record(reading, record);
}

/* ---- visits -------------------------------------------------------------------------------------- */

/* Adds a context and its ancestors to `touched`. */
static void touch(struct calls_reading *reading, uint32_t context)
{
    const struct nsight_pass *pass = reading->pass;
    const uint32_t *parent = pass->build->model->contexts->parent;
    for (; context != PF_NO_CONTEXT && !reading->visits.at[context].listed; context = parent[context]) {
        *PF_PUSH(pass->build->run, reading->touched) = context;
        reading->visits.at[context].listed = true;
    }
}

static void visit(struct calls_reading *reading, uint32_t context, bool api, int64_t duration)
{
    struct visits *visits = PF_ITEM(reading->pass->build->run, reading->visits, context);
    touch(reading, context);
    visits->calls += !api;
    visits->api_calls += api;
    visits->inclusive = nsight_plus(visits->inclusive, duration);
    visits->visited = true;
}

static void add_call_values(struct nsight_pass *pass, const struct visits *visits, uint32_t thread,
                            uint32_t context, int64_t inclusive)
{
    if (visits->calls)
        nsight_add(pass, thread, context, NSIGHT_CALLS, visits->calls);
    nsight_add(pass, thread, context, NSIGHT_TIME, (int64_t)((uint64_t)inclusive - (uint64_t)visits->below));
    nsight_add(pass, thread, context, NSIGHT_TIME_INC, inclusive);
    if (visits->api_calls)
        nsight_add(pass, thread, context, NSIGHT_API_CALLS, visits->api_calls);
}

static int from_highest(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/*
 * Adds the values of the current thread, and clears its visits. The times of a context need those of its children, which have
 * higher numbers. So the loop goes from the highest context down.
 */
static void end_thread(struct calls_reading *reading)
{
    struct nsight_pass *pass = reading->pass;
    const uint32_t *parent = pass->build->model->contexts->parent;
    uint32_t thread = (uint32_t)pass->partitions.keys.n - 1;
    if (reading->touched.n)
        qsort(reading->touched.at, reading->touched.n, sizeof *reading->touched.at, from_highest);
    for (size_t i = 0; i < reading->touched.n; i++) {
        uint32_t c = reading->touched.at[i];
        if (i % ROWS_PER_STEP == ROWS_PER_STEP - 1)
            pf_sql_step(pass->build->run, pass->sql);
        struct visits *visits = &reading->visits.at[c];
        if (visits->visited || visits->below) {
            int64_t inclusive = reading->exclusive ? nsight_plus(visits->inclusive, visits->below)
                                : visits->visited  ? visits->inclusive
                                                   : visits->below;
            add_call_values(pass, visits, thread, c, inclusive);
            if (parent[c] != PF_NO_CONTEXT) {
                int64_t *below = &reading->visits.at[parent[c]].below;
                *below = nsight_plus(*below, inclusive);
            }
        }
        *visits = (struct visits){0};
    }
    reading->touched.n = 0;
    reading->n_ranges = reading->n_calls = 0;
}

/* ---- ranges and calls in the order of their starts ----------------------------------------------- */

static void take_range(struct calls_reading *reading, const uint64_t *record)
{
    struct open_range range = {pf_signed(record[START]), pf_signed(record[END]), (uint32_t)record[WHAT]};
    if (range.context == PF_NO_CONTEXT)
        return;
    while (reading->n_ranges && reading->ranges[reading->n_ranges - 1].end <= range.start)
        reading->n_ranges--;
    if (reading->n_ranges < OPEN_MAX)
        reading->ranges[reading->n_ranges++] = range;
    visit(reading, range.context, false, range.end - range.start);
}

/* Returns the context of the innermost range that encloses a call, or PF_NO_CONTEXT. */
static uint32_t range_around(struct calls_reading *reading, int64_t start, int64_t end)
{
    while (reading->n_ranges && reading->ranges[reading->n_ranges - 1].end <= start)
        reading->n_ranges--;
    unsigned least = reading->n_ranges > SEARCH_MAX ? reading->n_ranges - SEARCH_MAX : 0;
    for (unsigned i = reading->n_ranges; i-- > least;)
        if (reading->ranges[i].start < start && end < reading->ranges[i].end)
            return reading->ranges[i].context;
    return PF_NO_CONTEXT;
}

/* Returns the innermost open call if it encloses a call from `start` to `end`, and `path` is PF_NO_CONTEXT or the
 * open call's path. Otherwise returns NULL. */
static const struct open_call *call_around(struct calls_reading *reading, int64_t start, int64_t end,
                                           uint32_t path)
{
    while (reading->n_calls && reading->calls[reading->n_calls - 1].end <= start)
        reading->n_calls--;
    if (!reading->n_calls)
        return NULL;
    const struct open_call *last = &reading->calls[reading->n_calls - 1];
    return end <= last->end && (path == PF_NO_CONTEXT || path == last->found.path) ? last : NULL;
}

/* Returns the context of an API call: a child of the context of `around`, the enclosing call, if there is one;
 * `path` if it is sampled and ends with the call itself; otherwise a child of `path`. */
static uint32_t context_of_call(struct nsight_pass *pass, uint32_t path, uint32_t name,
                                const struct open_call *around)
{
    bool sampled = pass->partitions.origin == NSIGHT_SAMPLED;
    if (around)
        return nsight_child(pass, around->found.call, NSIGHT_KIND_API, name);
    if (sampled && path != PF_NO_CONTEXT && pass->build->model->contexts->name[path] == name)
        return path;
    return nsight_child(pass, path, NSIGHT_KIND_API, name);
}

static void take_call(struct calls_reading *reading, const uint64_t *record, uint64_t process)
{
    struct nsight_pass *pass = reading->pass;
    int64_t start = pf_signed(record[START]), end = pf_signed(record[END]);
    uint32_t name = (uint32_t)(record[WHAT] >> 32);
    struct nsight_found found = {.path = (uint32_t)record[WHAT]};
    if (pass->partitions.origin == NSIGHT_RANGES)
        found.path = range_around(reading, start, end);
    found.call = context_of_call(pass, found.path, name, call_around(reading, start, end, found.path));
    nsight_lookup_add(pass->build->run, &pass->calls, process, (int64_t)record[CORRELATION], found);
    if (!nsight_is_timed(pass, start, end))
        return;
    visit(reading, found.call, true, end - start);
    struct nsight_tally_key key = {.sum = NSIGHT_SUM_API, .path = found.path, .name = name};
    nsight_tally(pass, &key, end - start, 0);
    if (reading->n_calls < OPEN_MAX)
        reading->calls[reading->n_calls++] = (struct open_call){end, found};
}

static void read_sorted(struct calls_reading *reading)
{
    struct nsight_pass *pass = reading->pass;
    struct pf_run *run = pass->build->run;
    const struct nsight_partitions *partitions = &pass->partitions;
    const uint64_t *record;
    uint64_t rows = 0, thread = 0, process = 0;
    while (pf_run_check(run, pf_sorter_next(reading->sorter, &record, run->error))) {
        if (rows++ % ROWS_PER_STEP == 0)
            pf_sql_step(run, pass->sql);
        if (!partitions->keys.n || record[THREAD] != thread) {
            if (partitions->keys.n)
                end_thread(reading);
            thread = record[THREAD];
            nsight_add_thread(pass, thread);
            process = nsight_correlation_process(partitions, pf_signed(thread));
        }
        if (record[ORDER] & IS_RANGE)
            take_range(reading, record);
        else
            take_call(reading, record, process);
    }
    if (partitions->keys.n)
        end_thread(reading);
}

/* Adds a call of an imported path. The call has no context of its own, so its activities become children of the
 * path's context. */
static void take_imported_call(void *arg, struct pf_sql_row *row)
{
    struct nsight_pass *pass = arg;
    bool call;
    uint32_t path = nsight_imported_path(pass, row, &call);
    if (call && path != PF_NO_CONTEXT)
        nsight_lookup_add(pass->build->run, &pass->calls, 0, pf_sql_int(row, RESOLVED_CORRELATION),
                          (struct nsight_found){path, path});
}

static void take_imported_visit(void *arg, struct pf_sql_row *row)
{
    struct calls_reading *reading = arg;
    bool call;
    uint32_t path = nsight_imported_path(reading->pass, row, &call);
    if (!call && path != PF_NO_CONTEXT)
        visit(reading, path, false, pf_sql_int(row, RESOLVED_DURATION));
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static enum nsight_origin origin_of(const struct calls_reading *reading)
{
    const struct pf_sql *sql = reading->pass->sql;
    if (reading->rows_of_ranges)
        return NSIGHT_RANGES;
    if (pf_sql_has_table(sql, NSIGHT_CHAINS) && pf_sql_has(sql, NSIGHT_RUNTIME, RUNTIME_CHAIN))
        return NSIGHT_SAMPLED;
    return pf_sql_has_table(sql, NSIGHT_RESOLVED) ? NSIGHT_IMPORTED : NSIGHT_PATHLESS;
}

/* Returns true if all tables of activities have a column for the process. Each process numbers its correlations from 1. */
static bool activities_have_processes(const struct pf_sql *sql)
{
    for (unsigned table = NSIGHT_KERNEL; table <= NSIGHT_SYNC; table++)
        if (pf_sql_has_table(sql, table) && !pf_sql_has(sql, table, ACTIVITY_PID))
            return false;
    return true;
}

void nsight_read_calls(struct nsight_pass *pass)
{
    struct pf_run *run = pass->build->run;
    struct nsight_partitions *partitions = &pass->partitions;
    struct calls_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free);
    reading->pass = pass;
    reading->sorter = PF_OWN(run, pf_sorter_new(RECORD_WORDS, ORDER + 1, pass->limit), pf_sorter_free);
    if (pf_strings_count(partitions->domains))
        pf_sql_each(run, pass->sql, NSIGHT_NVTX, add_range, reading);
    partitions->origin = origin_of(reading);
    nsight_read_paths(pass);
    pf_sql_each(run, pass->sql, NSIGHT_RUNTIME, add_call, reading);
    partitions->by_process = reading->several_processes && activities_have_processes(pass->sql);
    pf_run_check(run, pf_sorter_finish(reading->sorter, run->error));
    read_sorted(reading);
    pf_sorter_free(pf_disown(run, reading->sorter));
    if (partitions->origin == NSIGHT_IMPORTED)
        pf_sql_each(run, pass->sql, NSIGHT_RESOLVED, take_imported_call, pass);
    nsight_lookup_finish(run, &pass->calls);
}

void nsight_read_imported(struct nsight_pass *pass)
{
    struct calls_reading *reading = PF_OWN(pass->build->run, calloc(1, sizeof *reading), free);
    reading->pass = pass;
    reading->exclusive = true;
    pf_sql_each(pass->build->run, pass->sql, NSIGHT_RESOLVED, take_imported_visit, reading);
    end_thread(reading);
}
