/* SPDX-License-Identifier: MIT */
#include "formats/afperf/map.h"

#include <stdlib.h>

/* Open addressing with linear probing, at most 3/4 full. */
enum { FIRST_SLOTS = 64 };

void afperf_map_free(struct afperf_map *map)
{
    free(map->slots);
    *map = (struct afperf_map){0};
}

/* The key's slot, or the free one where it belongs. */
static struct afperf_slot *slot_of(const struct afperf_map *map, uint64_t id, uint32_t scope)
{
    for (size_t i = afperf_hash(id, scope) & map->mask;; i = (i + 1) & map->mask) {
        struct afperf_slot *slot = &map->slots[i];
        if (!slot->value || (slot->id == id && slot->scope == scope))
            return slot;
    }
}

uint32_t afperf_map_get(const struct afperf_map *map, uint64_t id, uint32_t scope)
{
    return map->slots ? slot_of(map, id, scope)->value - 1 : AFPERF_NONE;
}

static int grow(struct afperf_map *map, struct pf_error *error)
{
    size_t room = map->slots ? (map->mask + 1) * 2 : FIRST_SLOTS;
    struct afperf_map larger = {.slots = calloc(room, sizeof *larger.slots), .mask = room - 1};
    if (!larger.slots)
        return pf_fail_memory(error);
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value)
            *slot_of(&larger, map->slots[i].id, map->slots[i].scope) = map->slots[i];
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return 0;
}

uint32_t *afperf_map_place(struct afperf_map *map, uint64_t id, uint32_t scope, struct pf_error *error)
{
    if ((!map->slots || map->count >= map->mask / 4 * 3) && grow(map, error) < 0)
        return NULL;
    struct afperf_slot *slot = slot_of(map, id, scope);
    if (!slot->value) {
        map->count++;
        *slot = (struct afperf_slot){.id = id, .scope = scope};
    }
    return &slot->value;
}

int afperf_map_set(struct afperf_map *map, uint64_t id, uint32_t scope, uint32_t value,
                   struct pf_error *error)
{
    uint32_t *place = afperf_map_place(map, id, scope, error);
    if (!place)
        return -1;
    *place = value + 1;
    return 0;
}

struct afperf_slot *afperf_map_find(const struct afperf_map *map, uint64_t id, uint32_t scope)
{
    struct afperf_slot *slot = map->slots ? slot_of(map, id, scope) : NULL;
    return slot && slot->value ? slot : NULL;
}

/* Moves those up that the free slot would hide: a key must be reachable from where it belongs. */
void afperf_map_take(struct afperf_map *map, struct afperf_slot *slot)
{
    size_t hole = (size_t)(slot - map->slots);
    map->count--;
    for (size_t i = (hole + 1) & map->mask; map->slots[i].value; i = (i + 1) & map->mask) {
        size_t home = afperf_hash(map->slots[i].id, map->slots[i].scope) & map->mask;
        if (((i - home) & map->mask) < ((i - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].value = 0;
}
