/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NUMBER_H
#define PF_AFPERF_NUMBER_H

#include "formats/afperf/notes.h"
#include "formats/afperf/reader.h"
#include "formats/kit/cell.h"

/*
 * Numbers as AFPerf writes them: integers as strtoll reads them, but leading zeros are decimal; floating point as
 * strtod reads it in the C locale. Blanks and tabs around them do not count.
 */

/* Text without the blanks and tabs around it. */
struct afperf_text afperf_trim(struct afperf_text text);

bool afperf_is(struct afperf_text text, const char *word);

/*
 * An id or timestamp, 0 to 2^64 - 1: AFPERF_SOUND, or AFPERF_MISSING_FIELD for a blank one, AFPERF_BAD_INTEGER,
 * AFPERF_NEGATIVE_NUMBER, AFPERF_NUMBER_OUT_OF_RANGE. *padded (set, never cleared): it is decimal and has a leading zero.
 */
enum afperf_problem afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded);

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

/* Nanoseconds in a unit of time, given as word or abbreviation; 0 if it is none. */
uint64_t afperf_nanoseconds(struct afperf_text unit);

#endif
