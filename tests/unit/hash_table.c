/* SPDX-License-Identifier: MIT */
#include "formats/kit/table.h"

#include <stdio.h>
#include <string.h>

#include "formats/kit/digest.h"
#include "formats/kit/ids.h"
#include "tests/unit/tap.h"

enum { KEYS = 50000 };

static void agrees_with_its_definition(void)
{
    /* The 16-byte key 0, 1, 2, ... as two little-endian words, which SipHash reads. */
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char bytes[8];
    for (unsigned char i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    ok(pf_siphash_keyed(key, bytes, 0) == 0xabac0158050fc4dc, "SipHash-1-3 of no bytes is as published");
    ok(pf_siphash_keyed(key, bytes, 1) == 0xc9f49bf37d57ca93, "SipHash-1-3 of one byte is as published");
    ok(pf_siphash_keyed(key, bytes, 8) == 0x369095118d299a8e, "SipHash-1-3 of eight bytes is as published");
    ok(pf_siphash(1, "main", 4) != pf_siphash(2, "main", 4),
       "the hash of a text depends on the hash before it");
    ok(pf_siphash_number(1) != pf_siphash_number(2), "different numbers have different hashes");
}

static bool is_same_key(const void *of, uint32_t number, const void *key)
{
    return ((const uint64_t *)of)[number] == *(const uint64_t *)key;
}

/* Returns the average number of slots that the look-up of a number visits. */
static double slots_visited(const struct pf_hash_table *table)
{
    uint64_t visited = 0;
    for (uint32_t i = 0; i <= table->mask; i++)
        if (table->slots[i])
            visited += ((i - (uint32_t)(table->slots[i] >> 32)) & table->mask) + 1;
    return (double)visited / table->count;
}

static void finds_what_was_added(void)
{
    static uint64_t keys[KEYS];
    struct pf_hash_table table = {0};
    struct pf_error error;
    unsigned wrong = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = (uint64_t)i << 40;
        uint64_t hash = pf_siphash_number(keys[i]);
        wrong += pf_hash_find(&table, hash, is_same_key, keys, &keys[i]) != PF_NOT_THERE;
        wrong += pf_hash_add(&table, hash, i, &error) != 0;
    }
    ok(wrong == 0 && table.count == KEYS, "keys that were not added are not found");
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += pf_hash_find(&table, pf_siphash_number(keys[i]), is_same_key, keys, &keys[i]) != (int64_t)i;
    ok(wrong == 0, "keys that were added are found, each with its number");
    ok(slots_visited(&table) < 4, "keys are found in few steps: %.2f", slots_visited(&table));
    pf_hash_free(&table);
    ok(pf_hash_find(&table, 0, is_same_key, keys, &keys[0]) == PF_NOT_THERE, "a freed table is empty");
}

/* Makes a pair of words whose unkeyed hash does not depend on `first`, because the second word cancels the first. */
static void craft(uint64_t first, uint64_t text[2])
{
    const uint64_t a = 0x9e3779b97f4a7c15, b = 0xff51afd7ed558ccd;
    uint64_t hash = (16 * a ^ first) * b;
    text[0] = htole64(first);
    text[1] = htole64(hash ^ hash >> 32 ^ 0x1234);
}

static void is_not_slowed_by_crafted_keys(void)
{
    static uint64_t texts[KEYS][2];
    struct pf_hash_table table = {0};
    struct pf_error error;
    unsigned differ = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        craft(i + 1, texts[i]);
        differ += pf_digest(0, texts[i], sizeof texts[i]) != pf_digest(0, texts[0], sizeof texts[0]);
        pf_hash_add(&table, pf_siphash(0, texts[i], sizeof texts[i]), i, &error);
    }
    ok(differ == 0, "crafted texts all have one unkeyed hash");
    ok(slots_visited(&table) < 4, "crafted texts are found in few steps: %.2f", slots_visited(&table));
    pf_hash_free(&table);
}

/* Small ids, descending ids far from the others, and the largest possible one. */
static void numbers_ids(void)
{
    enum { DENSE = 200000 };
    struct pf_ids ids = {0};
    struct pf_error error;
    unsigned wrong = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += pf_ids_add(&ids, i % 2 ? 2 * i : UINT64_MAX - 3 * (uint64_t)i, i, &error) != 1;
    ok(!wrong && !pf_ids_add(&ids, 2, 7, &error) && !pf_ids_add(&ids, UINT64_MAX, 7, &error),
       "an id of any size is added only once");
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += pf_ids_find(&ids, i % 2 ? 2 * i : UINT64_MAX - 3 * (uint64_t)i) != i;
    ok(!wrong && pf_ids_find(&ids, 4) == PF_NO_ID && pf_ids_find(&ids, UINT64_MAX / 2) == PF_NO_ID,
       "each id has its number, and other ids have none");
    ok(!pf_ids_set(&ids, 2, 7, &error) && !pf_ids_set(&ids, UINT64_MAX, 8, &error) &&
           !pf_ids_set(&ids, 4, 9, &error) && pf_ids_find(&ids, 2) == 7 &&
           pf_ids_find(&ids, UINT64_MAX) == 8 && pf_ids_find(&ids, 4) == 9,
       "a number that is set replaces the earlier one");
    pf_ids_free(&ids);
    ok(pf_ids_find(&ids, 2) == PF_NO_ID, "freed ids are empty");
    wrong = 0;
    for (uint32_t i = 0; i < DENSE; i++)
        wrong += pf_ids_add(&ids, DENSE - i, i, &error) != 1;
    for (uint32_t i = 0; i < DENSE; i++)
        wrong += pf_ids_find(&ids, DENSE - i) != i;
    ok(!wrong && !ids.n_large && pf_ids_find(&ids, 0) == PF_NO_ID && pf_ids_find(&ids, DENSE + 1) == PF_NO_ID,
       "ids in descending order are stored in the array");
    ok(!pf_ids_set(&ids, DENSE, 7, &error) && pf_ids_find(&ids, DENSE) == 7,
       "numbers of ids in the array can be replaced");
    pf_ids_free(&ids);
}

int main(void)
{
    numbers_ids();
    agrees_with_its_definition();
    finds_what_was_added();
    is_not_slowed_by_crafted_keys();
    return done();
}
