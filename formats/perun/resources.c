/* SPDX-License-Identifier: MIT */
/* The table resources: all of them, as the walk over the tapes gives them. */
#include <stdlib.h>

#include "formats/perun/model.h"
#include "formats/perun/walk.h"
#include "formats/print.h"

struct cursor {
    struct perun_walk walk;
    struct perun_text other;
};

static int resources_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    cursor->state = state;
    perun_walk_open(&state->walk, perun->data);
    return 0;
}

static struct pf_cell string_cell(const struct perun *perun, uint32_t string)
{
    return string == PERUN_NONE ? pf_absent() : pf_interned(perun->data->tree->strings, string);
}

static struct pf_cell thread_of(const struct perun_walk *walk)
{
    const struct pf_cell *tid = perun_walk_cell(walk, PERUN_TID),
                         *thread = perun_walk_cell(walk, PERUN_THREAD);
    return tid && tid->type != PF_ABSENT ? *tid : thread ? *thread : pf_absent();
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

static int resources_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    const struct perun_walk *walk = &state->walk;
    size_t n = cursor->table->n_columns;
    int more = perun_walk_next(&state->walk, error);
    if (more <= 0)
        return more;
    const struct perun_data *data = perun->data;
    cells[PERUN_R_ROW] = pf_uint(walk->number);
    cells[PERUN_R_SNAPSHOT] =
        walk->snapshot == PERUN_NONE ? pf_absent() : pf_int(data->snapshots[walk->snapshot].number);
    cells[PERUN_R_TIME] = perun_walk_time(walk);
    cells[PERUN_R_TYPE] = string_cell(perun, perun_type_of(perun, walk->type));
    cells[PERUN_R_SUBTYPE] = string_cell(perun, walk->subtype);
    cells[PERUN_R_UID] = string_cell(perun, walk->uid);
    cells[PERUN_R_CONTEXT] = pf_uint(walk->context);
    cells[PERUN_R_THREAD] = thread_of(walk);
    for (size_t i = PERUN_R_FIELDS; i < n; i++)
        cells[i] = pf_absent();
    for (size_t i = 0; i < walk->n_cells; i++) {
        int column = data->fields.list[walk->cells[i].field].column;
        if (column >= 0)
            cells[column] = walk->cells[i].cell;
    }
    return perun->others && fill_other(perun, state, &cells[n - 1], error) ? -1 : 1;
}

static size_t resources_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    return perun_walk_save(&((const struct cursor *)cursor->state)->walk, blob, room);
}

static int resources_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    return perun_walk_restore(&((struct cursor *)cursor->state)->walk, blob, size, error);
}

static void resources_close(struct pf_cursor *cursor)
{
    struct cursor *state = cursor->state;
    if (!state)
        return;
    perun_walk_close(&state->walk);
    perun_text_free(&state->other);
    free(state);
}

static double resources_progress(const struct pf_cursor *cursor)
{
    return perun_walk_progress(&((const struct cursor *)cursor->state)->walk);
}

const struct pf_cursor_ops perun_resources_cursor = {resources_open,    resources_next,  resources_save,
                                                     resources_restore, resources_close, resources_progress};
