/* SPDX-License-Identifier: MIT */
#ifndef PF_MAP_H
#define PF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A map from numbers to pointers. Unlike pf_hash_table and pf_ids it can remove entries, and a look-up reads key and pointer in one
 * place. It hashes as they do. Not thread-safe; a zero-initialized map is empty.
 */
struct pf_map {
    struct pf_map_slot {
        uint64_t key;
        void *value; /* NULL: the slot is free */
    } * slots;       /* mask + 1 of them; NULL: none yet */
    size_t count, mask;
};

/* Returns the pointer of a key, or NULL. */
void *pf_map_get(const struct pf_map *map, uint64_t key);

/* Gives a key a pointer, which is not NULL, in place of the one before. Returns false, with the map unchanged, if memory is exhausted. */
bool pf_map_put(struct pf_map *map, uint64_t key, void *value);

/* Removes a key, if it is there. */
void pf_map_remove(struct pf_map *map, uint64_t key);

/* Frees the slots, and leaves an empty map. What the pointers point to is the owner's to free. */
void pf_map_free(struct pf_map *map);

#endif
