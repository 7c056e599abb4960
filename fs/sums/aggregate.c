/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "fs/sums/aggregate_private.h"

/* ---- totals ------------------------------------------------------------------------------------- */

static void add_metric_total(struct pf_aggregate *aggregate, unsigned metric)
{
    struct pf_metric_sums *sums = &aggregate->metrics[metric];
    const struct pf_model *model = aggregate->model;
    const struct pf_context_sums *contexts = &sums->contexts;
    union pf_number number;
    for (size_t i = pf_context_next(contexts, 0); i < contexts->n; i = pf_context_next(contexts, i + 1))
        if (pf_includes_context(model->metrics[metric].over_contexts, model->contexts->flags[i]) &&
            pf_context_number(aggregate, metric, (uint32_t)i, &number))
            pf_number_add(&sums->total, &number, sums->real);
}

void pf_count_with_values(struct pf_aggregate *aggregate)
{
    for (size_t m = 0; m < aggregate->model->n_metrics; m++) {
        struct pf_metric_sums *sums = &aggregate->metrics[m];
        size_t n = aggregate->n_partitions;
        for (size_t i = pf_sparse_next(&sums->partitions, 0, n); i < n;
             i = pf_sparse_next(&sums->partitions, i + 1, n)) {
            const struct pf_partition_sum *sum = pf_sparse_find(&sums->partitions, sizeof *sum, i);
            sums->with_values += sum && sum->contexts > 0;
        }
    }
}

static void add_totals(struct pf_aggregate *aggregate)
{
    pf_count_with_values(aggregate);
    for (unsigned i = 0; i < aggregate->model->n_metrics; i++)
        add_metric_total(aggregate, i);
}

struct pf_cell pf_aggregate_total(const struct pf_aggregate *aggregate, unsigned metric, pf_int128 *wide)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    if (!pf_adds_up(&aggregate->model->metrics[metric]))
        return pf_absent();
    struct pf_cell cell = pf_number_cell(&sums->total, sums->real);
    if (cell.type == PF_WIDE) {
        *wide = *cell.wide;
        cell.wide = wide;
    }
    return cell;
}

const struct pf_model *pf_aggregate_model(const struct pf_aggregate *aggregate)
{
    return aggregate->model;
}

bool pf_aggregate_is_real(const struct pf_aggregate *aggregate, unsigned metric)
{
    return aggregate->metrics[metric].real;
}

bool pf_aggregate_exceeds_total(const struct pf_aggregate *aggregate, unsigned metric)
{
    int partner = aggregate->model->metrics[metric].partner;
    bool reported = partner >= 0 && (unsigned)partner < metric && aggregate->metrics[partner].exceeds_total;
    return aggregate->metrics[metric].exceeds_total && !reported;
}

/* ---- one context -------------------------------------------------------------------------------- */

static struct pf_cell int_cell(pf_int128 value, pf_int128 *wide)
{
    *wide = value;
    return value == (int64_t)value ? pf_int((int64_t)value) : pf_wide(wide);
}

/* Returns the mean: an exact integer if the sums are integers and the mean is one, otherwise a double. */
static struct pf_cell mean_cell(const struct pf_context_sum *sum, bool real, pf_int128 *wide)
{
    if (!real && sum->sum.i % (pf_int128)sum->count == 0)
        return int_cell(sum->sum.i / (pf_int128)sum->count, wide);
    return pf_double(pf_number_double(&sum->sum, real) / (double)sum->count);
}

/* The load imbalance: the largest value divided by the mean over all threads that have any value of the metric. */
static struct pf_cell imbalance_cell(const struct pf_aggregate *aggregate, unsigned metric,
                                     const struct pf_context_sum *sum)
{
    const struct pf_model *model = aggregate->model;
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    if (strcmp(model->partitions.singular, "thread") != 0 || model->metrics[metric].over_partitions != PF_SUM)
        return pf_absent();
    double total = pf_number_double(&sum->sum, sums->real);
    double largest = sums->real ? sum->high.d : pf_int_double(sum->high.i);
    double imbalance = largest * (double)sums->with_values / total;
    return total == 0 || !isfinite(imbalance) ? pf_absent() : pf_double(imbalance);
}

void pf_aggregate_context(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                          struct pf_context_statistics *out)
{
    bool real = aggregate->metrics[metric].real;
    struct pf_context_sum sum;
    *out = (struct pf_context_statistics){0};
    if (!pf_context_get(aggregate, metric, context, &sum))
        return;
    union pf_number number;
    out->count = sum.count;
    if (pf_context_number(aggregate, metric, context, &number))
        out->sum = real ? pf_double(pf_number_double(&number, true)) : int_cell(number.i, &out->wide[0]);
    out->mean = mean_cell(&sum, real, &out->wide[1]);
    out->min = real ? pf_double(sum.low.d) : int_cell(sum.low.i, &out->wide[2]);
    out->max = real ? pf_double(sum.high.d) : int_cell(sum.high.i, &out->wide[3]);
    double mean = pf_number_double(&sum.sum, real) / (double)sum.count;
    out->stddev = pf_double(!isfinite(mean)     ? NAN
                            : sum.deviation < 0 ? 0
                                                : sqrt(sum.deviation / (double)sum.count));
    out->imbalance = imbalance_cell(aggregate, metric, &sum);
}

/* ---- life --------------------------------------------------------------------------------------- */

struct pf_aggregate *pf_aggregate_empty(const struct pf_model *model, struct pf_error *error)
{
    struct pf_aggregate *aggregate = calloc(1, sizeof *aggregate);
    struct pf_metric_sums *metrics = calloc(model->n_metrics + 1, sizeof *metrics);
    if (!aggregate || !metrics) {
        free(aggregate);
        free(metrics);
        pf_fail_memory(error);
        return NULL;
    }
    aggregate->model = model;
    aggregate->metrics = metrics;
    aggregate->n_contexts = model->contexts ? model->contexts->count : 0;
    for (size_t i = 0; i < model->n_metrics; i++) {
        metrics[i].real = !strcmp(model->metrics[i].type, "double");
        metrics[i].contexts.n = metrics[i].at.n = aggregate->n_contexts;
    }
    aggregate->n_partitions = model->partitions.items ? pf_rows_count(model->partitions.items) : 0;
    aggregate->arena.limit = model->options ? model->options->cache : UINT64_MAX;
    aggregate->arena.file = -1;
    pf_lock_init(&aggregate->lock, PF_RANK_SUMS);
    return aggregate;
}

void pf_aggregate_free(struct pf_aggregate *aggregate)
{
    if (!aggregate)
        return;
    pf_orders_free(aggregate);
    free(aggregate->metrics);
    pf_arena_free(&aggregate->arena);
    pf_lock_destroy(&aggregate->lock);
    free(aggregate);
}

int pf_aggregate_check(const struct pf_aggregate *aggregate, struct pf_error *error)
{
    return pf_guard_any_lost() && aggregate->arena.lost ? pf_arena_lost(error) : 0;
}

/* Aggregates all metrics (metric < 0), or one metric and its partner. `exceeds_total` is computed only for all metrics. */
static struct pf_aggregate *make_aggregate(struct pf_model *model, int64_t metric, struct pf_error *error)
{
    struct pf_aggregate *aggregate = pf_aggregate_empty(model, error);
    int result = !aggregate ? -1 : model->values ? pf_aggregate_add(aggregate, model, metric, error) : 0;
    if (!result)
        add_totals(aggregate);
    if (!result && metric < 0)
        result = pf_find_exceeding(aggregate, error);
    if (!result)
        result = pf_aggregate_check(aggregate, error);
    if (!result)
        return aggregate;
    pf_aggregate_free(aggregate);
    return NULL;
}

struct pf_aggregate *pf_aggregate_new(struct pf_model *model, struct pf_error *error)
{
    return make_aggregate(model, -1, error);
}

bool pf_aggregate_skips_metrics(const struct pf_model *model)
{
    return model->values && model->values->flags & (PF_SEEKS_METRIC | PF_SKIMS_METRIC);
}

bool pf_aggregate_is_large(const struct pf_model *model)
{
    enum { SHARE = 8, VALUES = 1 << 20 };
    uint64_t contexts = model->contexts ? model->contexts->count : 0;
    uint64_t sums = contexts * model->n_metrics, partitions = pf_rows_count(model->partitions.items);
    return pf_aggregate_skips_metrics(model) && model->n_metrics > 1 &&
           (sums > model->options->cache / SHARE / PF_CONTEXT_SLOT_SIZE || sums > VALUES / (partitions + 1));
}

struct pf_aggregate *pf_aggregate_of(struct pf_model *model, unsigned metric, struct pf_error *error)
{
    return make_aggregate(model, pf_aggregate_skips_metrics(model) ? (int64_t)metric : -1, error);
}

/* ---- the primary metric ------------------------------------------------------------------------- */

static bool is_exclusive(const struct pf_metric *metric)
{
    if (!strcmp(metric->scope, "exclusive"))
        return true;
    /* A metric with a format-specific scope such as "function" is exclusive if it adds up over all contexts or all frames. */
    return metric->scope[0] && strcmp(metric->scope, "inclusive") != 0 &&
           (metric->over_contexts == PF_OVER_ALL || metric->over_contexts == PF_OVER_FRAMES);
}

/* Returns a metric's rank in the choice of the primary metric: the lowest rank wins, and the first metric among equal ranks. */
static int metric_rank(const struct pf_metric *metric)
{
    enum { TIME, EXCLUSIVE_TIME, EXCLUSIVE, OTHER, EMPTY };
    int rank = !strcmp(metric->name, "time")                      ? TIME
               : is_exclusive(metric) && pf_unit_ns(metric->unit) ? EXCLUSIVE_TIME
               : is_exclusive(metric)                             ? EXCLUSIVE
                                                                  : OTHER;
    return metric->empty ? EMPTY + rank : rank;
}

int pf_primary_metric(const struct pf_metric *metrics, size_t n, const char *metric)
{
    int found = -1;
    for (size_t i = 0; i < n; i++) {
        if (metric && !strcmp(metrics[i].name, metric))
            return (int)i;
        if (found < 0 || metric_rank(&metrics[i]) < metric_rank(&metrics[found]))
            found = (int)i;
    }
    return found;
}
