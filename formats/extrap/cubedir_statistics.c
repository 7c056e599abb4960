/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/cubedir.h"
#include "formats/extrap/summary.h"
#include "formats/kit/position.h"

/*
 * The table "statistics": for each series, at each point, a row a scaling. Extra-P makes one value of the many that a file
 * has, a location each, in one of three ways: `weak`: they are repetitions; `weak_threaded`: so, but those that are zero
 * are no measurements unless all are; `strong`: their sum is the value.
 */
enum { WEAK, WEAK_THREADED, STRONG, SCALINGS };
static const char *const scalings[SCALINGS] = {"weak", "weak_threaded", "strong"};

struct statistics {
    const struct pf_study *study;
    struct pf_records records;
    struct pf_summary summaries[SCALINGS];
    double sum;      /* of the group being read */
    uint64_t zeros;  /* values in it */
    bool any;        /* value of it is not zero */
    uint64_t groups; /* of the point being read */

    uint32_t ready;            /* the series whose statistics these are, or PF_NO_SERIES */
    struct pf_statistics of[]; /* SCALINGS a point; count 0: none */
};

/* ---- groups ------------------------------------------------------------------------------------- */

/* A group is over: what it gives in all. */
static int end_group(struct statistics *statistics, struct pf_error *error)
{
    for (uint64_t i = 0; i < statistics->zeros && !statistics->any; i++)
        if (pf_summary_add(&statistics->summaries[WEAK_THREADED], 0, error) < 0)
            return -1;
    return pf_summary_add(&statistics->summaries[STRONG], statistics->sum, error);
}

static void begin_group(struct statistics *statistics)
{
    statistics->sum = 0;
    statistics->zeros = 0;
    statistics->any = false;
    statistics->groups++;
}

static int add_value(struct statistics *statistics, double value, struct pf_error *error)
{
    statistics->sum += value;
    if (pf_summary_add(&statistics->summaries[WEAK], value, error) < 0)
        return -1;
    if (value == 0) {
        statistics->zeros++;
        return 0;
    }
    statistics->any = true;
    return pf_summary_add(&statistics->summaries[WEAK_THREADED], value, error);
}

/* Adds one series' statistics at a point to those that are there. */
static void merge(struct pf_statistics *sum, const struct pf_statistics *more)
{
    if (!sum->count) {
        *sum = *more;
        return;
    }
    sum->mean += more->mean;
    sum->median += more->median;
    sum->min += more->min;
    sum->max += more->max;
    sum->std = sqrt(sum->std * sum->std + more->std * more->std);
    sum->has_median &= more->has_median;
}

/* A point is over. */
static int end_point(struct statistics *statistics, uint32_t point, struct pf_error *error)
{
    if (!statistics->groups)
        return 0;
    if (end_group(statistics, error))
        return -1;
    for (int s = 0; s < SCALINGS; s++) {
        struct pf_statistics found = {0};
        if (statistics->summaries[s].count)
            found = pf_summary_get(&statistics->summaries[s]);
        found.count = statistics->groups;
        merge(&statistics->of[(size_t)point * SCALINGS + s], &found);
        pf_summary_reset(&statistics->summaries[s]);
    }
    statistics->groups = 0;
    return 0;
}

/* ---- series ------------------------------------------------------------------------------------- */

static int take_record(struct statistics *statistics, const struct pf_record *record, const double *numbers,
                       struct pf_error *error)
{
    if (record->repetitions || !statistics->groups) {
        if (statistics->groups && end_group(statistics, error))
            return -1;
        begin_group(statistics);
    }
    for (uint32_t i = 0; i < record->values; i++)
        if (add_value(statistics, numbers[i], error))
            return -1;
    return 0;
}

static int add_series(struct statistics *statistics, uint32_t series, struct pf_error *error)
{
    const struct pf_run *run = &statistics->study->measured->runs[series];
    struct pf_records *records = &statistics->records;
    struct pf_record record;
    const double *numbers;
    uint32_t point = 0;
    int got;
    records->at = run->start;
    records->end = run->end;
    while ((got = pf_records_peek(records, &record, &numbers, error)) > 0) {
        if (record.point >= statistics->study->experiment->n_points)
            return pf_position_refuse(error);
        if (record.point != point && end_point(statistics, point, error))
            return -1;
        point = record.point;
        if (take_record(statistics, &record, numbers, error))
            return -1;
        records->at += pf_record_size(&record);
    }
    return got < 0 ? -1 : end_point(statistics, point, error);
}

/* The statistics of a series and of all that is merged into it. */
static int make_ready(struct statistics *statistics, const struct pf_merge *merged, uint32_t series,
                      struct pf_error *error)
{
    size_t n = statistics->study->experiment->n_points * SCALINGS;
    statistics->ready = PF_NO_SERIES;
    memset(statistics->of, 0, n * sizeof *statistics->of);
    if (add_series(statistics, series, error))
        return -1;
    for (uint32_t more = merged[series].first; more != PF_NO_SERIES; more = merged[more].next)
        if (add_series(statistics, more, error))
            return -1;
    statistics->ready = series;
    return 0;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

/* A row's number is made of its series, point and scaling. */
static const struct pf_experiment *experiment_of(const struct pf_cursor *cursor)
{
    return ((const struct pf_stored *)cursor->profile->state)->study->experiment;
}

static uint64_t first_number(const struct pf_cursor *cursor, uint32_t series)
{
    return series == PF_NO_SERIES ? PF_NO_NUMBER : series * experiment_of(cursor)->n_points * SCALINGS;
}

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_stored *stored = cursor->profile->state;
    const struct pf_experiment *experiment = experiment_of(cursor);
    size_t points = experiment->n_points * SCALINGS;
    struct statistics *statistics = numbers->own =
        calloc(1, sizeof *statistics + points * sizeof *statistics->of);
    if (!statistics)
        return pf_fail_memory(error);
    statistics->study = stored->study;
    statistics->records = pf_records_of(stored->study->measured->store, 0, 0);
    statistics->ready = PF_NO_SERIES;
    numbers->end = experiment->n_series * points;
    if (cursor->only.context >= 0)
        numbers->next =
            first_number(cursor, pf_experiment_first_series(experiment, (uint32_t)cursor->only.context));
    return 0;
}

static bool series_matches(const struct pf_cursor *cursor, uint32_t series)
{
    const struct pf_cubedir *cubedir = cursor->profile->state;
    const struct pf_series *at = &experiment_of(cursor)->series[series];
    return cubedir->merged[series].into == series && pf_wanted(cursor->only.context, at->context) &&
           pf_wanted(cursor->only.metric, at->metric);
}

static uint64_t after(const struct pf_cursor *cursor, uint64_t number)
{
    const struct pf_experiment *experiment = experiment_of(cursor);
    uint32_t series = (uint32_t)(number / (experiment->n_points * SCALINGS));
    bool last = (number + 1) % (experiment->n_points * SCALINGS) == 0;
    if (!last && series_matches(cursor, series))
        return number + 1;
    return first_number(cursor, cursor->only.context < 0 ? series + 1 : experiment->series[series].next);
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    const struct pf_cubedir *cubedir = cursor->profile->state;
    const struct pf_experiment *experiment = experiment_of(cursor);
    struct statistics *statistics = own;
    size_t at = number % (experiment->n_points * SCALINGS);
    uint32_t series = (uint32_t)(number / (experiment->n_points * SCALINGS)),
             point = (uint32_t)(at / SCALINGS);
    const char *scaling = scalings[at % SCALINGS];
    if (!series_matches(cursor, series) || !pf_wanted(cursor->only.partition, point))
        return 0;
    if (statistics->ready != series && make_ready(statistics, cubedir->merged, series, error))
        return -1;
    if (!statistics->of[at].count)
        return 0;
    cells[0] = pf_plain(scaling, strlen(scaling));
    pf_statistics_cells(cells + 1, cubedir->points.stored.tables.parameters, point,
                        &experiment->series[series], &statistics->of[at]);
    return 1;
}

static void free_statistics(void *own)
{
    struct statistics *statistics = own;
    if (!statistics)
        return;
    pf_store_window_free(&statistics->records.window);
    for (int s = 0; s < SCALINGS; s++)
        pf_summary_free(&statistics->summaries[s]);
    free(statistics);
}

const struct pf_numbered pf_cubedir_statistics = {PF_NUMBERED, .begin = begin, .row = row, .after = after,
                                                  .free = free_statistics};
