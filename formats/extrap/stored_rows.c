/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/stored.h"
#include "formats/extrap/summary.h"
#include "formats/kit/position.h"

/*
 * The tables values, statistics and cells over the sorted records: series by series in order of first
 * appearance, in it the points, in these the repetitions as the file has them.
 *
 * values: a row a value; without values a row a figure, each under its own metric. statistics: a row a
 * measurement, from its figures if it has any, else from its values. cells: a row a (series, point), over all its
 * measurements (of figures: the first); without values like values. totals: like cells, where the mean is that of the
 * measurements' sums over threads.
 */
struct rows {
    const struct pf_study *study;
    struct pf_restriction only;
    int64_t metric;    /* that the records are restricted to, or -1 */
    int64_t statistic; /* and the figures, or -1 */
    unsigned parameters;
    bool pooled; /* cells and totals */
    bool totals;
    bool threads; /* each value is that of a location, which is told */
    struct pf_records records;
    uint32_t series; /* whose records are read, if restricted to a context; PF_NO_SERIES: the end */
    bool inside;     /* a record: */
    struct pf_record record;
    const double *numbers;
    uint32_t next;       /* value or figure of it */
    uint64_t key;        /* of the last record that was entered; UINT64_MAX: none */
    uint64_t repetition; /* next one of that key */
    uint32_t thread;     /* the location of the next value, if these are told */
    struct pf_summary summary;
};

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint64_t at, key, repetition;
    uint32_t series, next, thread, unused;
};

static const struct pf_experiment *experiment_of(const struct rows *rows)
{
    return rows->study->experiment;
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Goes to the first series of the context's list, from `series` on, that has records to be served. */
static void enter_series(struct rows *rows, uint32_t series)
{
    const struct pf_experiment *experiment = experiment_of(rows);
    while (series != PF_NO_SERIES && rows->metric >= 0 && experiment->series[series].metric != rows->metric)
        series = experiment->series[series].next;
    rows->series = series;
    if (series == PF_NO_SERIES)
        return;
    const struct pf_run *run = &rows->study->measured->runs[series];
    rows->records.at = run->start;
    rows->records.end = run->end;
}

static bool is_sound(const struct rows *rows, const struct pf_record *record)
{
    const struct pf_measured *measured = rows->study->measured;
    return record->series < measured->n_runs && record->point < experiment_of(rows)->n_points &&
           rows->records.at >= measured->runs[record->series].start &&
           rows->records.at < measured->runs[record->series].end;
}

/* Goes on to the next record that matches, and peeks at it. 1; 0: there is none; -1: *error filled. */
static int find_record(struct rows *rows, struct pf_error *error)
{
    const struct pf_measured *measured = rows->study->measured;
    for (;;) {
        int got = pf_records_peek(&rows->records, &rows->record, &rows->numbers, error);
        if (got < 0)
            return -1;
        if (!got) {
            if (rows->only.context < 0 || rows->series == PF_NO_SERIES)
                return 0;
            enter_series(rows, experiment_of(rows)->series[rows->series].next);
            if (rows->series == PF_NO_SERIES)
                return 0;
            continue;
        }
        if (!is_sound(rows, &rows->record))
            return pf_position_refuse(error);
        const struct pf_series *series = &experiment_of(rows)->series[rows->record.series];
        if (rows->metric >= 0 && series->metric != rows->metric)
            rows->records.at = measured->runs[rows->record.series].end;
        else if (rows->only.partition >= 0 && rows->record.point != rows->only.partition)
            rows->records.at += pf_record_size(&rows->record);
        else
            return 1;
    }
}

/* ---- values ------------------------------------------------------------------------------------- */

/* Enters the next record. 1; 0: there is none; -1: *error filled. */
static int enter_record(struct rows *rows, struct pf_error *error)
{
    int got = find_record(rows, error);
    if (got <= 0)
        return got;
    uint64_t key = pf_record_key(&rows->record);
    if (key != rows->key)
        rows->repetition = 0;
    if (rows->record.repetitions) /* of the records of one file's call path, the first has one */
        rows->thread = 0;
    rows->key = key;
    rows->next = 0;
    rows->inside = true;
    return 1;
}

static void leave_record(struct rows *rows)
{
    rows->inside = false;
    rows->records.at += pf_record_size(&rows->record);
}

static int next_value(struct rows *rows, struct pf_cell *cells, struct pf_error *error)
{
    while (!rows->inside || rows->next == rows->record.values) {
        if (rows->inside)
            leave_record(rows);
        int got = enter_record(rows, error);
        if (got <= 0)
            return got;
    }
    double value = rows->numbers[pf_record_figures(&rows->record) + rows->next++];
    pf_value_cells(cells, rows->parameters, rows->record.point, rows->repetition++,
                   &experiment_of(rows)->series[rows->record.series], value);
    if (rows->threads)
        *pf_thread_cell(cells, rows->parameters) = pf_uint(rows->thread++);
    return 1;
}

/* Whether the figure `next` of the record is to be served. */
static bool wants_figure(const struct rows *rows)
{
    const struct pf_record *record = &rows->record;
    if (!(record->flags & PF_RECORD_FIGURES) || (rows->pooled && rows->repetition))
        return false;
    return record->flags >> rows->next & PF_RECORD_HAS_FIGURE &&
           (rows->statistic < 0 || rows->next == rows->statistic);
}

/* Further measurements of a point count their repetitions from 1, the first has none. */
static int next_figure(struct rows *rows, struct pf_cell *cells, struct pf_error *error)
{
    for (;; rows->next++) {
        if (rows->inside && rows->next == PF_STATISTICS) {
            rows->repetition++;
            leave_record(rows);
        }
        int got = rows->inside ? 1 : enter_record(rows, error);
        if (got <= 0)
            return got;
        if (wants_figure(rows))
            break;
    }
    struct pf_series series = experiment_of(rows)->series[rows->record.series];
    series.metric = series.metric * PF_STATISTICS + rows->next;
    pf_value_cells(cells, rows->parameters, rows->record.point, rows->repetition, &series,
                   rows->numbers[rows->next++]);
    if (!rows->repetition)
        cells[1 + rows->parameters] = pf_absent();
    return 1;
}

/* ---- statistics --------------------------------------------------------------------------------- */

static int add_values(struct rows *rows, struct pf_error *error)
{
    const double *values = rows->numbers + pf_record_figures(&rows->record);
    for (uint32_t i = 0; i < rows->record.values; i++)
        if (pf_summary_add(&rows->summary, values[i], error) < 0)
            return -1;
    return 0;
}

/* What is gathered of a measurement. */
struct gathered {
    struct pf_record first;
    double figures[PF_STATISTICS];
    uint64_t repetitions;
};

/* Reads the records of the measurement whose first one has been peeked at; stands behind them then. */
static int gather(struct rows *rows, struct gathered *gathered, struct pf_error *error)
{
    int got = 1;
    bool figures = pf_record_figures(&rows->record) != 0;
    *gathered = (struct gathered){.first = rows->record};
    if (figures)
        memcpy(gathered->figures, rows->numbers, sizeof gathered->figures);
    pf_summary_reset(&rows->summary);
    bool starts = false;
    do {
        if (!(figures && starts)) /* of further measurements with figures nothing is added */
            gathered->repetitions += rows->record.repetitions;
        if (!figures && add_values(rows, error) < 0)
            return -1;
        rows->records.at += pf_record_size(&rows->record);
        got = pf_records_peek(&rows->records, &rows->record, &rows->numbers, error);
        starts = got > 0 && rows->record.flags & PF_RECORD_STARTS;
    } while (got > 0 && pf_record_key(&rows->record) == pf_record_key(&gathered->first) &&
             (rows->pooled || !starts));
    return got;
}

static void figure_cells(const struct rows *rows, const struct gathered *gathered, struct pf_cell *cells)
{
    const struct pf_series *series = &experiment_of(rows)->series[gathered->first.series];
    cells[0] = pf_int(gathered->first.point);
    cells += 1 + rows->parameters;
    cells[0] = pf_int(series->context);
    cells[2] =
        gathered->first.flags & PF_RECORD_NO_REPETITIONS ? pf_absent() : pf_uint(gathered->repetitions);
    for (int i = 0; i < PF_STATISTICS; i++)
        cells[3 + i] =
            gathered->first.flags >> i & PF_RECORD_HAS_FIGURE ? pf_double(gathered->figures[i]) : pf_absent();
}

/* The metric's name, where it is no metric of the profile but NAME.mean is. */
static struct pf_cell metric_cell(const struct rows *rows, uint32_t metric)
{
    if (experiment_of(rows)->statistics_only)
        return pf_string(pf_experiment_metric_name(experiment_of(rows), metric));
    return pf_int(metric);
}

static int next_statistics(struct rows *rows, struct pf_cell *cells, struct pf_error *error)
{
    struct gathered gathered;
    do {
        int got = find_record(rows, error);
        if (got <= 0)
            return got;
        if (gather(rows, &gathered, error) < 0)
            return -1;
    } while (!pf_record_figures(&gathered.first) && !rows->summary.count);
    const struct pf_series *series = &experiment_of(rows)->series[gathered.first.series];
    if (pf_record_figures(&gathered.first)) {
        figure_cells(rows, &gathered, cells);
    } else {
        struct pf_statistics found = pf_summary_get(&rows->summary);
        if (rows->totals && gathered.repetitions && isfinite(found.mean))
            found.mean = (rows->summary.sum + rows->summary.correction) / (double)gathered.repetitions;
        found.count = gathered.repetitions;
        pf_statistics_cells(cells, rows->parameters, gathered.first.point, series, &found);
    }
    cells[2 + rows->parameters] = metric_cell(rows, series->metric);
    return 1;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

static bool by_value(const struct pf_cursor *cursor, const struct rows *rows)
{
    return cursor->table->user == PF_VALUES_TABLE || (rows->pooled && experiment_of(rows)->statistics_only);
}

/* Metrics of the profile are figures of the file's if it has no values. */
static void restrict_metric(struct rows *rows, bool figures)
{
    rows->statistic = -1;
    rows->metric = rows->only.metric;
    if (!experiment_of(rows)->statistics_only || rows->metric < 0)
        return;
    rows->statistic = figures ? rows->metric % PF_STATISTICS : -1;
    rows->metric /= PF_STATISTICS;
}

static int rows_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_stored *stored = cursor->profile->state;
    struct rows *rows = cursor->state = calloc(1, sizeof *rows);
    if (!rows)
        return pf_fail_memory(error);
    const struct pf_store *store = stored->study->measured->store;
    rows->study = stored->study;
    rows->only = cursor->only;
    rows->parameters = stored->tables.parameters;
    rows->totals = cursor->table->user == PF_TOTALS_TABLE;
    rows->pooled = rows->totals || cursor->table->user == PF_CELLS_TABLE;
    rows->threads = stored->tables.threads && cursor->table->user == PF_VALUES_TABLE;
    rows->key = UINT64_MAX;
    rows->series = PF_NO_SERIES;
    restrict_metric(rows, by_value(cursor, rows));
    rows->records = pf_records_of(store, 0, pf_store_size(store));
    if (rows->only.context < 0)
        return 0;
    rows->records.end = 0;
    if (rows->only.context < UINT32_MAX)
        enter_series(rows, pf_experiment_first_series(experiment_of(rows), (uint32_t)rows->only.context));
    return 0;
}

static void rows_close(struct pf_cursor *cursor)
{
    struct rows *rows = cursor->state;
    if (!rows)
        return;
    pf_store_window_free(&rows->records.window);
    pf_summary_free(&rows->summary);
    free(rows);
    cursor->state = NULL;
}

static int rows_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct rows *rows = cursor->state;
    if (!by_value(cursor, rows))
        return next_statistics(rows, cells, error);
    return experiment_of(rows)->statistics_only ? next_figure(rows, cells, error)
                                                : next_value(rows, cells, error);
}

static size_t rows_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct rows *rows = cursor->state;
    struct position position = {.at = rows->records.at,
                                .key = rows->key,
                                .repetition = rows->repetition,
                                .series = rows->series,
                                .next = rows->inside ? rows->next : UINT32_MAX,
                                .thread = rows->thread};
    return pf_position_save(&position, sizeof position, blob, room);
}

/* Goes into the record that a position is inside of. */
static int restore_inside(struct rows *rows, const struct position *position, struct pf_error *error)
{
    uint32_t most = experiment_of(rows)->statistics_only ? PF_STATISTICS : PF_RECORD_VALUES;
    int got = pf_records_peek(&rows->records, &rows->record, &rows->numbers, error);
    if (got < 0)
        return -1;
    if (!got || !is_sound(rows, &rows->record) || position->next > most ||
        (!experiment_of(rows)->statistics_only && position->next > rows->record.values))
        return pf_position_refuse(error);
    rows->inside = true;
    rows->next = position->next;
    return 0;
}

static int rows_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct rows *rows = cursor->state;
    const struct pf_measured *measured = rows->study->measured;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (rows->only.context >= 0 && position.series != PF_NO_SERIES) {
        if (position.series >= measured->n_runs ||
            experiment_of(rows)->series[position.series].context != rows->only.context)
            return pf_position_refuse(error);
        rows->series = position.series;
        rows->records.end = measured->runs[position.series].end;
    } else if (rows->only.context >= 0) {
        rows->series = PF_NO_SERIES;
        rows->records.end = 0;
    }
    if (position.at > pf_store_size(measured->store))
        return pf_position_refuse(error);
    rows->records.at = position.at;
    rows->key = position.key;
    rows->repetition = position.repetition;
    rows->thread = position.thread;
    rows->inside = false;
    return position.next == UINT32_MAX ? 0 : restore_inside(rows, &position, error);
}

static double rows_progress(const struct pf_cursor *cursor)
{
    const struct rows *rows = cursor->state;
    uint64_t size = pf_store_size(rows->study->measured->store);
    return size ? (double)rows->records.at / (double)size : 1;
}

const struct pf_cursor_ops pf_stored_rows = {
    .open = rows_open,
    .next = rows_next,
    .save = rows_save,
    .restore = rows_restore,
    .close = rows_close,
    .progress = rows_progress,
};
