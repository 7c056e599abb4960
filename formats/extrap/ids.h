/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_IDS_H
#define PF_EXTRAP_IDS_H

#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"

/* From ids of a file, whatever they are, to numbers of items. All zero: empty. */
struct pf_ids {
    struct pf_hash_table table; /* entry i of these: */
    uint64_t *ids;
    uint32_t *numbers;
    size_t ids_room, numbers_room;
};
#define PF_NO_ID UINT32_MAX

/* The number of an id, or PF_NO_ID. */
static inline uint32_t pf_ids_get(const struct pf_ids *ids, int64_t id)
{
    uint64_t key = (uint64_t)id;
    int64_t entry = pf_hash_find(&ids->table, pf_siphash_number(key), pf_is_number, ids->ids, &key);
    return entry == PF_NOT_THERE ? PF_NO_ID : ids->numbers[entry];
}

/* Sets the number of an id; a later one takes the place of an earlier one. 0, or -1 with *error filled. */
static inline int pf_ids_set(struct pf_ids *ids, int64_t id, uint32_t number, struct pf_error *error)
{
    uint64_t key = (uint64_t)id, hash = pf_siphash_number(key);
    int64_t entry = pf_hash_find(&ids->table, hash, pf_is_number, ids->ids, &key);
    if (entry != PF_NOT_THERE) {
        ids->numbers[entry] = number;
        return 0;
    }
    uint32_t next = ids->table.count;
    if (pf_array_reach(&ids->ids, &ids->ids_room, next, sizeof *ids->ids, error) ||
        pf_array_reach(&ids->numbers, &ids->numbers_room, next, sizeof *ids->numbers, error))
        return -1;
    ids->ids[next] = key;
    ids->numbers[next] = number;
    return pf_hash_add(&ids->table, hash, next, error);
}

static inline void pf_ids_free(struct pf_ids *ids)
{
    pf_hash_free(&ids->table);
    free(ids->ids);
    free(ids->numbers);
    *ids = (struct pf_ids){0};
}

#endif
