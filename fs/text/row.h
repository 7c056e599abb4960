/* SPDX-License-Identifier: MIT */
#ifndef PF_ROW_H
#define PF_ROW_H

#include "formats/kit/print.h"
#include "fs/text/buf.h"
#include "fs/text/csv.h"

/*
 * pf_row_add appends a line of CSV with cells[columns[0 .. n)], in this order. pf_row_measure returns the size of this
 * line in bytes. If n is 0, there is no line.
 */
void pf_row_add(struct pf_buf *out, const struct pf_cell *cells, const unsigned *columns, size_t n);
size_t pf_row_measure(const struct pf_cell *cells, const unsigned *columns, size_t n);

/* Returns the size in bytes of a cell as CSV. */
static inline size_t pf_row_cell_size(const struct pf_cell *cell)
{
    if (cell->type == PF_UINT || (cell->type == PF_INT && cell->i >= 0))
        return pf_uint_size(cell->u);
    if (cell->type == PF_TEXT && cell->plain)
        return cell->size;
    return cell->type == PF_ABSENT ? 0 : pf_csv_cell_size(cell);
}

#endif
