/* SPDX-License-Identifier: MIT */
#ifndef PF_TABLE_SIZES_H
#define PF_TABLE_SIZES_H

#include <stdatomic.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/jobs.h"
#include "fs/text/checkpoints.h"

/*
 * The sizes of all files made from one table (the whole, one per partition, one per context), measured in one pass, and
 * the checkpoints of that pass. Immutable once made.
 */
struct pf_table_sizes {
    uint64_t whole;                    /* size of the file of the whole table, in bytes */
    struct pf_checkpoints checkpoints; /* of the file of the whole table */
    size_t partitions;                 /* 0: the table has no partition column */
    uint64_t *partition;               /* size of each partition's file, in bytes */
    /*
     * If the table is ordered by partition: the checkpoints of partition p are checkpoints.items[first[p] .. end[p]).
     * Otherwise NULL.
     */
    uint32_t *first, *end;
    size_t contexts; /* 0: the table has no context column */
    _Atomic uint64_t *context;
};

/*
 * Measures all files of a table, in parallel on the pool. The stages that the table needs must be loaded. The caller
 * owns the result. Returns NULL with *error filled on failure.
 */
struct pf_table_sizes *pf_table_sizes_new(struct pf_pool *pool, struct pf_model *model,
                                          const struct pf_table *table, struct pf_error *error);
void pf_table_sizes_free(struct pf_table_sizes *sizes);

#endif
