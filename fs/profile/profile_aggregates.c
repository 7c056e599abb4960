/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/profile/profile_private.h"
#include "fs/sums/spill_guard.h"

/* A profile's aggregates: made by passes, or by those of an earlier process, and kept while the profile is open. */

/* The first of the list, which it is taken off. */
static struct pf_packed_aggregate *take_packed(struct pf_packed_aggregate **list)
{
    struct pf_packed_aggregate *packed = *list;
    *list = packed->next;
    return packed;
}

static void free_packed(struct pf_packed_aggregate *packed)
{
    free(packed->bytes);
    free(packed);
}

void pf_profile_free_aggregates(struct pf_profile *profile)
{
    while (profile->packed)
        free_packed(take_packed(&profile->packed));
    pf_aggregate_free(profile->aggregate);
    for (size_t m = 0; profile->of_metric && m < profile->model.n_metrics; m++) {
        struct pf_aggregate *aggregate = profile->of_metric[m];
        for (size_t same = m; aggregate && same < profile->model.n_metrics; same++)
            if (profile->of_metric[same] == aggregate)
                profile->of_metric[same] = NULL;
        pf_aggregate_free(aggregate);
    }
    free(profile->of_metric);
    profile->aggregate = NULL;
    profile->of_metric = NULL;
}

static struct pf_aggregate *aggregate_now(const struct pf_profile *profile, int metric)
{
    pf_assert_held(&profile->lock);
    return profile->aggregate || metric < 0 || !profile->of_metric ? profile->aggregate
                                                                   : profile->of_metric[metric];
}

bool pf_profile_lost_sums(const struct pf_profile *profile)
{
    pf_assert_held(&profile->lock);
    struct pf_error error;
    if (!pf_guard_any_lost())
        return false;
    bool lost = profile->aggregate && pf_aggregate_check(profile->aggregate, &error);
    for (size_t m = 0; profile->of_metric && m < profile->model.n_metrics && !lost; m++)
        lost = profile->of_metric[m] && pf_aggregate_check(profile->of_metric[m], &error);
    return lost;
}

struct pf_aggregate *pf_profile_aggregate_now(struct pf_profile *profile, int metric)
{
    pf_lock_take(&profile->lock);
    struct pf_aggregate *aggregate = aggregate_now(profile, metric);
    pf_lock_drop(&profile->lock);
    return aggregate;
}

/* True if the metrics are made of each other: what is added up for the one does for both. (One may lean on another that leans on a third.) */
static bool are_twins(const struct pf_profile *profile, int a, int b)
{
    return a >= 0 && b >= 0 && pf_aggregate_partner(&profile->model, (unsigned)a) == b &&
           pf_aggregate_partner(&profile->model, (unsigned)b) == a;
}

/* The aggregate of an earlier process that has the metric, which is used up by this; *metric is what it is of. NULL if there is none. */
static struct pf_aggregate *recall_aggregate(struct pf_profile *profile, int *metric)
{
    pf_lock_take(&profile->lock);
    struct pf_packed_aggregate **at = &profile->packed;
    while (*at && (*at)->metric >= 0 && (*at)->metric != *metric &&
           !are_twins(profile, (*at)->metric, *metric))
        at = &(*at)->next;
    struct pf_packed_aggregate *packed = *at ? take_packed(at) : NULL;
    pf_lock_drop(&profile->lock);
    if (!packed)
        return NULL;
    struct pf_aggregate *aggregate = pf_aggregate_unpack(&profile->model, packed->bytes, packed->size);
    if (aggregate && packed->metric < 0)
        *metric = -1;
    free_packed(packed);
    return aggregate;
}

/* Keeps what a pass has made for all metrics, or for one and its partner. 0, or -1 with *error filled. */
static int keep_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate *aggregate,
                          struct pf_error *error)
{
    pf_assert_held(&profile->lock);
    if (metric < 0) {
        profile->aggregate = aggregate;
        return 0;
    }
    if (!profile->of_metric &&
        !(profile->of_metric = calloc(profile->model.n_metrics, sizeof(struct pf_aggregate *))))
        return pf_fail_memory(error);
    int partner = pf_aggregate_partner(&profile->model, (unsigned)metric);
    profile->of_metric[metric] = aggregate;
    if (are_twins(profile, metric, partner) && !profile->of_metric[partner])
        profile->of_metric[partner] = aggregate;
    return 0;
}

static int make_sums(struct pf_profile *profile, int metric, struct pf_error *error)
{
    struct pf_aggregate *aggregate = recall_aggregate(profile, &metric);
    if (!aggregate)
        aggregate = metric < 0 ? pf_aggregate_new(&profile->model, error)
                               : pf_aggregate_of(&profile->model, (unsigned)metric, error);
    int result = aggregate ? 0 : -1;
    if (!result && !pf_source_intact(profile->source))
        result = pf_fail(error, ESTALE, "the file has changed");
    pf_lock_take(&profile->lock);
    bool present = aggregate_now(profile, metric); /* those of all metrics, which another job has made */
    if (!result && !present)
        result = keep_aggregate(profile, metric, aggregate, error);
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
    *aggregate = aggregate_now(profile, metric);
    int make = metric_to_make(profile, metric);
    pf_lock_drop(&profile->lock);
    if (*aggregate)
        return 0;
    if (pf_need(op, &sums_work, &profile->owner, (uint64_t)(make + 1)))
        return -1;
    *aggregate = pf_profile_aggregate_now(profile, metric);
    return 0;
}
