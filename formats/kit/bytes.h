/* SPDX-License-Identifier: MIT */
#ifndef PF_BYTES_H
#define PF_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Unaligned loads of numbers with a given byte order. */

static inline uint16_t pf_u16(const unsigned char *bytes, bool big_endian)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be16toh(value) : le16toh(value);
}

static inline uint32_t pf_u32(const unsigned char *bytes, bool big_endian)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be32toh(value) : le32toh(value);
}

static inline uint64_t pf_u64(const unsigned char *bytes, bool big_endian)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be64toh(value) : le64toh(value);
}

static inline double pf_f64(const unsigned char *bytes, bool big_endian)
{
    uint64_t bits = pf_u64(bytes, big_endian);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
