/* SPDX-License-Identifier: MIT */
#ifndef PF_SORTER_H
#define PF_SORTER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"

/*
 * Sorts records of any number in bounded memory: runs that fit are sorted there and go to an unlinked file, from
 * which they are merged. A record is some words; the first `keys` of them are what it is sorted by, ascending, as
 * unsigned numbers; those that agree in these stay in the order in which they were added. For one thread. After a failure, such as
 * the ECANCELED of a stopped pass, a sorter can only be freed.
 */
struct pf_sorter;

/* limit: bytes to hold in memory. NULL: out of memory. */
struct pf_sorter *pf_sorter_new(unsigned words, unsigned keys, uint64_t limit);
void pf_sorter_free(struct pf_sorter *sorter);

int pf_sorter_add(struct pf_sorter *sorter, const uint64_t *record, struct pf_error *error);
/* To be called once when all are added. */
int pf_sorter_finish(struct pf_sorter *sorter, struct pf_error *error);
/* 1: the next record, valid until the next call; 0: no more; -1: *error filled. */
int pf_sorter_next(struct pf_sorter *sorter, const uint64_t **record, struct pf_error *error);

/* A signed number as an unsigned one of the same order. */
static inline uint64_t pf_ordered(int64_t value)
{
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

static inline int64_t pf_signed(uint64_t ordered)
{
    return (int64_t)(ordered ^ UINT64_C(1) << 63);
}

#endif
