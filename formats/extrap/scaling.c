/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/extrap/columns.h"

/*
 * The table "scaling" of one metric: a walk over the experiment's cells, which come series by series, that lays
 * the rows of a series side by side; "scaling_total" is the same over its totals. Where it stands is where the first row of the next series is.
 */
struct scaling {
    struct pf_cursor cells;
    struct pf_cell *row;    /* the last row of cells */
    struct pf_cell *points; /* the value of each point, in the row being made */
    uint32_t *filled;       /* which of them have one */
    size_t n_points, n_filled;
    unsigned context; /* column of cells */
    bool ahead;       /* `row` belongs to the next series */
    bool over;
    void *before; /* position of cells before `row` */
    size_t before_size, before_room;
};

static unsigned column_of(const struct pf_table *table, enum pf_role role)
{
    unsigned i = 0;
    while (i < table->n_columns && table->columns[i].role != role)
        i++;
    return i;
}

static void scaling_close(struct pf_cursor *cursor)
{
    struct scaling *scaling = cursor->state;
    if (!scaling)
        return;
    scaling->cells.table->ops->close(&scaling->cells);
    free(scaling->row);
    free(scaling->points);
    free(scaling->filled);
    free(scaling->before);
    free(scaling);
    cursor->state = NULL;
}

static int scaling_open(struct pf_cursor *cursor, struct pf_error *error)
{
    struct scaling *scaling = cursor->state = calloc(1, sizeof *scaling);
    if (!scaling)
        return pf_fail_memory(error);
    /* The experiment's tables stand behind one another, each at the place that `user` tells. */
    const struct pf_table *tables = cursor->table - cursor->table->user;
    const struct pf_table *cells =
        &tables[cursor->table->user == PF_SCALING_TABLE ? PF_CELLS_TABLE : PF_TOTALS_TABLE];
    scaling->cells = (struct pf_cursor){.profile = cursor->profile, .table = cells, .only = cursor->only};
    scaling->n_points = cursor->table->n_columns - 2;
    scaling->context = column_of(cells, PF_CONTEXT);
    scaling->row = calloc(cells->n_columns, sizeof *scaling->row);
    scaling->points = calloc(scaling->n_points + 1, sizeof *scaling->points);
    scaling->filled = calloc(scaling->n_points + 1, sizeof *scaling->filled);
    if (!scaling->row || !scaling->points || !scaling->filled)
        return pf_fail_memory(error);
    return cells->ops->open(&scaling->cells, error);
}

/* Remembers where cells stands. */
static int mark(struct scaling *scaling, struct pf_error *error)
{
    const struct pf_cursor_ops *ops = scaling->cells.table->ops;
    size_t size = ops->save(&scaling->cells, scaling->before, scaling->before_room);
    if (size > scaling->before_room) {
        void *grown = realloc(scaling->before, size);
        if (!grown)
            return pf_fail_memory(error);
        scaling->before = grown;
        scaling->before_room = size;
        ops->save(&scaling->cells, scaling->before, size);
    }
    scaling->before_size = size;
    return 0;
}

/* The next row of cells, unless the last one is still to be used. 1; 0: there is none; -1: *error filled. */
static int next_cell(struct scaling *scaling, struct pf_error *error)
{
    if (scaling->ahead || scaling->over)
        return scaling->ahead;
    if (mark(scaling, error) < 0)
        return -1;
    int got = scaling->cells.table->ops->next(&scaling->cells, scaling->row, error);
    scaling->ahead = got > 0;
    scaling->over = got == 0;
    return got;
}

static int scaling_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct scaling *scaling = cursor->state;
    unsigned value = cursor->profile->cells_value;
    int got = next_cell(scaling, error);
    if (got <= 0)
        return got;
    for (size_t i = 0; i < scaling->n_filled; i++)
        scaling->points[scaling->filled[i]] = pf_absent();
    scaling->n_filled = 0;
    int64_t context = scaling->row[scaling->context].i;
    while ((got = next_cell(scaling, error)) > 0 && scaling->row[scaling->context].i == context) {
        int64_t point = scaling->row[0].i;
        if (point >= 0 && (uint64_t)point < scaling->n_points) {
            if (scaling->points[point].type == PF_ABSENT)
                scaling->filled[scaling->n_filled++] = (uint32_t)point;
            scaling->points[point] = scaling->row[value];
        }
        scaling->ahead = false;
    }
    if (got < 0)
        return -1;
    cells[0] = pf_int(context);
    memcpy(cells + 1, scaling->points, scaling->n_points * sizeof *cells);
    return 1;
}

static size_t scaling_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct scaling *scaling = cursor->state;
    if (!scaling->ahead)
        return scaling->cells.table->ops->save(&scaling->cells, blob, room);
    if (room >= scaling->before_size)
        memcpy(blob, scaling->before, scaling->before_size);
    return scaling->before_size;
}

static int scaling_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct scaling *scaling = cursor->state;
    scaling->ahead = scaling->over = false;
    return scaling->cells.table->ops->restore(&scaling->cells, blob, size, error);
}

static double scaling_progress(const struct pf_cursor *cursor)
{
    const struct scaling *scaling = cursor->state;
    const struct pf_cursor_ops *ops = scaling->cells.table->ops;
    return ops->progress ? ops->progress(&scaling->cells) : 0;
}

const struct pf_cursor_ops pf_experiment_scaling = {
    .open = scaling_open,
    .next = scaling_next,
    .save = scaling_save,
    .restore = scaling_restore,
    .close = scaling_close,
    .progress = scaling_progress,
};
