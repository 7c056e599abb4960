/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NUMBER_H
#define PF_AFPERF_NUMBER_H

#include "formats/afperf/notes.h"
#include "formats/afperf/reader.h"
#include "formats/kit/cell.h"

/*
 * AFPerf's numbers: integers in strtoll's syntax, except that leading zeros do not mean octal; floating point in
 * strtod's syntax in the C locale. Surrounding spaces and tabs are ignored. All functions are thread-safe.
 */

/* Returns the text without surrounding spaces and tabs. */
struct afperf_text afperf_trim(struct afperf_text text);

bool afperf_is(struct afperf_text text, const char *word);

/*
 * Parses an id or timestamp, 0 to 2^64 - 1. Returns AFPERF_SOUND; AFPERF_MISSING_FIELD if blank; AFPERF_BAD_INTEGER,
 * AFPERF_NEGATIVE_NUMBER or AFPERF_NUMBER_OUT_OF_RANGE. *padded is set (never cleared) if a decimal number has a
 * leading zero.
 */
enum afperf_problem afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded);

bool afperf_double(struct afperf_text text, double *value);

/* Datatype of a measurement's values. */
enum afperf_datatype {
    AFPERF_ANY, /* unknown or missing: an integer if possible, else floating point, else text */
    AFPERF_DOUBLE,
    AFPERF_INT32,
    AFPERF_INT64,
    AFPERF_BOOL,
    AFPERF_TEXT,
};

enum afperf_datatype afperf_datatype(struct afperf_text name);

/*
 * Converts a value to a cell, which may borrow `text`. A blank number is an absent cell. Returns false if the value
 * does not have the datatype; the cell is the text then.
 */
bool afperf_value(enum afperf_datatype datatype, struct afperf_text text, struct pf_cell *cell);

/* Returns the nanoseconds in a unit of time, given as a word or abbreviation; 0 if it is not a unit of time. */
uint64_t afperf_nanoseconds(struct afperf_text unit);

#endif
