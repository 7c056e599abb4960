/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/*
 * Nests the regions of runs in which regions overlap, although the format requires that they nest. A region's parent is the innermost
 * region whose extent contains that of the region. Extents are half open, so a region that starts where another ends is not inside it.
 */

/* A pass over the starts of a run's regions, in order of time. */
struct starts {
    struct afperf_model *model;
    struct pf_store_window *timeline;
    uint64_t next, end; /* the next moment of the timeline, and the end of the run's moments */
};

/* Sets *start to the next start. Returns false if there is none. */
static bool next_start(struct starts *starts, struct afperf_moment *start)
{
    while (starts->next < starts->end) {
        afperf_item(starts->model, starts->timeline, starts->next++, start, sizeof *start);
        if (start->kind == AFPERF_EVENT_REGION_START)
            return true;
    }
    return false;
}

/* ---- unclosed regions --------------------------------------------------------------------------- */

/* The stops of the closed regions that have started up to a point in time. The point only moves forward. */
struct stops {
    struct afperf_model *model;
    PF_LIST(uint64_t) heap;    /* a min-heap of stops */
    struct starts started;     /* a pass over the regions, which is one region ahead of the heap */
    struct afperf_moment next; /* last region of `started`, not in the heap yet; valid if `any` */
    bool any;
};

static void heap_add(struct stops *stops, uint64_t stop)
{
    PF_PUSH(stops->model->run, stops->heap);
    size_t i = stops->heap.n - 1;
    uint64_t *heap = stops->heap.at;
    for (; i > 0 && heap[(i - 1) / 2] > stop; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = stop;
}

static void heap_drop_smallest(struct stops *stops)
{
    uint64_t *heap = stops->heap.at, last = heap[--stops->heap.n];
    size_t n = stops->heap.n, i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= last)
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
}

/*
 * Returns the stop of a region that has none in the file: the earliest stop of the closed regions that contain its start. If there are no
 * such regions, it ends with the run, at `end`. Calls must be in order of the starts.
 */
static uint64_t missing_stop(struct stops *stops, uint64_t start, uint64_t end)
{
    for (; stops->any && stops->next.time <= start; stops->any = next_start(&stops->started, &stops->next)) {
        if (stops->next.closed)
            heap_add(stops, stops->next.stop);
        while (stops->heap.n && stops->heap.at[0] < stops->next.time)
            heap_drop_smallest(stops);
    }
    while (stops->heap.n && stops->heap.at[0] < start)
        heap_drop_smallest(stops);
    return stops->heap.n ? stops->heap.at[0] : end;
}

/* ---- nesting ------------------------------------------------------------------------------------ */

/*
 * A record of the sorter. If regions start at the same time, the longest comes first, since it contains the others. Regions with equal
 * extents stay in file order.
 */
struct extent {
    uint64_t run, start, inverted_stop;
    uint32_t number, name;
};

static void sort_run(struct stops *stops, struct starts *starts, struct pf_sorter *extents, uint32_t number)
{
    struct afperf_model *model = stops->model;
    const struct afperf_run *run = &model->runs[number];
    struct afperf_moment region;
    starts->next = stops->started.next = run->events;
    starts->end = stops->started.end = run->events + run->n_events;
    stops->heap.n = 0;
    stops->any = next_start(&stops->started, &stops->next);
    while (next_start(starts, &region)) {
        uint64_t stop = region.closed ? region.stop : missing_stop(stops, region.time, run->end);
        afperf_sort(model, extents, &(struct extent){number, region.time, ~stop, region.number, region.name});
    }
}

struct pf_sorter *afperf_sort_extents(struct afperf_model *model)
{
    struct pf_sorter *extents = afperf_new_sorter(model, sizeof(struct extent), 3);
    struct stops *stops = PF_OWN(model->run, calloc(1, sizeof *stops), free);
    struct starts starts = {.model = model, .timeline = afperf_window(model, model->stores[TIMELINE])};
    stops->model = model;
    stops->started =
        (struct starts){.model = model, .timeline = afperf_window(model, model->stores[TIMELINE])};
    for (uint32_t i = 0; i < model->n_runs; i++)
        if (model->runs[i].geometry)
            sort_run(stops, &starts, extents, i);
    pf_run_check(model->run, pf_sorter_finish(extents, model->run->error));
    return extents;
}

static bool is_inside(const struct afperf_open *inner, const struct afperf_open *outer)
{
    return inner->stop <= outer->stop && (inner->start < outer->stop || outer->start == outer->stop);
}

void afperf_nest_by_geometry(struct afperf_stack *stack, struct pf_sorter *extents)
{
    const struct extent *extent;
    uint64_t left = stack->model->runs[stack->run].n_regions;
    for (; left && (extent = afperf_sorted(stack->model, extents)); left--) {
        struct afperf_open region = {.start = extent->start,
                                     .stop = ~extent->inverted_stop,
                                     .number = extent->number,
                                     .name = extent->name};
        while (stack->open.n && !is_inside(&region, &stack->open.at[stack->open.n - 1])) {
            uint64_t stop = stack->open.at[stack->open.n - 1].stop;
            region.overlaps += region.start < stop && stop < region.stop;
            afperf_leave(stack); /* no later region is inside the one at the top */
        }
        afperf_enter(stack, &region);
    }
    while (stack->open.n)
        afperf_leave(stack);
}
