/* SPDX-License-Identifier: MIT */
#ifndef PF_GROUPS_H
#define PF_GROUPS_H

#include "fs/sums/aggregate_private.h"

/* Partitions with one value of a grouping column (PF_GROUP): those of a process, a rank, a node. */
struct pf_group {
    union pf_number
        sum; /* of the metric; of a PF_AT metric: what its one partition has, if that is among these */
    uint64_t partitions; /* how many have the value, */
    uint64_t holders;    /* and how many of these hold something of the metric */
};

/* The groups of one column, numbered in order of the first appearance of their values. */
struct pf_groups {
    struct pf_strings *values; /* by number */
    struct pf_group *all;
    size_t n, room;
};

/* Fills *groups with those of column `column` of the partitions' fields. 0, or -1 with *error filled and nothing to free. */
int pf_groups_find(struct pf_groups *groups, const struct pf_aggregate *aggregate, unsigned metric,
                   size_t column, struct pf_error *error);
void pf_groups_free(struct pf_groups *groups);

#endif
