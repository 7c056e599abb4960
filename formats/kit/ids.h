/* SPDX-License-Identifier: MIT */
#ifndef PF_IDS_H
#define PF_IDS_H

#include "formats/kit/error.h"
#include "formats/kit/table.h"

/*
 * A map from a file's ids to small numbers. Ids are arbitrary, but usually small: small ids are in an array, others in
 * a hash table. A zero-initialized map is empty. One thread adds ids; then any number of threads may look them up.
 */
struct pf_ids {
    uint32_t *small;     /* by id: number + 1; 0: absent */
    size_t room;         /* length of `small` */
    uint32_t count;      /* number of ids in `small` and `large` */
    uint32_t rearranged; /* `count` at the last move of ids from the table to the array */
    struct pf_large_id {
        uint64_t id;
        uint32_t number;
    } * large;
    uint32_t n_large;
    size_t large_room;
    struct pf_hash_table by_id; /* finds the entries of `large` */
};

#define PF_NO_ID UINT32_MAX

/* Adds an id. Returns 1 if added, 0 if the id is present (it keeps its number), -1 with *error filled. `number` must be
 * less than PF_NO_ID. */
int pf_ids_add(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* Like pf_ids_add, but replaces the number of a present id. Returns 0, or -1 with *error filled. */
int pf_ids_set(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* Slow path of pf_ids_find. */
uint32_t pf_ids_find_large(const struct pf_ids *ids, uint64_t id);

/* The id's number, or PF_NO_ID. */
static inline uint32_t pf_ids_find(const struct pf_ids *ids, uint64_t id)
{
    uint32_t found = id < ids->room ? ids->small[id] : 0;
    return found || !ids->n_large ? found - 1 : pf_ids_find_large(ids, id);
}

void pf_ids_free(struct pf_ids *ids);

#endif
