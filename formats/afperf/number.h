/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NUMBER_H
#define PF_AFPERF_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/afperf/reader.h"
#include "formats/kit/cell.h"

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

/* What a hexadecimal digit is worth, 16 or more if a character is none. */
extern const unsigned char afperf_hex_digits[256];

/* An id or timestamp: 0 to 2^64 - 1. *padded (set, never cleared): it is decimal and has a leading zero. */
enum afperf_parsed afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded);

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

/* What a value looks like, as far as a look at its bytes tells. */
enum afperf_look {
    AFPERF_LOOKS_ANYHOW,
    AFPERF_LOOKS_DECIMAL, /* digits, a point among them or none, perhaps a minus before them */
    AFPERF_LOOKS_INTEGER, /* the same without a point, of 18 digits at most */
};

/* True only if a text that looks like this is a value of the datatype: then there is no need to find out which. */
bool afperf_fits(enum afperf_datatype datatype, enum afperf_look look);

/* Nanoseconds in a unit of time, given as word or abbreviation; 0 if it is none. */
uint64_t afperf_nanoseconds(struct afperf_text unit);

#endif
