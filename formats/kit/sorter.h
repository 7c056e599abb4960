/* SPDX-License-Identifier: MIT */
#ifndef PF_SORTER_H
#define PF_SORTER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * A stable external sort in bounded memory. If the records do not fit in memory, they are sorted there in parts (runs),
 * which are written to an unlinked file and merged while they are read. A record consists of `words` words. The first
 * `keys` of them are the sort key, ascending, as unsigned numbers. One thread at a time. After a failure, such as
 * ECANCELED from a stopped pass, a sorter can only be freed.
 */
struct pf_sorter;

/* limit: memory in bytes. NULL: out of memory. */
struct pf_sorter *pf_sorter_new(unsigned words, unsigned keys, uint64_t limit);
void pf_sorter_free(struct pf_sorter *sorter);

int pf_sorter_add(struct pf_sorter *sorter, const uint64_t *record, struct pf_error *error);
/* Must be called once, after all records have been added. */
int pf_sorter_finish(struct pf_sorter *sorter, struct pf_error *error);
/* Returns 1 with the next record, valid until the next call; 0 at the end, where it frees the records; -1 with *error
 * filled. */
int pf_sorter_next(struct pf_sorter *sorter, const uint64_t **record, struct pf_error *error);

/* Maps a signed number to an unsigned number so that the order is preserved. */
static inline uint64_t pf_ordered(int64_t value)
{
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

static inline int64_t pf_signed(uint64_t ordered)
{
    return (int64_t)(ordered ^ UINT64_C(1) << 63);
}

#endif
