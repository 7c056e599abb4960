/* SPDX-License-Identifier: MIT */
#include "formats/kit/table.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- SipHash-1-3 -------------------------------------------------------------------------------- */

static uint64_t secret[2]; /* drawn before main starts, constant afterwards */

__attribute__((constructor)) static void draw_secret(void)
{
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        secret[0] = (uintptr_t)&secret; /* an old kernel: rely on address space randomisation */
}

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline struct sip sip_begin(const uint64_t key[2])
{
    return (struct sip){key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                        key[1] ^ 0x7465646279746573};
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

static inline uint64_t sip_end(struct sip *s)
{
    s->c ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

static inline uint64_t sip_bytes(struct sip *s, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t word, last = (uint64_t)size << 56;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sip_word(s, le64toh(word));
    }
    for (size_t i = 0; i < size; i++)
        last |= (uint64_t)at[i] << 8 * i;
    sip_word(s, last);
    return sip_end(s);
}

uint64_t pf_siphash_keyed(const uint64_t key[2], const void *bytes, size_t size)
{
    struct sip s = sip_begin(key);
    return sip_bytes(&s, bytes, size);
}

uint64_t pf_siphash(uint64_t seed, const void *bytes, size_t size)
{
    struct sip s = sip_begin(secret);
    if (seed)
        sip_word(&s, seed);
    return sip_bytes(&s, bytes, size);
}

uint64_t pf_siphash_number(uint64_t number)
{
    struct sip s = sip_begin(secret);
    sip_word(&s, number);
    return sip_end(&s);
}

/* ---- keys in the caller's memory ---------------------------------------------------------------- */

enum { FIRST_MASK = 15 };

int64_t pf_hash_find(const struct pf_hash_table *table, uint64_t hash, pf_is_key *is_key, const void *of,
                     const void *key)
{
    uint32_t tag = (uint32_t)hash;
    for (uint32_t i = tag; table->slots; i++) {
        uint64_t slot = table->slots[i & table->mask];
        uint32_t number = (uint32_t)slot - 1;
        if (!slot)
            break;
        if (slot >> 32 == tag && is_key(of, number, key))
            return number;
    }
    return PF_NOT_THERE;
}

static void table_put(uint64_t *slots, uint32_t mask, uint64_t slot)
{
    uint32_t i = (uint32_t)(slot >> 32);
    while (slots[i & mask])
        i++;
    slots[i & mask] = slot;
}

static int table_resize(struct pf_hash_table *table, uint32_t mask, struct pf_error *error)
{
    uint64_t *slots = calloc((size_t)mask + 1, sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    for (uint32_t i = 0; table->slots && i <= table->mask; i++)
        if (table->slots[i])
            table_put(slots, mask, table->slots[i]);
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return 0;
}

int pf_hash_reserve(struct pf_hash_table *table, uint64_t count, struct pf_error *error)
{
    uint32_t mask = table->slots ? table->mask : FIRST_MASK;
    if (count > UINT32_MAX / 2)
        return pf_fail(error, EFBIG, "too many keys");
    while (count > mask / 4 * 3)
        mask = mask * 2 + 1;
    return table->slots && mask == table->mask ? 0 : table_resize(table, mask, error);
}

int pf_hash_add(struct pf_hash_table *table, uint64_t hash, uint32_t number, struct pf_error *error)
{
    if (pf_hash_reserve(table, (uint64_t)table->count + 1, error))
        return -1;
    table_put(table->slots, table->mask, hash << 32 | ((uint64_t)number + 1));
    table->count++;
    return 0;
}

void pf_hash_free(struct pf_hash_table *table)
{
    free(table->slots);
    *table = (struct pf_hash_table){0};
}
