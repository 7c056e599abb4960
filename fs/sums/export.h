/* SPDX-License-Identifier: MIT */
#ifndef PF_EXPORT_H
#define PF_EXPORT_H

#include "fs/sums/aggregate.h"

/*
 * A profile for pprof (profile.proto, not compressed): a sample for each calling context that holds values, over all
 * partitions, and a type of samples for each metric that adds up over contexts and partitions; inclusive ones need none.
 * Values are whole numbers in the units of folded stacks (see pf_folding), which wrap around at 64 bits. The
 * primary metric is the default type. A walk; it borrows profile and aggregate. NULL with *error filled.
 */
struct pf_lines *pf_pprof_lines(struct pf_profile *profile, struct pf_aggregate *aggregate,
                                struct pf_error *error);

/*
 * What tells frames apart for other tools: name, file and line of contexts, each combination once; and where stacks are
 * cut. Made when first asked for, kept with the aggregate.
 */
struct pf_place {
    uint32_t name, file, line;
};
struct pf_places {
    uint32_t *number; /* of each context */
    struct pf_place *items;
    size_t n;
    uint32_t *
        outer; /* a context's ancestor (or itself) where the outer half of its stack ends; NULL: no stack is cut */
};
void pf_places_free(struct pf_places *places);

#endif
