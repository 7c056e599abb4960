/* SPDX-License-Identifier: MIT */
#ifndef PF_CSV_H
#define PF_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/kit/cell.h"
#include "fs/text/buf.h"

/*
 * Appends a cell as CSV: RFC 4180 with one row per line. Text with a comma or a quote is quoted, and its quotes are doubled.
 * Newline, CR, tab and backslash become \n \r \t \\; other control characters (below 0x20, and 0x7f) and bytes that are not valid
 * UTF-8 become \xHH. Numbers are printed as print.h describes. An absent cell and empty text print nothing.
 */
void pf_csv_cell(struct pf_buf *out, const struct pf_cell *cell);

/* Appends n cells separated by commas, then `end` unless it is 0. Appends nothing if n is 0. */
void pf_csv_row(struct pf_buf *out, const struct pf_cell *cells, size_t n, char end);

/* Appends a path as a cell: quoted if necessary, but without escapes, so that the cell's value can be opened as it is. */
void pf_csv_dir(struct pf_buf *out, const char *path, size_t size);

/* Appends text with the escapes of a cell, but without quotes: for lines that are not CSV. */
void pf_escape(struct pf_buf *out, const char *text, size_t size);

/* Returns the number of bytes that pf_csv_cell would append. */
size_t pf_csv_cell_size(const struct pf_cell *cell);

#endif
