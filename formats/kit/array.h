/* SPDX-License-Identifier: MIT */
#ifndef PF_ARRAY_H
#define PF_ARRAY_H

#include <stddef.h>

#include "formats/kit/error.h"

/*
 * Growing arrays. `array` is the address of the pointer to the items, which is NULL or from malloc; `item` is the size
 * of an item in bytes, and *room the capacity in items. The caller owns the array throughout. Functions with an
 * `error` return 0, or -1 with *error filled and the array unchanged. One thread at a time per array.
 */

/* Reallocates to exactly `room` items, at least 1; new items are uninitialized. */
int pf_array_resize(void *array, size_t room, size_t item, struct pf_error *error);

/* Doubles the capacity until it suffices for `wanted` items. */
int pf_array_grow(void *array, size_t *room, size_t wanted, size_t item, struct pf_error *error);

/* Makes room for one more item after the first `count` items. */
static inline int pf_array_room(void *array, size_t *room, size_t count, size_t item, struct pf_error *error)
{
    return count < *room ? 0 : pf_array_grow(array, room, count + 1, item, error);
}

/* Hints to the kernel that all of this memory (from mmap or malloc) will soon be filled. The kernel may then use huge
 * pages, which cause fewer page faults and TLB misses. */
void pf_array_fills(void *memory, size_t size);

/* Makes room for the items up to and including `at`; new items are zeroed. */
int pf_array_extend(void *array, size_t *room, size_t at, size_t item, struct pf_error *error);

/* Like pf_array_extend, with an inline fast path if the item exists. */
static inline int pf_array_reach(void *array, size_t *room, size_t at, size_t item, struct pf_error *error)
{
    return at < *room ? 0 : pf_array_extend(array, room, at, item, error);
}

#endif
