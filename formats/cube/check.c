/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/cube/cube.h"

/*
 * Maximum size in bytes of a metric's data for which all checks are made. Larger data are read only if may_wrap() is true
 * for the metric. Damaged rows have no values in either case.
 */
#define CHECKED_MAX ((uint64_t)64 << 20)

/* Negative values up to this fraction of the largest value are ignored, since they may come from rounding. */
#define ROUNDING 1e-9

struct check {
    struct pf_run *run;
    const struct pf_cube *cube;
    const struct pf_cube_metric *metric;
    struct pf_cube_sums sums;
    union pf_cube_number *totals; /* sum of each call path over all locations; only if adds_up */
    bool adds_up;                 /* values add up over locations, and all checks are made */
    uint64_t wrapped;             /* number of values that may have gone below zero */
};

static void note_checked(const struct check *check, const char *severity, const char *code, uint64_t number,
                         const char *before, const char *after)
{
    pf_run_warn(check->run, severity, code, 0, check->metric->base, "metric " PF_CUBE_NAME ": %s%llu%s",
                check->metric->name, before, (unsigned long long)number, after);
}

/*
 * True if a metric's values may be counters that wrapped below zero. Values of 2^63 or more count as wrapped, since no counter gets that
 * far by counting up.
 */
static bool may_wrap(const struct pf_cube_metric *metric)
{
    return metric->type.kind == PF_CUBE_UNSIGNED && metric->type.size == 8;
}

static void check_path_values(struct check *check, uint32_t path)
{
    const struct pf_cube *cube = check->cube;
    const struct pf_cube_metric *metric = check->metric;
    const union pf_cube_number *values;
    int64_t row = pf_cube_row_of(&check->sums.reader, metric, path);
    int got = pf_run_check(check->run,
                           pf_cube_sums_at(&check->sums, metric, path, metric->stored == PF_CUBE_INCLUSIVE,
                                           &values, check->run->error));
    if (!got && row >= 0 && metric->streams && metric->streams[row].size)
        note_checked(check, "error", "bad-stream", (uint64_t)row, "row ",
                     " cannot be decompressed: no values");
    for (uint32_t l = 0; got && may_wrap(metric) && l < cube->n_locations; l++)
        check->wrapped += values[l].i > INT64_MAX;
    for (uint32_t l = 0; got && check->adds_up && l < cube->n_locations; l++)
        pf_cube_add(metric->type.kind, &check->totals[path], &values[l], 1);
}

/* Returns the number of call paths whose exclusive values add up to less than zero. Overwrites the totals. */
static uint64_t count_negative(const struct check *check)
{
    const struct pf_tree *tree = check->cube->tree;
    enum pf_cube_kind kind = check->metric->type.kind;
    union pf_cube_number *totals = check->totals;
    uint64_t negative = 0;
    double largest = 0;
    for (uint32_t p = 0; p < tree->count && !pf_cube_is_int(kind); p++)
        largest = totals[p].a > largest ? totals[p].a : largest;
    for (uint32_t p = 0; p < tree->count && check->metric->stored == PF_CUBE_INCLUSIVE; p++)
        if (tree->parent[p] !=
            PF_NO_CONTEXT) /* parents precede children, so the subtrahend is still inclusive */
            pf_cube_subtract(kind, &totals[tree->parent[p]], &totals[p], 1);
    for (uint32_t p = 0; p < tree->count; p++)
        negative += pf_cube_is_int(kind) ? totals[p].i < 0 : totals[p].a < -ROUNDING * largest;
    return negative;
}

static void check_metric(struct check *check)
{
    const struct pf_cube_metric *metric = check->metric;
    uint32_t n = check->cube->tree->count;
    bool large = metric->end - metric->base > CHECKED_MAX;
    if (!metric->has_data || (large && !may_wrap(metric)))
        return;
    check->adds_up = !large && pf_cube_is_sum(metric->type.kind);
    check->wrapped = 0;
    memset(check->totals, 0, n * sizeof *check->totals);
    for (uint32_t p = 0; p < n; p++) {
        pf_run_step(check->run, p, n);
        check_path_values(check, p);
    }
    if (check->wrapped)
        note_checked(check, "warning", "wrapped", check->wrapped, "",
                     " values of 2^63 or more, as from a counter that went below zero: shown as stored, "
                     "their sums are meaningless");
    uint64_t negative = check->adds_up ? count_negative(check) : 0;
    if (negative)
        note_checked(check, "warning", "negative", negative, "negative exclusive values of ",
                     " call paths: percentages of others may exceed 100 %");
}

static void free_check(struct check *check)
{
    pf_cube_sums_end(&check->sums);
    free(check->totals);
    free(check);
}

void pf_cube_check(struct pf_run *run, const struct pf_cube *cube)
{
    struct check *check = PF_OWN(run, calloc(1, sizeof *check), free_check);
    check->run = run;
    check->cube = cube;
    pf_run_check(run, pf_cube_sums_init(&check->sums, cube, true, -1, NULL, run->error));
    check->totals = pf_run_memory(run, calloc((size_t)cube->tree->count + 1, sizeof *check->totals));
    for (size_t m = 0; m < cube->n_metrics; m++) {
        check->metric = &cube->metrics[m];
        check_metric(check);
    }
}
