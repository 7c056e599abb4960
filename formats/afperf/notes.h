/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NOTES_H
#define PF_AFPERF_NOTES_H

#include "formats/runtime/notes.h"

/*
 * Problems of a file: name, severity, code, text. After a fatal problem reading ends; after an error the record is
 * dropped; after a warning the record is used.
 */
#define AFPERF_PROBLEM_LIST(X)                                                                               \
    X(OTHER_VERSION, "fatal", "other-version-header",                                                        \
      "a header of another version; what follows is not read")                                               \
    X(DAMAGED, "fatal", "damaged-compression",                                                               \
      "the compressed data are damaged or cut off; what follows is lost")                                    \
    X(AGGREGATE_ENDS_BEFORE_START, "error", "aggregate-ends-before-start",                                   \
      "an aggregate ends before it starts; record dropped")                                                  \
    X(BAD_INTEGER, "error", "bad-integer", "an id or timestamp is no integer; record dropped")               \
    X(BAD_VERSION, "error", "bad-version",                                                                   \
      "a run's format version is not of the form 1.2.3; record dropped")                                     \
    X(MISSING_FIELD, "error", "missing-field", "a field that is needed is blank; record dropped")            \
    X(NEGATIVE_NUMBER, "error", "negative", "an id or timestamp is negative; record dropped")                \
    X(NO_MEASUREMENT, "error", "no-measurement", "a data record without data; record dropped")               \
    X(NUMBER_OUT_OF_RANGE, "error", "out-of-range",                                                          \
      "an id or timestamp has more than 64 bits; record dropped")                                            \
    X(PAUSE_ENDS_BEFORE_START, "error", "pause-ends-before-start",                                           \
      "a pause ends before it starts; record dropped")                                                       \
    X(QUOTE_WITHOUT_END, "error", "unterminated-quote", "a quoted field has no end; this line dropped")      \
    X(RECORD_TOO_LONG, "error", "record-too-long", "a record of more than 1 MiB; this line dropped")         \
    X(BAD_MEASUREMENT_TYPE, "warning", "bad-measurement-type",                                               \
      "a measurement's type is no id; measurement left out")                                                 \
    X(BAD_NUMBER, "warning", "bad-number", "the wall-clock time is no number")                               \
    X(BAD_UTF8, "warning", "bad-utf8", "bytes that are not UTF-8, shown as U+FFFD")                          \
    X(BAD_VALUE, "warning", "bad-value", "a value is not of its datatype; shown as text")                    \
    X(DUPLICATE_RUN, "warning", "duplicate-run", "a run's information comes again; the first one counts")    \
    X(DUPLICATE_SECTION, "warning", "duplicate-section",                                                     \
      "another section of an id already given; both are kept")                                               \
    X(DUPLICATE_STOP, "warning", "duplicate-stop",                                                           \
      "all regions or intervals of this id have been stopped already; ignored")                              \
    X(EXAMPLE_SHAPE, "warning", "example-shape", "a field is missing, as in the format document's example")  \
    X(HEADER_NOT_16_BYTES, "warning", "header-not-16-bytes",                                                 \
      "a version header that is not padded to 16 bytes")                                                     \
    X(LEADING_ZERO, "warning", "leading-zero", "a leading zero; read as decimal")                            \
    X(NEGATIVE_DURATION, "warning", "negative-duration",                                                     \
      "a stop before the start; taken as if it were at the start")                                           \
    X(NUL_BYTE, "warning", "nul-byte", "NUL bytes, shown as U+FFFD")                                         \
    X(ODD_MEASUREMENT, "warning", "odd-measurement", "a measurement's type without a value; left out")       \
    X(OVERLAPPING_REGIONS, "warning", "overlapping-regions",                                                 \
      "a region overlaps with one that started before it")                                                   \
    X(QUOTE_IN_FIELD, "warning", "quote-in-field", "a quote inside a field that is not quoted; kept")        \
    X(OTHER_RUN_VERSION, "warning", "run-version", "a run of another major version; read all the same")      \
    X(STOP_WITHOUT_START, "warning", "stop-without-start", "a stop of nothing; ignored")                     \
    X(TEXT_AFTER_QUOTE, "warning", "text-after-quote", "text behind a quoted field; taken as part of it")    \
    X(UNCLOSED_INTERVAL, "warning", "unclosed-interval",                                                     \
      "an interval without stop; taken to last until the end of the run")                                    \
    X(UNCLOSED_REGION, "warning", "unclosed-region",                                                         \
      "a region without stop; taken to last as long as that around it, or the run")                          \
    X(UNDEFINED_TYPE, "warning", "undefined-type", "the run does not define this type of measurement")       \
    X(UNRESOLVED_INTERVAL, "warning", "unresolved-interval",                                                 \
      "no such interval; the data stay with the section")                                                    \
    X(UNRESOLVED_REGION, "warning", "unresolved-region", "no such region; the data belong to none")          \
    X(UNRESOLVED_RUN, "warning", "unresolved-run", "no information about this run; it is served without")    \
    X(UNRESOLVED_SECTION, "warning", "unresolved-section",                                                   \
      "no such section: a start makes one, a stop is ignored, data belong to none")

enum afperf_problem {
    AFPERF_SOUND, /* no problem */
#define X(name, severity, code, text) AFPERF_##name,
    AFPERF_PROBLEM_LIST(X)
#undef X
        AFPERF_PROBLEMS
};

#endif
