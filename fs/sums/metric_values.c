/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"

/* Exclusive and inclusive values of each context, stored or derived. Calls can nest arbitrarily deep, so there is no
 * recursion: a context's index is higher than its caller's, and a loop over the indexes meets callers before callees. */

bool pf_values_stored(const struct pf_values *values, int metric, uint32_t context, bool real,
                      union pf_number *number)
{
    if (!pf_context_number(values->aggregate, (unsigned)metric, context, number))
        return false;
    if (real && !values->aggregate->metrics[metric].real)
        *number = pf_number_real(*number);
    return true;
}

static void read_exclusive(struct pf_values *values)
{
    int metric = values->partners.exclusive;
    enum pf_over_contexts over = values->aggregate->model->metrics[metric].over_contexts;
    for (uint32_t i = 0; i < values->n; i++)
        if (!pf_includes_context(over, values->tree->flags[i]) ||
            !pf_values_stored(values, metric, i, values->exclusive_real, &values->exclusive[i]))
            values->exclusive[i] = (union pf_number){0};
}

/* Reads the inclusive values of a format without a call tree, where a value that is not stored is unknown. */
static void read_inclusive(struct pf_values *values)
{
    int metric = values->partners.inclusive;
    for (uint32_t i = 0; i < values->n; i++) {
        values->unknown[i] =
            metric == PF_NO_PARTNER ||
            !pf_values_stored(values, metric, i, values->inclusive_real, &values->inclusive[i]);
        if (values->unknown[i])
            values->inclusive[i] = (union pf_number){0};
    }
}

/* Derives exclusive values from inclusive ones. Each value is added to its context and subtracted from the nearest caller
 * with a value, so that the exclusive values add up to the values of the roots. scratch[] holds the nearest context with a value
 * at or above each context. Only values in roots and below them count. */
static void derive_exclusive(struct pf_values *values)
{
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = 0; i < values->n; i++) {
        union pf_number number;
        uint32_t above = tree->parent[i] == PF_NO_CONTEXT ? PF_NO_CONTEXT : values->scratch[tree->parent[i]];
        bool root = tree->flags[i] & PF_ROOT;
        values->scratch[i] = above;
        if ((!root && above == PF_NO_CONTEXT) ||
            !pf_values_stored(values, values->partners.inclusive, i, values->exclusive_real, &number))
            continue;
        values->scratch[i] = i;
        pf_number_add(&values->exclusive[i], &number, values->exclusive_real);
        if (!root)
            pf_number_subtract(&values->exclusive[above], &number, values->exclusive_real);
    }
}

/* Derives inclusive values from exclusive ones, as sums over subtrees. */
static void derive_inclusive(struct pf_values *values)
{
    bool convert = values->inclusive_real && !values->exclusive_real;
    for (uint32_t i = 0; i < values->n; i++)
        values->inclusive[i] = convert ? pf_number_real(values->exclusive[i]) : values->exclusive[i];
    for (uint32_t i = values->n; i-- > 0;) {
        uint32_t parent = values->tree->parent[i];
        if (parent != PF_NO_CONTEXT)
            pf_number_add(&values->inclusive[parent], &values->inclusive[i], values->inclusive_real);
    }
}

/* Marks in scratch[] each root and all of its ancestors and descendants. */
static void mark_rooted(struct pf_values *values)
{
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t parent = tree->parent[i];
        values->scratch[i] = tree->flags[i] & PF_ROOT || (parent != PF_NO_CONTEXT && values->scratch[parent]);
    }
    for (uint32_t i = values->n; i-- > 0;)
        if (values->scratch[i] && tree->parent[i] != PF_NO_CONTEXT)
            values->scratch[tree->parent[i]] = true;
}

/* Replaces derived inclusive values by stored ones where mark_rooted has marked the context. Other contexts are locations
 * outside the format's call tree. Their stored values do not nest, so these contexts keep the sums of their subtrees. */
static void take_stored(struct pf_values *values)
{
    mark_rooted(values);
    for (uint32_t i = 0; i < values->n; i++) {
        union pf_number number;
        if (values->scratch[i] &&
            pf_values_stored(values, values->partners.inclusive, i, values->inclusive_real, &number))
            values->inclusive[i] = number;
    }
}

/* Returns the sum of the absolute values of an integer metric, over contexts and partitions. Returns 0 for a metric of doubles. */
static double magnitude_of(const struct pf_metric_sums *sums)
{
    return sums->real ? 0 : sums->magnitude;
}

/* True if a context has no callees and no caller, and is neither a frame nor a root. */
static bool is_isolated(const struct pf_tree *tree, uint32_t context)
{
    return tree->parent[context] == PF_NO_CONTEXT && tree->first[context] == tree->first[context + 1] &&
           !(tree->flags[context] & (PF_FRAME | PF_ROOT));
}

/* Sets the totals that shares refer to. Exclusive shares refer to the sum of exclusive values. Inclusive shares refer to the
 * same sum or, if it is larger, to the sum over the roots. Isolated contexts are not counted among the roots. */
static void find_totals(struct pf_values *values)
{
    const struct pf_tree *tree = values->tree;
    int metric =
        values->partners.exclusive != PF_NO_PARTNER ? values->partners.exclusive : values->partners.inclusive;
    const struct pf_metric_sums *sums = &values->aggregate->metrics[metric];
    struct pf_totals *totals = &values->totals;
    totals->metric = (unsigned)metric;
    totals->exclusive = totals->inclusive = pf_number_double(&sums->total, sums->real);
    if (values->unknown || values->exclusive_only)
        return;
    union pf_number roots = {0};
    for (uint32_t i = 0; i < tree->roots; i++)
        if (!is_isolated(tree, tree->root[i]))
            pf_real_add(&roots, pf_number_double(&values->inclusive[tree->root[i]], values->inclusive_real));
    double held = pf_number_double(&roots, true);
    if (held > totals->exclusive)
        totals->inclusive = held;
}

static void fill_values(struct pf_values *values)
{
    const struct pf_metric_sums *sums = values->aggregate->metrics;
    struct pf_partners partners = values->partners;
    int exclusive = partners.exclusive != PF_NO_PARTNER ? partners.exclusive : partners.inclusive;
    int inclusive = partners.inclusive != PF_NO_PARTNER ? partners.inclusive : partners.exclusive;
    /* A quarter of the limit, since a value enters two sums if exclusive values are derived. */
    bool large = magnitude_of(&sums[exclusive]) + magnitude_of(&sums[inclusive]) > PF_INTEGERS_MAX / 4;
    values->exclusive_real = sums[exclusive].real || large;
    values->inclusive_real = sums[inclusive].real || sums[exclusive].real || large;
    if (partners.exclusive != PF_NO_PARTNER)
        read_exclusive(values);
    else
        derive_exclusive(values);
    if (values->exclusive_only)
        return;
    if (values->unknown) {
        read_inclusive(values);
        return;
    }
    derive_inclusive(values);
    if (partners.inclusive != PF_NO_PARTNER)
        take_stored(values);
}

void pf_values_fill(struct pf_values *values)
{
    if (values->partners.exclusive == PF_NO_PARTNER && values->partners.inclusive == PF_NO_PARTNER)
        return;
    fill_values(values);
    find_totals(values);
}

void pf_find_heads(const struct pf_tree *tree, uint32_t *head)
{
    for (uint32_t i = 0; i < tree->count; i++)
        head[i] = pf_is_function_head(tree, i) ? i : head[tree->parent[i]];
}

/* True if a metric has a value to show for a context. Values of an isolated context are shown only if sums include them. */
static bool has_shown_value(const struct pf_values *values, int metric, uint32_t context)
{
    const struct pf_metric *about = &values->aggregate->model->metrics[metric];
    if (!pf_context_has(&values->aggregate->metrics[metric].contexts, context) ||
        (metric != (int)values->metric && !pf_adds_up(about)))
        return false;
    return about->over_contexts == PF_OVER_ALL || !is_isolated(values->tree, context);
}

static void find_present(struct pf_values *values)
{
    int metrics[] = {(int)values->metric, values->partners.exclusive, values->partners.inclusive};
    memset(values->present, 0, values->n * sizeof *values->present);
    for (uint32_t i = values->n; i-- > 0;) {
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics && !values->present[i]; m++)
            values->present[i] = metrics[m] != PF_NO_PARTNER && has_shown_value(values, metrics[m], i);
        uint32_t parent = values->tree->parent[i];
        if (values->present[i] && parent != PF_NO_CONTEXT)
            values->present[parent] = true;
    }
}

void pf_values_free(struct pf_values *values)
{
    free(values->exclusive);
    free(values->inclusive);
    free(values->unknown);
    free(values->present);
    free(values->scratch);
}

int pf_values_new(struct pf_values *values, struct pf_aggregate *aggregate, unsigned metric,
                  bool exclusive_only, struct pf_error *error)
{
    uint32_t n = aggregate->n_contexts;
    *values = (struct pf_values){.aggregate = aggregate,
                                 .tree = aggregate->model->contexts,
                                 .metric = metric,
                                 .exclusive_only = exclusive_only,
                                 .partners = pf_partners_of(aggregate->model, metric),
                                 .n = n,
                                 .exclusive = calloc((size_t)n + 1, sizeof *values->exclusive),
                                 .inclusive = calloc((size_t)n + 1, sizeof *values->inclusive),
                                 .present = calloc((size_t)n + 1, sizeof *values->present),
                                 .scratch = calloc((size_t)n + 1, sizeof *values->scratch)};
    bool edges = pf_extra_of(aggregate->model)->edges != NULL;
    if (edges)
        values->unknown = calloc((size_t)n + 1, sizeof *values->unknown);
    if (!values->exclusive || !values->inclusive || !values->present || !values->scratch ||
        (edges && !values->unknown)) {
        pf_values_free(values);
        return pf_fail_memory(error);
    }
    pf_array_fills(values->exclusive, n * sizeof *values->exclusive);
    if (!exclusive_only)
        pf_array_fills(values->inclusive, n * sizeof *values->inclusive);
    if (n && !exclusive_only)
        find_present(values);
    return 0;
}
