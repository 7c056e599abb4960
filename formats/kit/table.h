/* SPDX-License-Identifier: MIT */
#ifndef PF_KIT_TABLE_H
#define PF_KIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * A hash table. Its keys come from files, so callers hash them by SipHash with a secret drawn at random at program
 * start. Therefore no file can be crafted whose keys all collide, and the order of a table is random and must never be
 * visible. Not thread-safe. A zero-initialized table is empty.
 */

/* SipHash-1-3 of bytes under the program's secret; `seed` is any number, or the hash of the preceding bytes. */
uint64_t pf_siphash(uint64_t seed, const void *bytes, size_t size);
uint64_t pf_siphash_number(uint64_t number);
/* SipHash-1-3 under a given key. */
uint64_t pf_siphash_keyed(const uint64_t key[2], const void *bytes, size_t size);

/*
 * A table from keys to numbers below UINT32_MAX. Numbers are usually indexes into an array of the caller. The keys, of
 * any type, are in the caller's memory; the table itself takes 8 bytes per slot.
 */
struct pf_hash_table {
    uint64_t *slots; /* hash in the upper half, number + 1 in the lower half; 0: free */
    uint32_t mask, count;
};

enum { PF_NOT_THERE = -1 };

/* Returns true if the key that belongs to `number` equals `key`; `of` is the caller's array or struct. */
typedef bool pf_is_key(const void *of, uint32_t number, const void *key);

/* Returns the number whose key has this hash and, according to `is_key`, equals `key`; PF_NOT_THERE if there is
 * none. */
int64_t pf_hash_find(const struct pf_hash_table *table, uint64_t hash, pf_is_key *is_key, const void *of,
                     const void *key);
/* Adds the number of a key that is not in the table. Returns 0, or -1 with ENOMEM or EFBIG in *error and the table
 * unchanged. */
int pf_hash_add(struct pf_hash_table *table, uint64_t hash, uint32_t number, struct pf_error *error);
/* Makes room for `count` numbers. Returns 0, or -1 with *error filled. */
int pf_hash_reserve(struct pf_hash_table *table, uint64_t count, struct pf_error *error);
void pf_hash_free(struct pf_hash_table *table);

#endif
