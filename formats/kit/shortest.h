/* SPDX-License-Identifier: MIT */
#ifndef PF_SHORTEST_H
#define PF_SHORTEST_H

#include <stdint.h>

/* digits * 10^exponent; digits has at most 17 digits and does not end in 0. */
struct pf_decimal {
    uint64_t digits;
    int exponent;
};

/*
 * The decimal with the fewest digits that reads back (to nearest, ties to even) as the same double; of
 * several the one closest to it. `value` is finite and above 0.
 */
struct pf_decimal pf_shortest(double value);

#endif
