/* SPDX-License-Identifier: MIT */
#ifndef PF_FIXED_H
#define PF_FIXED_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/kit/cell.h"

/*
 * Reads all of text[0 .. size) as a number (optional sign, digits with an optional point, optional exponent) times
 * 10^places, rounded toward zero: times in microseconds as nanoseconds, say, of which a double would lose some. False, and
 * *value as it was, if it is no such number or has more than 38 digits before the point then.
 */
bool pf_parse_fixed(const char *text, size_t size, int places, pf_int128 *value);

/* The double that is nearest to value / 10^places; places is at most 38. */
double pf_fixed_double(pf_int128 value, unsigned places);

#endif
