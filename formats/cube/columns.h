/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_COLUMNS_H
#define PF_CUBE_COLUMNS_H

#include "formats/cube/cube.h"
#include "formats/kit/store.h"

/*
 * A copy of all matrices in which the values of one location stand together. The file has them row by row, so that one
 * location's would take a read a value; the copy is made once, in one pass over the data, and is held in an unlinked
 * file beyond a limit.
 *
 * It is made of blocks of some rows each: of a block, all values of location 0 come first, then those of location
 * 1, and so on. Numbers take 8 bytes, those of two parts 16.
 */
struct pf_cube_columns {
    struct pf_store *store;
    struct pf_cube_column_place *places; /* one a metric */
};

struct pf_cube_column_place {
    uint64_t base;       /* in the store */
    uint32_t block_rows; /* rows in a block, but for the last */
};

/* limit: bytes to hold in memory. -1 with *error filled; *columns is then empty. */
int pf_cube_columns_make(struct pf_cube_columns *columns, const struct pf_cube *cube, uint64_t limit,
                         struct pf_pass *pass, struct pf_error *error);
void pf_cube_columns_free(struct pf_cube_columns *columns);

/* The stored values of one location: values[path], neutral where there is no row. Safe from many threads. */
int pf_cube_columns_read(const struct pf_cube_columns *columns, const struct pf_cube *cube, size_t metric,
                         uint32_t location, union pf_cube_number *values, struct pf_error *error);

#endif
