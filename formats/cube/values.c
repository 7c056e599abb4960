/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/cube/cubex.h"
#include "formats/cube/sums.h"
#include "formats/kit/position.h"

/*
 * The table "values" in the order of the file: metric by metric, call path by call path, location by location; of
 * each call path first the exclusive, then the inclusive values. Walked in two ways that give the same rows: by rows of
 * the matrices, or, for one location alone, by its columns in the transposed copy. What is zero is left out.
 */
enum { EXCLUSIVE, INCLUSIVE, SIDES };

struct values {
    const struct pf_cubex *cubex;
    const struct pf_cube *cube;
    struct pf_restriction only;
    uint32_t metric_first, metric_end; /* of the cube */
    uint32_t path_first, path_end;
    uint32_t location_first, location_end;

    uint32_t metric, path, side, location; /* where the next row is looked for */
    bool ready;                            /* values of it are there */
    const union pf_cube_number *row;       /* of all locations; by rows only */

    bool by_columns;
    struct pf_cube_sums sums;            /* by rows */
    union pf_cube_number *column[SIDES]; /* by columns: values of each call path */
    uint32_t column_metric;              /* of these, or PF_CUBE_NONE */
};

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint32_t metric, path, side, location;
};

/* ---- opening ------------------------------------------------------------------------------------ */

/* The range of an axis that a restriction leaves. */
static void restrict_to(int64_t only, uint32_t count, uint32_t *first, uint32_t *end)
{
    *first = 0;
    *end = count;
    if (only < 0)
        return;
    *first = only < count ? (uint32_t)only : count;
    *end = only < count ? *first + 1 : count;
}

static void set_ranges(struct values *values, const struct pf_profile *profile)
{
    int64_t metric = values->only.metric;
    if (metric >= 0)
        metric = (uint64_t)metric < profile->n_metrics ? values->cubex->metric_of[metric] : INT64_MAX;
    restrict_to(metric, (uint32_t)values->cube->n_metrics, &values->metric_first, &values->metric_end);
    restrict_to(values->only.context, values->cube->tree->count, &values->path_first, &values->path_end);
    restrict_to(values->only.partition, values->cube->n_locations, &values->location_first,
                &values->location_end);
    if (values->cube->broken)
        values->metric_end = values->metric_first;
    values->metric = values->metric_first;
    values->path = values->path_first;
    values->location = values->location_first;
}

static int open_columns(struct values *values, struct pf_error *error)
{
    size_t n = (size_t)values->cube->tree->count + 1;
    values->column_metric = PF_CUBE_NONE;
    for (int side = 0; side < SIDES; side++) {
        values->column[side] = malloc(n * sizeof *values->column[side]);
        if (!values->column[side])
            return pf_fail_memory(error);
    }
    return 0;
}

static int values_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_cubex *cubex = cursor->profile->state;
    struct values *values = cursor->state = calloc(1, sizeof *values);
    if (!values)
        return pf_fail_memory(error);
    values->cubex = cubex;
    values->cube = &cubex->cube;
    values->only = cursor->only;
    values->by_columns = cursor->only.partition >= 0 && cursor->only.context < 0 && cubex->columns.store;
    set_ranges(values, cursor->profile);
    if (values->by_columns)
        return open_columns(values, error);
    return pf_cube_sums_init(&values->sums, values->cube, cursor->only.context < 0, error);
}

static void values_close(struct pf_cursor *cursor)
{
    struct values *values = cursor->state;
    if (!values)
        return;
    pf_cube_sums_end(&values->sums);
    free(values->column[EXCLUSIVE]);
    free(values->column[INCLUSIVE]);
    free(values);
}

/* ---- getting values ----------------------------------------------------------------------------- */

/* Reads the column of the current metric. */
static int load_column(struct values *values, struct pf_error *error)
{
    const struct pf_cube_metric *metric = &values->cube->metrics[values->metric];
    enum pf_cube_kind kind = metric->type.kind;
    bool inclusive = metric->stored == PF_CUBE_INCLUSIVE;
    union pf_cube_number *stored = values->column[inclusive ? INCLUSIVE : EXCLUSIVE];
    if (pf_cube_columns_read(&values->cubex->columns, values->cube, values->metric, values->location_first,
                             stored, error))
        return -1;
    if (inclusive)
        pf_cube_split_column(values->cube, kind, stored, values->column[EXCLUSIVE]);
    else
        pf_cube_sum_column(values->cube, kind, stored, values->column[INCLUSIVE]);
    values->column_metric = values->metric;
    return 0;
}

/* Makes the values of the current call path and side ready. 1; 0: it has none; -1: *error filled. */
static int load_values(struct values *values, struct pf_error *error)
{
    const struct pf_cube_metric *metric = &values->cube->metrics[values->metric];
    int index = values->cubex->sides[values->metric].side[values->side];
    if (!metric->has_data || !pf_cube_is_number(metric->type.kind) || index == PF_NO_PARTNER ||
        (values->only.metric >= 0 && values->only.metric != index))
        return 0;
    if (!values->by_columns)
        return pf_cube_sums_at(&values->sums, metric, values->path, values->side == INCLUSIVE, &values->row,
                               error);
    return values->column_metric != values->metric && load_column(values, error) ? -1 : 1;
}

/* To the next side, call path or metric. */
static void go_on(struct values *values)
{
    values->ready = false;
    values->location = values->location_first;
    if (++values->side < SIDES)
        return;
    values->side = 0;
    const struct pf_cube_metric *metric = &values->cube->metrics[values->metric];
    bool empty = !metric->has_data || !pf_cube_is_number(metric->type.kind);
    if (++values->path < values->path_end && !empty)
        return;
    values->path = values->path_first;
    values->metric++;
}

static const union pf_cube_number *number_at(const struct values *values, uint32_t location)
{
    return values->by_columns ? &values->column[values->side][values->path] : &values->row[location];
}

static int values_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct values *values = cursor->state;
    while (values->metric < values->metric_end && values->path < values->path_end) {
        if (!values->ready) {
            int got = load_values(values, error);
            if (got < 0)
                return -1;
            values->ready = got > 0;
        }
        enum pf_cube_kind kind = values->cube->metrics[values->metric].type.kind;
        while (values->ready && values->location < values->location_end) {
            uint32_t location = values->location++;
            if (!pf_cube_shown(kind, number_at(values, location), &cells[PF_CUBEX_VALUE]))
                continue;
            cells[PF_CUBEX_THREAD] = pf_int(location);
            cells[PF_CUBEX_CONTEXT] = pf_int(values->path);
            cells[PF_CUBEX_METRIC] = pf_int(values->cubex->sides[values->metric].side[values->side]);
            return 1;
        }
        go_on(values);
    }
    return 0;
}

/* ---- positions ---------------------------------------------------------------------------------- */

static size_t values_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct values *values = cursor->state;
    struct position position = {values->metric, values->path, values->side, values->location};
    return pf_position_save(&position, sizeof position, blob, room);
}

static int values_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct values *values = cursor->state;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (position.metric < values->metric_first || position.metric > values->metric_end ||
        position.path < values->path_first || position.path > values->path_end || position.side >= SIDES ||
        position.location < values->location_first || position.location > values->location_end)
        return pf_position_refuse(error);
    values->metric = position.metric;
    values->path = position.path;
    values->side = position.side;
    values->location = position.location;
    values->ready = false;
    return 0;
}

static double values_progress(const struct pf_cursor *cursor)
{
    const struct values *values = cursor->state;
    uint32_t metrics = values->metric_end - values->metric_first,
             paths = values->path_end - values->path_first;
    if (!metrics || !paths || values->metric >= values->metric_end)
        return 1;
    return (values->metric - values->metric_first + (double)(values->path - values->path_first) / paths) /
           metrics;
}

const struct pf_cursor_ops pf_cubex_values = {
    .open = values_open,
    .next = values_next,
    .save = values_save,
    .restore = values_restore,
    .close = values_close,
    .progress = values_progress,
};
