/* SPDX-License-Identifier: MIT */
#ifndef PF_MAP_H
#define PF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A map from numbers to pointers. Unlike pf_hash_table and pf_ids, the map supports removal and stores each key next to its pointer; the
 * hash function is the same. Not thread-safe; a zero-initialized map is empty.
 */
struct pf_map {
    struct pf_map_slot {
        uint64_t key;
        void *value; /* NULL: the slot is free */
    } * slots;       /* array of mask + 1; NULL: empty */
    size_t count, mask;
};

/* Returns the pointer of a key, or NULL. */
void *pf_map_get(const struct pf_map *map, uint64_t key);

/* Sets the pointer of a key, or replaces it; `value` must not be NULL. Returns false, with the map unchanged, if out of memory. */
bool pf_map_put(struct pf_map *map, uint64_t key, void *value);

/* Removes a key; no-op if the map does not contain it. */
void pf_map_remove(struct pf_map *map, uint64_t key);

/* Frees the slots and leaves an empty map. The objects behind the pointers belong to the caller. */
void pf_map_free(struct pf_map *map);

#endif
