/* SPDX-License-Identifier: MIT */
#ifndef PF_ROW_H
#define PF_ROW_H

#include "formats/kit/print.h"
#include "fs/text/buf.h"
#include "fs/text/csv.h"

/* Rows of a table as lines of CSV, made of the cells at these numbers, ascending; and how long they are. No columns: no line. */
void pf_row_add(struct pf_buf *out, const struct pf_cell *cells, const unsigned *columns, size_t n);
size_t pf_row_measure(const struct pf_cell *cells, const unsigned *columns, size_t n);

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
