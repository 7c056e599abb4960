/* SPDX-License-Identifier: MIT */
/* The table resources: all of them, as the walk over the tapes gives them. */
#include <stdlib.h>

#include "formats/kit/counter.h"
#include "formats/kit/print.h"
#include "formats/perun/model.h"
#include "formats/perun/walk.h"

/* Many rows in succession are alike: then only those cells are made anew that differ. */
struct cursor {
    struct perun_walk walk;
    struct perun_text other;
    struct pf_counter number; /* of the row */
    /* Rows alike differ in nothing but uid, context, and cells that fill a column of their own: these. */
    bool steady;
    unsigned *places; /* at most as many as the table has columns */
};

static int resources_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    cursor->state = state;
    state->places = calloc(cursor->table->n_columns, sizeof *state->places);
    if (!state->places)
        return pf_fail_memory(error);
    perun_walk_open(&state->walk, perun->data, true);
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

/* Finds the columns of these cells. False if not each of them fills one of its own, and nothing else. */
static bool find_places(const struct perun *perun, const struct perun_walk *walk, unsigned *places)
{
    for (size_t i = 0; i < varying_cells(walk); i++) {
        uint32_t field = walk->cells[i].field;
        int column = perun->data->fields.list[field].column;
        if (field == PERUN_TIME || field == PERUN_TID || column < 0)
            return false;
        places[i] = (unsigned)column;
    }
    return !perun->others;
}

/* The cells of fields. Time and thread have columns of their own kind: a tid counts before a thread. */
static void fill_fields(const struct perun_data *data, const struct perun_walk *walk, struct pf_cell *row)
{
    struct pf_cell time = pf_absent(), tid = pf_absent(), thread = pf_absent();
    for (size_t i = 0; i < walk->n_cells; i++) {
        struct pf_cell cell = walk->cells[i].cell;
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

static void fill_place(const struct perun *perun, struct cursor *state, struct pf_cell *row)
{
    const struct perun_walk *walk = &state->walk;
    row[PERUN_R_ROW] = pf_counter_cell(&state->number, walk->number);
    row[perun->last_columns + PERUN_R_UID] = string_cell(perun, walk->uid);
    row[PERUN_R_CONTEXT] = pf_uint(walk->context);
}

static int fill_row(const struct perun *perun, struct cursor *state, struct pf_cell *row,
                    struct pf_error *error)
{
    const struct perun_walk *walk = &state->walk;
    const struct perun_data *data = perun->data;
    fill_place(perun, state, row);
    row[PERUN_R_SNAPSHOT] =
        walk->snapshot == PERUN_NONE ? pf_absent() : pf_int(data->snapshots[walk->snapshot].number);
    for (size_t i = PERUN_R_FIELDS; i < perun->last_columns; i++)
        row[i] = pf_absent();
    row[perun->last_columns + PERUN_R_TYPE] = string_cell(perun, perun_type_of(perun, walk->type));
    row[perun->last_columns + PERUN_R_SUBTYPE] = string_cell(perun, walk->subtype);
    fill_fields(data, walk, row);
    state->steady = find_places(perun, walk, state->places);
    return perun->others ? fill_other(perun, state, &row[perun->last_columns + PERUN_R_OTHER], error) : 0;
}

/* A row that is like the one before but for its place and values. */
static inline void change_row(const struct perun *perun, struct cursor *state, struct pf_cell *row)
{
    const struct perun_walk *walk = &state->walk;
    fill_place(perun, state, row);
    for (size_t i = 0, n = varying_cells(walk); i < n; i++)
        row[state->places[i]] = walk->cells[i].cell;
}

/* To a row that is none of those that perun_walk_further reaches. */
static __attribute__((noinline)) int next_row(struct pf_cursor *cursor, struct pf_cell *cells,
                                              struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    int more = perun_walk_next(&state->walk, error);
    if (more <= 0)
        return more;
    bool alike = state->steady && state->walk.alike;
    if (alike)
        change_row(perun, state, cells);
    else if (fill_row(perun, state, cells, error))
        return -1;
    return 1;
}

/* In types with columns, nearly all rows are further ones, which differ in their number and columns alone. */
static int resources_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct cursor *state = cursor->state;
    if (!state->steady || !perun_walk_is_inside(&state->walk))
        return next_row(cursor, cells, error);
    if (perun_walk_further(&state->walk, cells, state->places, error))
        return -1;
    cells[PERUN_R_ROW] = pf_counter_cell(&state->number, state->walk.number);
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
    free(state->places);
    free(state);
}

static double resources_progress(const struct pf_cursor *cursor)
{
    return perun_walk_progress(&((const struct cursor *)cursor->state)->walk);
}

const struct pf_cursor_ops perun_resources_cursor = {resources_open,    resources_next,  resources_save,
                                                     resources_restore, resources_close, resources_progress};
