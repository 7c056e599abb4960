/* SPDX-License-Identifier: MIT */
#ifndef PF_SHORTEST_H
#define PF_SHORTEST_H

#include <stdint.h>

/* digits * 10^exponent; digits has at most 17 digits and does not end in 0. */
struct pf_decimal {
    uint64_t digits;
    int exponent;
};

/* The decimal with the fewest digits that reads back (rounding to nearest, ties to even) to the same double; among
 * several such decimals, the closest one. `value` must be finite and positive. */
struct pf_decimal pf_shortest(double value);

#endif
