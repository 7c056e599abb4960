/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/runtime/numbered.h"

/*
 * Cursors of the tables values, statistics, cells and totals over the sorted lists of a study. Rows are ordered by series
 * (in order of first appearance), then by point, then by repetition in file order.
 *
 * The table values has one row per value. If the file has only statistics, it has one row per statistic, and each
 * statistic is a metric. The table statistics has one row per measurement. It shows the statistics of the file or, if there
 * are none, those of the values. The table cells has one row per series and point, which combines all values, or shows the
 * first stored statistics. If the file has only statistics, cells has the same rows as values. The table totals is like
 * cells, but its means are the means of sums over threads.
 *
 * A row's number is the index in the list of the first item that the row is made from. If each stored statistic has a row,
 * the number is that index times PF_STATISTICS, plus the statistic.
 */
struct rows {
    const struct pf_study *study;
    const struct pf_list *list;
    struct pf_store_window window;
    unsigned per_item, parameters;
    bool values;    /* a row shows a single number of an item; otherwise, statistics */
    bool pooled;    /* there is one row per series and point, as in cells and totals */
    bool totals;    /* the table is totals */
    bool threads;   /* each value belongs to a location, which the table values shows */
    int64_t metric; /* metric of the file that the rows are restricted to, or -1 */
    int64_t figure; /* statistic that the rows are restricted to, or -1 */
    uint64_t after; /* number of the row after the current one */
    struct pf_summary summary;
};

/*
 * Returns the number of the first row of `series` or, if this series has no wanted rows, of the next series of the same
 * context that has some. Returns PF_NO_NUMBER if there is none.
 */
static uint64_t first_row_number(const struct rows *rows, uint32_t series)
{
    const struct pf_series *all = rows->study->series;
    while (series != PF_NO_SERIES &&
           (!pf_wanted(rows->metric, all[series].metric) || !pf_series_run_of(rows->list, series).points))
        series = all[series].next;
    return series == PF_NO_SERIES ? PF_NO_NUMBER
                                  : pf_series_run_of(rows->list, series).start * rows->per_item;
}

static int begin_rows(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_study_profile *stored = cursor->model->state;
    const struct pf_study *study = stored->study;
    const int64_t table = pf_study_table_of(cursor), context = cursor->only.context;
    struct rows *rows = numbers->own = calloc(1, sizeof *rows);
    if (!rows)
        return pf_fail_memory(error);
    rows->study = study;
    rows->totals = table == PF_TOTALS_TABLE;
    rows->pooled = rows->totals || table == PF_CELLS_TABLE;
    rows->values = table == PF_VALUES_TABLE || (rows->pooled && study->statistics_only);
    rows->threads = stored->threads;
    rows->parameters = stored->parameters;
    rows->list =
        study->figures.count && (study->statistics_only || !rows->values) ? &study->figures : &study->values;
    rows->window.store = rows->list->store;
    rows->per_item = rows->values && study->statistics_only ? PF_STATISTICS : 1;
    rows->metric = cursor->only.metric;
    rows->figure = -1;
    if (study->statistics_only && rows->metric >= 0) { /* the metrics are single statistics */
        rows->figure = rows->values ? rows->metric % PF_STATISTICS : -1;
        rows->metric /= PF_STATISTICS;
    }
    numbers->end = rows->list->count * rows->per_item;
    if (context >= 0)
        numbers->next = first_row_number(rows, pf_study_first_series(study, context));
    return 0;
}

static void free_rows(void *own)
{
    struct rows *rows = own;
    if (!rows)
        return;
    pf_store_window_free(&rows->window);
    pf_summary_free(&rows->summary);
    free(rows);
}

/* ---- one item ----------------------------------------------------------------------------------- */

union item {
    struct pf_place at;
    struct pf_value value;
    struct pf_figures figures;
};

/*
 * Advances *from to the first item before `end` whose point is not below `point`, or to `end`, by binary search. The items
 * are of one series. Returns 0, or -1 with *error filled.
 */
static int find_point(struct rows *rows, uint64_t *from, uint64_t end, int64_t point, struct pf_error *error)
{
    union item item;
    while (*from < end) {
        uint64_t middle = *from + (end - *from) / 2;
        if (pf_list_read(rows->list, &rows->window, middle, &item, error) < 0)
            return -1;
        if (item.at.point < point)
            *from = middle + 1;
        else
            end = middle;
    }
    return 0;
}

/* Continues at `item` or, if the series has ended there and the cursor is restricted to a context, at the context's next series. */
static void continue_at(const struct pf_cursor *cursor, struct rows *rows, uint32_t series, uint64_t item)
{
    bool over = item >= pf_series_run_of(rows->list, series).end;
    rows->after = over && cursor->only.context >= 0 ? first_row_number(rows, rows->study->series[series].next)
                                                    : item * rows->per_item;
}

/*
 * Handles an unwanted item, which has the index `item` in the list. Sets rows->after to the next row that may be wanted.
 * Returns 0, or -1 with *error filled.
 */
static int skip_rows(const struct pf_cursor *cursor, struct rows *rows, const struct pf_place *at,
                     uint64_t item, bool series_wanted, struct pf_error *error)
{
    uint64_t end = pf_series_run_of(rows->list, at->series).end;
    if (!series_wanted || cursor->only.partition < at->point)
        item = end;
    else if (find_point(rows, &item, end, cursor->only.partition, error) < 0)
        return -1;
    continue_at(cursor, rows, at->series, item);
    return 0;
}

/* ---- values ------------------------------------------------------------------------------------- */

/*
 * Fills a row of values. For a stored statistic, the column repetition is empty in the first measurement of a point, and
 * counts further measurements from 1.
 */
static int value_row(const struct rows *rows, const union item *item, unsigned figure, struct pf_cell *cells)
{
    const struct pf_series *series = &rows->study->series[item->at.series];
    /* `above` is the number of the value's location or, for statistics, the bit set of the known statistics. */
    uint32_t above = item->at.flags / PF_FLAGS_ABOVE, repetition = item->at.repetition;
    bool figures = rows->study->statistics_only;
    if (figures &&
        (!(above >> figure & 1) || !pf_wanted(rows->figure, figure) || (rows->pooled && repetition)))
        return 0;
    cells += 1 + rows->parameters;
    cells[0] = figures && !repetition ? pf_absent() : pf_uint(repetition);
    cells[1] = pf_int(series->context);
    cells[2] = pf_int(figures ? (int64_t)series->metric * PF_STATISTICS + figure : series->metric);
    cells[3] = pf_double(figures ? item->figures.of[figure] : item->value.value);
    if (rows->threads)
        cells[4] = pf_uint(above);
    return 1;
}

/* ---- statistics --------------------------------------------------------------------------------- */

static void figure_cells(const struct pf_figures *figures, struct pf_cell *cells)
{
    cells[2] = figures->repetitions < 0 ? pf_absent() : pf_int(figures->repetitions);
    for (int i = 0; i < PF_STATISTICS; i++)
        cells[3 + i] = figures->at.flags / PF_FLAGS_ABOVE >> i & 1 ? pf_double(figures->of[i]) : pf_absent();
}

void pf_statistics_cells(struct pf_cell *cells, const struct pf_statistics *statistics)
{
    cells[2] = pf_uint(statistics->count);
    cells[3] = pf_double(statistics->mean);
    cells[4] = statistics->has_median ? pf_double(statistics->median) : pf_absent();
    cells[5] = pf_double(statistics->min);
    cells[6] = pf_double(statistics->max);
    cells[7] = pf_double(statistics->std);
}

/*
 * Computes the statistics of the measurement that begins at item *item or, in pooled rows, of all measurements of its series
 * and point. Sets *item to the first item that was not included. Returns 0, or -1 with *error filled.
 */
static int sum_up(struct rows *rows, union item at, uint64_t *item, struct pf_statistics *statistics,
                  struct pf_error *error)
{
    const uint64_t end = pf_series_run_of(rows->list, at.at.series).end;
    const uint32_t point = at.at.point;
    uint64_t repetitions = 0;
    pf_summary_reset(&rows->summary);
    do {
        repetitions += !rows->threads || at.at.flags < PF_FLAGS_ABOVE; /* a repetition begins at location 0 */
        if (pf_summary_add(&rows->summary, at.value.value, error) < 0)
            return -1;
        if (++*item < end && pf_list_read(rows->list, &rows->window, *item, &at, error) < 0)
            return -1;
    } while (*item < end && at.at.point == point && (rows->pooled || !(at.at.flags & PF_STARTS)));
    *statistics = pf_summary_get(&rows->summary);
    statistics->count = repetitions;
    if (rows->totals && repetitions && isfinite(statistics->mean))
        statistics->mean = pf_summary_sum(&rows->summary) / (double)repetitions;
    return 0;
}

static int statistics_item_row(const struct pf_cursor *cursor, struct rows *rows, const union item *at,
                               uint64_t item, struct pf_cell *cells, struct pf_error *error)
{
    const struct pf_study *study = rows->study;
    const struct pf_series *series = &study->series[at->at.series];
    struct pf_statistics statistics;
    if (at->at.repetition && (rows->pooled || !(at->at.flags & PF_STARTS)))
        return 0;
    cells += 1 + rows->parameters;
    cells[0] = pf_int(series->context);
    /* If the file has only statistics, the profile has metrics NAME.mean etc. but no metric NAME, so the cell is a text. */
    cells[1] = study->statistics_only ? pf_string(pf_study_metric_name(study, series->metric))
                                      : pf_int(series->metric);
    if (rows->list == &study->figures) {
        figure_cells(&at->figures, cells);
        return 1;
    }
    if (sum_up(rows, *at, &item, &statistics, error) < 0)
        return -1;
    pf_statistics_cells(cells, &statistics);
    continue_at(cursor, rows, at->at.series, item);
    return 1;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

static int study_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    struct rows *rows = own;
    const struct pf_restriction *only = &cursor->only;
    uint64_t item = number / rows->per_item;
    unsigned figure = number % rows->per_item;
    union item at;
    if (pf_list_read(rows->list, &rows->window, item, &at, error) < 0)
        return -1;
    const struct pf_series *series = &rows->study->series[at.at.series];
    bool wanted = pf_wanted(rows->metric, series->metric) && pf_wanted(only->context, series->context);
    if (!wanted || !pf_wanted(only->partition, at.at.point))
        return skip_rows(cursor, rows, &at.at, item, wanted, error);
    if (figure + 1 < rows->per_item)
        rows->after = number + 1;
    else
        continue_at(cursor, rows, at.at.series, item + 1);
    cells[0] = pf_int(at.at.point);
    return rows->values ? value_row(rows, &at, figure, cells)
                        : statistics_item_row(cursor, rows, &at, item, cells, error);
}

static uint64_t rows_after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor, (void)number;
    return ((const struct rows *)own)->after;
}

const struct pf_numbered pf_study_rows = {PF_NUMBERED, .begin = begin_rows, .row = study_row,
                                          .after = rows_after, .free = free_rows};
