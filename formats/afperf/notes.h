/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NOTES_H
#define PF_AFPERF_NOTES_H

#include "formats/runtime/notes.h"

/*
 * Problems of a file. Each has a name, a severity, a code and a text. Reading ends after a fatal problem. The record is
 * skipped after an error, and used after a warning.
 */
#define AFPERF_PROBLEM_LIST(X)                                                                               \
    X(OTHER_VERSION, "fatal", "other-version-header", "header of another version: reading ends here")        \
    X(DAMAGED, "fatal", "damaged-compression", "compressed data are damaged or cut off: reading ends here")  \
    X(AGGREGATE_ENDS_BEFORE_START, "error", "aggregate-ends-before-start",                                   \
      "aggregate ends before its start: record skipped")                                                     \
    X(BAD_INTEGER, "error", "bad-integer", "id or timestamp is not an integer: record skipped")              \
    X(BAD_VERSION, "error", "bad-version",                                                                   \
      "format version of the run is not of the form 1.2.3: record skipped")                                  \
    X(MISSING_FIELD, "error", "missing-field", "required field is blank: record skipped")                    \
    X(NEGATIVE_NUMBER, "error", "negative", "id or timestamp is negative: record skipped")                   \
    X(NO_MEASUREMENT, "error", "no-measurement", "data record without data: record skipped")                 \
    X(NUMBER_OUT_OF_RANGE, "error", "out-of-range", "id or timestamp exceeds 64 bits: record skipped")       \
    X(PAUSE_ENDS_BEFORE_START, "error", "pause-ends-before-start",                                           \
      "pause ends before its start: record skipped")                                                         \
    X(QUOTE_WITHOUT_END, "error", "unterminated-quote",                                                      \
      "quoted field without a closing quote: line skipped")                                                  \
    X(RECORD_TOO_LONG, "error", "record-too-long", "record longer than 1 MiB: line skipped")                 \
    X(BAD_MEASUREMENT_TYPE, "warning", "bad-measurement-type",                                               \
      "measurement type is not an id: measurement skipped")                                                  \
    X(BAD_NUMBER, "warning", "bad-number", "wall-clock time is not a number")                                \
    X(BAD_UTF8, "warning", "bad-utf8", "invalid UTF-8: shown as U+FFFD")                                     \
    X(BAD_VALUE, "warning", "bad-value", "value does not match its datatype: shown as text")                 \
    X(DUPLICATE_RUN, "warning", "duplicate-run", "second RunInfo with this run id: the first one is used")   \
    X(DUPLICATE_SECTION, "warning", "duplicate-section",                                                     \
      "second SectionInfo with this section id: both sections are kept")                                     \
    X(DUPLICATE_STOP, "warning", "duplicate-stop",                                                           \
      "all regions or intervals with this id have stopped already: stop ignored")                            \
    X(EXAMPLE_SHAPE, "warning", "example-shape", "field missing, as in the examples of the format document") \
    X(HEADER_NOT_16_BYTES, "warning", "header-not-16-bytes", "version header is not padded to 16 bytes")     \
    X(LEADING_ZERO, "warning", "leading-zero", "number with a leading zero: read as decimal")                \
    X(NEGATIVE_DURATION, "warning", "negative-duration",                                                     \
      "stop before its start: treated as a stop at the start")                                               \
    X(NUL_BYTE, "warning", "nul-byte", "NUL bytes: shown as U+FFFD")                                         \
    X(ODD_MEASUREMENT, "warning", "odd-measurement", "measurement type without a value: skipped")            \
    X(OVERLAPPING_REGIONS, "warning", "overlapping-regions",                                                 \
      "region overlaps a region that started before it")                                                     \
    X(QUOTE_IN_FIELD, "warning", "quote-in-field", "quote inside an unquoted field: kept")                   \
    X(OTHER_RUN_VERSION, "warning", "run-version",                                                           \
      "run of another major version of the format: read like version 1")                                     \
    X(STOP_WITHOUT_START, "warning", "stop-without-start", "stop without a matching start: ignored")         \
    X(TEXT_AFTER_QUOTE, "warning", "text-after-quote", "text after a quoted field: appended to the field")   \
    X(UNCLOSED_INTERVAL, "warning", "unclosed-interval", "interval without a stop: ends with the run")       \
    X(UNCLOSED_REGION, "warning", "unclosed-region",                                                         \
      "region without a stop: ends with the region around it, or with the run")                              \
    X(UNDEFINED_TYPE, "warning", "undefined-type", "measurement type is not defined in this run")            \
    X(UNRESOLVED_INTERVAL, "warning", "unresolved-interval",                                                 \
      "unknown interval: data assigned to the section")                                                      \
    X(UNRESOLVED_REGION, "warning", "unresolved-region", "unknown region: data not assigned to any")         \
    X(UNRESOLVED_RUN, "warning", "unresolved-run", "run without a RunInfo: its other records are used")      \
    X(UNRESOLVED_SECTION, "warning", "unresolved-section",                                                   \
      "unknown section: created by a start, ignored by a stop; data not assigned to any")

enum afperf_problem {
    AFPERF_SOUND, /* no problem */
#define X(name, severity, code, text) AFPERF_##name,
    AFPERF_PROBLEM_LIST(X)
#undef X
        AFPERF_PROBLEMS
};

#endif
