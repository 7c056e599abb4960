/* SPDX-License-Identifier: MIT */
#ifndef PF_ARRAY_H
#define PF_ARRAY_H

#include <stddef.h>

#include "formats/kit/error.h"

/*
 * Growing arrays. `array` is the address of the pointer to the items, which comes from malloc (or is NULL), `item` the size
 * of one in bytes, *room how many there is room for. All return 0; or -1 with *error filled, and the array as it was.
 * Whoever owns the array owns it afterwards as before. For one thread at a time.
 */

/* Gives it room for exactly `room` items, at least 1; the new ones are not initialised. */
int pf_array_resize(void *array, size_t room, size_t item, struct pf_error *error);

/* Doubles the room until it suffices for `wanted` items. */
int pf_array_grow(void *array, size_t *room, size_t wanted, size_t item, struct pf_error *error);

/* Makes room for one more item behind the `count` that it has. */
static inline int pf_array_room(void *array, size_t *room, size_t count, size_t item, struct pf_error *error)
{
    return count < *room ? 0 : pf_array_grow(array, room, count + 1, item, error);
}

/*
 * Only for speed: tells the system that all of this memory will be filled soon and is not to grow, so that it may be given in large
 * pages, which are told of less often. For mapped memory, and what comes from malloc.
 */
void pf_array_fills(void *memory, size_t size);

/* Makes room for the items up to and with `at`; new ones are zero bytes. */
int pf_array_extend(void *array, size_t *room, size_t at, size_t item, struct pf_error *error);

/* The same, at no cost where they are there. */
static inline int pf_array_reach(void *array, size_t *room, size_t at, size_t item, struct pf_error *error)
{
    return at < *room ? 0 : pf_array_extend(array, room, at, item, error);
}

#endif
