/* SPDX-License-Identifier: MIT */
#ifndef PF_MAP_H
#define PF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A map from numbers to pointers. Zero-initialised is empty. Not safe for threads by itself. */
struct pf_map {
    struct pf_map_slot {
        uint64_t key;
        void *value; /* NULL: free */
    } * slots;
    size_t count, mask;
};

void *pf_map_get(const struct pf_map *map, uint64_t key);       /* NULL: none */
bool pf_map_put(struct pf_map *map, uint64_t key, void *value); /* replaces; false: out of memory */
void pf_map_remove(struct pf_map *map, uint64_t key);
void pf_map_free(struct pf_map *map);

#endif
