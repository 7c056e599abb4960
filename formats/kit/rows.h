/* SPDX-License-Identifier: MIT */
#ifndef PF_ROWS_H
#define PF_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * A small table in memory, such as partitions, warnings or a format's own lists. (Large tables are not held in memory
 * but read by cursors.) Text and wide integers are copied. One thread adds rows; then any number of threads may read.
 */
struct pf_rows;

struct pf_rows *pf_rows_new(size_t columns); /* NULL: out of memory */
void pf_rows_free(struct pf_rows *rows);

/* Appends a row with one cell per column. Returns 0, or -1 with *error filled. */
int pf_rows_add(struct pf_rows *rows, const struct pf_cell *cells, struct pf_error *error);

/* Truncates the table to the first `count` rows. */
void pf_rows_cut(struct pf_rows *rows, size_t count);

/* The cells of row i (i < count), valid as long as the row exists. */
const struct pf_cell *pf_rows_at(const struct pf_rows *rows, size_t i);
size_t pf_rows_count(const struct pf_rows *rows);

#endif
