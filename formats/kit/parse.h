/* SPDX-License-Identifier: MIT */
#ifndef PF_PARSE_H
#define PF_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/kit/cell.h"

/*
 * Reads all of text[0 .. size) as a number, correctly rounded, whatever the locale. The grammar is that of
 * Python's float(): optional sign, digits with an optional point anywhere (`.5`, `5.`), exponent, `inf`,
 * `infinity`, `nan` in any case, single underscores between digits; no hex, no surrounding blanks. Any number
 * of digits. False if it is no number.
 */
bool pf_parse_double(const char *text, size_t size, double *value);

/*
 * The number that decimal digits make, with or without a fraction: exactly if it is whole and fits in 128 bits, else as a
 * double. The cell may point to *whole. What else the text is has been checked before: absent if it is no number.
 */
struct pf_cell pf_parse_amount(const char *text, size_t size, pf_int128 *whole);

#endif
