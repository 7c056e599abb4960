/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NOTES_H
#define PF_AFPERF_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"

/*
 * What is wrong with a file, collected while the model is made and told once it is: a pass that is stopped must leave no trace
 * in the profile.
 */
enum afperf_problem {
    /* fatal: reading ends there */
    AFPERF_OTHER_VERSION,
    AFPERF_DAMAGED,
    /* errors: the record is dropped */
    AFPERF_AGGREGATE_ENDS_BEFORE_START,
    AFPERF_BAD_INTEGER,
    AFPERF_BAD_VERSION,
    AFPERF_MISSING_FIELD,
    AFPERF_NEGATIVE_NUMBER,
    AFPERF_NO_MEASUREMENT,
    AFPERF_NUMBER_OUT_OF_RANGE,
    AFPERF_PAUSE_ENDS_BEFORE_START,
    AFPERF_QUOTE_WITHOUT_END,
    AFPERF_RECORD_TOO_LONG,
    /* warnings: it is used, or what it refers to was not found */
    AFPERF_BAD_MEASUREMENT_TYPE,
    AFPERF_BAD_NUMBER,
    AFPERF_BAD_UTF8,
    AFPERF_BAD_VALUE,
    AFPERF_DUPLICATE_RUN,
    AFPERF_DUPLICATE_SECTION,
    AFPERF_DUPLICATE_STOP,
    AFPERF_EXAMPLE_SHAPE,
    AFPERF_HEADER_NOT_16_BYTES,
    AFPERF_LEADING_ZERO,
    AFPERF_NEGATIVE_DURATION,
    AFPERF_NUL_BYTE,
    AFPERF_ODD_MEASUREMENT,
    AFPERF_OVERLAPPING_REGIONS,
    AFPERF_QUOTE_IN_FIELD,
    AFPERF_OTHER_RUN_VERSION,
    AFPERF_STOP_WITHOUT_START,
    AFPERF_TEXT_AFTER_QUOTE,
    AFPERF_UNCLOSED_INTERVAL,
    AFPERF_UNCLOSED_REGION,
    AFPERF_UNDEFINED_TYPE,
    AFPERF_UNRESOLVED_INTERVAL,
    AFPERF_UNRESOLVED_REGION,
    AFPERF_UNRESOLVED_RUN,
    AFPERF_UNRESOLVED_SECTION,
    AFPERF_PROBLEMS
};

/* The error of a record by its code. */
enum afperf_problem afperf_problem_of(const char *code);

struct afperf_note {
    uint64_t offset, line; /* of the record; line 0: to be counted */
    enum afperf_problem problem;
    uint32_t number; /* in the order in which they were found */
};

/* Zero-initialised is empty. Holds a bounded number. */
struct afperf_notes {
    struct afperf_note *items;
    size_t count, room;
};

/* 0, or -1 with *error filled. Beyond a thousand only what ends the reading is kept. */
int afperf_note(struct afperf_notes *notes, enum afperf_problem problem, uint64_t offset, uint64_t line,
                struct pf_error *error);
void afperf_notes_free(struct afperf_notes *notes);

/* Sorts them by their place in the file. */
void afperf_notes_sort(struct afperf_notes *notes);

/* Adds them to the profile's warnings. 0, or -1 with *error filled. */
int afperf_notes_tell(const struct afperf_notes *notes, struct pf_profile *profile, struct pf_error *error);

#endif
