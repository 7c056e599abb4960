/* SPDX-License-Identifier: MIT */
#include "fs/map.h"

#include <stdlib.h>

#include "formats/kit/table.h"

static size_t home_of(const struct pf_map *map, uint64_t key)
{
    return pf_siphash_number(key) & map->mask;
}

static struct pf_map_slot *slot_of(const struct pf_map *map, uint64_t key)
{
    for (size_t i = home_of(map, key);; i = (i + 1) & map->mask)
        if (!map->slots[i].value || map->slots[i].key == key)
            return &map->slots[i];
}

void *pf_map_get(const struct pf_map *map, uint64_t key)
{
    return map->slots ? slot_of(map, key)->value : NULL;
}

static bool grow(struct pf_map *map)
{
    struct pf_map larger = {.mask = map->slots ? map->mask * 2 + 1 : 15, .count = map->count};
    larger.slots = calloc(larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value)
            *slot_of(&larger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = larger;
    return true;
}

bool pf_map_put(struct pf_map *map, uint64_t key, void *value)
{
    if ((!map->slots || map->count >= map->mask / 4 * 3) && !grow(map))
        return false;
    struct pf_map_slot *slot = slot_of(map, key);
    map->count += !slot->value;
    *slot = (struct pf_map_slot){key, value};
    return true;
}

void pf_map_remove(struct pf_map *map, uint64_t key)
{
    if (!map->slots)
        return;
    struct pf_map_slot *slot = slot_of(map, key);
    if (!slot->value)
        return;
    map->count--;
    /* Close the gap: move later slots of the cluster back, unless that would put them before their home. */
    size_t hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & map->mask; map->slots[i].value; i = (i + 1) & map->mask) {
        size_t home = home_of(map, map->slots[i].key);
        if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].value = NULL;
}

void pf_map_free(struct pf_map *map)
{
    free(map->slots);
    *map = (struct pf_map){0};
}
