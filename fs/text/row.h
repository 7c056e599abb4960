/* SPDX-License-Identifier: MIT */
#ifndef PF_ROW_H
#define PF_ROW_H

#include "formats/driver.h"
#include "formats/kit/print.h"
#include "fs/text/buf.h"
#include "fs/text/csv.h"

/*
 * The rows of one walk over a table as lines of CSV, and how long they are. Columns that stay as they are from row to
 * row (see struct pf_cursor) are printed once: then their text is copied. For one thread.
 */
struct pf_row {
    const unsigned *columns; /* those that are printed, ascending; borrowed */
    size_t n;                /* of these */
    size_t room;             /* that a row takes if it has no long text of its own */

    struct pf_span same; /* of the last row; from here on it is what is remembered of these columns */
    size_t first, last;  /* the span in columns[]: [first, last) */
    size_t size;         /* of their text with a comma behind each; 0: not known */
    bool printed;        /* `text` is that text */
    struct pf_buf text;
};

/* Rows of these columns. Owns nothing until a row is added. */
struct pf_row pf_row_of(const unsigned *columns, size_t n);
void pf_row_free(struct pf_row *row);

/* What comes next does not follow the last row: nothing is remembered. */
void pf_row_forget(struct pf_row *row);

/*
 * Appends the line of a row whose cells stand at the numbers of their columns. `same`: the columns that are as in the row
 * before, which was the last one added or measured (see struct pf_cursor).
 */
void pf_row_add(struct pf_row *row, const struct pf_cell *cells, struct pf_span same, struct pf_buf *out);

/* How many bytes pf_row_add would append. */
size_t pf_row_measure(struct pf_row *row, const struct pf_cell *cells, struct pf_span same);

/* How many bytes a cell's text takes. */
static inline size_t pf_row_cell_size(const struct pf_cell *cell)
{
    if (cell->type == PF_UINT || (cell->type == PF_INT && cell->i >= 0))
        return pf_uint_size(cell->u);
    if (cell->type == PF_TEXT && cell->plain)
        return cell->size;
    return cell->type == PF_ABSENT ? 0 : pf_csv_cell_size(cell);
}

#endif
