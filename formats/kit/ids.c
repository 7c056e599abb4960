/* SPDX-License-Identifier: MIT */
#include "formats/kit/ids.h"

#include <stdlib.h>

#include "formats/kit/array.h"

/* Moves the ids below `most` from the table into the array. */
static int settle(struct pf_ids *ids, uint64_t most, struct pf_error *error)
{
    struct pf_map left = {0};
    for (size_t i = 0; i <= ids->large.mask; i++) {
        const struct pf_map_slot *slot = &ids->large.slots[i];
        int failed = 0;
        if (slot->value && slot->key >= most)
            failed = pf_map_put(&left, slot->key, slot->value) ? 0 : pf_fail_memory(error);
        else if (slot->value &&
                 !(failed = pf_array_reach(&ids->small, &ids->room, slot->key, sizeof *ids->small, error)))
            ids->small[slot->key] = (uint32_t)(uintptr_t)slot->value;
        if (failed) {
            pf_map_free(&left);
            return -1;
        }
    }
    pf_map_free(&ids->large);
    ids->large = left;
    ids->settled = ids->count;
    return 0;
}

int pf_ids_add(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    enum { ALWAYS = 1 << 16 };
    /* An array of this length takes little memory, or no more than a table does. */
    uint64_t most = ids->count < ALWAYS / 4 ? ALWAYS : 4 * (uint64_t)ids->count;
    if (pf_ids_find(ids, id) != PF_NO_ID)
        return 0;
    /* Where large ids come before small ones the array suffices later for what it did not at first. */
    if (ids->large.count && ids->count / 2 >= ids->settled && settle(ids, most, error))
        return -1;
    if (id >= most) {
        if (!pf_map_put(&ids->large, id, (void *)((uintptr_t)number + 1)))
            return pf_fail_memory(error);
    } else {
        if (pf_array_reach(&ids->small, &ids->room, id, sizeof *ids->small, error))
            return -1;
        ids->small[id] = number + 1;
    }
    ids->count++;
    return 1;
}

int pf_ids_set(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error)
{
    int added = pf_ids_add(ids, id, number, error);
    if (added)
        return added < 0 ? -1 : 0;
    if (id >= ids->room || !ids->small[id])
        return pf_map_put(&ids->large, id, (void *)((uintptr_t)number + 1)) ? 0 : pf_fail_memory(error);
    ids->small[id] = number + 1;
    return 0;
}

void pf_ids_free(struct pf_ids *ids)
{
    pf_map_free(&ids->large);
    free(ids->small);
    *ids = (struct pf_ids){0};
}
