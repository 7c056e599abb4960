/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NUMBER_H
#define PF_AFPERF_NUMBER_H

#include "formats/afperf/notes.h"
#include "formats/afperf/reader.h"
#include "formats/kit/cell.h"

/*
 * AFPerf's numbers. Integers have strtoll's syntax, except that leading zeros do not mean octal. Floating-point numbers
 * have strtod's syntax in the C locale. Surrounding spaces and tabs are ignored. All functions are thread-safe.
 */

/* Returns the text without surrounding spaces and tabs. */
struct afperf_text afperf_trim(struct afperf_text text);

bool afperf_is(struct afperf_text text, const char *word);

/*
 * Parses an id or timestamp, 0 to 2^64 - 1. Returns AFPERF_SOUND if it is valid, and AFPERF_MISSING_FIELD if the text
 * is blank. Other invalid texts yield AFPERF_BAD_INTEGER, AFPERF_NEGATIVE_NUMBER or AFPERF_NUMBER_OUT_OF_RANGE. Sets
 * *padded if a decimal number has a leading zero, and never clears it.
 */
enum afperf_problem afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded);

/* Parses a floating-point number. Returns false if the text is not one. */
bool afperf_double(struct afperf_text text, double *value);

/* Datatype of a measurement's values. */
enum afperf_datatype {
    AFPERF_ANY, /* unknown or missing; a value is an integer if possible, else floating point, else text */
    AFPERF_DOUBLE,
    AFPERF_INT32,
    AFPERF_INT64,
    AFPERF_BOOL,
    AFPERF_TEXT,
};

/* Returns the datatype with this name in the format; AFPERF_ANY if there is none. */
enum afperf_datatype afperf_datatype(struct afperf_text name);

/*
 * Converts a value to a cell, which may borrow `text`. If a number is expected and the text is blank, the cell is
 * absent. Returns false if the value does not have the datatype; the cell holds the text in this case.
 */
bool afperf_value(enum afperf_datatype datatype, struct afperf_text text, struct pf_cell *cell);

/* Returns the nanoseconds in a unit of time, given as a word or abbreviation; 0 if it is not a unit of time. */
uint64_t afperf_nanoseconds(struct afperf_text unit);

#endif
