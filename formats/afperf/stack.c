/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/* ---- sums --------------------------------------------------------------------------------------- */

uint32_t afperf_context(struct afperf_model *model, uint32_t parent, uint32_t key, uint32_t name,
                        uint8_t kind, uint8_t flags)
{
    uint32_t context = pf_tree_child(model->tree, parent, key, name, kind, flags, model->run->error);
    if (context == PF_NO_CONTEXT)
        pf_run_fail(model->run);
    return context;
}

void afperf_add(struct afperf_model *model, uint32_t context, const pf_int128 values[AFPERF_METRICS])
{
    struct afperf_sums *sums = PF_ITEM(model->run, model->sums_of, context);
    if (!sums->used)
        *PF_PUSH(model->run, model->touched) = context;
    sums->used = true;
    for (int metric = 0; metric < AFPERF_METRICS; metric++)
        sums->values[metric] += values[metric];
}

static int by_touched_context(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds the sums in ascending order of contexts, because pf_sums_add is fastest in this order. */
void afperf_end_sums(struct afperf_model *model, uint32_t run)
{
    if (model->touched.n)
        qsort(model->touched.at, model->touched.n, sizeof *model->touched.at, by_touched_context);
    for (size_t i = 0; i < model->touched.n; i++) {
        uint32_t context = model->touched.at[i];
        struct afperf_sums *sums = &model->sums_of.at[context];
        bool section = model->tree->kind[context] == AFPERF_KIND_SECTION;
        for (uint32_t metric = 0; metric < AFPERF_METRICS; metric++) {
            if (section && (metric == AFPERF_TIME || metric == AFPERF_TIME_NET))
                continue;
            pf_int128 unit = metric == AFPERF_CALLS ? 1 : (pf_int128)model->runs[run].nanoseconds;
            pf_int128 value = sums->values[metric] * unit;
            const struct pf_cell cell = afperf_wide_cell(&value);
            pf_run_check(model->run,
                         pf_sums_add(model->values, run, context, metric, &cell, model->run->error));
        }
        *sums = (struct afperf_sums){0};
    }
    model->touched.n = 0;
}

/* ---- open regions ------------------------------------------------------------------------------- */

void afperf_enter(struct afperf_stack *stack, const struct afperf_open *region)
{
    struct afperf_model *model = stack->model;
    uint32_t parent = stack->open.n ? stack->open.at[stack->open.n - 1].context : PF_NO_CONTEXT;
    uint8_t flags = stack->open.n ? PF_FRAME : PF_FRAME | PF_ROOT;
    struct afperf_open *open = PF_PUSH(model->run, stack->open);
    *open = *region;
    open->covered_to = open->start;
    open->context = afperf_context(model, parent, open->name, open->name, AFPERF_KIND_REGION, flags);
}

/* Adds the ticks of `child` that no earlier child covers to the parent's covered ticks. */
static void cover_by(const struct afperf_stack *stack, struct afperf_open *parent,
                     const struct afperf_open *child)
{
    uint64_t from = child->start > parent->covered_to ? child->start : parent->covered_to;
    if (child->stop <= from)
        return;
    parent->covered += child->stop - from;
    parent->covered_net += child->stop - from - afperf_paused(stack->model, stack->run, from, child->stop);
    parent->covered_to = child->stop;
}

void afperf_leave(struct afperf_stack *stack)
{
    struct afperf_model *model = stack->model;
    const struct afperf_open *region = &stack->open.at[--stack->open.n];
    struct afperf_open *parent = stack->open.n ? &stack->open.at[stack->open.n - 1] : NULL;
    uint64_t inclusive = region->stop - region->start;
    uint64_t net = inclusive - afperf_paused(model, stack->run, region->start, region->stop);
    uint64_t exclusive = inclusive - region->covered, exclusive_net = net - region->covered_net;
    if (parent)
        cover_by(stack, parent, region);
    afperf_sort(model, model->nested,
                &(struct afperf_nested){.number = region->number,
                                        .context = region->context,
                                        .parent = parent ? parent->number : AFPERF_NONE,
                                        .stop = region->stop,
                                        .exclusive = exclusive,
                                        .exclusive_net = exclusive_net,
                                        .overlaps = region->overlaps});
    const pf_int128 values[AFPERF_METRICS] = {[AFPERF_CALLS] = 1,
                                              [AFPERF_TIME] = exclusive,
                                              [AFPERF_TIME_INC] = inclusive,
                                              [AFPERF_TIME_NET] = exclusive_net,
                                              [AFPERF_TIME_NET_INC] = net};
    afperf_add(model, region->context, values);
}
