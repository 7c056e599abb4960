/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/profile/profile_private.h"
#include "fs/sums/spill_guard.h"

/* A profile's aggregates: made by passes, or by those of an earlier process, and kept while the profile is open. */

/* True if the metrics are made of each other: what is added up for the one does for both. (One may lean on another that leans on a third.) */
static bool are_twins(const struct pf_profile *profile, int a, int b)
{
    return a >= 0 && b >= 0 && pf_aggregate_partner(&profile->model, (unsigned)a) == b &&
           pf_aggregate_partner(&profile->model, (unsigned)b) == a;
}

/* Sums that an earlier process has stored and that have the metric; *metric becomes -1 if they are those of all. NULL: none. */
static struct pf_aggregate *recall_sums(struct pf_profile *profile, int *metric)
{
    struct pf_aggregate *sums = pf_profile_stored_sums(profile, -1);
    if (sums || *metric < 0) {
        *metric = -1;
        return sums;
    }
    int partner = pf_aggregate_partner(&profile->model, (unsigned)*metric);
    sums = pf_profile_stored_sums(profile, *metric);
    return sums || !are_twins(profile, *metric, partner) ? sums : pf_profile_stored_sums(profile, partner);
}

/* Keeps what a pass has made for all metrics, or for one and its partner. 0, or -1 with *error filled. */
static int keep_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate *aggregate, bool stored,
                          struct pf_error *error)
{
    pf_assert_held(&profile->lock);
    size_t n = profile->model.n_metrics;
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
    struct pf_aggregate *aggregate = recall_sums(profile, &metric);
    bool stored = aggregate;
    if (!stored)
        aggregate = metric < 0 ? pf_aggregate_new(&profile->model, error)
                               : pf_aggregate_of(&profile->model, (unsigned)metric, error);
    int result = aggregate ? 0 : -1;
    if (!result && !pf_source_intact(profile->source))
        result = pf_fail(error, ESTALE, "the file has changed");
    pf_lock_take(&profile->lock);
    bool present = pf_aggregate_now(profile, metric); /* those of all metrics, which another job has made */
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
 * The metric whose aggregates are to be made where those of one are wanted that are not there; negative: all. To skim the values
 * again for each further metric would take longer than to go through them once for all.
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
