/* SPDX-License-Identifier: MIT */
#include "formats/driver_extra.h"
#include "fs/sums/aggregate_private.h"

/* How a metric's values add up over contexts and partitions, derived from the driver's declarations. */

bool pf_includes_context(enum pf_over_contexts over, unsigned flags)
{
    return over == PF_OVER_ALL || (over == PF_OVER_FRAMES && flags & PF_FRAME) ||
           (over == PF_OVER_ROOTS && flags & PF_ROOT);
}

bool pf_adds_up(const struct pf_metric *metric)
{
    return metric->over_contexts != PF_OVER_NO_CONTEXTS && metric->over_partitions != PF_OVER_NO_PARTITIONS;
}

bool pf_context_number(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                       union pf_number *number)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    enum pf_over_partitions over = aggregate->model->metrics[metric].over_partitions;
    struct pf_context_sum sum;
    if (over == PF_SUM)
        return pf_context_total(&sums->contexts, context, sums->real, number);
    if (over == PF_OVER_NO_PARTITIONS || !pf_context_get(aggregate, metric, context, &sum))
        return false;
    const union pf_extreme *bound = over == PF_MIN ? &sum.low : &sum.high;
    if (over == PF_AT) {
        bool there = pf_context_load(&sums->at, context, sums->real, &sum);
        *number = there ? sum.sum : (union pf_number){0};
    } else if (sums->real) {
        *number = (union pf_number){.d = {bound->d, 0}};
    } else {
        number->i = bound->i;
    }
    return true;
}

/* True if the metric adds up over the roots: a caller's value then includes its callees'. */
static bool is_inclusive_metric(const struct pf_metric *metric)
{
    return metric->over_contexts == PF_OVER_ROOTS;
}

struct pf_partners pf_partners_of(const struct pf_model *model, unsigned metric)
{
    struct pf_partners partners = {PF_NO_PARTNER, PF_NO_PARTNER};
    const struct pf_metric *self = &model->metrics[metric];
    if (!pf_adds_up(self))
        return partners;
    *(is_inclusive_metric(self) ? &partners.inclusive : &partners.exclusive) = (int)metric;
    if (self->partner < 0 || (size_t)self->partner >= model->n_metrics)
        return partners;
    const struct pf_metric *partner = &model->metrics[self->partner];
    if (pf_extra_of(model)->edges && !is_inclusive_metric(self))
        partners.inclusive = self->partner;
    else if (pf_adds_up(partner) && is_inclusive_metric(partner) != is_inclusive_metric(self))
        *(is_inclusive_metric(partner) ? &partners.inclusive : &partners.exclusive) = self->partner;
    return partners;
}

int pf_partner_of(const struct pf_model *model, unsigned metric)
{
    struct pf_partners partners = pf_partners_of(model, metric);
    return partners.exclusive == (int)metric ? partners.inclusive : partners.exclusive;
}

struct pf_cell pf_percent_cell(const union pf_number *part, bool real, double whole)
{
    if (whole == 0 || !isfinite(whole))
        return pf_absent();
    double x = pf_number_double(part, real);
    return pf_double(fabs(x) < 1e300 ? x * 100 / whole : x / whole * 100);
}
