/* SPDX-License-Identifier: MIT */
#include "formats/afperf/model.h"

const struct afperf_span *afperf_event_span(const struct afperf_model *model, struct afperf_event event,
                                            uint32_t *run, uint64_t *time)
{
    bool region = afperf_event_is_region(event);
    if ((!region && !afperf_event_is_interval(event)) || event.number == AFPERF_NO_NUMBER)
        return NULL;
    const struct afperf_span *span = &(region ? &model->regions : &model->intervals)->items[event.number];
    bool start = event.kind == AFPERF_EVENT_REGION_START || event.kind == AFPERF_EVENT_INTERVAL_START;
    *run = afperf_run_of(model, region ? span->owner : model->sections[span->owner].ref);
    *time = start ? span->start : span->stop;
    return span;
}

/* Returns the ticks paused before `time`, by binary search. */
static uint64_t paused_before(const struct afperf_pause *pauses, size_t n, uint64_t time)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pauses[middle].start < time)
            low = middle + 1;
        else
            n = middle;
    }
    if (!low)
        return 0;
    const struct afperf_pause *last = &pauses[low - 1];
    return last->before + (time < last->stop ? time : last->stop) - last->start;
}

uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop)
{
    size_t n = model->runs[run].n_pauses;
    if (!n)
        return 0;
    const struct afperf_pause *pauses = model->pauses + model->runs[run].pauses;
    return paused_before(pauses, n, stop) - paused_before(pauses, n, start);
}
