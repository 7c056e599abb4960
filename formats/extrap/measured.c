/* SPDX-License-Identifier: MIT */
#include "formats/extrap/measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/sorter.h"

/* How often a pass over records says so. */
#define STEP_BYTES ((uint64_t)1 << 20)

struct pf_measured *pf_measured_new(void)
{
    struct pf_measured *measured = calloc(1, sizeof *measured);
    if (!measured)
        return NULL;
    measured->open.record.series = PF_NO_SERIES;
    measured->store = pf_store_new(PF_RECORDS_HELD);
    if (measured->store)
        return measured;
    free(measured);
    return NULL;
}

void pf_measured_free(struct pf_measured *measured)
{
    if (!measured)
        return;
    pf_store_free(measured->store);
    free(measured->runs);
    free(measured);
}

/* ---- collecting --------------------------------------------------------------------------------- */

/* Puts the open record into the store. */
static int close_record(struct pf_measured *measured, struct pf_error *error)
{
    const struct pf_record *record = &measured->open.record;
    if (record->series == PF_NO_SERIES)
        return 0;
    uint64_t key = pf_record_key(record);
    measured->unsorted |= key < measured->last_key;
    measured->last_key = key;
    measured->values += record->values;
    if (pf_store_append(measured->store, &measured->open, pf_record_size(record), error) < 0)
        return -1;
    measured->open.record.series = PF_NO_SERIES;
    return 0;
}

static void open_record(struct pf_measured *measured, uint32_t series, uint32_t point, bool starts)
{
    measured->filled = 0;
    measured->open.record =
        (struct pf_record){.series = series, .point = point, .flags = starts ? PF_RECORD_STARTS : 0};
}

int pf_measured_begin(struct pf_measured *measured, uint32_t series, uint32_t point, bool starts,
                      struct pf_error *error)
{
    const struct pf_record *record = &measured->open.record;
    if (!starts && record->series == series && record->point == point)
        return 0;
    if (close_record(measured, error) < 0)
        return -1;
    measured->repetitions = 0;
    open_record(measured, series, point, starts);
    return 0;
}

int pf_measured_go_on(struct pf_measured *measured, struct pf_error *error)
{
    uint32_t series = measured->open.record.series, point = measured->open.record.point;
    measured->repetitions += measured->open.record.repetitions;
    if (close_record(measured, error) < 0)
        return -1;
    open_record(measured, series, point, false);
    return 0;
}

void pf_measured_figures(struct pf_measured *measured, const double figures[PF_STATISTICS], unsigned has)
{
    memcpy(measured->open.numbers, figures, PF_STATISTICS * sizeof *figures);
    measured->filled = PF_STATISTICS;
    measured->figures = true;
    measured->open.record.flags |= PF_RECORD_FIGURES | has * PF_RECORD_HAS_FIGURE;
}

void pf_measured_repetitions(struct pf_measured *measured, int64_t repetitions)
{
    /* Below zero if there were more values in earlier records: the sum is right all the same. */
    measured->open.record.repetitions = (uint64_t)repetitions - measured->repetitions;
    if (repetitions < 0)
        measured->open.record.flags |= PF_RECORD_NO_REPETITIONS;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int no_record(struct pf_error *error)
{
    pf_fail(error, EINVAL, "there is no record at this position");
    return -1;
}

int pf_records_peek(struct pf_records *records, struct pf_record *record, const double **numbers,
                    struct pf_error *error)
{
    if (records->at >= records->end)
        return 0;
    if (records->at % sizeof(double) || records->end - records->at < sizeof *record)
        return no_record(error);
    const unsigned char *bytes = pf_store_at(&records->window, records->at, sizeof *record, error);
    if (!bytes)
        return -1;
    memcpy(record, bytes, sizeof *record);
    if (record->values > PF_RECORD_VALUES || pf_record_size(record) > records->end - records->at)
        return no_record(error);
    bytes = pf_store_at(&records->window, records->at, pf_record_size(record), error);
    if (!bytes)
        return -1;
    *numbers = (const double *)(const void *)(bytes + sizeof *record);
    return 1;
}

/* ---- finishing ---------------------------------------------------------------------------------- */

/* doubled: measurements of a point that has one. */
static void end_series(const struct pf_measured *measured, uint32_t series, uint64_t doubled,
                       struct pf_experiment *experiment)
{
    if (series == PF_NO_SERIES)
        return;
    if (doubled)
        pf_experiment_note_series(
            experiment, PF_REPEATED_SERIES, series,
            "%ju further measurements of points that have one, served as further repetitions",
            (uintmax_t)doubled);
    if (measured->runs[series].points != experiment->n_points)
        pf_experiment_note_series(experiment, PF_INCOMPLETE_SERIES, series, "data for %ju of %zu points",
                                  (uintmax_t)measured->runs[series].points, experiment->n_points);
}

static int step(struct pf_pass *pass, uint64_t done, uint64_t total, uint64_t *next, struct pf_error *error)
{
    if (done < *next)
        return 0;
    *next = done + STEP_BYTES;
    return pf_pass_step(pass, done, total, error);
}

/* Finds where each series is, and what it lacks. */
static int index_runs(struct pf_measured *measured, struct pf_experiment *experiment, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct pf_records records = pf_records_of(measured->store, 0, pf_store_size(measured->store));
    struct pf_record record;
    const double *numbers;
    uint32_t series = PF_NO_SERIES;
    uint64_t key = UINT64_MAX, doubled = 0, said = 0;
    int got;
    while ((got = pf_records_peek(&records, &record, &numbers, error)) > 0) {
        struct pf_run *run = &measured->runs[record.series];
        if (record.series != series) {
            end_series(measured, series, doubled, experiment);
            series = record.series;
            doubled = 0;
            run->start = records.at;
        }
        bool same = pf_record_key(&record) == key;
        run->points += !same;
        doubled += same && record.flags & PF_RECORD_STARTS;
        key = pf_record_key(&record);
        records.at += pf_record_size(&record);
        run->end = records.at;
        if ((got = step(pass, records.at, records.end, &said, error)) < 0)
            break;
    }
    pf_store_window_free(&records.window);
    end_series(measured, series, doubled, experiment);
    return got;
}

static bool any_dropped(const struct pf_experiment *experiment)
{
    for (size_t i = 0; i < experiment->n_series; i++)
        if (experiment->series[i].dropped)
            return true;
    return false;
}

/* Where a record is, as it is sorted: equal keys keep their order. */
enum { KEY, OFFSET, SIZE, WORDS };

/* Bytes of these that are held in memory. */
#define SORTED_HELD ((uint64_t)32 << 20)

/* Gives the sorter all records but those of dropped series. */
static int sort_records(struct pf_measured *measured, const struct pf_experiment *experiment,
                        struct pf_sorter *sorter, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_records records = pf_records_of(measured->store, 0, pf_store_size(measured->store));
    struct pf_record record;
    const double *numbers;
    uint64_t said = 0;
    int got;
    while ((got = pf_records_peek(&records, &record, &numbers, error)) > 0) {
        uint64_t words[WORDS] = {pf_record_key(&record), records.at, pf_record_size(&record)};
        if ((!experiment->series[record.series].dropped && pf_sorter_add(sorter, words, error) < 0) ||
            step(pass, records.at, records.end, &said, error) < 0)
            got = -1;
        if (got < 0)
            break;
        records.at += words[SIZE];
    }
    pf_store_window_free(&records.window);
    return got < 0 ? -1 : pf_sorter_finish(sorter, error);
}

/* Copies the records in the sorter's order. */
static int copy_sorted(const struct pf_store *from, struct pf_store *to, struct pf_sorter *sorter,
                       struct pf_pass *pass, struct pf_error *error)
{
    unsigned char bytes[sizeof((struct pf_measured *)0)->open];
    const uint64_t *words;
    uint64_t said = 0;
    int got;
    while ((got = pf_sorter_next(sorter, &words, error)) > 0)
        if (pf_store_read(from, words[OFFSET], bytes, words[SIZE], error) < 0 ||
            pf_store_append(to, bytes, words[SIZE], error) < 0 ||
            step(pass, pf_store_size(to), pf_store_size(from), &said, error) < 0)
            return -1;
    return got;
}

/* Sorts what was collected by series and point. */
static int sort(struct pf_measured *measured, const struct pf_experiment *experiment, struct pf_pass *pass,
                struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(WORDS, OFFSET + 1, SORTED_HELD);
    struct pf_store *sorted = pf_store_new(PF_RECORDS_HELD);
    int result = sorter && sorted ? 0 : pf_fail_memory(error);
    if (!result && (sort_records(measured, experiment, sorter, pass, error) < 0 ||
                    copy_sorted(measured->store, sorted, sorter, pass, error) < 0))
        result = -1;
    pf_sorter_free(sorter);
    if (result) {
        pf_store_free(sorted);
        return -1;
    }
    pf_store_free(measured->store);
    measured->store = sorted;
    return 0;
}

int pf_measured_finish(struct pf_measured *measured, struct pf_experiment *experiment, struct pf_pass *pass,
                       struct pf_error *error)
{
    if (close_record(measured, error) < 0)
        return -1;
    if ((measured->unsorted || any_dropped(experiment)) && sort(measured, experiment, pass, error) < 0)
        return -1;
    measured->n_runs = experiment->n_series;
    measured->runs = calloc(measured->n_runs + 1, sizeof *measured->runs);
    if (!measured->runs)
        return pf_fail_memory(error);
    return index_runs(measured, experiment, pass, error);
}
