/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

static bool is_key(const void *of, uint32_t number, const void *key)
{
    return !memcmp((const struct nsight_key *)of + number, key, sizeof(struct nsight_key));
}

uint32_t nsight_keys_find(const struct nsight_keys *keys, const struct nsight_key *key)
{
    int64_t found = pf_hash_find(&keys->table, pf_siphash(0, key, sizeof *key), is_key, keys->key, key);
    return found == PF_NOT_THERE ? NSIGHT_NONE : (uint32_t)found;
}

uint32_t nsight_keys_add(struct nsight_keys *keys, const struct nsight_key *key, struct pf_error *error)
{
    uint32_t number = nsight_keys_find(keys, key);
    if (number != NSIGHT_NONE)
        return number;
    if (pf_array_room(&keys->key, &keys->room, keys->count, sizeof *keys->key, error) ||
        pf_hash_add(&keys->table, pf_siphash(0, key, sizeof *key), keys->count, error))
        return NSIGHT_NONE;
    keys->key[keys->count] = *key;
    return keys->count++;
}

void nsight_keys_free(struct nsight_keys *keys)
{
    free(keys->key);
    pf_hash_free(&keys->table);
    *keys = (struct nsight_keys){0};
}
