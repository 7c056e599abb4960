/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_BYTES_H
#define PF_HPC_BYTES_H

#include "formats/kit/bytes.h"

static inline double hpc_f64(const unsigned char *bytes, bool big_endian)
{
    uint64_t bits = pf_u64(bytes, big_endian);
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
