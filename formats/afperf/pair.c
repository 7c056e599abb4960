/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

/*
 * Pairs stops with starts. Stops with an id are processed in file order; each stops the open region or interval that
 * the id means at its offset. Stops without id: for regions, in order of time, each stops the innermost region open at
 * that time; for intervals, they stop a section's intervals in order of their starts.
 */

static int make_index(const struct afperf_model *model, struct afperf_spans *spans, struct pf_error *error)
{
    if (afperf_index_room(&spans->index, spans->count, error))
        return -1;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct afperf_span *span = &spans->items[i];
        struct afperf_key key = {span->id, span->offset, spans->scoped ? span->owner : 0, i};
        if (span->flags & AFPERF_ANONYMOUS) {
            key.value = span->start;
            key.owner = AFPERF_NAMELESS | (spans->scoped ? span->owner : afperf_run_of(model, span->owner));
        }
        spans->index.keys[spans->index.n++] = key;
    }
    afperf_index_sort(&spans->index);
    return 0;
}

/* ---- those that are open ------------------------------------------------------------------------ */

/*
 * Two union-find structures over an index, which find the nearest open span to the right and to the left of a position.
 * An open span's position links to itself. Path compression keeps many equal ids cheap.
 */
struct open {
    const struct afperf_spans *spans;
    uint32_t *right; /* spans->count is the sentinel for none */
    uint32_t *left;  /* shifted by 1: left[0] is the sentinel for none */
};

static int begin_open(struct open *open, const struct afperf_spans *spans, struct pf_error *error)
{
    open->spans = spans;
    open->right = calloc((size_t)spans->count + 1, sizeof *open->right);
    open->left = calloc((size_t)spans->count + 1, sizeof *open->left);
    if (!open->right || !open->left)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i <= spans->count; i++)
        open->right[i] = open->left[i] = i;
    return 0;
}

static uint32_t follow(uint32_t *links, uint32_t i)
{
    while (links[i] != i) {
        links[i] = links[links[i]];
        i = links[i];
    }
    return i;
}

/* ---- pairing ------------------------------------------------------------------------------------ */

struct pairing {
    struct afperf_model *model;
    struct open open[2]; /* indexed by stop->region: intervals, regions */
};

static void note(struct pairing *pairing, enum afperf_problem problem, const struct afperf_stop *stop)
{
    afperf_note(pairing->model, problem, stop->offset, stop->line);
}

/* Stops the span at a position of the index. A stop before the start is moved to the start. */
static void close_span(struct afperf_model *model, const struct open *open, const struct afperf_stop *stop,
                       size_t place)
{
    const struct afperf_spans *spans = open->spans;
    struct afperf_span *span = &spans->items[spans->index.keys[place].number];
    model->log[stop->event] =
        (struct afperf_event){stop->region ? AFPERF_EVENT_REGION_STOP : AFPERF_EVENT_INTERVAL_STOP,
                              spans->index.keys[place].number};
    span->flags |= AFPERF_CLOSED;
    span->stop = stop->time < span->start ? span->start : stop->time;
    if (stop->time < span->start)
        afperf_note(model, AFPERF_NEGATIVE_DURATION, span->offset, span->line);
    open->right[place] = (uint32_t)place + 1;
    open->left[place + 1] = (uint32_t)place;
}

static void pair_by_id(struct pairing *pairing, const struct afperf_stop *stop, uint32_t owner)
{
    const struct afperf_model *model = pairing->model;
    const struct open *open = &pairing->open[stop->region];
    const struct afperf_index *index = &open->spans->index;
    uint64_t id = stop->id.id;
    uint32_t middle = (uint32_t)afperf_bound(index, owner, id, stop->offset);
    size_t before = (size_t)follow(open->left, middle) - 1, behind = follow(open->right, middle);
    size_t found = afperf_choose(model, index, owner, id, stop->offset, before, behind);
    if (found != SIZE_MAX)
        close_span(pairing->model, open, stop, found);
    else if (afperf_find(model, index, owner, id, stop->offset) != AFPERF_NONE)
        note(pairing, AFPERF_DUPLICATE_STOP, stop);
    else
        note(pairing, AFPERF_STOP_WITHOUT_START, stop);
}

/* Pairs a region's stop without id: with the run's latest started region that is still open. */
static void pair_nameless_region(struct pairing *pairing, const struct afperf_stop *stop)
{
    const struct open *open = &pairing->open[true];
    const struct afperf_index *index = &open->spans->index;
    uint32_t owner = AFPERF_NAMELESS | afperf_run_of(pairing->model, stop->owner);
    uint32_t middle = (uint32_t)afperf_bound(index, owner, stop->time, stop->offset);
    size_t place = (size_t)follow(open->left, middle) - 1;
    if (place < index->n && index->keys[place].owner == owner)
        close_span(pairing->model, open, stop, place);
    else
        note(pairing, AFPERF_STOP_WITHOUT_START, stop);
}

/*
 * Pairs an interval's stop without id: with the section's earliest started interval that is still open, unless it
 * starts after the stop.
 */
static void pair_nameless_interval(struct pairing *pairing, const struct afperf_stop *stop, uint32_t section)
{
    const struct open *open = &pairing->open[false];
    const struct afperf_index *index = &open->spans->index;
    uint32_t owner = AFPERF_NAMELESS | section;
    uint32_t place = follow(open->right, (uint32_t)afperf_bound(index, owner, 0, 0));
    const struct afperf_key *first = place < index->n ? &index->keys[place] : NULL;
    if (first && first->owner == owner && first->value <= stop->time)
        close_span(pairing->model, open, stop, place);
    else
        note(pairing, AFPERF_STOP_WITHOUT_START, stop);
}

/* Pairs a stop. Returns true for a region's stop without id, which is paired later, in order of time. */
static bool pair_stop(struct pairing *pairing, const struct afperf_stop *stop)
{
    uint32_t section = stop->region ? 0 : pairing->model->names[AFPERF_SECTIONS].refs[stop->owner].object;
    if (section == AFPERF_NONE)
        note(pairing, AFPERF_UNRESOLVED_SECTION, stop);
    else if (stop->id.given)
        pair_by_id(pairing, stop, section);
    else if (!stop->region)
        pair_nameless_interval(pairing, stop, section);
    else
        return true;
    return false;
}

static int by_time(const void *left, const void *right)
{
    const struct afperf_stop *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int pair_all(struct pairing *pairing, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    struct afperf_stop *stops = model->stops;
    size_t nameless = 0;
    if (begin_open(&pairing->open[false], &model->intervals, error) ||
        begin_open(&pairing->open[true], &model->regions, error))
        return -1;
    for (size_t i = 0; i < model->n_stops; i++) {
        if (pf_pass_step(i, model->n_stops, error))
            return -1;
        if (pair_stop(pairing, &stops[i]))
            stops[nameless++] = stops[i];
    }
    if (nameless)
        qsort(stops, nameless, sizeof *stops, by_time);
    for (size_t i = 0; i < nameless; i++)
        pair_nameless_region(pairing, &stops[i]);
    return 0;
}

int afperf_pair_stops(struct afperf_model *model, struct pf_error *error)
{
    struct pairing pairing = {.model = model};
    if (make_index(model, &model->regions, error) || make_index(model, &model->intervals, error))
        return -1;
    int result = pair_all(&pairing, error);
    for (int region = 0; region < 2; region++) {
        free(pairing.open[region].right);
        free(pairing.open[region].left);
    }
    return result;
}
