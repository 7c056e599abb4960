/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/hpctoolkit/read.h"
#include "formats/runtime/numbered.h"

/* ---- reading what threads have ------------------------------------------------------------------------ */

/* Cursor state for values and samples. Entries (contexts with values) and samples have numbers across threads: enum hpc_rows. */
struct reader {
    struct hpc_state *state;
    /* The current thread: */
    uint32_t thread;
    uint64_t first, end; /* range of its entries or samples; both 0: no current thread */
    struct pf_window window;
    struct pf_input *part; /* 2.x: the file of its values or its trace; NULL: none */
    /* The entry whose values `group` holds, of a thread or of the summary: */
    uint64_t entry; /* PF_NO_NUMBER: none */
    struct hpc_block_reader blocks;
    uint32_t context;
    struct hpc_group group;
    const struct pf_ids *metrics; /* selected metrics: id, or column in 2.x -> index */
    struct pf_ids own_metrics;    /* backs `metrics` if not all metrics are selected */
};

static void leave_thread(struct reader *reader)
{
    if (reader->part)
        hpc_part_release(reader->part);
    reader->part = NULL;
    reader->first = reader->end = 0;
}

static void free_reader(void *own)
{
    struct reader *reader = own;
    if (!reader)
        return;
    leave_thread(reader);
    pf_window_close(&reader->window);
    hpc_block_reader_close(&reader->blocks);
    free(reader->group.values);
    pf_ids_free(&reader->own_metrics);
    free(reader);
}

/* room: size of the read windows in bytes. NULL with *error filled. */
static struct reader *new_reader(const struct pf_cursor *cursor, struct pf_numbers *numbers, size_t room,
                                 struct pf_error *error)
{
    struct reader *reader = numbers->own = calloc(1, sizeof *reader);
    if (!reader) {
        pf_fail_memory(error);
        return NULL;
    }
    reader->state = hpc_state(cursor->model);
    reader->window.room = room;
    reader->blocks.state = reader->state;
    reader->blocks.pairs = reader->blocks.values =
        (struct pf_window){.input = reader->state->profile_db, .room = room};
    reader->entry = PF_NO_NUMBER;
    return reader;
}

static uint64_t rows_before(const struct hpc_threads *threads, enum hpc_rows what, uint64_t thread)
{
    return thread < threads->count ? threads->items[thread].before[what] : threads->rows[what];
}

/* Restricts the cursor to the rows of its thread, or to those of all threads. */
static int begin_rows(const struct pf_cursor *cursor, struct pf_numbers *numbers, enum hpc_rows what,
                      size_t room, struct pf_error *error)
{
    const struct reader *reader = new_reader(cursor, numbers, room, error);
    if (!reader)
        return -1;
    const struct hpc_threads *threads = &reader->state->threads;
    int64_t only = cursor->only.partition;
    numbers->next = only < 0 ? 0 : rows_before(threads, what, (uint64_t)only);
    numbers->end = rows_before(threads, what, only < 0 ? threads->count : (uint64_t)only + 1);
    return 0;
}

/* The thread that owns a row number, by binary search. */
static uint32_t thread_of(const struct hpc_threads *threads, enum hpc_rows what, uint64_t number)
{
    uint32_t low = 0, high = threads->count; /* invariant: before[low] <= number */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (threads->items[middle].before[what] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Makes the thread that owns a row number the current one. Returns 0, or -1 with *error filled. */
static int enter_thread(struct reader *reader, enum hpc_rows what, uint64_t number, struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    if (number >= reader->first && number < reader->end)
        return 0;
    leave_thread(reader);
    reader->thread = thread_of(&state->threads, what, number);
    const struct hpc_thread *thread = &state->threads.items[reader->thread];
    reader->window.have = 0;
    reader->window.input = state->trace_db;
    if (state->layout == HPC_OLD) {
        uint32_t part = what == HPC_OF_VALUES ? thread->part : thread->trace_part;
        reader->window.input = reader->part = hpc_part_use(state->parts, part, error);
        if (!reader->part)
            return -1;
    }
    reader->first = thread->before[what];
    reader->end = rows_before(&state->threads, what, (uint64_t)reader->thread + 1);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------------- */

/*
 * A row number of values is the entry's number, shifted left by VALUE_BITS, plus the index of the value in the entry.
 * Metric ids have 16 bits, so the index fits.
 */
enum { VALUE_BITS = 16 };

/*
 * The number of the next row: in the same entry if it has more than the current one of its `rows` rows, otherwise the
 * first of the next entry.
 */
static uint64_t row_after(uint64_t number, uint64_t rows)
{
    uint64_t entry = number >> VALUE_BITS, next = (number & ((1 << VALUE_BITS) - 1)) + 1;
    return next < rows ? number + 1 : (entry + 1) << VALUE_BITS;
}

/* Columns of the table "values": sorted by thread, then context id, then metric id. */
enum { THREAD, CONTEXT, METRIC, VALUE, NAME };

static const struct pf_column values_columns[] = {
    [THREAD] = {"thread", PF_PARTITION, 0}, [CONTEXT] = {"context", PF_CONTEXT, 0},
    [METRIC] = {"metric", PF_METRIC, 0},    [VALUE] = {"value", PF_PLAIN, 0},
    [NAME] = {"name", PF_CONTEXT_NAME, 0},
};

/* Selects the cursor's metrics. Returns 0, or -1 with *error filled. */
static int choose_metrics(const struct pf_cursor *cursor, struct reader *reader, struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    const struct hpc_metrics *metrics = &state->metrics;
    int64_t only = cursor->only.metric;
    bool dense = state->layout == HPC_OLD;
    reader->metrics = dense ? &state->columns : &metrics->taken.ids;
    if (only < 0 || (uint64_t)only >= metrics->count)
        return 0;
    int64_t partner = cursor->partner ? metrics->items[only].partner : PF_NO_PARTNER;
    for (uint64_t id = 0; id < 1 << VALUE_BITS; id++) {
        uint32_t metric = pf_ids_find(reader->metrics, id);
        if (metric != PF_NO_ID && (metric == only || metric == partner) &&
            pf_ids_add(&reader->own_metrics, id, metric, error) < 0)
            return -1;
    }
    reader->metrics = &reader->own_metrics;
    return 0;
}

static int begin_values(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    enum {
        ROOM = 64 * 1024,
        ALONE = 1
    }; /* values of one context are scattered over the file: no read-ahead */
    if (begin_rows(cursor, numbers, HPC_OF_VALUES, cursor->only.context < 0 ? ROOM : ALONE, error))
        return -1;
    numbers->next <<= VALUE_BITS;
    numbers->end <<= VALUE_BITS;
    return choose_metrics(cursor, numbers->own, error);
}

/*
 * Reads entry i of a thread of 2.x: row i of its dense table, one double per column, holds the values of context i + 1.
 * Zero means no value.
 */
static int read_dense(struct reader *reader, const struct hpc_thread *thread, uint64_t i,
                      struct pf_error *error)
{
    enum { CELL = 8, COLUMNS_MAX = 1 << VALUE_BITS };
    const struct hpc_state *state = reader->state;
    uint32_t columns = thread->columns < COLUMNS_MAX ? thread->columns : COLUMNS_MAX;
    const unsigned char *cells = pf_window_at(
        &reader->window, thread->block.values + i * thread->columns * CELL, (size_t)columns * CELL, error);
    if (!cells)
        return -1;
    reader->group.count = 0;
    reader->context = pf_ids_find(&state->model.ids, i + 1);
    for (uint32_t column = 0; column < columns && reader->context != PF_NO_ID; column++) {
        double value = pf_f64(cells + (size_t)column * CELL, true);
        uint32_t metric = value != 0 ? pf_ids_find(reader->metrics, column) : PF_NO_ID;
        if (metric != PF_NO_ID && hpc_group_add(&reader->group, column, metric, value, error))
            return -1;
    }
    return 0;
}

/* Finds a thread's entry of a context id; *entry is n_contexts if there is none. Returns 0, or -1 with *error filled. */
static int find_in_thread(const struct hpc_state *state, const struct hpc_thread *thread, uint64_t id,
                          uint32_t *entry, struct pf_error *error)
{
    if (state->layout != HPC_OLD)
        return hpc_block_find(state, &thread->block, id, entry, error);
    *entry = id && id <= thread->block.n_contexts ? (uint32_t)id - 1 : thread->block.n_contexts;
    return 0;
}

/*
 * Finds the first entry of the cursor's context from *entry on; *entry becomes `end` if there is none. Returns 0, or -1
 * with *error filled.
 */
static int find_of_context(const struct pf_cursor *cursor, const struct reader *reader, uint64_t end,
                           uint64_t *entry, struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    const struct hpc_threads *threads = &state->threads;
    uint64_t from = *entry, id = cursor->model->contexts->id[cursor->only.context];
    if (state->index.next) {
        *entry = hpc_index_find(&state->index, (uint32_t)cursor->only.context, reader->entry, from);
        *entry = *entry < end ? *entry : end;
        return 0;
    }
    for (uint32_t i = thread_of(threads, HPC_OF_VALUES, from); rows_before(threads, HPC_OF_VALUES, i) < end;
         i++) {
        uint32_t found;
        if (find_in_thread(state, &threads->items[i], id, &found, error))
            return -1;
        *entry = threads->items[i].before[HPC_OF_VALUES] + found;
        if (found < threads->items[i].block.n_contexts && *entry >= from)
            return 0;
    }
    *entry = end;
    return 0;
}

/* Fills the group with the values of an entry; if the cursor is restricted to a context, of that context's next entry. */
static int find_entry(const struct pf_cursor *cursor, struct reader *reader, uint64_t entry,
                      struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    uint64_t end = pf_numbers_of(cursor)->end >> VALUE_BITS;
    if (entry == reader->entry)
        return 0;
    if (cursor->only.context >= 0 && find_of_context(cursor, reader, end, &entry, error))
        return -1;
    reader->entry = entry;
    reader->group.count = 0;
    if (entry == end)
        return 0;
    if (enter_thread(reader, HPC_OF_VALUES, entry, error))
        return -1;
    const struct hpc_thread *thread = &state->threads.items[reader->thread];
    entry -= reader->first;
    return state->layout == HPC_OLD
               ? read_dense(reader, thread, entry, error)
               : hpc_block_group(&reader->blocks, &thread->block, (uint32_t)entry, reader->metrics,
                                 &reader->context, &reader->group, error);
}

static int values_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                      struct pf_error *error)
{
    struct reader *reader = own;
    uint64_t entry = number >> VALUE_BITS, i = number & ((1 << VALUE_BITS) - 1);
    if (find_entry(cursor, reader, entry, error))
        return -1;
    if (reader->entry != entry || i >= reader->group.count)
        return 0;
    cells[THREAD] = pf_int(reader->thread);
    cells[CONTEXT] = pf_int(reader->context);
    cells[METRIC] = pf_int(reader->group.values[i].metric);
    cells[VALUE] = pf_double(reader->group.values[i].value);
    return 1;
}

static uint64_t after_value(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    const struct reader *reader = own;
    return reader->entry > number >> VALUE_BITS ? reader->entry << VALUE_BITS
                                                : row_after(number, reader->group.count);
}

static const struct pf_numbered values = {PF_NUMBERED, .begin = begin_values, .row = values_row,
                                          .after = after_value, .free = free_reader};

/* ---- the summary ------------------------------------------------------------------------------------- */

/* Columns of the tables "summary" and "statistics" (computed from the former): sorted by context id, then metric id. */
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
    cells[SUM_METRIC] = pf_rows_at(state->summary_metrics.rows, metric)[HPC_SUMMARY_NAME];
    cells[SUM_VALUE] = pf_double(value);
    return 1;
}

/* Row numbers are those of the table "values", in the summary's block. */
static int begin_summary(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    enum { ROOM = 16 * 1024 };
    int64_t only = cursor->only.context;
    const struct reader *reader = new_reader(cursor, numbers, ROOM, error);
    if (!reader)
        return -1;
    const struct hpc_block *block = &reader->state->summary;
    uint32_t entry = 0;
    if (only >= 0 && hpc_block_find(reader->state, block, cursor->model->contexts->id[only], &entry, error))
        return -1;
    numbers->next = (uint64_t)entry << VALUE_BITS;
    numbers->end = (uint64_t)(only < 0 ? block->n_contexts : entry + (entry < block->n_contexts))
                   << VALUE_BITS;
    return 0;
}

/* Fills the group with the values of this row's entry. Returns the row's index in the entry, or -1 with *error filled. */
static int64_t enter_summary(struct reader *reader, uint64_t number, struct pf_error *error)
{
    uint64_t entry = number >> VALUE_BITS;
    if (entry != reader->entry &&
        hpc_block_group(&reader->blocks, &reader->state->summary, (uint32_t)entry,
                        &reader->state->summary_metrics.taken.ids, &reader->context, &reader->group, error))
        return -1;
    reader->entry = entry;
    return (int64_t)(number & ((1 << VALUE_BITS) - 1));
}

static int summary_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    (void)cursor;
    struct reader *reader = own;
    int64_t i = enter_summary(reader, number, error);
    if (i < 0 || (size_t)i >= reader->group.count)
        return i < 0 ? -1 : 0;
    const struct hpc_group_value *value = &reader->group.values[i];
    return set_summary(reader->state, reader->context, value->metric, value->value, cells);
}

static uint64_t after_summary(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    const struct reader *reader = own;
    return row_after(number, reader->group.count);
}

static const struct pf_numbered summary = {PF_NUMBERED, .begin = begin_summary, .row = summary_row,
                                           .after = after_summary, .free = free_reader};

static double operand(void *arg, uint32_t id, bool *known)
{
    const struct hpc_group *group = arg;
    for (size_t i = 0; i < group->count; i++)
        if (group->values[i].id == id) {
            *known = true;
            return group->values[i].value;
        }
    return 0;
}

/* Computes the derived metrics of a context from its values: each entry has one row number per metric. */
static int statistics_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                          struct pf_error *error)
{
    (void)cursor;
    struct reader *reader = own;
    const struct pf_rows *metrics = reader->state->summary_metrics.rows;
    int64_t metric = enter_summary(reader, number, error);
    if (metric < 0 || (size_t)metric >= pf_rows_count(metrics) || !reader->group.count)
        return metric < 0 ? -1 : 0;
    const struct pf_cell *about = pf_rows_at(metrics, (size_t)metric);
    double value;
    bool known;
    return about[HPC_SUMMARY_FORMULA].type == PF_TEXT && about[HPC_SUMMARY_COMBINE].type == PF_ABSENT &&
                   hpc_formula_value(about[HPC_SUMMARY_FORMULA].text, operand, &reader->group, &value,
                                     &known) &&
                   known
               ? set_summary(reader->state, reader->context, (uint64_t)metric, value, cells)
               : 0;
}

static uint64_t after_statistic(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    const struct reader *reader = own;
    return row_after(number,
                     reader->group.count ? pf_rows_count(hpc_state(cursor->model)->summary_metrics.rows) : 0);
}

static const struct pf_numbered statistics = {PF_NUMBERED, .begin = begin_summary, .row = statistics_row,
                                              .after = after_statistic, .free = free_reader};

/* ---- the summary of 2.x -------------------------------------------------------------------------------- */

/* Returns the number of the summary's first value at or after a context (binary search), or -1 with *error filled. */
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
    const struct pf_store *store = hpc_state(cursor->model)->model.summary;
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
    const struct hpc_state *state = hpc_state(cursor->model);
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
    return begin_rows(cursor, numbers, HPC_OF_TRACE, HPC_SAMPLE * 10922, error);
}

/* Converts a time to ns; absent on overflow. */
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
    const struct pf_tree *tree = cursor->model->contexts;
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
    numbers->end = ((const struct hpc_items *)cursor->table->data)->count;
    return 0;
}

static int list_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_items *items = cursor->table->data, *lists = hpc_state(cursor->model)->model.lists;
    const struct hpc_item *item = &items->items[number];
    const struct pf_strings *strings = cursor->model->contexts->strings;
    struct pf_cell name = pf_interned(strings, item->name);
    (void)own, (void)error;
    cells[0] = pf_uint(item->id);
    if (items == &lists[HPC_MODULES]) {
        cells[1] = name;
    } else if (items == &lists[HPC_FILES]) {
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

static const struct pf_column summary_metric_columns[HPC_SUMMARY_COLUMNS] = {
    [HPC_SUMMARY_ID] = {"id", PF_PLAIN, 0},
    [HPC_SUMMARY_NAME] = {"name", PF_PLAIN, 0},
    [HPC_SUMMARY_UNIT] = {"unit", PF_PLAIN, 0},
    [HPC_SUMMARY_SCOPE] = {"scope", PF_PLAIN, 0},
    [HPC_SUMMARY_FORMULA] = {"formula", PF_PLAIN, 0},
    [HPC_SUMMARY_COMBINE] = {"combine", PF_PLAIN, 0},
    [HPC_SUMMARY_DESCRIPTION] = {"description", PF_PLAIN, 0},
};

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array), .stage = PF_MODELLED
#define BY_THREAD      (PF_BY_PARTITION | PF_SEEKS_PARTITION)

static const struct pf_table all_tables[] = {
    {"values", COLUMNS(values_columns), .flags = BY_THREAD | PF_SEEKS_CONTEXT | PF_SKIMS_METRIC,
     .ops = &values.ops},
    {"trace", COLUMNS(trace_columns), .flags = BY_THREAD, .ops = &trace.ops},
    {"summary", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &summary.ops},
    {"summary_metrics", COLUMNS(summary_metric_columns)},
    {"modules", COLUMNS(module_columns), .ops = &list.ops},
    {"files", COLUMNS(file_columns), .ops = &list.ops},
    {"functions", COLUMNS(function_columns), .ops = &list.ops},
    {"statistics", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &statistics.ops},
};
enum {
    VALUES_TABLE,
    SUMMARY_TABLE = 2,
    SUMMARY_METRICS,
    LIST_TABLES,
    TABLES = sizeof all_tables / sizeof *all_tables
};

void hpc_set_tables(struct pf_run *run)
{
    struct pf_model *model = run->model;
    struct hpc_state *state = hpc_state(model);
    struct pf_table *tables = state->tables = pf_run_memory(run, malloc(sizeof all_tables));
    memcpy(tables, all_tables, sizeof all_tables);
    tables[SUMMARY_METRICS].stage = PF_OPENED;
    tables[SUMMARY_METRICS].data = &state->summary_metrics.rows;
    for (int i = 0; i < HPC_LISTS; i++)
        tables[LIST_TABLES + i].data = &state->model.lists[i];
    /* Seeking a context uses the index, which the stage PF_DERIVED builds. */
    if (state->profile_db)
        tables[VALUES_TABLE].flags |= PF_DERIVED_BY_CONTEXT;
    if (state->layout == HPC_OLD)
        tables[SUMMARY_TABLE].ops = &kept.ops;
    model->tables = model->cells = tables;
    model->n_tables =
        TABLES - (state->layout != HPC_XML4); /* only experiment.xml 4.0 has statistics to compute */
    model->cells_value = VALUE;
    hpc_declare_threads(model);
    model->context_columns = hpc_context_columns;
    model->n_context_columns = HPC_CONTEXT_COLUMNS;
    model->context_cells = hpc_context_cells;
    model->metrics = state->metrics.items;
    model->n_metrics = state->metrics.count;
    model->time_unit = "ns";
    state->extra.src = "src";
    model->extra = &state->extra;
}
