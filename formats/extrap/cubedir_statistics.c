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
    const struct pf_cubedir *cubedir;
    const struct pf_study *study;
    const struct pf_experiment *experiment;
    struct pf_restriction only;
    unsigned parameters;
    struct pf_records records;
    struct pf_summary summaries[SCALINGS];
    double sum;      /* of the group being read */
    uint64_t zeros;  /* values in it */
    bool any;        /* value of it is not zero */
    uint64_t groups; /* of the point being read */

    uint32_t series, point, scaling; /* of the next row */
    uint32_t ready;                  /* the series whose statistics these are, or PF_NO_SERIES */
    struct pf_statistics *of;        /* SCALINGS a point; count 0: none */
};

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint32_t series, point, scaling;
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
        if (record.point >= statistics->experiment->n_points)
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
static int make_ready(struct statistics *statistics, uint32_t series, struct pf_error *error)
{
    size_t n = statistics->experiment->n_points * SCALINGS;
    statistics->ready = PF_NO_SERIES;
    memset(statistics->of, 0, n * sizeof *statistics->of);
    if (add_series(statistics, series, error))
        return -1;
    uint32_t more = statistics->cubedir->first[series];
    for (; more != PF_NO_SERIES; more = statistics->cubedir->next[more])
        if (add_series(statistics, more, error))
            return -1;
    statistics->ready = series;
    return 0;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

static bool series_matches(const struct statistics *statistics, uint32_t series)
{
    const struct pf_restriction *only = &statistics->only;
    const struct pf_series *at = &statistics->experiment->series[series];
    return statistics->cubedir->into[series] == series &&
           (only->context < 0 || at->context == only->context) &&
           (only->metric < 0 || at->metric == only->metric);
}

/* The series from this one on, in the order in which they are walked. */
static uint32_t series_after(const struct statistics *statistics, uint32_t series)
{
    if (statistics->only.context >= 0)
        return statistics->experiment->series[series].next;
    return series + 1 < statistics->experiment->n_series ? series + 1 : PF_NO_SERIES;
}

static uint32_t first_series(const struct statistics *statistics)
{
    int64_t context = statistics->only.context;
    if (context >= 0)
        return context < UINT32_MAX ? pf_experiment_first_series(statistics->experiment, (uint32_t)context)
                                    : PF_NO_SERIES;
    return statistics->experiment->n_series ? 0 : PF_NO_SERIES;
}

static int statistics_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_cubedir *cubedir = cursor->profile->state;
    struct statistics *statistics = cursor->state = calloc(1, sizeof *statistics);
    if (!statistics)
        return pf_fail_memory(error);
    const struct pf_study *study = cubedir->points.stored.study;
    statistics->cubedir = cubedir;
    statistics->study = study;
    statistics->experiment = study->experiment;
    statistics->only = cursor->only;
    statistics->parameters = cubedir->points.stored.tables.parameters;
    statistics->ready = PF_NO_SERIES;
    pf_records_open(&statistics->records, study->measured->store, 0, 0);
    statistics->of = calloc(study->experiment->n_points * SCALINGS + 1, sizeof *statistics->of);
    statistics->series = first_series(statistics);
    return statistics->of ? 0 : pf_fail_memory(error);
}

static void statistics_close(struct pf_cursor *cursor)
{
    struct statistics *statistics = cursor->state;
    if (!statistics)
        return;
    pf_records_close(&statistics->records);
    for (int s = 0; s < SCALINGS; s++)
        pf_summary_free(&statistics->summaries[s]);
    free(statistics->of);
    free(statistics);
}

static void fill_cells(const struct statistics *statistics, struct pf_cell *cells)
{
    const struct pf_statistics *found =
        &statistics->of[(size_t)statistics->point * SCALINGS + statistics->scaling];
    const char *scaling = scalings[statistics->scaling];
    cells[0] = pf_plain(scaling, strlen(scaling));
    pf_statistics_cells(cells + 1, statistics->parameters, statistics->point,
                        &statistics->experiment->series[statistics->series], found);
}

/* To the next row, or behind the series' last one. */
static void go_on(struct statistics *statistics)
{
    if (++statistics->scaling == SCALINGS) {
        statistics->scaling = 0;
        statistics->point++;
    }
}

static int statistics_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct statistics *statistics = cursor->state;
    const struct pf_experiment *experiment = statistics->experiment;
    while (statistics->series != PF_NO_SERIES) {
        uint32_t series = statistics->series;
        bool matches = series_matches(statistics, series);
        if (matches && statistics->ready != series && make_ready(statistics, series, error))
            return -1;
        for (; matches && statistics->point < experiment->n_points; go_on(statistics)) {
            bool wanted = statistics->only.partition < 0 || statistics->only.partition == statistics->point;
            if (!wanted || !statistics->of[(size_t)statistics->point * SCALINGS].count)
                continue;
            fill_cells(statistics, cells);
            go_on(statistics);
            return 1;
        }
        statistics->series = series_after(statistics, series);
        statistics->point = statistics->scaling = 0;
    }
    return 0;
}

static size_t statistics_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct statistics *statistics = cursor->state;
    struct position position = {statistics->series, statistics->point, statistics->scaling};
    return pf_position_save(&position, sizeof position, blob, room);
}

static int statistics_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct statistics *statistics = cursor->state;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    bool over = position.series == PF_NO_SERIES;
    if (position.scaling >= SCALINGS || position.point > statistics->experiment->n_points ||
        (!over && position.series >= statistics->experiment->n_series))
        return pf_position_refuse(error);
    statistics->series = position.series;
    statistics->point = position.point;
    statistics->scaling = position.scaling;
    return 0;
}

static double statistics_progress(const struct pf_cursor *cursor)
{
    const struct statistics *statistics = cursor->state;
    size_t n = statistics->experiment->n_series;
    return statistics->series < n ? (double)statistics->series / (double)n : 1;
}

const struct pf_cursor_ops pf_cubedir_statistics = {
    .open = statistics_open,
    .next = statistics_next,
    .save = statistics_save,
    .restore = statistics_restore,
    .close = statistics_close,
    .progress = statistics_progress,
};
