/* SPDX-License-Identifier: MIT */
#ifndef PF_QUANTILES_H
#define PF_QUANTILES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Exact order statistics of many groups of unsigned numbers whose sizes are known beforehand, in bounded
 * memory: the numbers go, group by group, to a spilling store, and ranks are found there by radix selection.
 */
struct pf_quantiles;

/* counts[g]: how many numbers group g will get (copied). limit: bytes to hold in memory. NULL with *error
 * filled. */
struct pf_quantiles *pf_quantiles_new(const uint64_t *counts, size_t groups, uint64_t limit,
                                      struct pf_error *error);
void pf_quantiles_free(struct pf_quantiles *quantiles);

/* Adds a number to a group; -1 with *error filled, also if the group is full. */
int pf_quantiles_add(struct pf_quantiles *quantiles, size_t group, uint64_t value, struct pf_error *error);

/*
 * After all have been added: result[i] = the number of rank ranks[i] (0-based, ascending order) in the group.
 * -1 with *error filled, EINVAL if a rank is not below the group's count.
 */
int pf_quantiles_get(struct pf_quantiles *quantiles, size_t group, const uint64_t *ranks, size_t n,
                     uint64_t *result, struct pf_error *error);

#endif
