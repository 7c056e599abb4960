/* SPDX-License-Identifier: MIT */
#include "formats/afperf/notes.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/* One more than warnings.csv lists, so that it can say that there are more. */
enum { KEPT = 1001 };

static const struct {
    const char *severity, *code, *text;
} problems[AFPERF_PROBLEMS] = {
    [AFPERF_OTHER_VERSION] = {"fatal", "other-version-header",
                              "a header of another version; what follows is not read"},
    [AFPERF_DAMAGED] = {"fatal", "damaged-compression",
                        "the compressed data are damaged or cut off; what follows is lost"},
    [AFPERF_AGGREGATE_ENDS_BEFORE_START] = {"error", "aggregate-ends-before-start",
                                            "an aggregate ends before it starts; record dropped"},
    [AFPERF_BAD_INTEGER] = {"error", "bad-integer", "an id or timestamp is no integer; record dropped"},
    [AFPERF_BAD_VERSION] = {"error", "bad-version",
                            "a run's format version is not of the form 1.2.3; record dropped"},
    [AFPERF_MISSING_FIELD] = {"error", "missing-field", "a field that is needed is blank; record dropped"},
    [AFPERF_NEGATIVE_NUMBER] = {"error", "negative", "an id or timestamp is negative; record dropped"},
    [AFPERF_NO_MEASUREMENT] = {"error", "no-measurement", "a data record without data; record dropped"},
    [AFPERF_NUMBER_OUT_OF_RANGE] = {"error", "out-of-range",
                                    "an id or timestamp has more than 64 bits; record dropped"},
    [AFPERF_PAUSE_ENDS_BEFORE_START] = {"error", "pause-ends-before-start",
                                        "a pause ends before it starts; record dropped"},
    [AFPERF_QUOTE_WITHOUT_END] = {"error", "unterminated-quote",
                                  "a quoted field has no end; this line dropped"},
    [AFPERF_RECORD_TOO_LONG] = {"error", "record-too-long", "a record of more than 1 MiB; this line dropped"},
    [AFPERF_BAD_MEASUREMENT_TYPE] = {"warning", "bad-measurement-type",
                                     "a measurement's type is no id; measurement left out"},
    [AFPERF_BAD_NUMBER] = {"warning", "bad-number", "the wall-clock time is no number"},
    [AFPERF_BAD_UTF8] = {"warning", "bad-utf8", "bytes that are not UTF-8, shown as U+FFFD"},
    [AFPERF_BAD_VALUE] = {"warning", "bad-value", "a value is not of its datatype; shown as text"},
    [AFPERF_DUPLICATE_RUN] = {"warning", "duplicate-run",
                              "a run's information comes again; the first one counts"},
    [AFPERF_DUPLICATE_SECTION] = {"warning", "duplicate-section",
                                  "another section of an id already given; both are kept"},
    [AFPERF_DUPLICATE_STOP] = {"warning", "duplicate-stop",
                               "all regions or intervals of this id have been stopped already; ignored"},
    [AFPERF_EXAMPLE_SHAPE] = {"warning", "example-shape",
                              "a field is missing, as in the format document's example"},
    [AFPERF_HEADER_NOT_16_BYTES] = {"warning", "header-not-16-bytes",
                                    "a version header that is not padded to 16 bytes"},
    [AFPERF_LEADING_ZERO] = {"warning", "leading-zero", "a leading zero; read as decimal"},
    [AFPERF_NEGATIVE_DURATION] = {"warning", "negative-duration",
                                  "a stop before the start; taken as if it were at the start"},
    [AFPERF_NUL_BYTE] = {"warning", "nul-byte", "NUL bytes, shown as U+FFFD"},
    [AFPERF_ODD_MEASUREMENT] = {"warning", "odd-measurement",
                                "a measurement's type without a value; left out"},
    [AFPERF_OVERLAPPING_REGIONS] = {"warning", "overlapping-regions",
                                    "a region overlaps with one that started before it"},
    [AFPERF_QUOTE_IN_FIELD] = {"warning", "quote-in-field",
                               "a quote inside a field that is not quoted; kept"},
    [AFPERF_OTHER_RUN_VERSION] = {"warning", "run-version",
                                  "a run of another major version; read all the same"},
    [AFPERF_STOP_WITHOUT_START] = {"warning", "stop-without-start", "a stop of nothing; ignored"},
    [AFPERF_TEXT_AFTER_QUOTE] = {"warning", "text-after-quote",
                                 "text behind a quoted field; taken as part of it"},
    [AFPERF_UNCLOSED_INTERVAL] = {"warning", "unclosed-interval",
                                  "an interval without stop; taken to last until the end of the run"},
    [AFPERF_UNCLOSED_REGION] = {"warning", "unclosed-region",
                                "a region without stop; taken to last as long as that around it, or the run"},
    [AFPERF_UNDEFINED_TYPE] = {"warning", "undefined-type",
                               "the run does not define this type of measurement"},
    [AFPERF_UNRESOLVED_INTERVAL] = {"warning", "unresolved-interval",
                                    "no such interval; the data stay with the section"},
    [AFPERF_UNRESOLVED_REGION] = {"warning", "unresolved-region", "no such region; the data belong to none"},
    [AFPERF_UNRESOLVED_RUN] = {"warning", "unresolved-run",
                               "no information about this run; it is served without"},
    [AFPERF_UNRESOLVED_SECTION] =
        {"warning", "unresolved-section",
         "no such section: a start makes one, a stop is ignored, data belong to none"},
};

enum afperf_problem afperf_problem_of(const char *code)
{
    int i = AFPERF_AGGREGATE_ENDS_BEFORE_START;
    while (i < AFPERF_RECORD_TOO_LONG && strcmp(problems[i].code, code) != 0)
        i++;
    return (enum afperf_problem)i;
}

int afperf_note(struct afperf_notes *notes, enum afperf_problem problem, uint64_t offset, uint64_t line,
                struct pf_error *error)
{
    if (notes->count >= KEPT && problem > AFPERF_DAMAGED)
        return 0;
    if (pf_array_room(&notes->items, &notes->room, notes->count, sizeof *notes->items, error))
        return -1;
    notes->items[notes->count] = (struct afperf_note){offset, line, problem, (uint32_t)notes->count};
    notes->count++;
    return 0;
}

void afperf_notes_free(struct afperf_notes *notes)
{
    free(notes->items);
    *notes = (struct afperf_notes){0};
}

static int by_place(const void *left, const void *right)
{
    const struct afperf_note *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void afperf_notes_sort(struct afperf_notes *notes)
{
    if (notes->count)
        qsort(notes->items, notes->count, sizeof *notes->items, by_place);
}

int afperf_notes_tell(const struct afperf_notes *notes, struct pf_profile *profile, struct pf_error *error)
{
    for (size_t i = 0; i < notes->count; i++) {
        const struct afperf_note *note = &notes->items[i];
        if (pf_warn(profile, (int64_t)note->line, (int64_t)note->offset, problems[note->problem].severity,
                    problems[note->problem].code, error, "%s", problems[note->problem].text) < 0)
            return -1;
    }
    return 0;
}
