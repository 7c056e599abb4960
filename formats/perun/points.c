/* SPDX-License-Identifier: MIT */
/*
 * The table points, in the folders of models: x and y of the resources that a model is of, by x, and its value there.
 * A position is a model and how many of its points are over.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

/* What is held in memory to sort the points of one model. */
#define SORT_LIMIT ((uint64_t)4 << 20)

struct cursor {
    uint64_t model, last;     /* the one whose points come next; the first that is not wanted */
    struct pf_sorter *points; /* of `model`: x, number, y; NULL before they are collected */
    uint64_t count, next;
};

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

static bool number_of(const struct pf_cell *cell, double *number)
{
    if (!cell || cell->type == PF_ABSENT || cell->type == PF_TEXT)
        return false;
    *number = cell->type == PF_DOUBLE ? cell->d
              : cell->type == PF_WIDE ? (double)*cell->wide
              : cell->type == PF_UINT ? (double)cell->u
                                      : (double)cell->i;
    return true;
}

static int points_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    cursor->state = state;
    state->last = perun->data->n_models;
    if (cursor->only.key >= 0) {
        state->model = (uint64_t)cursor->only.key;
        state->last = state->model < state->last ? state->model + 1 : state->model;
    }
    return 0;
}

static int add_points(struct cursor *state, struct perun_walk *walk, const struct perun_model *model,
                      struct pf_error *error)
{
    int more;
    while ((more = perun_walk_next(walk, error)) > 0) {
        double x, y;
        if (walk->item.uid != model->uid || !number_of(perun_walk_cell(walk, model->x_field), &x) ||
            !number_of(perun_walk_cell(walk, model->y_field), &y))
            continue;
        uint64_t record[3] = {ordered(x), state->count++};
        memcpy(&record[2], &y, sizeof y);
        if (pf_sorter_add(state->points, record, error))
            return -1;
    }
    return more;
}

static int collect(const struct perun *perun, struct cursor *state, struct pf_error *error)
{
    struct perun_walk walk;
    state->count = state->next = 0;
    state->points = pf_sorter_new(3, 2, SORT_LIMIT);
    if (!state->points)
        return pf_fail_memory(error);
    perun_walk_open(&walk, perun->data);
    int failed = add_points(state, &walk, &perun->data->model_list[state->model], error) ||
                 pf_sorter_finish(state->points, error);
    perun_walk_close(&walk);
    return failed ? -1 : 0;
}

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

static int value_at(const struct perun_data *data, const struct perun_model *model, double x, uint64_t i,
                    uint64_t n, struct pf_cell *cell, struct pf_error *error)
{
    double value = parametric(model, x);
    uint64_t place;
    if (place_of(model, x, i, n, &place) &&
        pf_store_read(data->model_values, model->values + place * sizeof value, &value, sizeof value, error))
        return -1;
    *cell = isnan(value) ? pf_absent() : pf_double(value);
    return 0;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

static void forget(struct cursor *state)
{
    pf_sorter_free(state->points);
    state->points = NULL;
}

static int points_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    for (; state->model < state->last; forget(state), state->model++) {
        const uint64_t *record;
        if (!state->points && collect(perun, state, error))
            return -1;
        int more = pf_sorter_next(state->points, &record, error);
        if (more < 0)
            return -1;
        if (!more)
            continue;
        double x = unordered(record[0]), y;
        memcpy(&y, &record[2], sizeof y);
        cells[0] = pf_int((int64_t)state->model);
        cells[1] = pf_double(x);
        cells[2] = pf_double(y);
        uint64_t i = state->next++;
        return value_at(perun->data, &perun->data->model_list[state->model], x, i, state->count, &cells[3],
                        error)
                   ? -1
                   : 1;
    }
    return 0;
}

static size_t points_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct cursor *state = cursor->state;
    uint64_t position[] = {state->model, state->points ? state->next : 0};
    if (room >= sizeof position)
        memcpy(blob, position, sizeof position);
    return sizeof position;
}

static int points_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    uint64_t position[2];
    const uint64_t *record;
    if (size != sizeof position)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(position, blob, sizeof position);
    if (position[0] > state->last)
        return pf_fail(error, EINVAL, "not a position");
    forget(state);
    state->model = position[0];
    if (!position[1])
        return 0;
    if (state->model == state->last || collect(perun, state, error))
        return state->model == state->last ? pf_fail(error, EINVAL, "not a position") : -1;
    for (; state->next < position[1]; state->next++) {
        int more = pf_sorter_next(state->points, &record, error);
        if (more <= 0)
            return more ? -1 : pf_fail(error, EINVAL, "not a position");
    }
    return 0;
}

static void points_close(struct pf_cursor *cursor)
{
    if (cursor->state)
        forget(cursor->state);
    free(cursor->state);
}

const struct pf_cursor_ops perun_points_cursor = {points_open,    points_next,  points_save,
                                                  points_restore, points_close, NULL};
