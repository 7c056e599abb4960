/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_IDMAP_H
#define PF_HPC_IDMAP_H

#include <stdint.h>

#include "formats/kit/table.h"

/*
 * From the ids of a database, which may be any numbers in any order, to small numbers of ours. All zero is
 * empty. Adding is for one thread; once that is over, any may look.
 */
struct hpc_idmap {
    struct pf_hash_table table;
    struct hpc_numbered {
        uint64_t id;
        uint32_t number;
    } * items;
    size_t room;
    uint64_t largest;
    uint32_t *packed; /* once packed: by id, up to the largest */
};

#define HPC_NO_NUMBER UINT32_MAX

/* 1: added; 0: the id was there and keeps its number; -1: *error filled. number is not HPC_NO_NUMBER. */
int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error);

/* Makes looking up faster if the ids are small numbers, as they mostly are; nothing is added after that. 0, or -1 with *error
 * filled. */
int hpc_idmap_pack(struct hpc_idmap *map, struct pf_error *error);

uint32_t hpc_idmap_search(const struct hpc_idmap *map, uint64_t id);

/* The id's number, or HPC_NO_NUMBER. */
static inline uint32_t hpc_idmap_find(const struct hpc_idmap *map, uint64_t id)
{
    if (map->packed)
        return id <= map->largest ? map->packed[id] : HPC_NO_NUMBER;
    return hpc_idmap_search(map, id);
}

void hpc_idmap_free(struct hpc_idmap *map);

#endif
