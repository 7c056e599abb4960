/* SPDX-License-Identifier: MIT */
#include "formats/nsight/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t first_slot(const struct nsight_keys *keys, const struct nsight_key *key)
{
    uint64_t hash = fold(key->word[0] ^ keys->seed, key->word[1] ^ 0xe7037ed1a0b428dbu);
    hash ^= fold(key->word[2] ^ hash, key->word[3] ^ 0x8ebc6af09c88c6e3u ^ keys->seed);
    return (uint32_t)(fold(hash, 0x589965cc75374cc3u) & (keys->slots - 1));
}

uint32_t nsight_keys_find(const struct nsight_keys *keys, const struct nsight_key *key)
{
    if (!keys->slots)
        return NSIGHT_NONE;
    for (uint32_t at = first_slot(keys, key); keys->slot[at]; at = (at + 1) & (keys->slots - 1))
        if (!memcmp(&keys->key[keys->slot[at] - 1], key, sizeof *key))
            return keys->slot[at] - 1;
    return NSIGHT_NONE;
}

static void put(struct nsight_keys *keys, uint32_t number)
{
    uint32_t at = first_slot(keys, &keys->key[number]);
    while (keys->slot[at])
        at = (at + 1) & (keys->slots - 1);
    keys->slot[at] = number + 1;
}

/* At most half of the slots are in use. */
static int grow_slots(struct nsight_keys *keys, struct pf_error *error)
{
    if (keys->count < keys->slots / 2)
        return 0;
    if (keys->slots > UINT32_MAX / 4)
        return pf_fail(error, EFBIG, "too many items");
    uint32_t slots = keys->slots ? keys->slots * 2 : 64;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return pf_fail_memory(error);
    free(keys->slot);
    keys->slot = slot;
    keys->slots = slots;
    /* Where it lies in memory: so no file can be made of keys that all collide. */
    keys->seed = (uintptr_t)slot ^ 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < keys->count; i++)
        put(keys, i);
    return 0;
}

uint32_t nsight_keys_add(struct nsight_keys *keys, const struct nsight_key *key, struct pf_error *error)
{
    uint32_t number = nsight_keys_find(keys, key);
    if (number != NSIGHT_NONE)
        return number;
    if (pf_array_room(&keys->key, &keys->room, keys->count, sizeof *keys->key, error) ||
        grow_slots(keys, error))
        return NSIGHT_NONE;
    keys->key[keys->count] = *key;
    put(keys, keys->count);
    return keys->count++;
}

void nsight_keys_free(struct nsight_keys *keys)
{
    free(keys->key);
    free(keys->slot);
    *keys = (struct nsight_keys){0};
}
