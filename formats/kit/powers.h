/* SPDX-License-Identifier: MIT */
#ifndef PF_POWERS_H
#define PF_POWERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Powers of ten as 128-bit numbers, for conversions between doubles and decimals. The range covers both directions:
 * printing needs 10^-292 (for DBL_MAX) to 10^324 (for the smallest subnormal); parsing needs 10^-342 (a smaller power
 * times a mantissa of 19 digits is zero) to 10^308.
 */
#define PF_POWER_MIN (-342)
#define PF_POWER_MAX 324

__extension__ typedef unsigned __int128 pf_uint128;

/* The leading 128 bits of 10^k, truncated: floor(10^k * 2^(127 - e)) with e = pf_power_log2(k), so the top bit is set.
 * k must be from PF_POWER_MIN to PF_POWER_MAX. */
pf_uint128 pf_power_of_ten(int k);

/* True if pf_power_of_ten(k) is exact: 5^55 is the largest power of five below 2^128. */
static inline bool pf_power_is_exact(int k)
{
    return k >= 0 && k <= 55;
}

/* floor(log2(10^k)) for |k| <= 1233: in this range, 1741647 / 2^19 approximates log2(10) closely enough. */
static inline int pf_power_log2(int k)
{
    return (k * 1741647) >> 19;
}

#endif
