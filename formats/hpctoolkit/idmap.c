/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/idmap.h"

#include <stdlib.h>

#include "formats/kit/array.h"

static bool is_id(const void *of, uint32_t number, const void *id)
{
    return ((const struct hpc_numbered *)of)[number].id == *(const uint64_t *)id;
}

int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error)
{
    uint64_t hash = pf_siphash_number(id);
    if (pf_hash_find(&map->table, hash, is_id, map->items, &id) != PF_NOT_THERE)
        return 0;
    if (pf_array_room(&map->items, &map->room, map->table.count, sizeof *map->items, error))
        return -1;
    map->items[map->table.count] = (struct hpc_numbered){id, number};
    if (pf_hash_add(&map->table, hash, map->table.count, error))
        return -1;
    if (id > map->largest)
        map->largest = id;
    return 1;
}

int hpc_idmap_pack(struct hpc_idmap *map, struct pf_error *error)
{
    /* An array takes no more memory than the table then. */
    if (!map->table.count || map->packed || map->largest / 4 > map->table.count)
        return 0;
    map->packed = malloc((map->largest + 1) * sizeof *map->packed);
    if (!map->packed) {
        pf_fail_memory(error);
        return -1;
    }
    for (uint64_t id = 0; id <= map->largest; id++)
        map->packed[id] = HPC_NO_NUMBER;
    for (uint32_t i = 0; i < map->table.count; i++)
        map->packed[map->items[i].id] = map->items[i].number;
    return 0;
}

uint32_t hpc_idmap_search(const struct hpc_idmap *map, uint64_t id)
{
    int64_t found = pf_hash_find(&map->table, pf_siphash_number(id), is_id, map->items, &id);
    return found == PF_NOT_THERE ? HPC_NO_NUMBER : map->items[found].number;
}

void hpc_idmap_free(struct hpc_idmap *map)
{
    pf_hash_free(&map->table);
    free(map->items);
    free(map->packed);
    *map = (struct hpc_idmap){0};
}
