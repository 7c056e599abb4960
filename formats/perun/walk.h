/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_WALK_H
#define PF_PERUN_WALK_H

#include "formats/perun/data.h"
#include "formats/perun/flat.h"
#include "formats/perun/sums.h"

/* Goes through all resources in file order, row by row. For one thread. */

struct perun_row_cell {
    uint32_t field;
    struct pf_cell cell; /* text and wide integers are valid until the next row */
    size_t text;         /* where its text begins, of shared ones */
    union {              /* what it borrows, if it is one of these */
        pf_int128 wide;
        char verbatim[2 * PF_PADDING];
    };
};

struct perun_column {
    uint32_t field;
    uint64_t start; /* of its values, from the type's */
    bool summed;    /* each row has a number, and total is the sum of these */
    struct perun_total total;
    struct perun_head head;
};

struct perun_walk {
    const struct perun_data *data;
    bool shown; /* verbatim numbers come as text; see perun_get_shown */
    struct perun_head items, entries, shapes, links, block;
    uint64_t item_at; /* of the item that the last row is of */
    uint64_t shape;   /* that the row's item has; PERUN_NO_SHAPE: not known */
    bool alike;       /* the row is like the one before in all but uid, context and the cells' values */
    uint64_t items_over, types_over;
    uint64_t number;                                       /* of the row, from 0 */
    uint64_t rows, row;                                    /* of the type: in all, already given */
    uint32_t snapshot, group, type, subtype, uid, context; /* PERUN_NONE: none */
    uint32_t unit;                                         /* beside an amount; PERUN_NONE: none */

    struct perun_row_cell *cells; /* of the columns, then those shared; n_cells of them */
    size_t n_cells, room;
    size_t n_columns, column_room;
    struct perun_column *columns;
    struct perun_text texts;
    uint64_t columns_at; /* how far in the columns' tape: for progress */
    bool fresh;          /* no row was given */
};

#define PERUN_NO_SHAPE UINT64_MAX

/* shown: the rows are to be shown, so that numbers may be text. */
void perun_walk_open(struct perun_walk *walk, const struct perun_data *data, bool shown);
void perun_walk_close(struct perun_walk *walk);

/* 1: the next row; 0: no more; -1: *error filled. */
int perun_walk_next(struct perun_walk *walk, struct pf_error *error);

/* True if the next row is a further one of the type that the last one is of: like it in all but its columns. */
static inline bool perun_walk_is_inside(const struct perun_walk *walk)
{
    return walk->n_columns && walk->row && walk->row < walk->rows;
}

/* To such a row of what is shown: the value of column i goes to cells[places[i]], and nowhere else. 0, or -1 with *error. */
static inline int perun_walk_further(struct perun_walk *walk, struct pf_cell *cells, const unsigned *places,
                                     struct pf_error *error)
{
    struct perun_column *columns = walk->columns;
    for (size_t i = 0, n = walk->n_columns; i < n; i++)
        if (perun_get_shown(&columns[i].head, &cells[places[i]], error))
            return -1;
    walk->number++;
    walk->row++;
    return 0;
}

/* Leaves out what is left of the item that the row is of: a type's further rows. */
void perun_walk_leave(struct perun_walk *walk);

/* The value of a field in this row, or NULL. */
const struct pf_cell *perun_walk_cell(const struct perun_walk *walk, uint32_t field);

/* The position of the next row; sizes as for cursors. */
size_t perun_walk_save(const struct perun_walk *walk, void *blob, size_t room);
int perun_walk_restore(struct perun_walk *walk, const void *blob, size_t size, struct pf_error *error);

/* How much lies behind, from 0 to 1. */
double perun_walk_progress(const struct perun_walk *walk);

#endif
