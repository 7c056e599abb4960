/* SPDX-License-Identifier: MIT */
/*
 * The table points in the models' folders: x and y of the resources that a model is of, by x, and its value there. They are sorted
 * when a cursor is opened: a position is the number of a point.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

/* What is held in memory to sort them. */
#define SORT_LIMIT ((uint64_t)4 << 20)

const struct pf_column perun_point_columns[PERUN_POINT_COLUMNS] = {
    {.name = "id", .role = PF_KEY}, {.name = "x"}, {.name = "y"}, {.name = "model"}};

/* Those of the model that a cursor is restricted to. */
struct points {
    struct pf_store *store;
    struct pf_store_window window;
    uint64_t count;
};

struct point {
    double x, y;
};

/* ---- a model's value ---------------------------------------------------------------------------- */

static double parametric(const struct perun_model *model, double x)
{
    const double *b = model->b;
    if (!model->has_b)
        return NAN;
    switch (model->kind) {
    case PERUN_CONSTANT:
        return b[0];
    case PERUN_LINEAR:
        return b[0] + b[1] * x;
    case PERUN_LOGARITHMIC:
        return b[0] + b[1] * log(x);
    case PERUN_QUADRATIC:
        return model->has_b2 ? b[0] + b[1] * x + b[2] * x * x : b[0] + b[1] * x * x;
    case PERUN_POWER:
        return b[0] * pow(x, b[1]);
    case PERUN_EXPONENTIAL:
        return b[0] * pow(b[1], x);
    default:
        return NAN;
    }
}

/* Which of a model's own values is that of point i of n, at x; false if none is. */
static bool place_of(const struct perun_model *model, double x, uint64_t i, uint64_t n, uint64_t *place)
{
    if (model->kind == PERUN_REGRESSOGRAM) {
        double width = model->x_end - model->x_start;
        double bucket = width > 0 ? (x - model->x_start) / width * (double)model->n_values : 0;
        if (!model->n_values || !(x >= model->x_start && x <= model->x_end))
            return false;
        *place = bucket < (double)model->n_values ? (uint64_t)bucket : model->n_values - 1;
        return true;
    }
    *place = i;
    return model->n_values == n &&
           (model->kind == PERUN_MOVING_AVERAGE || model->kind == PERUN_KERNEL_REGRESSION);
}

/* The model's value at point i of n; NaN: it has none. */
static int value_at(const struct perun_data *data, const struct perun_model *model, double x, uint64_t i,
                    uint64_t n, double *value, struct pf_error *error)
{
    uint64_t place;
    *value = parametric(model, x);
    return place_of(model, x, i, n, &place)
               ? pf_store_read(data->model_values, (model->values + place) * sizeof *value, value,
                               sizeof *value, error)
               : 0;
}

/* ---- collecting --------------------------------------------------------------------------------- */

/* A double as a number of the same order, and back. */
static uint64_t ordered(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double unordered(uint64_t bits)
{
    double value;
    bits = bits >> 63 ? bits & ~(UINT64_C(1) << 63) : ~bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool number_of(struct pf_cell cell, double *number)
{
    *number = cell.type == PF_DOUBLE ? cell.d : cell.type == PF_UINT ? (double)cell.u : (double)cell.i;
    return cell.type != PF_ABSENT && cell.type != PF_TEXT;
}

/* Records of the sorter: x, number, y. */
static int find_points(const struct perun_data *data, const struct perun_model *model,
                       struct pf_sorter *sorter, struct pf_error *error)
{
    struct perun_walk walk;
    int more = 1;
    perun_walk_open(&walk, data);
    for (uint64_t row = 0; more > 0 && (more = perun_walk_to(&walk, row, error)) > 0; row++) {
        double x, y;
        if (walk.item.uid != model->uid || !number_of(perun_walk_cell(&walk, model->x_field), &x) ||
            !number_of(perun_walk_cell(&walk, model->y_field), &y))
            continue;
        uint64_t record[3] = {ordered(x), row};
        memcpy(&record[2], &y, sizeof y);
        if (pf_sorter_add(sorter, record, error))
            more = -1;
    }
    perun_walk_close(&walk);
    return more < 0 || pf_sorter_finish(sorter, error) ? -1 : 0;
}

static int sort_points(const struct perun_data *data, const struct perun_model *model, struct points *points,
                       struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(3, 2, SORT_LIMIT);
    const uint64_t *record;
    int more = !sorter ? pf_fail_memory(error) : find_points(data, model, sorter, error) ? -1 : 1;
    while (more > 0 && (more = pf_sorter_next(sorter, &record, error)) > 0) {
        struct point point = {.x = unordered(record[0])};
        memcpy(&point.y, &record[2], sizeof point.y);
        if (pf_store_append(points->store, &point, sizeof point, error))
            more = -1;
    }
    pf_sorter_free(sorter);
    return more;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static int begin_points(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct perun_data *data = &((const struct perun *)cursor->profile->state)->data;
    struct points *points = numbers->own = calloc(1, sizeof *points);
    if (!points || !(points->window.store = points->store = pf_store_new(SORT_LIMIT)))
        return pf_fail_memory(error);
    if (cursor->only.key < 0)
        return 0;
    if (sort_points(data, &data->model_list[cursor->only.key], points, error))
        return -1;
    numbers->end = points->count = pf_store_size(points->store) / sizeof(struct point);
    return 0;
}

static void end_points(void *own)
{
    struct points *points = own;
    if (points) {
        pf_store_window_free(&points->window);
        pf_store_free(points->store);
    }
    free(points);
}

static int point_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    const struct perun_data *data = &((const struct perun *)cursor->profile->state)->data;
    struct points *points = own;
    struct point point;
    double value;
    const void *at = pf_store_at(&points->window, number * sizeof point, sizeof point, error);
    if (!at)
        return -1;
    memcpy(&point, at, sizeof point);
    if (value_at(data, &data->model_list[cursor->only.key], point.x, number, points->count, &value, error))
        return -1;
    cells[0] = pf_int(cursor->only.key);
    cells[1] = pf_double(point.x);
    cells[2] = pf_double(point.y);
    cells[3] = isnan(value) ? pf_absent() : pf_double(value);
    return 1;
}

const struct pf_numbered perun_points = {PF_NUMBERED, .begin = begin_points, .row = point_row,
                                         .free = end_points};
