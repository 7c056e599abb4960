/* SPDX-License-Identifier: MIT */
#ifndef PF_POWERS_H
#define PF_POWERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Powers of ten as 128-bit numbers, for turning doubles into decimals and back. The range is what both need:
 * printing takes 10^-292 (for DBL_MAX) to 10^324 (for the smallest subnormal), reading 10^-342 (a mantissa of
 * 19 digits times less is zero) to 10^308.
 */
#define PF_POWER_MIN (-342)
#define PF_POWER_MAX 324

__extension__ typedef unsigned __int128 pf_uint128;

/*
 * The leading 128 bits of 10^k, the rest cut off: floor(10^k * 2^(127 - e)) with e = pf_power_log2(k), so the
 * topmost bit is set. k lies between PF_POWER_MIN and PF_POWER_MAX.
 */
pf_uint128 pf_power_of_ten(int k);

/* Whether those 128 bits are all of 10^k: 5^55 is the last power of five below 2^128. */
static inline bool pf_power_is_exact(int k)
{
    return k >= 0 && k <= 55;
}

/* floor(log2(10^k)) for |k| <= 1233: 1741647 / 2^19 is log2(10) closely enough for that. */
static inline int pf_power_log2(int k)
{
    return (k * 1741647) >> 19;
}

#endif
