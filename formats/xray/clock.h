/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_CLOCK_H
#define PF_XRAY_CLOCK_H

#include <stdint.h>

#include "formats/kit/cell.h"

/*
 * Ticks as nanoseconds: floor(ticks * 10^9 / frequency), exact for every number of ticks. A division of 128
 * bits a row would cost more than all the rest of it, so the quotient is taken from a multiplication by the
 * reciprocal and corrected by the remainder.
 */
struct xray_clock {
    uint64_t frequency; /* ticks a second; 0: time is in ticks */
    uint64_t whole;     /* 10^9 / frequency, */
    uint64_t fraction;  /* and what remains of it in units of 2^-64 */
    uint64_t limit;     /* ticks up to which time fits 63 bits */
};

__extension__ typedef unsigned __int128 xray_uint128;

#define XRAY_NS_PER_S UINT64_C(1000000000)

static inline struct xray_clock xray_clock_new(uint64_t frequency)
{
    struct xray_clock clock = {.frequency = frequency, .whole = 1, .limit = INT64_MAX};
    if (!frequency)
        return clock;
    clock.whole = XRAY_NS_PER_S / frequency;
    clock.fraction = (uint64_t)(((xray_uint128)(XRAY_NS_PER_S % frequency) << 64) / frequency);
    xray_uint128 limit = (xray_uint128)INT64_MAX * frequency / XRAY_NS_PER_S;
    clock.limit = limit < UINT64_MAX ? (uint64_t)limit : UINT64_MAX;
    /* The remainder below must fit 64 bits. */
    if (frequency > UINT64_MAX / 2)
        clock.limit = 0;
    return clock;
}

/* For ticks <= clock->limit. */
static inline int64_t xray_clock_short(const struct xray_clock *clock, uint64_t ticks)
{
    if (!clock->frequency)
        return (int64_t)ticks;
    uint64_t quotient = ticks * clock->whole + (uint64_t)(((xray_uint128)ticks * clock->fraction) >> 64);
    /* The quotient is right or one too small: the reciprocal is less than 2^-64 too small. */
    uint64_t rest = ticks * XRAY_NS_PER_S - quotient * clock->frequency;
    return (int64_t)(quotient + (rest >= clock->frequency));
}

/* For any ticks. *wide holds what does not fit 63 bits. */
static inline struct pf_cell xray_clock_cell(const struct xray_clock *clock, uint64_t ticks, pf_int128 *wide)
{
    if (ticks <= clock->limit)
        return pf_int(xray_clock_short(clock, ticks));
    if (!clock->frequency)
        return pf_uint(ticks);
    *wide = (pf_int128)((xray_uint128)ticks * XRAY_NS_PER_S / clock->frequency);
    return pf_wide(wide);
}

#endif
