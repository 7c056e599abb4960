/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

/*
 * Nests the regions of runs that violate the format's rule of strict nesting: the parent of a region is the innermost
 * region that contains it. Extents are half open: a region that starts where another ends is not inside it.
 */

struct geometry {
    struct afperf_model *model;
    uint32_t *regions; /* regions of the run, sorted by start, longer first, then in file order */
    size_t n;
    uint64_t end;   /* end of the run */
    uint64_t *heap; /* min-heap of the stops of closed regions that have started */
    size_t n_heap;
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

/*
 * Sets missing stops: a region without stop ends with the closed region that contains its start and ends first, else
 * with the run.
 */
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
        region->stop = geometry->n_heap ? geometry->heap[0] : geometry->end;
    }
}

/* ---- nesting ------------------------------------------------------------------------------------ */

static bool holds(const struct afperf_span *outer, const struct afperf_span *inner)
{
    return inner->stop <= outer->stop && (inner->start < outer->stop || outer->start == outer->stop);
}

/*
 * Sets the parent of a region: the innermost of `around` and its ancestors that contains it. Skipped ancestors end too
 * early to contain later regions.
 */
static void set_parent(const struct geometry *geometry, uint32_t around, struct afperf_span *region)
{
    const struct afperf_span *all = geometry->model->regions.items;
    while (around != AFPERF_NONE && !holds(&all[around], region)) {
        if (region->start < all[around].stop && all[around].stop < region->stop)
            afperf_note(geometry->model, AFPERF_OVERLAPPING_REGIONS, region->offset, region->line);
        around = all[around].parent;
    }
    region->parent = around;
}

int afperf_nest_by_geometry(struct afperf_model *model, uint32_t run, uint32_t *regions, size_t n,
                            struct pf_error *error)
{
    struct geometry geometry = {.model = model, .regions = regions, .n = n, .end = model->runs[run].end};
    geometry.heap = malloc((n + 1) * sizeof *geometry.heap);
    if (!geometry.heap)
        return pf_fail_memory(error);
    sort(&geometry);
    close_open(&geometry);
    sort(&geometry);
    for (size_t i = 0; i < n; i++)
        set_parent(&geometry, i ? regions[i - 1] : AFPERF_NONE, region_at(&geometry, i));
    free(geometry.heap);
    return 0;
}
