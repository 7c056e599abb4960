/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/numbered.h"

/* ---- reading rows of threads ---------------------------------------------------------------------- */

/*
 * The rows of a table are numbered from thread to thread: values in the order of their blocks, cells of the dense tables of 2.x,
 * samples. Only those of one context have other numbers: see column_row.
 */
struct reader {
    struct hpc_state *state;
    /* The thread that it stands in: */
    uint32_t thread;
    uint64_t first, end; /* numbers of its rows; both 0: it stands in none */
    struct pf_window window;
    bool uses_part; /* of 2.x: this file is being read */
    uint32_t part;
    /* The values there that are read: */
    struct hpc_block_walk walk;
    uint64_t group_first, group_end; /* their numbers in the block */
    uint32_t context;
    struct hpc_group group;
    struct hpc_column column; /* of a context, with the group of the thread */
    uint64_t found;           /* 2.x: the number of the last row */
};

static void leave_thread(struct reader *reader)
{
    if (reader->uses_part)
        hpc_part_release(reader->state->parts, reader->part);
    reader->uses_part = false;
    reader->first = reader->end = 0;
}

static void free_reader(void *own)
{
    struct reader *reader = own;
    if (!reader)
        return;
    leave_thread(reader);
    pf_window_close(&reader->window);
    hpc_block_leave(&reader->walk);
    hpc_column_close(&reader->column);
    free(reader->group.values);
    free(reader);
}

/* NULL with *error filled. */
static struct reader *new_reader(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                                 struct pf_error *error)
{
    enum { ROOM = 16 * 1024 };
    struct reader *reader = numbers->own = calloc(1, sizeof *reader);
    if (!reader) {
        pf_fail_memory(error);
        return NULL;
    }
    reader->state = hpc_state(cursor->profile);
    reader->walk.pairs.room = reader->walk.values.room = ROOM;
    reader->window.room = HPC_SAMPLE * 10922;
    return reader;
}

static uint64_t rows_before(const struct hpc_threads *threads, enum hpc_rows what, uint64_t thread)
{
    return thread < threads->count ? threads->items[thread].before[what] : threads->rows[what];
}

/* The rows of the thread that the cursor is restricted to, or of all. */
static int begin_rows(const struct pf_cursor *cursor, struct pf_numbers *numbers, enum hpc_rows what,
                      struct pf_error *error)
{
    const struct reader *reader = new_reader(cursor, numbers, error);
    if (!reader)
        return -1;
    const struct hpc_threads *threads = &reader->state->threads;
    int64_t only = cursor->only.partition;
    numbers->next = only < 0 ? 0 : rows_before(threads, what, (uint64_t)only);
    numbers->end = rows_before(threads, what, only < 0 ? threads->count : (uint64_t)only + 1);
    return 0;
}

/* Makes the thread ready that this row is of. 0, or -1 with *error filled. */
static int enter_thread(struct reader *reader, enum hpc_rows what, uint64_t number, struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    if (number >= reader->first && number < reader->end)
        return 0;
    leave_thread(reader);
    uint32_t low = 0, high = state->threads.count; /* the last one with no more rows before it */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (state->threads.items[middle].before[what] <= number)
            low = middle;
        else
            high = middle;
    }
    const struct hpc_thread *thread = &state->threads.items[low];
    reader->thread = low;
    reader->window.have = 0;
    reader->window.input = state->trace_db;
    hpc_block_enter(&reader->walk, state, HPC_BY_THREAD, &thread->block, 0);
    reader->group_first = reader->group_end = 0;
    if (state->layout == HPC_OLD) {
        reader->part = what == HPC_OF_VALUES ? thread->part : thread->trace_part;
        reader->window.input = hpc_part_use(state->parts, reader->part, error);
        if (!reader->window.input)
            return -1;
        reader->uses_part = true;
    }
    reader->first = thread->before[what];
    reader->end = rows_before(&state->threads, what, (uint64_t)low + 1);
    return 0;
}

/* ---- values and summary of profile.db ------------------------------------------------------------ */

/* Columns of the table "values": thread by thread, in each by ascending context id, in each by ascending metric id. */
enum { THREAD, CONTEXT, METRIC, VALUE, NAME };

static const struct pf_column values_columns[] = {
    [THREAD] = {"thread", PF_PARTITION, 0}, [CONTEXT] = {"context", PF_CONTEXT, 0},
    [METRIC] = {"metric", PF_METRIC, 0},    [VALUE] = {"value", PF_PLAIN, 0},
    [NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static int set_value(const struct pf_cursor *cursor, const struct reader *reader, uint32_t metric,
                     double value, struct pf_cell *cells)
{
    if (!pf_wanted(cursor->only.metric, metric))
        return 0;
    cells[THREAD] = pf_int(reader->thread);
    cells[CONTEXT] = pf_int(reader->context);
    cells[METRIC] = pf_int(metric);
    cells[VALUE] = pf_double(value);
    return 1;
}

/* Reads the values among which number i of the block is that the walk is in, and which are of one context. 0, or -1. */
static int find_group(struct reader *reader, uint64_t i, const struct pf_ids *known, struct pf_error *error)
{
    struct hpc_block_walk *walk = &reader->walk;
    uint32_t id, before;
    uint64_t first, end;
    int more;
    if (i >= reader->group_first && i < reader->group_end)
        return 0;
    if (i != reader->group_end) { /* not the next ones */
        if (hpc_block_find(reader->state, &walk->block, true, i, &before, error))
            return -1;
        hpc_block_enter(walk, reader->state, HPC_BY_THREAD, &walk->block, before - (before > 0));
    }
    while ((more = hpc_block_next(walk, &id, &first, &end, error)) > 0 && end <= i)
        ;
    if (more < 0)
        return -1;
    reader->group.count = 0;
    reader->group_first = i;
    reader->group_end = more ? end : walk->block.n_values;
    if (more && first > i) { /* as in a broken block: these are of no context */
        reader->group_end = first;
        walk->entry--;
        walk->begun = false;
        return 0;
    }
    reader->context = more ? pf_ids_find(&reader->state->model.ids, id) : PF_NO_ID;
    if (reader->context == PF_NO_ID) /* as in a damaged database; told when contexts were read */
        return 0;
    reader->group_first = first;
    return hpc_block_group(walk, first, end, known, &reader->group, error);
}

static int begin_values(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    if (cursor->only.context < 0)
        return begin_rows(cursor, numbers, HPC_OF_VALUES, error);
    const struct reader *reader = new_reader(cursor, numbers, error);
    if (!reader)
        return -1;
    uint64_t only = (uint64_t)cursor->only.partition;
    numbers->next = cursor->only.partition < 0 ? 0 : only * HPC_GROUP_MAX;
    numbers->end = (cursor->only.partition < 0 ? reader->state->threads.count : only + 1) * HPC_GROUP_MAX;
    return 0;
}

/* Of one context each thread has as many numbers as there may be metrics. Makes the next thread ready that has values. */
static int find_thread(const struct pf_cursor *cursor, struct reader *reader, uint32_t thread,
                       struct pf_error *error)
{
    if (!reader->column.state || thread < reader->thread) {
        hpc_column_close(&reader->column);
        reader->context = (uint32_t)cursor->only.context;
        uint32_t id = (uint32_t)cursor->profile->contexts->id[reader->context];
        if (hpc_column_open(&reader->column, reader->state, reader->context, id, thread, error))
            return -1;
    } else if (thread == reader->thread) {
        return 0;
    }
    int more;
    while ((more = hpc_column_next(&reader->column, &reader->thread, &reader->group, error)) > 0 &&
           reader->thread < thread)
        ;
    if (!more)
        reader->thread = UINT32_MAX;
    return more < 0 ? -1 : 0;
}

static int values_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                      struct pf_error *error)
{
    struct reader *reader = own;
    const struct pf_ids *known = &reader->state->metrics.taken.ids;
    uint64_t i = number % HPC_GROUP_MAX;
    if (cursor->only.context >= 0) {
        if (find_thread(cursor, reader, (uint32_t)(number / HPC_GROUP_MAX), error))
            return -1;
        if (reader->thread != number / HPC_GROUP_MAX)
            return 0;
    } else {
        if (enter_thread(reader, HPC_OF_VALUES, number, error) ||
            find_group(reader, number - reader->first, known, error))
            return -1;
        i = number - reader->first - reader->group_first;
    }
    if (i >= reader->group.count)
        return 0;
    const struct hpc_group_value *value = &reader->group.values[i];
    return set_value(cursor, reader, pf_ids_find(known, value->metric), value->value, cells);
}

static uint64_t after_value(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    const struct reader *reader = own;
    uint64_t thread = number / HPC_GROUP_MAX;
    if (cursor->only.context < 0 ||
        (reader->thread == thread && number % HPC_GROUP_MAX + 1 < reader->group.count))
        return number + 1;
    return (reader->thread > thread ? reader->thread : thread + 1) * HPC_GROUP_MAX;
}

static const struct pf_numbered values = {PF_NUMBERED, .begin = begin_values, .row = values_row,
                                          .after = after_value, .free = free_reader};

/* Columns of the table "summary" (and "statistics", which is made of it): by ascending context id, then metric id. */
enum { SUM_CONTEXT, SUM_METRIC, SUM_VALUE, SUM_NAME };

static const struct pf_column summary_columns[] = {
    [SUM_CONTEXT] = {"context", PF_CONTEXT, 0},
    [SUM_METRIC] = {"metric", PF_PLAIN, 0},
    [SUM_VALUE] = {"value", PF_PLAIN, 0},
    [SUM_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static int set_summary(const struct hpc_state *state, uint32_t context, uint64_t metric, double value,
                       struct pf_cell *cells)
{
    cells[SUM_CONTEXT] = pf_int(context);
    cells[SUM_METRIC] = pf_string(state->summary_metrics.items[metric].name);
    cells[SUM_VALUE] = pf_double(value);
    return 1;
}

/* Numbers are those of the block's values, or of the single context's. */
static int begin_summary(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    struct reader *reader = new_reader(cursor, numbers, error);
    if (!reader)
        return -1;
    const struct hpc_block *block = &reader->state->summary;
    uint32_t entry, key;
    hpc_block_enter(&reader->walk, reader->state, HPC_BY_THREAD, block, 0);
    numbers->end = block->n_values;
    if (cursor->only.context < 0)
        return 0;
    uint64_t id = cursor->profile->contexts->id[cursor->only.context];
    numbers->end = 0;
    if (hpc_block_find(reader->state, block, false, id, &entry, error))
        return -1;
    if (!entry)
        return 0;
    hpc_block_enter(&reader->walk, reader->state, HPC_BY_THREAD, block, entry - 1);
    int more = hpc_block_next(&reader->walk, &key, &numbers->next, &numbers->end, error);
    if (more <= 0 || key != id)
        numbers->next = numbers->end = 0;
    reader->group_first = reader->group_end = UINT64_MAX; /* the walk has gone on */
    return more < 0 ? -1 : 0;
}

static int summary_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    (void)cursor;
    struct reader *reader = own;
    const struct pf_ids *known = &reader->state->summary_metrics.taken.ids;
    if (find_group(reader, number, known, error))
        return -1;
    if (number - reader->group_first >= reader->group.count)
        return 0;
    const struct hpc_group_value *value = &reader->group.values[number - reader->group_first];
    return set_summary(reader->state, reader->context, pf_ids_find(known, value->metric), value->value,
                       cells);
}

static const struct pf_numbered summary = {PF_NUMBERED, .begin = begin_summary, .row = summary_row,
                                           .free = free_reader};

static double operand(void *arg, uint32_t id, bool *known)
{
    const struct hpc_group *group = arg;
    for (size_t i = 0; i < group->count; i++)
        if (group->values[i].metric == id) {
            *known = true;
            return group->values[i].value;
        }
    return 0;
}

/*
 * What can be computed from a context's values: each value of the summary has a number for every metric, and those of the
 * first value of a context are rows.
 */
static int begin_statistics(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                            struct pf_error *error)
{
    size_t metrics = hpc_state(cursor->profile)->summary_metrics.count;
    if (begin_summary(cursor, numbers, error))
        return -1;
    numbers->next *= metrics;
    numbers->end *= metrics;
    return 0;
}

static int statistics_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                          struct pf_error *error)
{
    (void)cursor;
    struct reader *reader = own;
    const struct hpc_summary_metrics *metrics = &reader->state->summary_metrics;
    uint64_t first = number / metrics->count, metric = number % metrics->count;
    const char *formula = metrics->items[metric].formula;
    double value;
    bool known;
    if (find_group(reader, first, &metrics->taken.ids, error))
        return -1;
    return formula && reader->group.count && first == reader->group_first &&
                   hpc_formula_value(formula, operand, &reader->group, &value, &known) && known
               ? set_summary(reader->state, reader->context, metric, value, cells)
               : 0;
}

static const struct pf_numbered statistics = {PF_NUMBERED, .begin = begin_statistics, .row = statistics_row,
                                              .free = free_reader};

/* ---- values and summary of 2.x ------------------------------------------------------------------- */

/*
 * A dense table a thread: its row r holds what context r + 1 has, eight bytes a column. Most are zero, which stands for nothing.
 */
enum { CELL = 8, ROOM = 64 * 1024 };

static int begin_dense(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    if (begin_rows(cursor, numbers, HPC_OF_VALUES, error))
        return -1;
    ((struct reader *)numbers->own)->window.room = cursor->only.context < 0 ? ROOM : 0;
    return 0;
}

/* The next value of the table's row that is not zero. */
static int dense_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    struct reader *reader = own;
    const struct hpc_state *state = reader->state;
    reader->found = number;
    if (enter_thread(reader, HPC_OF_VALUES, number, error))
        return -1;
    const struct hpc_thread *thread = &state->threads.items[reader->thread];
    uint64_t cell = number - reader->first, row = cell / thread->columns, end = (row + 1) * thread->columns;
    reader->context = pf_ids_find(&state->model.ids, row + 1);
    bool wanted = reader->context != PF_NO_ID && pf_wanted(cursor->only.context, reader->context);
    for (; cell < end && wanted; cell++) {
        const unsigned char *bytes =
            pf_window_at(&reader->window, thread->block.values + cell * CELL, CELL, error);
        if (!bytes)
            return -1;
        uint32_t metric = pf_ids_find(&state->columns, cell - row * thread->columns);
        double value = hpc_f64(bytes, true);
        reader->found = reader->first + cell;
        if (value != 0 && metric != PF_NO_ID && set_value(cursor, reader, metric, value, cells))
            return 1;
    }
    reader->found = reader->first + end - 1;
    return 0;
}

/* Of one context, the number of its row in this thread, or of the next thread. */
static uint64_t after_dense(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)number;
    const struct reader *reader = own;
    if (cursor->only.context < 0)
        return reader->found + 1;
    const struct hpc_thread *thread = &reader->state->threads.items[reader->thread];
    uint64_t id = cursor->profile->contexts->id[cursor->only.context];
    uint64_t row = reader->first + (id - 1) * thread->columns;
    if (!id || id > thread->block.n_contexts || reader->found + 1 >= row + thread->columns)
        return reader->end;
    return reader->found + 1 > row ? reader->found + 1 : row;
}

static const struct pf_numbered dense = {PF_NUMBERED, .begin = begin_dense, .row = dense_row,
                                         .after = after_dense, .free = free_reader};

/* The number of the first of the summary's values whose context is `context` or a later one. -1 with *error filled. */
static int64_t first_kept(const struct pf_store *store, uint64_t context, struct pf_error *error)
{
    struct hpc_old_value value;
    uint64_t low = 0, high = pf_store_size(store) / sizeof value;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pf_store_read(store, middle * sizeof value, &value, sizeof value, error))
            return -1;
        if (value.context < context)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low;
}

static int begin_kept(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_store *store = hpc_state(cursor->profile)->model.summary;
    int64_t only = cursor->only.context;
    int64_t first = store && only >= 0 ? first_kept(store, (uint64_t)only, error) : 0;
    int64_t end = store ? first_kept(store, only < 0 ? UINT64_MAX : (uint64_t)only + 1, error) : 0;
    numbers->next = (uint64_t)first;
    numbers->end = (uint64_t)end;
    return first < 0 || end < 0 ? -1 : 0;
}

static int kept_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_state *state = hpc_state(cursor->profile);
    struct hpc_old_value value;
    (void)own;
    return pf_store_read(state->model.summary, number * sizeof value, &value, sizeof value, error)
               ? -1
               : set_summary(state, value.context, value.metric, value.value, cells);
}

static const struct pf_numbered kept = {PF_NUMBERED, .begin = begin_kept, .row = kept_row};

/* ---- traces -------------------------------------------------------------------------------------- */

enum { TRACE_THREAD, TRACE_TIME, TRACE_CONTEXT, TRACE_NAME };

static const struct pf_column trace_columns[] = {
    [TRACE_THREAD] = {"thread", PF_PARTITION, 0},
    [TRACE_TIME] = {"time", PF_PLAIN, 0},
    [TRACE_CONTEXT] = {"context", PF_PLAIN, 0},
    [TRACE_NAME] = {"name", PF_PLAIN, 0},
};

static int begin_trace(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    return begin_rows(cursor, numbers, HPC_OF_TRACE, error);
}

/* In ns; absent if that is too large a number. */
static struct pf_cell time_of(const struct hpc_state *state, uint64_t ticks)
{
    enum { SECOND = 1000000000 };
    if (!state->ticks_per_second || state->ticks_per_second == SECOND)
        return pf_uint(ticks);
    pf_int128 ns = (pf_int128)ticks * SECOND / (pf_int128)state->ticks_per_second;
    return ns <= (pf_int128)UINT64_MAX ? pf_uint((uint64_t)ns) : pf_absent();
}

static int trace_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    struct reader *reader = own;
    const struct hpc_state *state = reader->state;
    const struct pf_tree *tree = cursor->profile->contexts;
    if (enter_thread(reader, HPC_OF_TRACE, number, error))
        return -1;
    const struct hpc_thread *thread = &state->threads.items[reader->thread];
    size_t size = thread->data_centric ? HPC_SAMPLE_DATA : HPC_SAMPLE;
    const unsigned char *bytes =
        pf_window_at(&reader->window, thread->trace + (number - reader->first) * size, size, error);
    if (!bytes)
        return -1;
    const struct pf_ids *ids = state->layout == HPC_OLD ? &state->model.traced : &state->model.ids;
    uint32_t id = pf_u32(bytes + 8, state->big_endian), context = pf_ids_find(ids, id);
    bool known = context != PF_NO_ID;
    cells[TRACE_THREAD] = pf_int(reader->thread);
    cells[TRACE_TIME] = time_of(state, pf_u64(bytes, state->big_endian));
    cells[TRACE_CONTEXT] = pf_uint(known ? tree->id[context] : id);
    cells[TRACE_NAME] = known ? pf_interned(tree->strings, tree->name[context]) : pf_absent();
    return 1;
}

static const struct pf_numbered trace = {PF_NUMBERED, .begin = begin_trace, .row = trace_row,
                                         .free = free_reader};

/* ---- modules, files, functions ----------------------------------------------------------------------- */

static const struct pf_column module_columns[] = {{"id", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column file_columns[] = {
    {"id", PF_PLAIN, 0}, {"copied", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column function_columns[] = {{"id", PF_PLAIN, 0},     {"line", PF_PLAIN, 0},
                                                    {"offset", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0},   {"module", PF_PLAIN, 0}};

static int begin_list(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    (void)error;
    numbers->end = hpc_state(cursor->profile)->model.lists[cursor->table->user].count;
    return 0;
}

static int list_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_item *item = &hpc_state(cursor->profile)->model.lists[cursor->table->user].items[number];
    const struct pf_strings *strings = cursor->profile->contexts->strings;
    struct pf_cell name = pf_interned(strings, item->name);
    (void)own, (void)error;
    cells[0] = pf_uint(item->id);
    if (cursor->table->user == HPC_MODULES) {
        cells[1] = name;
    } else if (cursor->table->user == HPC_FILES) {
        cells[1] = pf_uint(item->copied);
        cells[2] = name;
    } else {
        cells[1] = item->line ? pf_uint(item->line) : pf_absent();
        cells[2] = item->offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(item->offset);
        cells[3] = name;
        cells[4] = pf_interned(strings, item->file);
        cells[5] = pf_interned(strings, item->module);
    }
    return 1;
}

static const struct pf_numbered list = {PF_NUMBERED, .begin = begin_list, .row = list_row};

/* ---- all of them --------------------------------------------------------------------------------- */

static const struct pf_column summary_metric_columns[HPC_SUMMARY_METRIC_COLUMNS] = {
    {"id", PF_PLAIN, 0},      {"name", PF_PLAIN, 0},    {"unit", PF_PLAIN, 0},        {"scope", PF_PLAIN, 0},
    {"formula", PF_PLAIN, 0}, {"combine", PF_PLAIN, 0}, {"description", PF_PLAIN, 0},
};

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array), .stage = PF_MODELLED
#define BY_THREAD      (PF_BY_PARTITION | PF_SEEKS_PARTITION)

static const struct pf_table all_tables[] = {
    {"values", COLUMNS(values_columns), .flags = BY_THREAD | PF_SEEKS_CONTEXT, .ops = &values.ops},
    {"trace", COLUMNS(trace_columns), .flags = BY_THREAD, .ops = &trace.ops},
    {"summary", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &summary.ops},
    {"summary_metrics", COLUMNS(summary_metric_columns)},
    {"modules", COLUMNS(module_columns), .ops = &list.ops, .user = HPC_MODULES},
    {"files", COLUMNS(file_columns), .ops = &list.ops, .user = HPC_FILES},
    {"functions", COLUMNS(function_columns), .ops = &list.ops, .user = HPC_FUNCTIONS},
    {"statistics", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &statistics.ops},
};
enum { VALUES_TABLE, SUMMARY_TABLE = 2, SUMMARY_METRICS, TABLES = sizeof all_tables / sizeof *all_tables };

int hpc_set_tables(struct pf_profile *profile, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct pf_table *tables = state->tables = malloc(sizeof all_tables);
    if (!tables)
        return pf_fail_memory(error);
    memcpy(tables, all_tables, sizeof all_tables);
    tables[SUMMARY_METRICS].stage = PF_OPENED;
    tables[SUMMARY_METRICS].rows = &state->summary_metrics.rows;
    /* The index from contexts to threads' blocks, where cct.db is of no use. */
    if (state->profile_db)
        tables[VALUES_TABLE].context_stage = PF_DERIVED;
    if (state->layout == HPC_OLD) { /* its values and summary are read otherwise */
        tables[VALUES_TABLE].ops = &dense.ops;
        tables[SUMMARY_TABLE].ops = &kept.ops;
    }
    profile->tables = profile->cells = tables;
    profile->n_tables =
        TABLES - (state->layout != HPC_XML4); /* it alone has statistics, which are not stored */
    profile->cells_value = VALUE;
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->context_columns = hpc_context_columns;
    profile->n_context_columns = HPC_CONTEXT_COLUMNS;
    profile->context_cells = hpc_context_cells;
    profile->metrics = state->metrics.items;
    profile->n_metrics = state->metrics.count;
    profile->metrics_stage = PF_OPENED;
    profile->time_unit = "ns";
    profile->src = "src";
    return 0;
}
