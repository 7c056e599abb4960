/* SPDX-License-Identifier: MIT */
#ifndef PF_PRINT_H
#define PF_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"

/*
 * Numbers as text, fast and independent of the locale. Each function writes without a terminating NUL and
 * returns the end of what it wrote; `out` has room for PF_NUMBER_MAX bytes, more than any number takes, since
 * digits are written several at a time. The _size functions return how many bytes the number takes.
 */
#define PF_NUMBER_MAX 48

char *pf_print_int(char *out, int64_t value);
char *pf_print_uint(char *out, uint64_t value);
char *pf_print_wide(char *out, pf_int128 value);

/*
 * The shortest decimal that reads back to the same double, plain or with an exponent as printf's %.17g would
 * choose (plain for decimal exponents from -4 to 16: 1e-05 has an exponent, 0.0001 and 12345678901234568 have
 * none, 1e+17 has); `inf`, `-inf`, `nan`, `-0` for negative zero.
 */
char *pf_print_double(char *out, double value);

/* The same number without exponent whatever its size. For tools that read no exponents. */
#define PF_PLAIN_MAX 400 /* room for it: the smallest doubles have 324 places and a sign */
char *pf_print_double_plain(char *out, double value);

unsigned pf_wide_size(pf_int128 value);
unsigned pf_double_size(double value);

/* 10^0 to 10^19. */
extern const uint64_t pf_tens[20];

/* Inline, like the next one: sizing a table calls them for every cell of every row. */
static inline unsigned pf_uint_size(uint64_t value)
{
    value |= 1; /* 0 has as many digits as 1, and no other power of ten is odd */
    unsigned bits = (63U ^ (unsigned)__builtin_clzll(value)) + 1;
    unsigned tens = bits * 1233 >> 12; /* floor(bits * log10(2)): right, or one more than value has */
    return tens + (value >= pf_tens[tens]);
}

static inline unsigned pf_int_size(int64_t value)
{
    return value < 0 ? 1 + pf_uint_size(-(uint64_t)value) : pf_uint_size((uint64_t)value);
}

#endif
