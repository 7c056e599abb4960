/* SPDX-License-Identifier: MIT */
#ifndef PF_PRINT_H
#define PF_PRINT_H

#include <stddef.h>
#include <stdint.h>

#include "formats/cell.h"

/*
 * Numbers as text, fast and independent of the locale. Each function writes without a terminating NUL and
 * returns the end of what it wrote; `out` has room for PF_NUMBER_MAX bytes. The _size functions return how
 * many bytes that would be.
 */
#define PF_NUMBER_MAX 48

char *pf_print_int(char *out, int64_t value);
char *pf_print_uint(char *out, uint64_t value);
char *pf_print_wide(char *out, pf_int128 value);

/*
 * The shortest decimal that reads back to the same double, plain or with an exponent as printf's %.17g would
 * choose (plain for decimal exponents from -5 to 16: 1e-05 has an exponent, 0.0001 and 12345678901234568 have
 * none, 1e+17 has); `inf`, `-inf`, `nan`, `-0` for negative zero.
 */
char *pf_print_double(char *out, double value);

/* The same number without exponent whatever its size; room for 400 bytes. For tools that read no exponents.
 */
char *pf_print_double_plain(char *out, double value);

unsigned pf_uint_size(uint64_t value);
unsigned pf_int_size(int64_t value);
unsigned pf_double_size(double value);

#endif
