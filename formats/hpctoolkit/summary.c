/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/tables.h"

/* ---- the summary ------------------------------------------------------------------------------------- */

static int fill_summary_row(const struct hpc_state *state, uint32_t context, uint64_t metric, double value,
                            struct pf_cell *cells)
{
    cells[HPC_SUM_CONTEXT] = pf_int(context);
    cells[HPC_SUM_METRIC] = pf_rows_at(state->summary_metrics.rows, metric)[HPC_SUMMARY_NAME];
    cells[HPC_SUM_VALUE] = pf_double(value);
    return 1;
}

/* Cursor state: the entry of the summary's block whose values `group` holds. Row numbers consist of entry and index, see HPC_VALUE_BITS. */
struct summary_reader {
    const struct hpc_state *state;
    struct hpc_block_reader blocks;
    uint64_t entry; /* PF_NO_NUMBER: none */
    uint32_t context;
    struct hpc_group group;
};

static void free_summary_reader(void *own)
{
    struct summary_reader *reader = own;
    if (!reader)
        return;
    hpc_block_reader_close(&reader->blocks);
    free(reader->group.values);
    free(reader);
}

static int begin_summary(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    enum { ROOM = 16 * 1024 };
    const struct hpc_state *state = hpc_state(cursor->model);
    const struct hpc_block *block = &state->summary;
    int64_t only = cursor->only.context;
    struct summary_reader *reader = numbers->own = calloc(1, sizeof *reader);
    if (!reader)
        return pf_fail_memory(error);
    reader->state = state;
    reader->entry = PF_NO_NUMBER;
    hpc_block_reader_init(&reader->blocks, state, ROOM);
    uint32_t entry = 0;
    if (only >= 0 && hpc_block_find(state, block, cursor->model->contexts->id[only], &entry, error))
        return -1;
    numbers->next = (uint64_t)entry << HPC_VALUE_BITS;
    numbers->end = (uint64_t)(only < 0 ? block->n_contexts : entry + (entry < block->n_contexts))
                   << HPC_VALUE_BITS;
    return 0;
}

/* Fills the group with the values of the entry of row `number`. Returns the row's index in the entry, or -1 with *error filled. */
static int64_t enter_summary(struct summary_reader *reader, uint64_t number, struct pf_error *error)
{
    uint64_t entry = number >> HPC_VALUE_BITS;
    if (entry != reader->entry &&
        hpc_block_group(&reader->blocks, &reader->state->summary, (uint32_t)entry,
                        &reader->state->summary_metrics.taken.ids, &reader->context, &reader->group, error))
        return -1;
    reader->entry = entry;
    return (int64_t)(number & ((1 << HPC_VALUE_BITS) - 1));
}

static int summary_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    (void)cursor;
    struct summary_reader *reader = own;
    int64_t i = enter_summary(reader, number, error);
    if (i < 0 || (size_t)i >= reader->group.count)
        return i < 0 ? -1 : 0;
    const struct hpc_group_value *value = &reader->group.values[i];
    return fill_summary_row(reader->state, reader->context, value->metric, value->value, cells);
}

static uint64_t after_summary(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    const struct summary_reader *reader = own;
    return hpc_row_after(number, reader->group.count);
}

const struct pf_numbered hpc_summary = {PF_NUMBERED, .begin = begin_summary, .row = summary_row,
                                        .after = after_summary, .free = free_summary_reader};

static double metric_operand(void *arg, uint32_t id, bool *known)
{
    const struct hpc_group *group = arg;
    size_t low = 0, high = group->count;
    while (low < high) { /* the values are sorted by metric id */
        size_t middle = low + (high - low) / 2;
        if (group->values[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == group->count || group->values[low].id != id)
        return 0;
    *known = true;
    return group->values[low].value;
}

/* Computes a derived metric of a context from the context's values. An entry has a row number for each row of the table summary_metrics. */
static int summary_statistic_row(const struct pf_cursor *cursor, void *own, uint64_t number,
                                 struct pf_cell *cells, struct pf_error *error)
{
    (void)cursor;
    struct summary_reader *reader = own;
    const struct pf_rows *metrics = reader->state->summary_metrics.rows;
    int64_t metric = enter_summary(reader, number, error);
    if (metric < 0 || (size_t)metric >= pf_rows_count(metrics) || !reader->group.count)
        return metric < 0 ? -1 : 0;
    const struct pf_cell *about = pf_rows_at(metrics, (size_t)metric);
    double value;
    bool known;
    return about[HPC_SUMMARY_FORMULA].type == PF_TEXT && about[HPC_SUMMARY_COMBINE].type == PF_ABSENT &&
                   hpc_formula_value(about[HPC_SUMMARY_FORMULA].text, metric_operand, &reader->group, &value,
                                     &known) &&
                   known
               ? fill_summary_row(reader->state, reader->context, (uint64_t)metric, value, cells)
               : 0;
}

static uint64_t after_statistic(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    const struct summary_reader *reader = own;
    return hpc_row_after(
        number, reader->group.count ? pf_rows_count(hpc_state(cursor->model)->summary_metrics.rows) : 0);
}

const struct pf_numbered hpc_statistics = {PF_NUMBERED, .begin = begin_summary, .row = summary_statistic_row,
                                           .after = after_statistic, .free = free_summary_reader};

/* ---- the summary of 2.x -------------------------------------------------------------------------------- */
/* Returns the number of the summary's first value at or after a context (binary search), or -1 with *error filled. */
static int64_t first_old_value(const struct pf_store *store, uint64_t context, struct pf_error *error)
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

static int begin_old_summary(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                             struct pf_error *error)
{
    const struct pf_store *store = hpc_state(cursor->model)->model.summary;
    int64_t only = cursor->only.context;
    int64_t first = store && only >= 0 ? first_old_value(store, (uint64_t)only, error) : 0;
    int64_t end = store ? first_old_value(store, only < 0 ? UINT64_MAX : (uint64_t)only + 1, error) : 0;
    numbers->next = (uint64_t)first;
    numbers->end = (uint64_t)end;
    return first < 0 || end < 0 ? -1 : 0;
}

static int old_summary_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                           struct pf_error *error)
{
    const struct hpc_state *state = hpc_state(cursor->model);
    struct hpc_old_value value;
    (void)own;
    return pf_store_read(state->model.summary, number * sizeof value, &value, sizeof value, error)
               ? -1
               : fill_summary_row(state, value.context, value.metric, value.value, cells);
}

const struct pf_numbered hpc_old_summary = {PF_NUMBERED, .begin = begin_old_summary, .row = old_summary_row};
