/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_ids.h"

#include <stdlib.h>

/* The slot of an id, or the free one where it belongs. */
static struct pf_id *find(const struct pf_ids *ids, int64_t id)
{
    uint64_t hash = (uint64_t)id * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(hash >> 32);; i++) {
        struct pf_id *slot = &ids->slots[i & (ids->room - 1)];
        if (slot->number == PF_NO_ID || slot->id == id)
            return slot;
    }
}

static int grow(struct pf_ids *ids, struct pf_error *error)
{
    struct pf_ids grown = {.room = ids->room ? ids->room * 2 : 64, .count = ids->count};
    grown.slots =
        grown.room < SIZE_MAX / sizeof *grown.slots ? malloc(grown.room * sizeof *grown.slots) : NULL;
    if (!grown.slots)
        return pf_fail_memory(error);
    for (size_t i = 0; i < grown.room; i++)
        grown.slots[i].number = PF_NO_ID;
    for (size_t i = 0; i < ids->room; i++)
        if (ids->slots[i].number != PF_NO_ID)
            *find(&grown, ids->slots[i].id) = ids->slots[i];
    free(ids->slots);
    *ids = grown;
    return 0;
}

int pf_ids_set(struct pf_ids *ids, int64_t id, uint32_t number, struct pf_error *error)
{
    if (ids->count >= ids->room / 2 && grow(ids, error) < 0)
        return -1;
    struct pf_id *slot = find(ids, id);
    ids->count += slot->number == PF_NO_ID;
    *slot = (struct pf_id){id, number};
    return 0;
}

uint32_t pf_ids_get(const struct pf_ids *ids, int64_t id)
{
    return ids->room ? find(ids, id)->number : PF_NO_ID;
}

void pf_ids_free(struct pf_ids *ids)
{
    free(ids->slots);
}
