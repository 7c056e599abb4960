/* SPDX-License-Identifier: MIT */
#ifndef PF_FAMILY_H
#define PF_FAMILY_H

#include <stdatomic.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/jobs.h"
#include "fs/text/checkpoints.h"

/*
 * The sizes of all files that one table makes (the whole, one a partition, one a context), found in one pass,
 * with the checkpoints that pass sets on its way. Immutable once made.
 */
struct pf_family {
    uint64_t whole;
    struct pf_checkpoints checkpoints; /* of the whole */
    size_t partitions;                 /* 0: the table has no partition column */
    uint64_t *partition;               /* size of each partition's file */
    /* Tables that come by partition: the checkpoints inside partition p are checkpoints.items[first[p] .. end[p]). Else
     * NULL. */
    uint32_t *first, *end;
    size_t contexts; /* 0: the table has no context column */
    _Atomic uint64_t *context;
};

/* NULL with *error filled. The stages that the table needs are loaded. */
struct pf_family *pf_family_new(struct pf_pool *pool, struct pf_model *model, const struct pf_table *table,
                                struct pf_error *error);
void pf_family_free(struct pf_family *family);

#endif
