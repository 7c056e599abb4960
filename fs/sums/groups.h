/* SPDX-License-Identifier: MIT */
#ifndef PF_GROUPS_H
#define PF_GROUPS_H

#include "fs/sums/aggregate_private.h"

/* Groups of partitions, for groups.csv and for the load balance in summary.md; private to this folder. */

/* A group: partitions with the same value in a grouping column (PF_GROUP), such as the threads of one process, rank or node. */
struct pf_group {
    union pf_number sum;  /* of the metric; PF_AT: the value of the selected partition, if in the group */
    uint64_t partitions;  /* partitions in the group */
    uint64_t with_values; /* partitions in the group that have any value of the metric */
};

/* The groups of one column, numbered in order of first appearance. */
struct pf_groups {
    struct pf_strings *values; /* by group number */
    struct pf_group *all;
    size_t n, room;
};

/* Fills *groups with the groups of a column of the partition table. Returns 0, or -1 with *error filled and nothing to
 * free. */
int pf_groups_find(struct pf_groups *groups, const struct pf_aggregate *aggregate, unsigned metric,
                   size_t column, struct pf_error *error);
void pf_groups_free(struct pf_groups *groups);

#endif
