/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

/*
 * Runs whose regions break the format's rule of strict nesting: a region is inside the innermost one that holds it. Intervals
 * are half open: one that starts where another ends is behind it.
 */

/* A region around the current one. */
struct around {
    uint32_t region;
    uint64_t covered_to; /* its children cover it up to here, but for what is counted */
};

struct geometry {
    struct afperf_model *model;
    const struct afperf_run *run;
    uint32_t number;   /* of the run */
    uint32_t *regions; /* of the run, by start, longer first, in file order */
    size_t n;
    uint64_t *heap; /* stops of closed regions that have started */
    size_t n_heap;
    struct around *stack;
    size_t depth;
};

static struct afperf_span *region_at(const struct geometry *geometry, size_t i)
{
    return &geometry->model->regions.items[geometry->regions[i]];
}

static int by_extent(const void *left, const void *right, void *arg)
{
    const struct afperf_spans *regions = arg;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct afperf_span *a = &regions->items[i], *b = &regions->items[j];
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->stop != b->stop)
        return a->stop > b->stop ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void sort(struct geometry *geometry)
{
    if (geometry->n)
        qsort_r(geometry->regions, geometry->n, sizeof *geometry->regions, by_extent,
                &geometry->model->regions);
}

/* ---- unclosed regions --------------------------------------------------------------------------- */

static void heap_add(struct geometry *geometry, uint64_t stop)
{
    size_t i = geometry->n_heap++;
    for (; i > 0 && geometry->heap[(i - 1) / 2] > stop; i = (i - 1) / 2)
        geometry->heap[i] = geometry->heap[(i - 1) / 2];
    geometry->heap[i] = stop;
}

static void heap_drop_smallest(struct geometry *geometry)
{
    uint64_t last = geometry->heap[--geometry->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < geometry->n_heap; i = child) {
        if (child + 1 < geometry->n_heap && geometry->heap[child + 1] < geometry->heap[child])
            child++;
        if (geometry->heap[child] >= last)
            break;
        geometry->heap[i] = geometry->heap[child];
    }
    geometry->heap[i] = last;
}

/* A region without stop ends with the first to end of the closed ones that hold its start, else with the run. */
static void close_open(struct geometry *geometry)
{
    size_t started = 0;
    for (size_t i = 0; i < geometry->n; i++) {
        struct afperf_span *region = region_at(geometry, i);
        if (region->flags & AFPERF_CLOSED)
            continue;
        for (; started < geometry->n && region_at(geometry, started)->start <= region->start; started++)
            if (region_at(geometry, started)->flags & AFPERF_CLOSED)
                heap_add(geometry, region_at(geometry, started)->stop);
        while (geometry->n_heap && geometry->heap[0] < region->start)
            heap_drop_smallest(geometry);
        region->stop = geometry->n_heap ? geometry->heap[0] : geometry->run->end;
        afperf_note(geometry->model, AFPERF_UNCLOSED_REGION, region->offset, 0);
    }
}

/* ---- nesting ------------------------------------------------------------------------------------ */

static bool holds(const struct afperf_span *outer, const struct afperf_span *inner)
{
    return inner->stop <= outer->stop && (inner->start < outer->stop || outer->start == outer->stop);
}

static void pop(struct geometry *geometry)
{
    afperf_leave(geometry->model, geometry->stack[--geometry->depth].region);
}

/* Takes those off the stack that do not hold the region. */
static void pop_others(struct geometry *geometry, const struct afperf_span *region)
{
    struct afperf_model *model = geometry->model;
    while (geometry->depth) {
        const struct afperf_span *top = &model->regions.items[geometry->stack[geometry->depth - 1].region];
        if (holds(top, region))
            return;
        if (region->start < top->stop && top->stop < region->stop)
            afperf_note(model, AFPERF_OVERLAPPING_REGIONS, region->offset, 0);
        pop(geometry);
    }
}

/* A child covers of its parent what no child before it has covered: they come by their start. */
static void cover(struct geometry *geometry, struct around *around, const struct afperf_span *child)
{
    struct afperf_span *parent = &geometry->model->regions.items[around->region];
    uint64_t from = child->start > around->covered_to ? child->start : around->covered_to;
    if (child->stop <= from)
        return;
    parent->exclusive += child->stop - from;
    parent->exclusive_net +=
        child->stop - from - afperf_paused(geometry->model, geometry->run, from, child->stop);
    around->covered_to = child->stop;
}

static int nest(struct geometry *geometry, struct pf_error *error)
{
    struct around *stack = geometry->stack;
    if (!stack)
        return pf_fail_memory(error);
    for (size_t i = 0; i < geometry->n; i++) {
        struct afperf_span *region = region_at(geometry, i);
        pop_others(geometry, region);
        struct around *around = geometry->depth ? &stack[geometry->depth - 1] : NULL;
        region->parent = around ? around->region : AFPERF_NONE;
        if (afperf_enter(geometry->model, geometry->regions[i], geometry->number, error) < 0)
            return -1;
        if (around)
            cover(geometry, around, region);
        stack[geometry->depth++] = (struct around){geometry->regions[i], region->start};
    }
    while (geometry->depth)
        pop(geometry);
    return 0;
}

static int gather(struct geometry *geometry, struct pf_error *error)
{
    const struct afperf_run *run = geometry->run;
    size_t room = (size_t)run->n_events + 1;
    geometry->regions = malloc(room * sizeof *geometry->regions);
    geometry->heap = malloc(room * sizeof *geometry->heap);
    geometry->stack = malloc(room * sizeof *geometry->stack);
    if (!geometry->regions || !geometry->heap || !geometry->stack)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < run->n_events; i++) {
        uint32_t event = geometry->model->timeline[run->events + i];
        if (afperf_event_kind(event) == AFPERF_EVENT_REGION_START)
            geometry->regions[geometry->n++] = afperf_event_number(event);
    }
    return 0;
}

int afperf_nest_by_geometry(struct afperf_model *model, uint32_t run, struct pf_error *error)
{
    struct geometry geometry = {.model = model, .run = &model->runs[run], .number = run};
    int result = gather(&geometry, error);
    if (!result) {
        sort(&geometry);
        close_open(&geometry);
        sort(&geometry);
        result = nest(&geometry, error);
    }
    free(geometry.regions);
    free(geometry.heap);
    free(geometry.stack);
    return result;
}
