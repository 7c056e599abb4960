/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_KEPT_H
#define PF_CUBE_KEPT_H

#include "formats/cube/cube.h"

/*
 * Values of call paths that took reading many rows (those of a large subtree, say): the last ones, for all walks of a
 * profile. A text is made in blocks, each by a walk that begins anew, and a call path's values may stand in two of
 * them. Safe from many threads.
 */
struct pf_cube_kept;

/* Which values: of all locations, on the side that the metric is not stored on. */
struct pf_cube_kept_key {
    const struct pf_cube_metric *metric;
    uint32_t path;
};

/* locations: of each entry. Holds 2 MiB and 64 bytes a location. NULL: out of memory. */
struct pf_cube_kept *pf_cube_kept_new(uint32_t locations);
void pf_cube_kept_free(struct pf_cube_kept *kept);

/* True if the values are there: they are in `values`. kept may be NULL: nothing is. */
bool pf_cube_kept_find(struct pf_cube_kept *kept, const struct pf_cube_kept_key *key,
                       union pf_cube_number *values);

/* Keeps a copy, in the place of the oldest one; does nothing if kept is NULL or there is no memory for it. */
void pf_cube_kept_add(struct pf_cube_kept *kept, const struct pf_cube_kept_key *key,
                      const union pf_cube_number *values);

#endif
