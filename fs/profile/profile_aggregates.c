/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "fs/profile/profile_private.h"
#include "fs/sums/arranged.h"
#include "fs/sums/spill_guard.h"

/* The aggregates of a profile: computed by passes or restored from the cache, and kept while the profile is open. */

/* ---- orders ------------------------------------------------------------------------------------- */

enum {
    FEW_CONTEXTS = 4096, /* fewer contexts than this are sorted on the thread of the operation */
    /* Fields of the job number of an order, from the lowest bit: the kind (KIND_BITS), OF_ALL, the metric. */
    KIND_BITS = 3,
    OF_ALL = 1 << KIND_BITS
};
static_assert(PF_BY_LINE < 1 << KIND_BITS, "a kind of order fits its bits");

static bool sorts_few(struct pf_owner *owner, uint64_t number)
{
    (void)number;
    return pf_profile_context_count((struct pf_profile *)owner) < FEW_CONTEXTS;
}

static int run_order(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    unsigned metric = (unsigned)(number / (2 * OF_ALL));
    pf_lock_take(&profile->lock);
    struct pf_aggregate *aggregate = number & OF_ALL ? profile->aggregate : profile->of_metric[metric];
    pf_lock_drop(&profile->lock);
    if (!sorts_few(owner, number))
        atomic_fetch_add(&profile->env->passes, 1);
    return pf_arranged_make(aggregate, metric, (enum pf_arrangement)(number & (OF_ALL - 1)), error);
}

static const struct pf_work order_work = {"order of", PF_WORK_ORDER, sorts_few, run_order};

static int need_order(void *owner, struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                      struct pf_error *error)
{
    struct pf_profile *profile = owner;
    struct pf_op op = PF_OP; /* interrupted when the calling job is stopped */
    pf_lock_take(&profile->lock);
    bool of_all = aggregate == profile->aggregate;
    assert(of_all || aggregate == profile->of_metric[metric]);
    pf_lock_drop(&profile->lock);
    uint64_t number = (uint64_t)metric * 2 * OF_ALL + (of_all ? OF_ALL : 0) + kind;
    int result = pf_need(&op, &order_work, &profile->owner, number);
    if (result)
        *error = op.error;
    return result;
}

/* ---- sums --------------------------------------------------------------------------------------- */

/*
 * True if each metric is the partner of the other: one aggregate serves both. The partner relation need not be
 * symmetric.
 */
static bool are_twins(const struct pf_profile *profile, int a, int b)
{
    return a >= 0 && b >= 0 && pf_aggregate_partner(&profile->model, (unsigned)a) == b &&
           pf_aggregate_partner(&profile->model, (unsigned)b) == a;
}

/*
 * Reads cached sums that include the metric; sets *metric to -1 if they are sums of all metrics. NULL if none are
 * cached.
 */
static struct pf_aggregate *get_sums(struct pf_profile *profile, int *metric)
{
    struct pf_aggregate *sums = pf_datum_get_sums(profile, -1);
    if (sums || *metric < 0) {
        *metric = -1;
        return sums;
    }
    int partner = pf_aggregate_partner(&profile->model, (unsigned)*metric);
    sums = pf_datum_get_sums(profile, *metric);
    return sums || !are_twins(profile, *metric, partner) ? sums : pf_datum_get_sums(profile, partner);
}

/*
 * Stores an aggregate of all metrics (-1), or of one metric and its partner. Called with profile->lock held; takes
 * ownership on success. 0, or -1 with *error filled.
 */
static int keep_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate *aggregate, bool stored,
                          struct pf_error *error)
{
    pf_assert_held(&profile->lock);
    size_t n = profile->model.n_metrics;
    pf_aggregate_share(aggregate, need_order, profile);
    if (metric < 0) {
        profile->aggregate = aggregate;
        profile->sums_stored = stored;
        return 0;
    }
    if (!profile->of_metric && !(profile->of_metric = calloc(n, sizeof *profile->of_metric)))
        return pf_fail_memory(error);
    if (!profile->of_metric_stored && !(profile->of_metric_stored = calloc(n, sizeof(bool))))
        return pf_fail_memory(error);
    int partner = pf_aggregate_partner(&profile->model, (unsigned)metric);
    profile->of_metric[metric] = aggregate;
    profile->of_metric_stored[metric] = stored;
    if (are_twins(profile, metric, partner) && !profile->of_metric[partner]) {
        profile->of_metric[partner] = aggregate;
        profile->of_metric_stored[partner] = stored;
    }
    return 0;
}

static int make_sums(struct pf_profile *profile, int metric, struct pf_error *error)
{
    struct pf_aggregate *aggregate = get_sums(profile, &metric);
    bool stored = aggregate;
    if (!stored)
        aggregate = metric < 0 ? pf_aggregate_new(&profile->model, error)
                               : pf_aggregate_of(&profile->model, (unsigned)metric, error);
    int result = aggregate ? 0 : -1;
    if (!result && !pf_source_intact(profile->source))
        result = pf_fail(error, ESTALE, "the file has changed");
    pf_lock_take(&profile->lock);
    bool present = pf_aggregate_now(profile, metric); /* of all metrics, made by another job */
    if (!result && !present)
        result = keep_aggregate(profile, metric, aggregate, stored, error);
    pf_lock_drop(&profile->lock);
    if (result || present)
        pf_aggregate_free(aggregate);
    return result;
}

static int run_sums(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_profile *profile = (struct pf_profile *)owner;
    uint64_t start = pf_now_ns();
    int metric = (int)number - 1;
    if (pf_profile_aggregate_now(profile, metric))
        return 0;
    if (make_sums(profile, metric, error))
        return -1;
    pf_profile_note_pass(profile, start);
    return 0;
}

static const struct pf_work sums_work = {"aggregates of", PF_WORK_SUMS, NULL, run_sums};

/*
 * The metric to aggregate when the aggregates of `metric` are missing; negative: all metrics. With PF_SKIMS_METRIC, one
 * pass that aggregates all metrics is faster than one pass for each further metric.
 */
static int metric_to_make(const struct pf_profile *profile, int metric)
{
    pf_assert_held(&profile->lock);
    bool further = profile->of_metric && profile->model.cells->flags & PF_SKIMS_METRIC;
    return further || !pf_aggregate_is_large(&profile->model) ? -1 : metric;
}

int pf_profile_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate **aggregate,
                         struct pf_op *op)
{
    if (pf_profile_ready(profile, (struct pf_node){PF_PPROF, 0}, op))
        return -1;
    pf_lock_take(&profile->lock);
    *aggregate = pf_aggregate_now(profile, metric);
    int make = metric_to_make(profile, metric);
    pf_lock_drop(&profile->lock);
    if (*aggregate)
        return 0;
    if (pf_need(op, &sums_work, &profile->owner, (uint64_t)make + 1))
        return -1;
    *aggregate = pf_profile_aggregate_now(profile, metric);
    return 0;
}
