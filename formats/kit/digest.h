/* SPDX-License-Identifier: MIT */
#ifndef PF_DIGEST_H
#define PF_DIGEST_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * An unkeyed 64-bit digest. It serves for names of cached files, digests of listings, and checksums against damage, but
 * not for hash tables whose keys come from files, which need pf_siphash (formats/kit/table.h). Each bit of the digest
 * depends on all bytes and on their number. The digest is the same on all hosts. `seed` is any number, or the digest of
 * the preceding bytes.
 */
static inline uint64_t pf_digest(uint64_t seed, const void *bytes, size_t size)
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
