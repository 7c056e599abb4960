/* SPDX-License-Identifier: MIT */
#ifndef PF_CSV_H
#define PF_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/kit/cell.h"
#include "fs/text/buf.h"

/*
 * Cells as CSV: RFC 4180 with one row on one line. Quotes around text with a comma or a quote (doubled
 * inside); newline, CR, tab, backslash print as \n \r \t \\, other control characters (below 0x20, and 0x7f)
 * and bytes that are no UTF-8 as \xHH. Numbers as in print.h. An absent cell is empty. Text that is empty prints
 * as nothing.
 */
void pf_csv_cell(struct pf_buf *out, const struct pf_cell *cell);

/* Cells with commas between them, and `end` behind the last if it is not 0; nothing if there are none. */
void pf_csv_row(struct pf_buf *out, const struct pf_cell *cells, size_t n, char end);

/* A path below a folder of ours, which is to be found by what the cell says: quoted, but no byte of it is escaped. */
void pf_csv_dir(struct pf_buf *out, const char *path, size_t size);

/* Text as in a cell, but never quoted: for lines that are no CSV. */
void pf_escape(struct pf_buf *out, const char *text, size_t size);

/* How many bytes pf_csv_cell would add. */
size_t pf_csv_cell_size(const struct pf_cell *cell);

#endif
