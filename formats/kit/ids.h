/* SPDX-License-Identifier: MIT */
#ifndef PF_IDS_H
#define PF_IDS_H

#include "formats/kit/error.h"
#include "formats/kit/table.h"

/*
 * A map from the ids of a file to small numbers. Ids may be any numbers in any order, but mostly are small: these are kept in an array,
 * others in a hash table. Empty if zeroed. Adding is for one thread; any number of threads may look up afterwards.
 */
struct pf_ids {
    uint32_t *small;     /* by id: number + 1; 0: none */
    size_t room;         /* of small */
    uint32_t count;      /* ids in small and large */
    uint32_t rearranged; /* count when small ids were last moved from the table to the array */
    struct pf_large_id {
        uint64_t id;
        uint32_t number;
    } * large;
    uint32_t n_large;
    size_t large_room;
    struct pf_hash_table by_id; /* of large */
};

#define PF_NO_ID UINT32_MAX

/* 1: added; 0: the id is there and keeps its number; -1: *error filled. number is less than PF_NO_ID. */
int pf_ids_add(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* As pf_ids_add, but replaces the number of an id that is there. 0, or -1 with *error filled. */
int pf_ids_set(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* For pf_ids_find. */
uint32_t pf_ids_find_large(const struct pf_ids *ids, uint64_t id);

/* The id's number, or PF_NO_ID. */
static inline uint32_t pf_ids_find(const struct pf_ids *ids, uint64_t id)
{
    uint32_t found = id < ids->room ? ids->small[id] : 0;
    return found || !ids->n_large ? found - 1 : pf_ids_find_large(ids, id);
}

void pf_ids_free(struct pf_ids *ids);

#endif
