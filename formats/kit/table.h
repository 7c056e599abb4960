/* SPDX-License-Identifier: MIT */
#ifndef PF_KIT_TABLE_H
#define PF_KIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * Hash tables. Files choose the keys that are put into them, so the hash is SipHash with a key drawn at random when the program
 * starts: nobody can write a file whose keys all meet. What a table holds therefore never shows its order. None is safe for
 * threads by itself; all are empty when zeroed.
 */

/* SipHash-1-3 of bytes, under the program's key; `seed` is any number, or the hash of what comes before. */
uint64_t pf_siphash(uint64_t seed, const void *bytes, size_t size);
uint64_t pf_siphash_number(uint64_t number);
/* The same under a given key. */
uint64_t pf_siphash_keyed(const uint64_t key[2], const void *bytes, size_t size);

/*
 * A table from keys to numbers below UINT32_MAX, which are mostly indexes of an array of the owner's: there stand the keys,
 * of whatever kind; the table holds 8 bytes a number.
 */
struct pf_hash_table {
    uint64_t *slots; /* hash above number + 1; 0: free */
    uint32_t mask, count;
};

enum { PF_NOT_THERE = -1 };

/* True if `number` stands for this key; `of` is the owner's. */
typedef bool pf_is_key(const void *of, uint32_t number, const void *key);

/* The number of a key with this hash, or PF_NOT_THERE. */
int64_t pf_hash_find(const struct pf_hash_table *table, uint64_t hash, pf_is_key *is_key, const void *of,
                     const void *key);
/* Adds the number of a key that is not there yet. 0; or -1 with ENOMEM or EFBIG in *error, nothing being added. */
int pf_hash_add(struct pf_hash_table *table, uint64_t hash, uint32_t number, struct pf_error *error);
/* Makes room for so many numbers ahead of adding them. 0, or -1 with *error filled. */
int pf_hash_reserve(struct pf_hash_table *table, uint64_t count, struct pf_error *error);
void pf_hash_free(struct pf_hash_table *table);
/* How many slots are looked at to find each number once, for tests. */
uint64_t pf_hash_probes(const struct pf_hash_table *table);

/* A key that is a number, where `of` is an array of such: for pf_hash_find. */
bool pf_is_number(const void *of, uint32_t number, const void *key);

/* A map from numbers to pointers. */
struct pf_map {
    struct pf_map_slot {
        uint64_t key;
        void *value; /* NULL: free */
    } * slots;
    size_t count, mask;
};

void *pf_map_get(const struct pf_map *map, uint64_t key);       /* NULL: none */
bool pf_map_put(struct pf_map *map, uint64_t key, void *value); /* replaces; false: out of memory */
void pf_map_remove(struct pf_map *map, uint64_t key);
void pf_map_free(struct pf_map *map);

#endif
