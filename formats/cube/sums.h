/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_SUMS_H
#define PF_CUBE_SUMS_H

#include "formats/cube/rows.h"

/*
 * Exclusive and inclusive values of call paths, whichever of them the file holds. Reads the call path's own row, or its
 * children's (exclusive of what is stored inclusive), or its subtree's (inclusive of what is stored exclusive), and no
 * other. Belongs to one thread.
 *
 * Sums of doubles depend on the order of adding. It is the same everywhere: the inclusive values of a call path's children
 * are added from the last to the first, and its own value to these.
 */
struct pf_cube_sums {
    struct pf_cube_reader own, others;
    union pf_cube_number *values, *term; /* a number a location */

    /* Inclusive values of a subtree: a row a call path from slab_path on, of all locations. */
    union pf_cube_number *slab;
    size_t slab_room;
    const struct pf_cube_metric *slab_metric; /* NULL: none */
    uint32_t slab_path, slab_end;
};

/* ahead: for walks through everything. -1 with *error filled; to be ended in any case. */
int pf_cube_sums_init(struct pf_cube_sums *sums, const struct pf_cube *cube, bool ahead,
                      struct pf_error *error);
void pf_cube_sums_end(struct pf_cube_sums *sums);

/*
 * The values of a call path, one a location. 1: in *values until the next call; 0: there are none, all are neutral; -1:
 * *error filled.
 */
int pf_cube_sums_at(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                    bool inclusive, const union pf_cube_number **values, struct pf_error *error);

/* The inclusive values of one location, of exclusive ones (of each call path). */
void pf_cube_sum_column(const struct pf_cube *cube, enum pf_cube_kind kind,
                        const union pf_cube_number *exclusive, union pf_cube_number *inclusive);

/* The exclusive values of one location, of inclusive ones. */
void pf_cube_split_column(const struct pf_cube *cube, enum pf_cube_kind kind,
                          const union pf_cube_number *inclusive, union pf_cube_number *exclusive);

#endif
