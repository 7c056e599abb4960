/* SPDX-License-Identifier: MIT */
/* The table resources: all of them, as the walk over the tapes gives them. */
#include <stdlib.h>

#include "formats/perun/model.h"
#include "formats/perun/walk.h"
#include "formats/print.h"

/* Many rows in succession are alike: then only those cells are made anew that differ. */
struct cursor {
    struct perun_walk walk;
    struct perun_text other;
    struct pf_cell *row; /* as many as the table has columns */
    bool
        steady; /* rows alike differ in nothing but uid, context, and cells that fill a column of their own */
};

static int resources_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    cursor->state = state;
    state->row = calloc(cursor->table->n_columns, sizeof *state->row);
    if (!state->row)
        return pf_fail_memory(error);
    perun_walk_open(&state->walk, perun->data);
    return 0;
}

static struct pf_cell string_cell(const struct perun *perun, uint32_t string)
{
    return string == PERUN_NONE ? pf_absent() : pf_interned(perun->data->tree->strings, string);
}

static int add_value(struct perun_text *out, const struct pf_cell *cell, struct pf_error *error)
{
    char number[PF_NUMBER_MAX];
    const char *end;
    switch (cell->type) {
    case PF_TEXT:
        return perun_text_add(out, cell->text, cell->size, error);
    case PF_INT:
        end = pf_print_int(number, cell->i);
        break;
    case PF_UINT:
        end = pf_print_uint(number, cell->u);
        break;
    case PF_WIDE:
        end = pf_print_wide(number, *cell->wide);
        break;
    default:
        end = pf_print_double(number, cell->d);
    }
    return perun_text_add(out, number, (size_t)(end - number), error);
}

/* Fields without a column: key=value, with a blank between them. */
static int fill_other(const struct perun *perun, struct cursor *state, struct pf_cell *cell,
                      struct pf_error *error)
{
    const struct perun_walk *walk = &state->walk;
    const struct pf_cell *tid = perun_walk_cell(walk, PERUN_TID);
    state->other.size = 0;
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct perun_row_cell *value = &walk->cells[i];
        const struct perun_field *field = &perun->data->fields.list[value->field];
        bool shown = value->field == PERUN_TIME || (value->field == PERUN_THREAD && !tid);
        if (field->column >= 0 || shown || value->cell.type == PF_ABSENT)
            continue;
        struct pf_cell name = pf_interned(perun->data->tree->strings, field->name);
        if ((state->other.size && perun_text_add(&state->other, " ", 1, error)) ||
            perun_text_add(&state->other, name.text, name.size, error) ||
            perun_text_add(&state->other, "=", 1, error) || add_value(&state->other, &value->cell, error))
            return -1;
    }
    *cell = state->other.size ? pf_text(state->other.at, state->other.size) : pf_absent();
    return 0;
}

/* How many of the row's cells may differ from those of a row before that is alike. */
static size_t varying_cells(const struct perun_walk *walk)
{
    return walk->n_columns ? walk->n_columns : walk->n_cells;
}

/* Whether each of these fills a column of its own, and nothing else. */
static bool is_steady(const struct perun *perun, const struct perun_walk *walk)
{
    for (size_t i = 0; i < varying_cells(walk); i++) {
        uint32_t field = walk->cells[i].field;
        if (field == PERUN_TIME || field == PERUN_TID || perun->data->fields.list[field].column < 0)
            return false;
    }
    return !perun->others;
}

/* Text that needs no quotes is told once, not with each row. */
static inline struct pf_cell own_cell(const struct pf_cell *from)
{
    struct pf_cell cell = *from;
    if (cell.type == PF_TEXT)
        cell.plain = pf_text_is_plain(cell.text, cell.size);
    return cell;
}

/* The cells of fields. Time and thread have columns of their own kind: a tid counts before a thread. */
static void fill_fields(const struct perun_data *data, const struct perun_walk *walk, struct pf_cell *row)
{
    struct pf_cell time = pf_absent(), tid = pf_absent(), thread = pf_absent();
    for (size_t i = 0; i < walk->n_cells; i++) {
        struct pf_cell cell = own_cell(&walk->cells[i].cell);
        uint32_t field = walk->cells[i].field;
        int column = data->fields.list[field].column;
        if (column >= 0)
            row[column] = cell;
        if (field <= PERUN_THREAD)
            *(field == PERUN_TIME ? &time : field == PERUN_TID ? &tid : &thread) = cell;
    }
    row[PERUN_R_TIME] = time.type != PF_ABSENT ? time : perun_data_time(data, walk->group);
    row[PERUN_R_THREAD] = tid.type != PF_ABSENT ? tid : thread;
}

static void fill_place(const struct perun *perun, const struct perun_walk *walk, struct pf_cell *row)
{
    row[PERUN_R_ROW] = pf_uint(walk->number);
    row[PERUN_R_UID] = string_cell(perun, walk->uid);
    row[PERUN_R_CONTEXT] = pf_uint(walk->context);
}

static int fill_row(const struct perun *perun, struct cursor *state, size_t n, struct pf_error *error)
{
    const struct perun_walk *walk = &state->walk;
    const struct perun_data *data = perun->data;
    struct pf_cell *row = state->row;
    fill_place(perun, walk, row);
    row[PERUN_R_SNAPSHOT] =
        walk->snapshot == PERUN_NONE ? pf_absent() : pf_int(data->snapshots[walk->snapshot].number);
    row[PERUN_R_TYPE] = string_cell(perun, perun_type_of(perun, walk->type));
    row[PERUN_R_SUBTYPE] = string_cell(perun, walk->subtype);
    for (size_t i = PERUN_R_FIELDS; i < n; i++)
        row[i] = pf_absent();
    fill_fields(data, walk, row);
    state->steady = is_steady(perun, walk);
    return perun->others ? fill_other(perun, state, &row[n - 1], error) : 0;
}

/* What may differ from the row before, which is alike: of further rows of a type, their columns alone. */
static inline void change_row(const struct perun *perun, struct cursor *state)
{
    const struct perun_walk *walk = &state->walk;
    const struct perun_field *fields = perun->data->fields.list;
    if (walk->n_columns)
        state->row[PERUN_R_ROW] = pf_uint(walk->number);
    else
        fill_place(perun, walk, state->row);
    for (size_t i = 0, n = varying_cells(walk); i < n; i++)
        state->row[fields[walk->cells[i].field].column] = own_cell(&walk->cells[i].cell);
}

static int resources_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    size_t n = cursor->table->n_columns;
    int more = perun_walk_next(&state->walk, error);
    if (more <= 0)
        return more;
    if (state->steady && state->walk.alike)
        change_row(perun, state);
    else if (fill_row(perun, state, n, error))
        return -1;
    memcpy(cells, state->row, n * sizeof *cells);
    return 1;
}

static size_t resources_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    return perun_walk_save(&((const struct cursor *)cursor->state)->walk, blob, room);
}

static int resources_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct cursor *state = cursor->state;
    state->steady = false;
    return perun_walk_restore(&state->walk, blob, size, error);
}

static void resources_close(struct pf_cursor *cursor)
{
    struct cursor *state = cursor->state;
    if (!state)
        return;
    perun_walk_close(&state->walk);
    perun_text_free(&state->other);
    free(state->row);
    free(state);
}

static double resources_progress(const struct pf_cursor *cursor)
{
    return perun_walk_progress(&((const struct cursor *)cursor->state)->walk);
}

const struct pf_cursor_ops perun_resources_cursor = {resources_open,    resources_next,  resources_save,
                                                     resources_restore, resources_close, resources_progress};
