/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/idmap.h"

#include <stdlib.h>

#include "formats/hpctoolkit/memory.h"

struct hpc_idmap_slot {
    uint64_t id;
    uint32_t number; /* plus one; 0: free */
};

static struct hpc_idmap_slot *slot_of(const struct hpc_idmap *map, uint64_t id)
{
    uint64_t hash = id * 0x9e3779b97f4a7c15u;
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        struct hpc_idmap_slot *slot = &map->slots[i & map->mask];
        if (!slot->number || slot->id == id)
            return slot;
    }
}

static int grow(struct hpc_idmap *map, struct pf_error *error)
{
    struct hpc_idmap grown = {
        .mask = map->slots ? map->mask * 2 + 1 : 63, .count = map->count, .largest = map->largest};
    grown.slots = calloc(grown.mask + 1, sizeof *grown.slots);
    if (!grown.slots) {
        hpc_fail_memory(error);
        return -1;
    }
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].number)
            *slot_of(&grown, map->slots[i].id) = map->slots[i];
    free(map->slots);
    *map = grown;
    return 0;
}

int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error)
{
    if ((!map->slots || map->count >= map->mask / 4 * 3) && grow(map, error))
        return -1;
    struct hpc_idmap_slot *slot = slot_of(map, id);
    if (slot->number)
        return 0;
    *slot = (struct hpc_idmap_slot){id, number + 1};
    map->count++;
    if (id > map->largest)
        map->largest = id;
    return 1;
}

int hpc_idmap_pack(struct hpc_idmap *map, struct pf_error *error)
{
    /* An array takes no more memory than the slots then. */
    if (!map->count || map->packed || map->largest / 4 > map->count)
        return 0;
    map->packed = malloc((map->largest + 1) * sizeof *map->packed);
    if (!map->packed)
        return hpc_fail_memory(error);
    for (uint64_t id = 0; id <= map->largest; id++)
        map->packed[id] = HPC_NO_NUMBER;
    for (uint64_t i = 0; i <= map->mask; i++)
        if (map->slots[i].number)
            map->packed[map->slots[i].id] = map->slots[i].number - 1;
    free(map->slots);
    map->slots = NULL;
    return 0;
}

uint32_t hpc_idmap_search(const struct hpc_idmap *map, uint64_t id)
{
    return map->slots ? slot_of(map, id)->number - 1 : HPC_NO_NUMBER;
}

void hpc_idmap_free(struct hpc_idmap *map)
{
    free(map->slots);
    free(map->packed);
    *map = (struct hpc_idmap){0};
}
