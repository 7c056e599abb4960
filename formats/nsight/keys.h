/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_KEYS_H
#define PF_NSIGHT_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Numbers keys of a few words in the order of their first appearance: 0, 1, 2, ... What belongs to a key stands
 * in arrays beside, at its number. Adding is for one thread; finding is for all once adding is over.
 */
enum { NSIGHT_KEY_WORDS = 4 };
#define NSIGHT_NONE UINT32_MAX

struct nsight_key {
    uint64_t word[NSIGHT_KEY_WORDS];
};

struct nsight_keys {
    struct nsight_key *key;
    uint32_t count;
    size_t room;
    uint32_t *slot; /* number + 1; 0: free */
    uint32_t slots; /* a power of two */
    uint64_t seed;  /* of the hash */
};

/* The number of a key, or NSIGHT_NONE. */
uint32_t nsight_keys_find(const struct nsight_keys *keys, const struct nsight_key *key);
/* Its number, added if new (then it is the count before); NSIGHT_NONE with *error filled. */
uint32_t nsight_keys_add(struct nsight_keys *keys, const struct nsight_key *key, struct pf_error *error);
void nsight_keys_free(struct nsight_keys *keys);

#endif
