/* SPDX-License-Identifier: MIT */
#ifndef HPCTOOLKIT_TOTALS_H
#define HPCTOOLKIT_TOTALS_H

#include <math.h>

#include "fs/sums/order.h"
#include "tests/unit/hpctoolkit_db.h"

static inline bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* False for metrics without values. A draft of the format declares point values but stores none. */
static inline bool has_values(struct pf_model *model, size_t metric)
{
    char *rows =
        rows_of(model, "values", (struct pf_restriction){-1, -1, (int64_t)metric, -1}, 0, PF_UNRESTRICTED);
    bool has = rows && *rows;
    free(rows);
    return has;
}

/* Returns the metric's value in the root, summed over all threads: the total that the database itself stores. */
static inline double root_value(struct pf_model *model, size_t metric)
{
    const struct pf_table *table = model->values;
    struct pf_cursor cursor = {.model = model, .table = table, .only = {-1, 0, (int64_t)metric, -1}};
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    double sum = 0;
    if (!table->ops->open(&cursor, &error))
        while (table->ops->next(&cursor, cells, &error) > 0)
            sum += cells[model->value_column].d;
    table->ops->close(&cursor);
    return sum;
}

/* Returns the sum of the lines of stacks.folded in the metric's unit. Stores the largest possible rounding error of the sum in *slack. */
static inline double sum_of_stacks(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                   double *slack)
{
    struct pf_error error;
    double factor = (double)pf_folded_unit_of(model, metric).factor;
    uint64_t left_out = 0;
    *slack = pf_folded_left_out(aggregate, metric, &left_out, &error) ? 0 : (double)left_out / 2 / factor;
    struct pf_walk *walk = pf_metric_view_walk(aggregate, metric, PF_METRIC_FOLDED, &error);
    struct pf_buf out = {0};
    double sum = 0;
    while (walk && walk->ops->next(walk, &out, &error) > 0) {
        pf_buf_char(&out, 0);
        char *blank = strrchr(out.data, ' ');
        sum += blank ? strtod(blank, NULL) : 0;
        *slack += 0.5 / factor;
        out.size = 0;
    }
    if (walk)
        walk->ops->close(walk);
    pf_buf_free(&out);
    return sum / factor;
}

/* Returns the metric whose root value is the program's total: the metric itself or its inclusive partner; -1 if there is none. */
static inline int inclusive_of(const struct pf_model *model, size_t metric)
{
    const struct pf_metric *metrics = model->metrics;
    if (metrics[metric].over_contexts == PF_OVER_ROOTS)
        return (int)metric;
    if (metrics[metric].over_contexts == PF_OVER_NO_CONTEXTS)
        return -1;
    return metrics[metric].partner;
}

/*
 * True if, for every additive metric, both the total and the sum of the folded stacks equal the total that the database stores; if values
 * are `missing` in the database, both may be smaller. Stores the number of metrics with a total other than 0 in *n.
 */
static inline bool totals_hold(struct pf_model *model, bool missing, unsigned *n)
{
    struct pf_error error;
    struct pf_aggregate *aggregate = pf_aggregate_new(model, &error);
    bool hold = aggregate != NULL;
    *n = 0;
    for (unsigned m = 0; aggregate && m < model->n_metrics; m++) {
        pf_int128 wide;
        int inclusive = inclusive_of(model, m);
        if (inclusive < 0 || !has_values(model, m))
            continue;
        double want = root_value(model, (size_t)inclusive);
        struct pf_cell cell = pf_aggregate_total(aggregate, m, &wide);
        double total = cell.type == PF_DOUBLE ? cell.d : (double)cell.i;
        double slack, stacks = sum_of_stacks(model, aggregate, m, &slack);
        *n += want != 0;
        bool whole = close_to(total, want) && fabs(stacks - want) <= slack + 1e-9 * fabs(want);
        if (!whole && !(missing && total <= want && stacks <= want + slack)) {
            printf("# %s: total %.17g, stacks %.17g, the root has %.17g\n", model->metrics[m].name, total,
                   stacks, want);
            hold = false;
        }
    }
    pf_aggregate_free(aggregate);
    return hold;
}

/* Returns the text of the views of a metric that together read all of its aggregates; the caller frees the text. */
static inline struct pf_buf views_of(struct pf_aggregate *aggregate, unsigned metric)
{
    struct pf_error error;
    struct pf_buf out = {0};
    for (int view = PF_METRIC_CONTEXTS; view <= PF_METRIC_FUNCTIONS; view++) {
        struct pf_walk *walk = pf_metric_view_walk(aggregate, metric, (enum pf_metric_view)view, &error);
        while (walk && walk->ops->next(walk, &out, &error) > 0)
            continue;
        if (walk)
            walk->ops->close(walk);
    }
    pf_buf_char(&out, 0);
    return out;
}

/* True if the aggregate of each single metric, which skips other metrics' values, equals the aggregate of all metrics. */
static inline bool singles_hold(struct pf_model *model)
{
    struct pf_error error;
    struct pf_aggregate *all = pf_aggregate_new(model, &error);
    bool hold = all != NULL;
    for (unsigned m = 0; all && m < model->n_metrics; m++) {
        struct pf_aggregate *single = pf_aggregate_of(model, m, &error);
        struct pf_buf want = views_of(all, m), have = single ? views_of(single, m) : (struct pf_buf){0};
        if (!single || strcmp(want.data, have.data) != 0) {
            printf("# %s: alone it is something else\n", model->metrics[m].name);
            hold = false;
        }
        pf_buf_free(&want);
        pf_buf_free(&have);
        pf_aggregate_free(single);
    }
    pf_aggregate_free(all);
    return hold;
}

#endif
