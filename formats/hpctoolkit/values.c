/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/tables.h"

/* ---- the rows of threads --------------------------------------------------------------------------- */

/* Cursor state for values and samples. Entries (see tables.h) and samples each have one numbering over all threads. */
struct thread_reader {
    struct hpc_state *state;
    /* The current thread: */
    uint32_t thread;
    uint64_t first, end; /* range of the thread's entries or samples; both 0: no current thread */
    struct pf_window window;
    struct pf_input *part; /* 2.x: the file of the thread's values or trace; NULL: none */
    /* The entry whose values `group` holds: */
    uint64_t entry; /* PF_NO_NUMBER: none */
    struct hpc_block_reader blocks;
    uint32_t context;
    struct hpc_group group;
    const struct pf_ids *metrics; /* the selected metrics: id (2.x: column) -> index */
    struct pf_ids own_metrics;    /* backs `metrics` if not all metrics are selected */
};

static void leave_thread(struct thread_reader *reader)
{
    if (reader->part)
        hpc_part_release(reader->part);
    reader->part = NULL;
    reader->first = reader->end = 0;
}

static void free_thread_reader(void *own)
{
    struct thread_reader *reader = own;
    if (!reader)
        return;
    leave_thread(reader);
    pf_window_close(&reader->window);
    hpc_block_reader_close(&reader->blocks);
    free(reader->group.values);
    pf_ids_free(&reader->own_metrics);
    free(reader);
}

/* Allocates a reader, whose windows read at least `room` bytes at once. Returns NULL with *error filled on failure. */
static struct thread_reader *new_thread_reader(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                                               size_t room, struct pf_error *error)
{
    struct thread_reader *reader = numbers->own = calloc(1, sizeof *reader);
    if (!reader) {
        pf_fail_memory(error);
        return NULL;
    }
    reader->state = hpc_state(cursor->model);
    reader->window.room = room;
    hpc_block_reader_init(&reader->blocks, reader->state, room);
    reader->entry = PF_NO_NUMBER;
    return reader;
}

static uint64_t rows_before(const struct hpc_threads *threads, enum hpc_rows what, uint64_t thread)
{
    return thread < threads->count ? threads->items[thread].before[what] : threads->rows[what];
}

/*
 * Sets the range of *numbers to the rows of the thread that the cursor is restricted to, or to all rows. Allocates a
 * reader, whose windows read at least `room` bytes at once.
 */
static int begin_thread_rows(const struct pf_cursor *cursor, struct pf_numbers *numbers, enum hpc_rows what,
                             size_t room, struct pf_error *error)
{
    const struct thread_reader *reader = new_thread_reader(cursor, numbers, room, error);
    if (!reader)
        return -1;
    const struct hpc_threads *threads = &reader->state->threads;
    int64_t only = cursor->only.partition;
    numbers->next = only < 0 ? 0 : rows_before(threads, what, (uint64_t)only);
    numbers->end = rows_before(threads, what, only < 0 ? threads->count : (uint64_t)only + 1);
    return 0;
}

/* Returns the thread that owns a row number, by binary search. */
static uint32_t thread_of_row(const struct hpc_threads *threads, enum hpc_rows what, uint64_t number)
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
static int enter_thread_of_row(struct thread_reader *reader, enum hpc_rows what, uint64_t number,
                               struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    if (number >= reader->first && number < reader->end)
        return 0;
    leave_thread(reader);
    reader->thread = thread_of_row(&state->threads, what, number);
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

/* Selects the cursor's metrics. Returns 0, or -1 with *error filled. */
static int choose_cursor_metrics(const struct pf_cursor *cursor, struct thread_reader *reader,
                                 struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    const struct hpc_metrics *metrics = &state->metrics;
    int64_t only = cursor->only.metric;
    bool dense = state->layout == HPC_OLD;
    reader->metrics = dense ? &state->columns : &metrics->taken.ids;
    if (only < 0 || (uint64_t)only >= metrics->count)
        return 0;
    int64_t partner = cursor->partner ? metrics->items[only].partner : PF_NO_PARTNER;
    for (uint64_t id = 0; id < 1 << HPC_VALUE_BITS; id++) {
        uint32_t metric = pf_ids_find(reader->metrics, id);
        if (metric != PF_NO_ID && (metric == only || metric == partner) &&
            pf_ids_add(&reader->own_metrics, id, metric, error) < 0)
            return -1;
    }
    reader->metrics = &reader->own_metrics;
    return 0;
}

static int begin_thread_values(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                               struct pf_error *error)
{
    /* The values of one context are scattered over the file, so reading ahead would be useless. */
    enum { READ_AHEAD = 64 * 1024, NO_READ_AHEAD = 1 };
    size_t room = cursor->only.context < 0 ? READ_AHEAD : NO_READ_AHEAD;
    if (begin_thread_rows(cursor, numbers, HPC_OF_VALUES, room, error))
        return -1;
    numbers->next <<= HPC_VALUE_BITS;
    numbers->end <<= HPC_VALUE_BITS;
    return choose_cursor_metrics(cursor, numbers->own, error);
}

/*
 * Reads entry i of a thread of 2.x. Row i of the thread's dense table, one double per column, holds the values of the
 * context with id i + 1. Zero means that there is no value.
 */
static int read_dense_row(struct thread_reader *reader, const struct hpc_thread *thread, uint64_t i,
                          struct pf_error *error)
{
    enum { CELL = 8, COLUMNS_MAX = 1 << HPC_VALUE_BITS };
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

/* Sets *entry to a thread's entry for a context id, or to n_contexts if there is none. Returns 0, or -1 with *error filled. */
static int find_entry_in_thread(const struct hpc_state *state, const struct hpc_thread *thread, uint64_t id,
                                uint32_t *entry, struct pf_error *error)
{
    if (state->layout != HPC_OLD)
        return hpc_block_find(state, &thread->block, id, entry, error);
    *entry = id && id <= thread->block.n_contexts ? (uint32_t)id - 1 : thread->block.n_contexts;
    return 0;
}

/*
 * Advances *entry to the first entry of the cursor's context from *entry on, or to `end` if there is none. Returns 0, or
 * -1 with *error filled.
 */
static int find_entry_of_context(const struct pf_cursor *cursor, const struct thread_reader *reader,
                                 uint64_t end, uint64_t *entry, struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    const struct hpc_threads *threads = &state->threads;
    uint64_t from = *entry, id = cursor->model->contexts->id[cursor->only.context];
    if (state->index.next) {
        *entry = hpc_index_find(&state->index, (uint32_t)cursor->only.context, reader->entry, from);
        *entry = *entry < end ? *entry : end;
        return 0;
    }
    for (uint32_t i = thread_of_row(threads, HPC_OF_VALUES, from);
         rows_before(threads, HPC_OF_VALUES, i) < end; i++) {
        uint32_t found;
        if (find_entry_in_thread(state, &threads->items[i], id, &found, error))
            return -1;
        *entry = threads->items[i].before[HPC_OF_VALUES] + found;
        if (found < threads->items[i].block.n_contexts && *entry >= from)
            return 0;
    }
    *entry = end;
    return 0;
}

/*
 * Fills the group with the values of `entry`. If the cursor is restricted to a context, uses the first entry of that
 * context from `entry` on instead.
 */
static int enter_entry(const struct pf_cursor *cursor, struct thread_reader *reader, uint64_t entry,
                       struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    uint64_t end = pf_numbers_of(cursor)->end >> HPC_VALUE_BITS;
    if (entry == reader->entry)
        return 0;
    if (cursor->only.context >= 0 && find_entry_of_context(cursor, reader, end, &entry, error))
        return -1;
    reader->entry = entry;
    reader->group.count = 0;
    if (entry == end)
        return 0;
    if (enter_thread_of_row(reader, HPC_OF_VALUES, entry, error))
        return -1;
    const struct hpc_thread *thread = &state->threads.items[reader->thread];
    entry -= reader->first;
    return state->layout == HPC_OLD
               ? read_dense_row(reader, thread, entry, error)
               : hpc_block_group(&reader->blocks, &thread->block, (uint32_t)entry, reader->metrics,
                                 &reader->context, &reader->group, error);
}

static int thread_value_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                            struct pf_error *error)
{
    struct thread_reader *reader = own;
    uint64_t entry = number >> HPC_VALUE_BITS, i = number & ((1 << HPC_VALUE_BITS) - 1);
    if (enter_entry(cursor, reader, entry, error))
        return -1;
    if (reader->entry != entry || i >= reader->group.count)
        return 0;
    cells[HPC_VALUE_THREAD] = pf_int(reader->thread);
    cells[HPC_VALUE_CONTEXT] = pf_int(reader->context);
    cells[HPC_VALUE_METRIC] = pf_int(reader->group.values[i].metric);
    cells[HPC_VALUE_VALUE] = pf_double(reader->group.values[i].value);
    return 1;
}

static uint64_t after_thread_value(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    const struct thread_reader *reader = own;
    return reader->entry > number >> HPC_VALUE_BITS ? reader->entry << HPC_VALUE_BITS
                                                    : hpc_row_after(number, reader->group.count);
}

const struct pf_numbered hpc_values = {PF_NUMBERED, .begin = begin_thread_values, .row = thread_value_row,
                                       .after = after_thread_value, .free = free_thread_reader};

/* ---- traces ---------------------------------------------------------------------------------------- */

/* Number of bytes of a trace that are read at once: the whole samples in 128 KiB. */
enum { SAMPLES_AT_ONCE = (128 * 1024) / HPC_SAMPLE * HPC_SAMPLE };

static int begin_thread_samples(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                                struct pf_error *error)
{
    return begin_thread_rows(cursor, numbers, HPC_OF_TRACE, SAMPLES_AT_ONCE, error);
}

/* Converts a time to ns. The cell is absent if the time does not fit 64 bits. */
static struct pf_cell trace_time(const struct hpc_state *state, uint64_t ticks)
{
    enum { SECOND = 1000000000 };
    if (!state->ticks_per_second || state->ticks_per_second == SECOND)
        return pf_uint(ticks);
    pf_int128 ns = (pf_int128)ticks * SECOND / (pf_int128)state->ticks_per_second;
    return ns <= (pf_int128)UINT64_MAX ? pf_uint((uint64_t)ns) : pf_absent();
}

static int thread_sample_row(const struct pf_cursor *cursor, void *own, uint64_t number,
                             struct pf_cell *cells, struct pf_error *error)
{
    struct thread_reader *reader = own;
    const struct hpc_state *state = reader->state;
    const struct pf_tree *tree = cursor->model->contexts;
    if (enter_thread_of_row(reader, HPC_OF_TRACE, number, error))
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
    cells[HPC_TRACE_THREAD] = pf_int(reader->thread);
    cells[HPC_TRACE_TIME] = trace_time(state, pf_u64(bytes, state->big_endian));
    cells[HPC_TRACE_CONTEXT] = pf_uint(known ? tree->id[context] : id);
    cells[HPC_TRACE_NAME] = known ? pf_interned(tree->strings, tree->name[context]) : pf_absent();
    return 1;
}

const struct pf_numbered hpc_trace = {PF_NUMBERED, .begin = begin_thread_samples, .row = thread_sample_row,
                                      .free = free_thread_reader};
