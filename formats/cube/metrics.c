/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cubex.h"

/*
 * The profile's metrics. Each metric NAME of the file becomes two: NAME has the exclusive values, "NAME (inc)" the
 * inclusive ones. A derived metric has no values and is listed once.
 */
enum { EXCLUSIVE = PF_CUBEX_EXCLUSIVE, INCLUSIVE = PF_CUBEX_INCLUSIVE, SIDES = PF_CUBEX_SIDES };

static const char *const suffixes[SIDES] = {"", " (inc)"};
static const char *const scopes[SIDES] = {"exclusive", "inclusive"};

/* ---- names -------------------------------------------------------------------------------------- */

/* Makes a unique name. Inserts "#" and a number before the suffix if the name is empty or taken. */
static const char *unique_side_name(struct pf_run *run, const struct pf_cubex *cubex, uint32_t m, int side)
{
    const struct pf_cube_metric *metric = &cubex->cube.metrics[m];
    uint32_t before = pf_strings_count(cubex->names);
    for (uint64_t tries = !*metric->name;; tries++) {
        char number[24] = "", *name;
        if (tries)
            snprintf(number, sizeof number, "#%zu", m + (size_t)(tries - 1) * cubex->cube.n_metrics);
        if (asprintf(&name, "%s%s%s", metric->name, number, suffixes[side]) < 0)
            pf_run_check(run, pf_fail_memory(run->error));
        uint32_t string = pf_intern(cubex->names, name, strlen(name), run->error);
        free(name);
        if (string == PF_NO_STRING)
            pf_run_fail(run);
        if (string == before)
            return pf_interned(cubex->names, string).text; /* the pool NUL-terminates each string */
    }
}

/* ---- aggregation -------------------------------------------------------------------------------- */

/*
 * Sums add up over locations. Exclusive sums also add up over all call paths, inclusive ones over the roots. Minima and
 * maxima aggregate over locations only. Rates, averages and absolute values of complex numbers do not aggregate.
 */
static void set_aggregation(struct pf_metric *metric, enum pf_cube_kind kind, int side)
{
    metric->over_contexts = PF_OVER_NO_CONTEXTS;
    metric->over_partitions = PF_OVER_NO_PARTITIONS;
    if (pf_cube_is_sum(kind)) {
        metric->over_contexts = side == INCLUSIVE ? PF_OVER_ROOTS : PF_OVER_ALL;
        metric->over_partitions = PF_SUM;
    } else if (pf_cube_is_extreme(kind)) {
        metric->over_partitions = kind == PF_CUBE_LEAST ? PF_MIN : PF_MAX;
    }
}

static void add_side_metric(struct pf_run *run, uint32_t m, int side, bool empty)
{
    struct pf_model *model = run->model;
    struct pf_cubex *cubex = model->state;
    const struct pf_cube_metric *metric = &cubex->cube.metrics[m];
    bool derived = metric->stored >= PF_CUBE_DERIVED;
    size_t n = model->n_metrics;
    struct pf_metric *added = &cubex->metrics[n];
    *added = (struct pf_metric){.id = (int64_t)n,
                                .name = unique_side_name(run, cubex, m, side),
                                .unit = metric->unit,
                                .scope = scopes[side],
                                .type = pf_cube_is_int(metric->type.kind) ? "int" : "double",
                                .description = metric->description,
                                .over_contexts = PF_OVER_NO_CONTEXTS,
                                .over_partitions = PF_OVER_NO_PARTITIONS,
                                .empty = empty,
                                .partner = PF_NO_PARTNER};
    if (derived)
        added->expression = metric->expression;
    else
        set_aggregation(added, metric->type.kind, side);
    if (metric->stored == PF_CUBE_DERIVED)
        added->scope = "derived";
    cubex->metric_of[n] = m;
    cubex->sides[m].side[side] = (int)n;
    model->n_metrics++;
}

static void add_sides(struct pf_run *run, uint32_t m)
{
    struct pf_cubex *cubex = run->model->state;
    const struct pf_cube_metric *metric = &cubex->cube.metrics[m];
    bool empty = !pf_cube_may_have_data(&cubex->cube, metric);
    cubex->sides[m] = (struct pf_cubex_sides){{PF_NO_PARTNER, PF_NO_PARTNER}};
    if (metric->stored >= PF_CUBE_DERIVED) {
        add_side_metric(run, m, metric->stored == PF_CUBE_DERIVED_INCLUSIVE, empty);
        return;
    }
    for (int side = 0; side < SIDES; side++)
        add_side_metric(run, m, side, empty);
    int first = cubex->sides[m].side[EXCLUSIVE];
    cubex->metrics[first].partner = first + 1;
    cubex->metrics[first + 1].partner = first;
}

/* ---- columns of metrics.csv ------------------------------------------------------------------------ */

static const struct pf_column columns[] = {
    {"parent", PF_PLAIN, 0}, {"number", PF_PLAIN, 0},  {"dtype", PF_PLAIN, 0},
    {"stored", PF_PLAIN, 0}, {"viztype", PF_PLAIN, 0}, {"title", PF_PLAIN, 0},
};

/* Returns the index of the parent of the profile's metric i. If the parent has both scopes, returns the one of i's scope. */
static struct pf_cell parent_cell(const struct pf_cubex *cubex, size_t i)
{
    const struct pf_cube_metric *metric = &cubex->cube.metrics[cubex->metric_of[i]];
    if (metric->parent == PF_CUBE_NONE)
        return pf_absent();
    const int *side = cubex->sides[metric->parent].side;
    int same = cubex->sides[cubex->metric_of[i]].side[INCLUSIVE] == (int)i;
    return pf_int(side[same] != PF_NO_PARTNER ? side[same] : side[!same]);
}

static void metric_cells(const struct pf_model *model, size_t i, struct pf_cell *cells)
{
    const struct pf_cubex *cubex = model->state;
    const struct pf_cube_metric *metric = &cubex->cube.metrics[cubex->metric_of[i]];
    cells[0] = parent_cell(cubex, i);
    cells[1] = pf_uint(metric->id);
    cells[2] = pf_string(metric->dtype);
    cells[3] = pf_string(metric->kind);
    cells[4] = pf_string(metric->ghost ? "GHOST" : "NORMAL");
    cells[5] = pf_string(metric->title);
}

/* Metrics between two checks of the pass. */
enum { METRICS_A_STEP = 1024 };

void pf_cubex_set_metrics(struct pf_run *run)
{
    struct pf_model *model = run->model;
    struct pf_cubex *cubex = model->state;
    size_t n = cubex->cube.n_metrics;
    cubex->metrics = pf_run_memory(run, calloc(SIDES * n + 1, sizeof *cubex->metrics));
    cubex->metric_of = pf_run_memory(run, calloc(SIDES * n + 1, sizeof *cubex->metric_of));
    cubex->sides = pf_run_memory(run, calloc(n + 1, sizeof *cubex->sides));
    cubex->names = pf_run_memory(run, pf_strings_new());
    for (uint32_t m = 0; m < n; m++) {
        if (m % METRICS_A_STEP == 0)
            pf_run_step(run, m, n);
        add_sides(run, m);
    }
    model->metrics = cubex->metrics;
    model->metric_columns = columns;
    model->n_metric_columns = sizeof columns / sizeof *columns;
    model->metric_cells = metric_cells;
}
