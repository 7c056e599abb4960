/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_MAP_H
#define PF_AFPERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/* A hash map from an id and a small number to a number. Zero-initialised is empty. For one thread. */
struct afperf_map {
    struct afperf_slot *slots;
    size_t mask, count;
};

struct afperf_slot {
    uint64_t id;
    uint32_t scope;
    uint32_t value; /* plus 1; 0: the slot is free */
};

#define AFPERF_NONE UINT32_MAX

void afperf_map_free(struct afperf_map *map);

/* The value of a key, or AFPERF_NONE. */
uint32_t afperf_map_get(const struct afperf_map *map, uint64_t id, uint32_t scope);

/* Sets the value (not AFPERF_NONE) of a key. 0, or -1 with *error filled. */
int afperf_map_set(struct afperf_map *map, uint64_t id, uint32_t scope, uint32_t value,
                   struct pf_error *error);

/*
 * Where a key's value stands, plus 1; 0 stands there if the key was not known. It must be set, before anything else is done to
 * the map. NULL with *error filled.
 */
uint32_t *afperf_map_place(struct afperf_map *map, uint64_t id, uint32_t scope, struct pf_error *error);

/*
 * A key's slot, or NULL. Before anything else is done to the map, its value may be replaced (not by 0), or the key taken out.
 */
struct afperf_slot *afperf_map_find(const struct afperf_map *map, uint64_t id, uint32_t scope);
void afperf_map_take(struct afperf_map *map, struct afperf_slot *slot);

/* A number all of whose bits depend on all of the key's. */
static inline uint64_t afperf_hash(uint64_t id, uint32_t scope)
{
    uint64_t hash = (id ^ (uint64_t)scope << 32 ^ scope) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

#endif
