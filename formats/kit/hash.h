/* SPDX-License-Identifier: MIT */
#ifndef PF_HASH_H
#define PF_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A hash of bytes, eight at a time, for tables and against damage, not against malice: all of its bits depend on all bytes and on
 * their number. The first byte is the lowest of its word on every machine: few bytes in the highest ones would leave the hash's low
 * bits as they are. `seed` is any number, or the hash of what comes before.
 */
static inline uint64_t pf_hash(uint64_t seed, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t hash = (seed ^ size) * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ le64toh(word)) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, at, size);
    hash = (hash ^ le64toh(word)) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

#endif
