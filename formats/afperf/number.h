/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NUMBER_H
#define PF_AFPERF_NUMBER_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/afperf/reader.h"
#include "formats/cell.h"

/*
 * Numbers as AFPerf writes them: integers as strtoll reads them, but leading zeros are decimal; floating point as
 * strtod reads it in the C locale. Blanks and tabs around them do not count.
 */
enum afperf_parsed {
    AFPERF_NUMBER,
    AFPERF_BLANK,
    AFPERF_NO_INTEGER,
    AFPERF_NEGATIVE,
    AFPERF_OUT_OF_RANGE,
};

static inline bool afperf_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Text without the blanks and tabs around it. */
static inline struct afperf_text afperf_trim(struct afperf_text text)
{
    while (text.size && afperf_is_blank(*text.text)) {
        text.text++;
        text.size--;
    }
    while (text.size && afperf_is_blank(text.text[text.size - 1]))
        text.size--;
    return text;
}

bool afperf_is(struct afperf_text text, const char *word);

/* An id or timestamp: 0 to 2^64 - 1. *padded (set, never cleared): it is decimal and has a leading zero. */
enum afperf_parsed afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded);

/*
 * Up to 8 decimal digits at once, the first in the lowest byte: those behind the text are shifted out, so that zeros stand
 * before it. A byte is a digit if it is below 10 once '0' is taken off. Digits are joined to pairs, these to fours and eights.
 */
static inline bool afperf_eight_digits(const char *text, size_t size, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word = (le64toh(word) ^ UINT64_C(0x3030303030303030)) << 8 * (8 - size);
    if ((word | (word + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080))
        return false;
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *value = (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
    return true;
}

/* Up to 19 decimal digits, without anything around them. The text has its padding. */
static inline bool afperf_short_decimal(struct afperf_text text, uint64_t *value)
{
    uint64_t sum, eight;
    if (!text.size || text.size > 19)
        return false;
    const char *at = text.text, *end = at + text.size;
    size_t first = (text.size - 1) % 8 + 1;
    if (!afperf_eight_digits(at, first, &sum))
        return false;
    for (at += first; at < end; at += 8) {
        if (!afperf_eight_digits(at, 8, &eight))
            return false;
        sum = sum * 100000000 + eight;
    }
    *value = sum;
    return true;
}

/* What a hexadecimal digit is worth, 16 or more if a character is none. */
extern const unsigned char afperf_hex_digits[256];

/*
 * Up to 19 decimal digits without zeros before them, or 0x and up to 16 others, without anything around them: what nearly all
 * integers are. The text has its padding.
 */
static inline bool afperf_short_integer(struct afperf_text text, uint64_t *value)
{
    const char *at = text.text, *end = at + text.size;
    if (text.size < 2 || *at != '0')
        return afperf_short_decimal(text, value);
    if (at[1] != 'x' || text.size < 3 || text.size > 18)
        return false;
    uint64_t sum = 0;
    unsigned wrong = 0;
    for (at += 2; at < end; at++) {
        unsigned digit = afperf_hex_digits[(unsigned char)*at];
        wrong |= digit;
        sum = sum << 4 | digit;
    }
    *value = sum;
    return wrong < 16;
}

/* -2^63 to 2^63 - 1. */
enum afperf_parsed afperf_signed(struct afperf_text text, int64_t *value);

bool afperf_double(struct afperf_text text, double *value);

/* What a measurement's datatype says about its values. */
enum afperf_datatype {
    AFPERF_ANY, /* unknown or missing: integer if it is one, else floating point, else text */
    AFPERF_DOUBLE,
    AFPERF_INT32,
    AFPERF_INT64,
    AFPERF_BOOL,
    AFPERF_TEXT,
};

enum afperf_datatype afperf_datatype(struct afperf_text name);

/*
 * The value as a cell, which borrows text from `text`. A blank number is absent. False if it is no value of
 * this datatype: the cell is then the text.
 */
bool afperf_value(enum afperf_datatype datatype, struct afperf_text text, struct pf_cell *cell);

/* True only if the text is a value of the datatype; of the common ones, without finding out which. */
bool afperf_is_plain_value(enum afperf_datatype datatype, struct afperf_text text);

/* Nanoseconds in a unit of time, given as word or abbreviation; 0 if it is none. */
uint64_t afperf_nanoseconds(struct afperf_text unit);

#endif
