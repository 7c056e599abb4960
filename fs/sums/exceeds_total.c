/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "fs/sums/aggregate_private.h"

/*
 * Finds the metrics with shares above 100 %. A database may have thousands of metrics, most of which have few values, so a
 * cheap pass over the stored values first selects the candidates. These are metrics with a negative value or with a value
 * below the sum of its callees, and all metrics of a format with call edges. Only for the candidates are the shares of
 * functions.csv and tree.txt computed.
 */

/* Relative tolerance for rounding errors in sums of doubles. */
#define SLACK 1e-9

static bool any_negative(const struct pf_aggregate *aggregate, unsigned metric)
{
    const struct pf_context_sums *sums = &aggregate->metrics[metric].contexts;
    union pf_number number;
    if (!aggregate->metrics[metric].negative)
        return false;
    for (size_t i = pf_context_next(sums, 0); i < sums->n; i = pf_context_next(sums, i + 1))
        if (pf_context_number(aggregate, metric, (uint32_t)i, &number) &&
            pf_number_double(&number, aggregate->metrics[metric].real) < 0)
            return true;
    return false;
}

/* True if some value is less than the sum of its callees' values. Each value is subtracted from the nearest caller that has
 * a value. left[] holds the results, one per context. All its items must be 0 before the call, and are 0 after it. */
static bool holds_less_than_callees(const struct pf_aggregate *aggregate, unsigned metric, double *left)
{
    const struct pf_tree *tree = aggregate->model->contexts;
    const struct pf_context_sums *sums = &aggregate->metrics[metric].contexts;
    union pf_number number;
    bool real = aggregate->metrics[metric].real, less = false;
    for (size_t i = pf_context_next(sums, 0); i < sums->n; i = pf_context_next(sums, i + 1)) {
        if (!pf_context_number(aggregate, metric, (uint32_t)i, &number))
            continue;
        double x = pf_number_double(&number, real);
        left[i] += x * (1 + SLACK);
        uint32_t above = tree->parent[i];
        while (above != PF_NO_CONTEXT && !pf_context_has(sums, above))
            above = tree->parent[above];
        if (above != PF_NO_CONTEXT)
            left[above] -= x;
    }
    for (size_t i = pf_context_next(sums, 0); i < sums->n; i = pf_context_next(sums, i + 1)) {
        less |= left[i] < 0;
        left[i] = 0;
    }
    return less;
}

static bool may_exceed(const struct pf_aggregate *aggregate, struct pf_partners partners, double *left)
{
    return pf_extra_of(aggregate->model)->edges ||
           (partners.exclusive != PF_NO_PARTNER && any_negative(aggregate, (unsigned)partners.exclusive)) ||
           (partners.inclusive != PF_NO_PARTNER &&
            holds_less_than_callees(aggregate, (unsigned)partners.inclusive, left));
}

static bool is_above(const union pf_number *part, bool real, double whole)
{
    return whole != 0 && pf_number_double(part, real) / whole > 1 + SLACK;
}

static bool function_exceeds(const struct pf_order *order)
{
    for (size_t i = 0; i < order->n_functions; i++) {
        const struct pf_function *it = &order->functions[i];
        if (is_above(&it->exclusive, order->exclusive_real, order->totals.exclusive) ||
            is_above(&it->running, order->exclusive_real, order->totals.exclusive) ||
            (!it->unknown && is_above(&it->inclusive, order->inclusive_real, order->totals.inclusive)))
            return true;
    }
    return false;
}

/*
 * Returns 1 if a function's share, or the sum of the shares of the first functions, exceeds 100 %; 0 if none does; -1 with *error
 * filled.
 */
static int any_function_exceeds(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error)
{
    struct pf_order *order = pf_order_get(aggregate, metric, PF_BY_FUNCTION, error);
    if (!order)
        return -1;
    bool exceeds = function_exceeds(order);
    pf_order_release(aggregate, order);
    return exceeds;
}

/* Returns 1 if some context's share exceeds 100 %, 0 if none does, -1 with *error filled. */
static int any_context_exceeds(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error)
{
    struct pf_values values;
    if (pf_values_new(&values, aggregate, metric, false, error))
        return -1;
    pf_values_fill(&values);
    bool exceeds = false;
    for (uint32_t i = 0; i < values.n && !exceeds; i++)
        exceeds = values.present[i] &&
                  is_above(&values.inclusive[i], values.inclusive_real, values.totals.inclusive);
    pf_values_free(&values);
    return exceeds;
}

static int check_shares(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error)
{
    int exceeds = any_function_exceeds(aggregate, metric, error);
    if (exceeds == 0)
        exceeds = any_context_exceeds(aggregate, metric, error);
    aggregate->metrics[metric].exceeds_total = exceeds > 0;
    return exceeds < 0 ? -1 : 0;
}

/* The result of the last check. It also holds for the partner of the checked metric, which usually has the next index. */
struct checked_pair {
    struct pf_partners partners;
    bool exceeds_total;
};

static int check_metric_shares(struct pf_aggregate *aggregate, unsigned metric, double *left,
                               struct checked_pair *last, struct pf_error *error)
{
    const struct pf_model *model = aggregate->model;
    struct pf_metric_sums *sums = &aggregate->metrics[metric];
    if (!pf_adds_up(&model->metrics[metric]) || !sums->contexts.sparse.chunks)
        return 0;
    struct pf_partners partners = pf_partners_of(model, metric);
    if (!pf_extra_of(model)->edges && partners.exclusive == last->partners.exclusive &&
        partners.inclusive == last->partners.inclusive)
        sums->exceeds_total = last->exceeds_total;
    else if (may_exceed(aggregate, partners, left) && check_shares(aggregate, metric, error))
        return -1;
    *last = (struct checked_pair){partners, sums->exceeds_total};
    return 0;
}

int pf_find_exceeding(struct pf_aggregate *aggregate, struct pf_error *error)
{
    double *left = calloc((size_t)aggregate->n_contexts + 1, sizeof *left);
    struct checked_pair last = {{PF_NO_PARTNER, PF_NO_PARTNER}, false};
    int result = 0;
    if (!left)
        return pf_fail_memory(error);
    for (unsigned m = 0; !result && m < aggregate->model->n_metrics; m++)
        result = check_metric_shares(aggregate, m, left, &last, error);
    free(left);
    return result;
}
