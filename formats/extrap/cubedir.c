/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/driver_extra.h"
#include "formats/extrap/points.h"
#include "formats/extrap/summary.h"
#include "formats/probe.h"
#include "formats/runtime/numbered.h"

extern const struct pf_driver pf_cubedir_driver;

/*
 * Driver for a folder whose subfolders are points and contain Cube files, shown as an Extra-P experiment. Call paths of
 * different files are equal if the names of their regions are. The metrics are the roots of the files' metric trees. Each
 * is shown as exclusive (NAME) and inclusive ("NAME (inc)").
 *
 * A group is the values of one call path and metric in one file, one value per location. The items of a group are
 * consecutive in the list of values, and begin with the value of location 0.
 */
struct pf_cubedir {
    struct pf_points points; /* must be first */

    /* How series are merged; valid from PF_MODELLED on. */
    struct pf_merge {
        uint32_t into;        /* series to merge this one into, or itself; PF_NO_SERIES: none, drop it */
        uint32_t first, next; /* first series merged into this one; next series merged into the same one */
    } * merged;               /* by series */

    struct pf_column statistics[PF_PARAMETERS_MAX + 11]; /* the scaling column, then the common columns */
};

static void probe_cubedir(struct pf_probe *probe, struct pf_probe_result *result)
{
    result->confidence = pf_points_probe(probe, ".cubex", 2) ? 16 : 0;
}

/* Text for users: how the values of a call path's locations are reduced to one, for aggregates and for scaling.csv. */
static const char reading_of_locations[] = "at each point the mean over all locations, idle ones too, as "
                                           "Extra-P's weak scaling has it; scaling_total.csv has "
                                           "their sum";

/* ---- statistics --------------------------------------------------------------------------------- */

/*
 * The table "statistics" has one row per series, point and scaling. The scaling is the way to reduce the values of a group
 * to one value. Extra-P knows three ways. With `weak`, the values are repetitions. With `weak_threaded`, they are
 * repetitions, too, but zeros are ignored unless all values of the group are zero. With `strong`, the value is the sum of
 * the group.
 */
enum { WEAK, WEAK_THREADED, STRONG, SCALINGS };
static const char *const scalings[SCALINGS] = {"weak", "weak_threaded", "strong"};

struct statistics {
    const struct pf_study *study;
    struct pf_store_window window;
    struct pf_summary summaries[SCALINGS];
    double sum;      /* sum of the current group, which is the values of one file */
    uint64_t zeros;  /* number of zeros in the current group */
    bool any;        /* the current group has a nonzero value */
    uint64_t groups; /* number of groups of the current point, which are its repetitions */

    uint32_t ready;            /* the series whose statistics of[] holds, or PF_NO_SERIES */
    struct pf_statistics of[]; /* by point and scaling; count 0: no values */
};

/* ---- groups ------------------------------------------------------------------------------------- */

/* Ends the current group. Adds its sum to `strong` and, if all its values are zero, its zeros to `weak_threaded`. */
static int end_locations(struct statistics *statistics, struct pf_error *error)
{
    for (uint64_t i = 0; i < statistics->zeros && !statistics->any; i++)
        if (pf_summary_add(&statistics->summaries[WEAK_THREADED], 0, error) < 0)
            return -1;
    return pf_summary_add(&statistics->summaries[STRONG], statistics->sum, error);
}

static int begin_locations(struct statistics *statistics, struct pf_error *error)
{
    if (statistics->groups++ && end_locations(statistics, error))
        return -1;
    statistics->sum = 0;
    statistics->zeros = 0;
    statistics->any = false;
    return 0;
}

static int add_location_value(struct statistics *statistics, double value, struct pf_error *error)
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

/* Adds the statistics of another series at the same point to *sum. Adds the variances, as if the values were independent. */
static void add_statistics(struct pf_statistics *sum, const struct pf_statistics *more)
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

/* Ends the current point, and adds its statistics to of[]. */
static int end_point(struct statistics *statistics, uint32_t point, struct pf_error *error)
{
    if (!statistics->groups)
        return 0;
    if (end_locations(statistics, error))
        return -1;
    for (int s = 0; s < SCALINGS; s++) {
        struct pf_statistics found = {0};
        if (statistics->summaries[s].count)
            found = pf_summary_get(&statistics->summaries[s]);
        found.count = statistics->groups; /* a repetition is a group (one file), not a location */
        add_statistics(&statistics->of[(size_t)point * SCALINGS + s], &found);
        pf_summary_reset(&statistics->summaries[s]);
    }
    statistics->groups = 0;
    return 0;
}

/* ---- series ------------------------------------------------------------------------------------- */

static int add_series(struct statistics *statistics, uint32_t series, struct pf_error *error)
{
    const struct pf_list *values = &statistics->study->values;
    struct pf_series_run run = pf_series_run_of(values, series);
    struct pf_value value;
    uint32_t point = 0;
    for (uint64_t i = run.start; i < run.end; i++) {
        if (pf_list_read(values, &statistics->window, i, &value, error))
            return -1;
        if (value.at.point != point && end_point(statistics, point, error))
            return -1;
        point = value.at.point;
        if (value.at.flags < PF_FLAGS_ABOVE && begin_locations(statistics, error))
            return -1;
        if (add_location_value(statistics, value.value, error))
            return -1;
    }
    return end_point(statistics, point, error);
}

/* Computes the statistics of a series together with all series merged into it. */
static int make_ready(struct statistics *statistics, const struct pf_merge *merged, uint32_t series,
                      struct pf_error *error)
{
    size_t n = pf_study_points(statistics->study) * SCALINGS;
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

static const struct pf_study *cubedir_study(const struct pf_cursor *cursor)
{
    return ((const struct pf_study_profile *)cursor->model->state)->study;
}

/* Returns the first row number of a series. A row number is (series * points + point) * SCALINGS + scaling. */
static uint64_t first_statistic(const struct pf_cursor *cursor, uint32_t series)
{
    return series == PF_NO_SERIES ? PF_NO_NUMBER : series * pf_study_points(cubedir_study(cursor)) * SCALINGS;
}

static int begin_statistics(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                            struct pf_error *error)
{
    const struct pf_study *study = cubedir_study(cursor);
    size_t points = pf_study_points(study) * SCALINGS;
    struct statistics *statistics = numbers->own =
        calloc(1, sizeof *statistics + points * sizeof *statistics->of);
    if (!statistics)
        return pf_fail_memory(error);
    statistics->study = study;
    statistics->window.store = study->values.store;
    statistics->ready = PF_NO_SERIES;
    numbers->end = study->n_series * points;
    if (cursor->only.context >= 0)
        numbers->next = first_statistic(cursor, pf_study_first_series(study, cursor->only.context));
    return 0;
}

static bool series_matches(const struct pf_cursor *cursor, uint32_t series)
{
    const struct pf_cubedir *cubedir = cursor->model->state;
    const struct pf_series *at = &cubedir_study(cursor)->series[series];
    return cubedir->merged[series].into == series && pf_wanted(cursor->only.context, at->context) &&
           pf_wanted(cursor->only.metric, at->metric);
}

static uint64_t cubedir_after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)own;
    const struct pf_study *study = cubedir_study(cursor);
    uint32_t series = (uint32_t)(number / (pf_study_points(study) * SCALINGS));
    bool last = (number + 1) % (pf_study_points(study) * SCALINGS) == 0;
    if (!last && series_matches(cursor, series))
        return number + 1;
    return first_statistic(cursor, cursor->only.context < 0 ? series + 1 : study->series[series].next);
}

static int cubedir_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    const struct pf_cubedir *cubedir = cursor->model->state;
    const struct pf_study *study = cubedir_study(cursor);
    struct statistics *statistics = own;
    size_t at = number % (pf_study_points(study) * SCALINGS);
    uint32_t series = (uint32_t)(number / (pf_study_points(study) * SCALINGS)),
             point = (uint32_t)(at / SCALINGS);
    const char *scaling = scalings[at % SCALINGS];
    if (!series_matches(cursor, series) || !pf_wanted(cursor->only.partition, point))
        return 0;
    if (statistics->ready != series && make_ready(statistics, cubedir->merged, series, error))
        return -1;
    if (!statistics->of[at].count)
        return 0;
    cells[0] = pf_plain(scaling, strlen(scaling));
    cells[1] = pf_int(point);
    cells += 2 + cubedir->points.stored.parameters;
    cells[0] = pf_int(study->series[series].context);
    cells[1] = pf_int(study->series[series].metric);
    pf_statistics_cells(cells, &statistics->of[at]);
    return 1;
}

static void free_statistics(void *own)
{
    struct statistics *statistics = own;
    if (!statistics)
        return;
    pf_store_window_free(&statistics->window);
    for (int s = 0; s < SCALINGS; s++)
        pf_summary_free(&statistics->summaries[s]);
    free(statistics);
}

static const struct pf_numbered statistics_rows = {PF_NUMBERED, .begin = begin_statistics, .row = cubedir_row,
                                                   .after = cubedir_after, .free = free_statistics};

/* ---- opening ------------------------------------------------------------------------------------ */

/* Prepends the column "scaling" to the common columns of statistics. */
static void add_scaling(struct pf_cubedir *cubedir)
{
    struct pf_table *statistics = &cubedir->points.stored.tables[PF_STATISTICS_TABLE];
    cubedir->statistics[0] = (struct pf_column){"scaling", PF_PLAIN, 0};
    memcpy(cubedir->statistics + 1, statistics->columns, statistics->n_columns * sizeof *statistics->columns);
    statistics->columns = cubedir->statistics;
    statistics->n_columns++;
    statistics->ops = &statistics_rows.ops;
}

static int open_cubedir(struct pf_model *model, struct pf_error *error)
{
    struct pf_cubedir *cubedir = model->state = calloc(1, sizeof *cubedir);
    if (!cubedir)
        return pf_fail_memory(error);
    cubedir->points.stored.threads = true;
    if (pf_points_open(model, ".cubex", "Files", error))
        return -1;
    add_scaling(cubedir);
    struct pf_cell reading[] = {pf_string("Values"), pf_string(reading_of_locations)};
    return pf_rows_add(model->info, reading, error);
}

/* ---- a file ------------------------------------------------------------------------------------- */

enum { EXCLUSIVE, INCLUSIVE, SIDES };

/* Suffix of the names of inclusive metrics. */
static const char inclusive_suffix[] = " (inc)";

static bool is_inclusive_name(const char *name)
{
    size_t size = strlen(name), end = sizeof inclusive_suffix - 1;
    return size >= end && !strcmp(name + size - end, inclusive_suffix);
}

/* State of reading one file into the experiment; owned by the run. */
struct cubedir_reading {
    struct pf_study *study;
    struct pf_input *input;
    struct pf_cube cube;
    bool is_damaged;
    struct pf_cube_sums sums;
    uint32_t *contexts; /* call path of the file -> context of the experiment */
    uint32_t point;
};

/* Returns the study's metric for one side (inclusive or exclusive) of a file's metric. */
static uint32_t map_metric(struct pf_study *study, const struct pf_cube_metric *metric, int side)
{
    char *name = NULL;
    int size = asprintf(&name, "%s%s", metric->name, side == INCLUSIVE ? inclusive_suffix : "");
    PF_OWN(study->run, size < 0 ? NULL : name, free);
    uint32_t number = pf_study_metric(study, name, (size_t)size);
    free(pf_disown(study->run, name));
    pf_study_unit(study, number, metric->unit, strlen(metric->unit));
    return number;
}

static double location_value(enum pf_cube_kind kind, const union pf_cube_number *number)
{
    struct pf_cell cell;
    if (!pf_cube_shown(kind, number, &cell))
        return 0;
    if (cell.type == PF_INT)
        return (double)cell.i;
    if (cell.type == PF_UINT)
        return (double)cell.u;
    return cell.type == PF_WIDE ? (double)*cell.wide : cell.d;
}

/* Adds the inclusive or exclusive values of a metric. A call path without a row in the file gets none; in Cube, its value is zero. */
static void add_side(struct cubedir_reading *reading, const struct pf_cube_metric *metric, int side)
{
    const struct pf_cube *cube = &reading->cube;
    struct pf_study *study = reading->study;
    struct pf_run *run = study->run;
    uint32_t number = map_metric(study, metric, side);
    for (uint32_t p = 0; p < cube->tree->count; p++) {
        const union pf_cube_number *values;
        if (pf_cube_row_of(&reading->sums.reader, metric, p) < 0)
            continue;
        bool got = pf_run_check(
            run, pf_cube_sums_at(&reading->sums, metric, p, side == INCLUSIVE, &values, run->error));
        pf_run_step(run, p, cube->tree->count);
        if (!got)
            continue;
        uint32_t series = pf_study_series(study, reading->contexts[p], number, false, 0, -1);
        pf_study_begin(study, series, reading->point, false);
        for (uint32_t l = 0; l < cube->n_locations; l++)
            pf_study_add(study, location_value(metric->type.kind, &values[l]));
    }
}

static void add_cube_metrics(struct cubedir_reading *reading)
{
    for (size_t m = 0; m < reading->cube.n_metrics; m++) {
        const struct pf_cube_metric *metric = &reading->cube.metrics[m];
        if (metric->parent != PF_CUBE_NONE || !metric->has_data || !pf_cube_is_number(metric->type.kind))
            continue;
        for (int side = 0; side < SIDES; side++)
            add_side(reading, metric, side);
    }
}

/* Reads a file in a run of its own. Drops the run's notes, since the profile of the file itself has them as warnings. */
static void read_cube(struct pf_run *run, void *arg)
{
    struct cubedir_reading *reading = arg;
    struct pf_cube *cube = &reading->cube;
    pf_cube_open(run, cube, reading->input);
    pf_cube_load(run, cube);
    pf_cube_find_data(run, cube);
    pf_cube_check(run, cube);
    reading->is_damaged = run->notes.count > 0;
    pf_notes_free(&run->notes);
}

static void take_cube(struct cubedir_reading *reading, const char *path)
{
    struct pf_run *run = reading->study->run;
    const struct pf_cube *cube = &reading->cube;
    if (pf_run(run->model, read_cube, reading, run->error))
        pf_run_fail(run);
    if (reading->is_damaged)
        pf_points_note(reading->study, path, "is damaged: see its own warnings");
    if (cube->broken)
        return;
    reading->contexts = pf_disown(run, pf_study_contexts(reading->study, cube->tree));
    pf_run_check(run, pf_cube_sums_init(&reading->sums, cube, true, -1, NULL, run->error));
    add_cube_metrics(reading);
}

static void free_cube_reading(void *thing)
{
    struct cubedir_reading *reading = thing;
    pf_cube_sums_end(&reading->sums);
    free(reading->contexts);
    pf_cube_close(&reading->cube);
    free(reading);
}

static void read_cube_file(struct pf_study *study, const char *path, uint32_t point)
{
    struct pf_run *run = study->run;
    struct pf_input *input;
    if (pf_source_open(run->model->source, path, PF_RAW, &input, run->error)) {
        if (run->error->code != EACCES && run->error->code != ENOENT && run->error->code != EINVAL)
            pf_run_fail(run);
        pf_points_note(study, path, "cannot be opened: it is left out");
        return;
    }
    struct cubedir_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free_cube_reading);
    reading->study = study;
    reading->input = input;
    reading->point = point;
    take_cube(reading, path);
    free_cube_reading(pf_disown(run, reading));
    pf_run_check(run, pf_input_done(input, run->error));
}

/* ---- merging ------------------------------------------------------------------------------------ */

/*
 * A series is complete if it has a value at each point, as Extra-P requires. An incomplete exclusive series is merged
 * into the complete series of the nearest ancestor that has one, or dropped if no ancestor has one. An incomplete
 * inclusive series is dropped, since the series of its ancestors already contain its values.
 */

static bool is_complete(const struct pf_study *study, uint32_t series)
{
    return pf_series_run_of(&study->values, series).points == pf_study_points(study);
}

/*
 * Returns the series that series `number` is merged into: `number` itself if it is complete, or PF_NO_SERIES if it is
 * dropped. The targets of the series of all ancestors must be set, so that the search can end at the first ancestor
 * that has a series.
 */
static uint32_t merge_target(const struct pf_study *study, const struct pf_merge *merged, uint32_t number)
{
    const struct pf_series *series = &study->series[number];
    const uint32_t *parent = study->contexts->parent;
    if (is_complete(study, number))
        return number;
    if (is_inclusive_name(pf_study_metric_name(study, series->metric)))
        return PF_NO_SERIES;
    for (uint32_t c = parent[series->context]; c != PF_NO_CONTEXT; c = parent[c]) {
        uint32_t above = pf_ids_find(&study->series_of, (uint64_t)c << 32 | series->metric);
        if (above != PF_NO_ID)
            return merged[above].into;
    }
    return PF_NO_SERIES;
}

static void merge_series(struct pf_cubedir *cubedir, const struct pf_study *study)
{
    size_t n = study->n_series;
    free(cubedir->merged); /* from an earlier pass that failed */
    cubedir->merged = NULL;
    cubedir->merged = pf_run_memory(study->run, calloc(n + 1, sizeof *cubedir->merged));
    for (uint32_t c = 0; c < study->contexts->count; c++) /* parents first */
        for (uint32_t s = study->firsts[c].series; s != PF_NO_SERIES; s = study->series[s].next) {
            pf_run_step(study->run, c, study->contexts->count);
            uint32_t into = merge_target(study, cubedir->merged, s);
            cubedir->merged[s] = (struct pf_merge){into, PF_NO_SERIES, PF_NO_SERIES};
        }
    for (uint32_t s = 0; s < n; s++) {
        uint32_t into = cubedir->merged[s].into;
        if (into == s || into == PF_NO_SERIES)
            continue;
        cubedir->merged[s].next = cubedir->merged[into].first;
        cubedir->merged[into].first = s;
    }
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Sets the scope of each published metric, and makes the exclusive and the inclusive metric of each name partners. */
static void set_sides(const struct pf_study *study)
{
    struct pf_metric *metrics = study->metric_list;
    size_t n = pf_strings_count(study->metrics);
    for (size_t i = 0; i < n; i++) {
        metrics[i].scope = is_inclusive_name(metrics[i].name) ? "inclusive" : "exclusive";
        metrics[i].description = reading_of_locations;
        size_t length = strlen(metrics[i].name);
        bool twins = i + 1 < n && !strncmp(metrics[i].name, metrics[i + 1].name, length) &&
                     !strcmp(metrics[i + 1].name + length, inclusive_suffix);
        if (twins) {
            metrics[i].partner = (int)i + 1;
            metrics[i + 1].partner = (int)i;
        }
    }
}

static void read_cube_folders(struct pf_run *run, void *reading)
{
    struct pf_study *study = pf_points_read(run, read_cube_file);
    merge_series(run->model->state, study);
    pf_study_made(reading, study);
}

static int load_cubedir(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct pf_cubedir *cubedir = model->state;
    struct pf_study_reading reading = {.read = read_cube_folders};
    if (stage != PF_PARTITIONED || cubedir->points.stored.study)
        return 0;
    if (pf_study_read(model, &reading, error))
        return -1;
    set_sides(reading.study);
    add_scaling(cubedir);
    return 0;
}

static void close_folder(struct pf_model *model)
{
    struct pf_cubedir *cubedir = model->state;
    if (!cubedir)
        return;
    free(cubedir->merged);
    pf_points_close(model);
}

const struct pf_driver pf_cubedir_driver = {
    .name = "cube-experiment",
    .title = "Folders of points that hold Cube profiles, as an Extra-P experiment",
    .version = 9,
    .directories = true,
    .extra = &(const struct pf_driver_extra){.beside = true},
    .probe = probe_cubedir,
    .open = open_cubedir,
    .load = load_cubedir,
    .close = close_folder,
};
