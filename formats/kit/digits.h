/* SPDX-License-Identifier: MIT */
#ifndef PF_DIGITS_H
#define PF_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/*
 * Reading decimal digits eight at a time. A loop over digits ends at another place for each number, which processors
 * guess wrong; these take no branch. The first of the bytes is the lowest of the word, whatever the machine's order.
 */
static inline uint64_t pf_digits_load(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return le64toh(word);
}

/*
 * How many of the eight bytes are digits, before the first that is none. Without their 3 in the high half, digits
 * are below 10; adding 0x76 to that carries into no bit 7, other than to what is above.
 */
static inline unsigned pf_digits_count(uint64_t word)
{
    const uint64_t threes = UINT64_C(0x3030303030303030), high = UINT64_C(0x8080808080808080);
    uint64_t rest = word ^ threes;
    uint64_t others = (((rest & ~high) + UINT64_C(0x7676767676767676)) | rest) & high;
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/*
 * The number that the first n bytes are, 1 to 8, which are digits. They are moved up so that zeros stand before them, and
 * then joined to pairs, the pairs to fours, the fours to eights, in lanes that double each time.
 */
static inline uint64_t pf_digits_join(uint64_t word, unsigned n)
{
    word = (word << (64 - 8 * n)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
}

#endif
