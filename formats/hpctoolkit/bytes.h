/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_BYTES_H
#define PF_HPC_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Numbers at any address, in the byte order of the layout. */

static inline uint16_t hpc_u16(const unsigned char *bytes, bool big_endian)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be16toh(value) : le16toh(value);
}

static inline uint32_t hpc_u32(const unsigned char *bytes, bool big_endian)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be32toh(value) : le32toh(value);
}

static inline uint64_t hpc_u64(const unsigned char *bytes, bool big_endian)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return big_endian ? be64toh(value) : le64toh(value);
}

static inline double hpc_f64(const unsigned char *bytes, bool big_endian)
{
    uint64_t bits = hpc_u64(bytes, big_endian);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* True if `count` records of `record` bytes at `offset` lie before `end`. */
static inline bool hpc_fits(uint64_t offset, uint64_t count, uint64_t record, uint64_t end)
{
    uint64_t size;
    return !__builtin_mul_overflow(count, record, &size) && offset <= end && size <= end - offset;
}

#endif
