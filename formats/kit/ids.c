/* SPDX-License-Identifier: MIT */
#include "formats/kit/ids.h"

#include <stdlib.h>

#include "formats/kit/array.h"

static bool is_large_id(const void *of, uint32_t number, const void *key)
{
    return ((const struct pf_large_id *)of)[number].id == *(const uint64_t *)key;
}

/* The index of an id in `large`, or PF_NOT_THERE. */
static int64_t find_large(const struct pf_ids *ids, uint64_t id)
{
    return pf_hash_find(&ids->by_id, pf_siphash_number(id), is_large_id, ids->large, &id);
}

uint32_t pf_ids_find_large(const struct pf_ids *ids, uint64_t id)
{
    int64_t at = find_large(ids, id);
    return at == PF_NOT_THERE ? PF_NO_ID : ids->large[at].number;
}

static int add_small(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    if (pf_array_reach(&ids->small, &ids->room, id, sizeof *ids->small, error))
        return -1;
    ids->small[id] = number + 1;
    return 0;
}

static int add_large(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    if (pf_array_room(&ids->large, &ids->large_room, ids->n_large, sizeof *ids->large, error) ||
        pf_hash_add(&ids->by_id, pf_siphash_number(id), ids->n_large, error))
        return -1;
    ids->large[ids->n_large++] = (struct pf_large_id){id, number};
    return 0;
}

/* Moves the ids below `most` from the table to the array. On failure, all of them remain in the table. */
static int rearrange(struct pf_ids *ids, uint64_t most, struct pf_error *error)
{
    struct pf_ids left = {0};
    int failed = 0;
    for (uint32_t i = 0; i < ids->n_large && !failed; i++) {
        const struct pf_large_id *large = &ids->large[i];
        failed = large->id < most ? add_small(ids, large->id, large->number, error)
                                  : add_large(&left, large->id, large->number, error);
    }
    struct pf_ids freed = left;
    if (!failed) {
        freed = (struct pf_ids){.large = ids->large, .by_id = ids->by_id};
        ids->large = left.large;
        ids->n_large = left.n_large;
        ids->large_room = left.large_room;
        ids->by_id = left.by_id;
        ids->rearranged = ids->count;
    }
    pf_ids_free(&freed);
    return failed;
}

int pf_ids_add(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    enum { ALWAYS = 1 << 16 };
    /* Maximum length of the array: ALWAYS or, for many ids, a length that takes no more memory than their hash table. */
    uint64_t most = ids->count < ALWAYS / 4 ? ALWAYS : 4 * (uint64_t)ids->count;
    if (pf_ids_find(ids, id) != PF_NO_ID)
        return 0;
    /* `most` grows with the number of ids, so an id that was too large for the array when it was added may fit now. */
    if (ids->n_large && ids->count / 2 >= ids->rearranged && rearrange(ids, most, error))
        return -1;
    if (id < most ? add_small(ids, id, number, error) : add_large(ids, id, number, error))
        return -1;
    ids->count++;
    return 1;
}

int pf_ids_set(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    int added = pf_ids_add(ids, id, number, error);
    if (added)
        return added < 0 ? -1 : 0;
    if (id < ids->room && ids->small[id])
        ids->small[id] = number + 1;
    else
        ids->large[find_large(ids, id)].number = number;
    return 0;
}

void pf_ids_free(struct pf_ids *ids)
{
    pf_hash_free(&ids->by_id);
    free(ids->large);
    free(ids->small);
    *ids = (struct pf_ids){0};
}
