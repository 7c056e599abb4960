/* SPDX-License-Identifier: MIT */
/*
 * The table `points` in a model's folder has a row for each resource with the model's uid: x, y and the model's value at x. Rows are
 * ordered by x. Loading stage PF_MODELLED makes a sorted list of points for each uid and pair of fields (x and y). Models of the same uid
 * and fields share a list. A row's number is the index of its point in the list.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

/* Maximum number of bytes in memory, for the sorter and for the store. */
#define SORT_LIMIT ((uint64_t)4 << 20)

/* Maximum number of lists per uid. A resource adds one point to each list of its uid. */
enum { PAIRS_MAX = 64 };

enum { POINTS_A_STEP = 8192 };

const struct pf_column perun_point_columns[PERUN_POINT_COLUMNS] = {
    {.name = "id", .role = PF_KEY}, {.name = "x"}, {.name = "y"}, {.name = "model"}};

struct pair {
    uint32_t uid, x_field, y_field;
};

/* The points of one uid and pair of fields. */
struct list {
    struct pair pair;
    uint32_t next;         /* number of the next list of this uid, or PERUN_NONE */
    uint64_t first, count; /* index of the first point in the store; number of points */
};

struct point {
    double x, y;
};

struct perun_points {
    struct pf_strings *pairs; /* string i holds the bytes of list i's struct pair */
    struct list *lists;
    size_t lists_room;
    struct pf_ids by_uid;     /* uid -> its last list, from which `next` leads to the others */
    uint32_t *of_model;       /* model -> its list, or PERUN_NONE */
    struct pf_sorter *sorter; /* until perun_points_finish */
    struct pf_store *store;   /* struct point */
};

/* A cursor over one list. */
struct points_walk {
    struct pf_store_window window;
    uint64_t first, count;
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

/*
 * Finds the model's value for point i of the n points, whose x is `x`. Sets *place to this value's index among the values of the model's
 * buckets or points. Returns false if the model has no such value.
 */
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

/* Sets *value to the model's value at point i of n; NaN if the model has none there. Returns 0, or -1 with *error filled. */
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

/* Maps doubles to integers in the same order. unordered() is the inverse. */
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

static bool point_number_of(struct pf_cell cell, double *number)
{
    *number = cell.type == PF_DOUBLE ? cell.d : cell.type == PF_UINT ? (double)cell.u : (double)cell.i;
    return cell.type != PF_ABSENT && cell.type != PF_TEXT;
}

/* Finds or adds the list of a model, and returns its number; PERUN_NONE if the uid already has PAIRS_MAX other lists. */
static uint32_t find_list(struct pf_run *run, struct perun_points *points, const struct perun_model *model)
{
    const struct pair pair = {model->uid, model->x_field, model->y_field};
    uint32_t before = pf_ids_find(&points->by_uid, pair.uid), others = 0,
             number = pf_string_of(points->pairs, (const char *)&pair, sizeof pair);
    if (number != PF_NO_STRING)
        return number;
    for (uint32_t i = before; i != PERUN_NONE; i = points->lists[i].next)
        others++;
    if (others == PAIRS_MAX)
        return PERUN_NONE;
    number = pf_run_intern(run, points->pairs, (const char *)&pair, sizeof pair);
    pf_run_check(
        run, pf_array_reach(&points->lists, &points->lists_room, number, sizeof *points->lists, run->error));
    pf_run_check(run, pf_ids_set(&points->by_uid, pair.uid, number, run->error));
    points->lists[number] = (struct list){.pair = pair, .next = before};
    return number;
}

void perun_points_begin(struct perun *perun)
{
    struct perun_data *data = &perun->data;
    struct pf_run *run = data->run;
    if (!data->n_models)
        return;
    struct perun_points *points = perun->points = pf_run_memory(run, calloc(1, sizeof *points));
    points->pairs = pf_run_memory(run, pf_strings_new());
    points->of_model = pf_run_memory(run, malloc(data->n_models * sizeof *points->of_model));
    points->sorter = pf_run_memory(run, pf_sorter_new(4, 3, SORT_LIMIT));
    points->store = pf_run_memory(run, pf_store_new(SORT_LIMIT));
    bool left_out = false;
    for (size_t i = 0; i < data->n_models; i++) {
        points->of_model[i] = find_list(run, points, &data->model_list[i]);
        left_out |= points->of_model[i] == PERUN_NONE;
    }
    if (left_out)
        pf_run_note(run, &perun_problems[PERUN_TOO_MANY], 0, -1,
                    "points of models of one uid (of more than %d pairs of fields)", PAIRS_MAX);
}

void perun_points_add(struct pf_run *run, struct perun_points *points, const struct perun_walk *walk)
{
    uint32_t i = points ? pf_ids_find(&points->by_uid, walk->item.uid) : PERUN_NONE;
    for (; i != PERUN_NONE; i = points->lists[i].next) {
        const struct pair *pair = &points->lists[i].pair;
        double x, y;
        if (!point_number_of(perun_walk_cell(walk, pair->x_field), &x) ||
            !point_number_of(perun_walk_cell(walk, pair->y_field), &y))
            continue;
        uint64_t record[4] = {i, ordered(x), walk->number};
        memcpy(&record[3], &y, sizeof y);
        pf_run_check(run, pf_sorter_add(points->sorter, record, run->error));
        points->lists[i].count++;
    }
}

void perun_points_finish(struct pf_run *run, struct perun_points *points)
{
    const uint64_t *record;
    uint64_t all = 0, done = 0;
    if (!points)
        return;
    for (uint32_t i = 0; i < pf_strings_count(points->pairs); i++) {
        points->lists[i].first = all;
        all += points->lists[i].count;
    }
    pf_run_check(run, pf_sorter_finish(points->sorter, run->error));
    while (pf_run_check(run, pf_sorter_next(points->sorter, &record, run->error))) {
        struct point point = {.x = unordered(record[1])};
        memcpy(&point.y, &record[3], sizeof point.y);
        pf_run_check(run, pf_store_append(points->store, &point, sizeof point, run->error));
        if (++done % POINTS_A_STEP == 0)
            pf_run_step(run, done, all);
    }
    pf_sorter_free(points->sorter);
    points->sorter = NULL;
}

void perun_points_free(struct perun_points *points)
{
    if (!points)
        return;
    pf_strings_free(points->pairs);
    pf_ids_free(&points->by_uid);
    pf_sorter_free(points->sorter);
    pf_store_free(points->store);
    free(points->lists);
    free(points->of_model);
    free(points);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static int begin_points(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct perun_points *points = ((const struct perun *)cursor->model->state)->points;
    struct points_walk *walk = numbers->own = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    uint32_t list = points && cursor->only.key >= 0 ? points->of_model[cursor->only.key] : PERUN_NONE;
    if (list == PERUN_NONE)
        return 0;
    walk->window.store = points->store;
    walk->first = points->lists[list].first;
    numbers->end = walk->count = points->lists[list].count;
    return 0;
}

static void end_points(void *own)
{
    struct points_walk *walk = own;
    if (walk)
        pf_store_window_free(&walk->window);
    free(walk);
}

static int point_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    const struct perun_data *data = &((const struct perun *)cursor->model->state)->data;
    struct points_walk *walk = own;
    struct point point;
    double value;
    const void *at = pf_store_at(&walk->window, (walk->first + number) * sizeof point, sizeof point, error);
    if (!at)
        return -1;
    memcpy(&point, at, sizeof point);
    if (value_at(data, &data->model_list[cursor->only.key], point.x, number, walk->count, &value, error))
        return -1;
    cells[0] = pf_int(cursor->only.key);
    cells[1] = pf_double(point.x);
    cells[2] = pf_double(point.y);
    cells[3] = isnan(value) ? pf_absent() : pf_double(value);
    return 1;
}

const struct pf_numbered perun_points = {PF_NUMBERED, .begin = begin_points, .row = point_row,
                                         .free = end_points};
