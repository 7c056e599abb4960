/* SPDX-License-Identifier: MIT */
#ifndef PF_PRINT_H
#define PF_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"

/*
 * Prints numbers as text, fast and independent of the locale. Each function writes without a terminating NUL and
 * returns the end of the written text. `out` must have room for PF_NUMBER_MAX bytes, which is more than any number
 * needs, since digits are written several at a time. The _size functions return the length of the number's text.
 */
#define PF_NUMBER_MAX 48

char *pf_print_int(char *out, int64_t value);
char *pf_print_uint(char *out, uint64_t value);
char *pf_print_wide(char *out, pf_int128 value);

/*
 * Prints the shortest decimal that reads back to the same double, in the notation that printf's %.17g would choose
 * (plain for decimal exponents from -4 to 16: 0.0001 and 12345678901234568 are plain, 1e-05 and 1e+17 are not). Prints
 * `inf`, `-inf`, `nan`, and `-0` for negative zero.
 */
char *pf_print_double(char *out, double value);

/* Like pf_print_double, but never with an exponent, for programs that do not read exponents. */
#define PF_PLAIN_MAX 400 /* maximum length: the smallest doubles have 324 decimals and a sign */
char *pf_print_double_plain(char *out, double value);

unsigned pf_wide_size(pf_int128 value);
unsigned pf_double_size(double value);

/* 10^0 to 10^19. */
extern const uint64_t pf_tens[20];

/* Inline, as pf_int_size is, since measuring a table's size calls these functions for each cell. */
static inline unsigned pf_uint_size(uint64_t value)
{
    value |= 1; /* 0 has as many digits as 1; no other count changes, since 10, 100, ... are even */
    unsigned bits = (63U ^ (unsigned)__builtin_clzll(value)) + 1;
    unsigned tens = bits * 1233 >> 12; /* floor(bits * log10(2)): the number of digits, or 1 less */
    return tens + (value >= pf_tens[tens]);
}

static inline unsigned pf_int_size(int64_t value)
{
    return value < 0 ? 1 + pf_uint_size(-(uint64_t)value) : pf_uint_size((uint64_t)value);
}

#endif
