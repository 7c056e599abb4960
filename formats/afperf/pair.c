/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"
#include "formats/kit/array.h"

/*
 * Stops whose start was not known when they were read: because it comes behind them, or stands in another segment, or several
 * have the same id, or there are none. They are paired in the order of the file; but stops of regions without ids in the order
 * of time, each with the innermost such region that is open then.
 */

/* A start or stop of a region without id. */
struct edge {
    uint64_t time;
    uint32_t run;
    uint32_t event;        /* number in the log: the order of the file */
    uint32_t region;       /* that starts; AFPERF_NONE: a stop */
    uint64_t offset, line; /* of a stop */
};

struct pairing {
    struct afperf_model *model;
    struct afperf_open *regions, *intervals; /* made when first needed */
    uint32_t *anonymous; /* intervals without id by section, in it by start; made when first needed */
    struct edge *edges;
    size_t n_edges, edges_room;
};

static void note(struct pairing *pairing, enum afperf_problem problem, const struct afperf_stop *stop)
{
    afperf_note(pairing->model, problem, stop->offset, stop->line);
}

/* Closes a span that has been found. */
static void close_span(struct pairing *pairing, struct afperf_spans *spans, uint32_t number,
                       const struct afperf_stop *stop)
{
    enum afperf_event kind = stop->region ? AFPERF_EVENT_REGION_STOP : AFPERF_EVENT_INTERVAL_STOP;
    pairing->model->log[stop->event] = afperf_event(kind, number);
    afperf_close_span(pairing->model, &spans->items[number], stop->time);
}

static int pair_by_id(struct pairing *pairing, struct afperf_spans *spans, struct afperf_open **open,
                      const struct afperf_stop *stop, uint32_t owner, struct pf_error *error)
{
    bool any;
    if (!*open && !(*open = afperf_open_new(spans, error)))
        return -1;
    struct afperf_segment segment =
        afperf_segment(pairing->model, afperf_segment_at(pairing->model, stop->offset));
    uint32_t number = afperf_open_take(*open, owner, stop->id.id, stop->offset, &segment, &any);
    if (number == AFPERF_NONE)
        note(pairing, any ? AFPERF_DUPLICATE_STOP : AFPERF_STOP_WITHOUT_START, stop);
    else
        close_span(pairing, spans, number, stop);
    return 0;
}

/* ---- intervals without id ----------------------------------------------------------------------- */

static int by_section_and_start(const void *left, const void *right, void *arg)
{
    const struct afperf_spans *intervals = arg;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct afperf_span *a = &intervals->items[i], *b = &intervals->items[j];
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int list_anonymous(struct pairing *pairing, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    struct afperf_spans *intervals = &model->intervals;
    uint32_t n = 0;
    pairing->anonymous = malloc(((size_t)intervals->count + 1) * sizeof *pairing->anonymous);
    if (!pairing->anonymous)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < intervals->count; i++)
        if (intervals->items[i].flags & AFPERF_ANONYMOUS)
            pairing->anonymous[n++] = i;
    qsort_r(pairing->anonymous, n, sizeof *pairing->anonymous, by_section_and_start, intervals);
    for (uint32_t i = n; i-- > 0;) {
        struct afperf_section *section = &model->sections[intervals->items[pairing->anonymous[i]].owner];
        section->anonymous = i;
        section->n_anonymous++;
    }
    return 0;
}

/* First in, first out: the earliest start, which must not be later than the stop. */
static int pair_anonymous(struct pairing *pairing, const struct afperf_stop *stop, uint32_t owner,
                          struct pf_error *error)
{
    struct afperf_spans *intervals = &pairing->model->intervals;
    struct afperf_section *section = &pairing->model->sections[owner];
    if (!pairing->anonymous && list_anonymous(pairing, error) < 0)
        return -1;
    uint32_t number = section->n_anonymous ? pairing->anonymous[section->anonymous] : AFPERF_NONE;
    if (number == AFPERF_NONE || intervals->items[number].start > stop->time) {
        note(pairing, AFPERF_STOP_WITHOUT_START, stop);
    } else {
        section->anonymous++;
        section->n_anonymous--;
        close_span(pairing, intervals, number, stop);
    }
    return 0;
}

static int pair_interval(struct pairing *pairing, const struct afperf_stop *stop, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    const struct afperf_section_ref *section = &model->section_refs[stop->owner];
    if (!section->known) {
        note(pairing, AFPERF_UNRESOLVED_SECTION, stop);
        return 0;
    }
    if (!stop->id.given)
        return pair_anonymous(pairing, stop, section->section, error);
    return pair_by_id(pairing, &model->intervals, &pairing->intervals, stop, section->section, error);
}

/* ---- regions without id ------------------------------------------------------------------------- */

static int add_edge(struct pairing *pairing, const struct edge *edge, struct pf_error *error)
{
    if (afperf_grow(&pairing->edges, pairing->n_edges, &pairing->edges_room, sizeof *edge, error) < 0)
        return -1;
    pairing->edges[pairing->n_edges++] = *edge;
    return 0;
}

/* A stop in a run that nothing else has belongs to none. */
static int add_stop(struct pairing *pairing, const struct afperf_stop *stop, struct pf_error *error)
{
    uint32_t run = pairing->model->refs[stop->owner].run;
    if (run == AFPERF_NONE) {
        note(pairing, AFPERF_STOP_WITHOUT_START, stop);
        return 0;
    }
    return add_edge(
        pairing, &(struct edge){stop->time, run, stop->event, AFPERF_NONE, stop->offset, stop->line}, error);
}

static int add_starts(struct pairing *pairing, struct pf_error *error)
{
    const struct afperf_model *model = pairing->model;
    for (uint32_t i = 0; i < model->n_log; i++) {
        uint32_t number = afperf_event_number(model->log[i]);
        if (afperf_event_kind(model->log[i]) != AFPERF_EVENT_REGION_START)
            continue;
        const struct afperf_span *region = &model->regions.items[number];
        struct edge edge = {region->start, model->refs[region->owner].run, i, number, 0, 0};
        if (region->flags & AFPERF_ANONYMOUS && add_edge(pairing, &edge, error) < 0)
            return -1;
    }
    return 0;
}

static int by_run_and_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* A stack a run, linked by open_below. */
static void pair_edges(struct pairing *pairing)
{
    struct afperf_model *model = pairing->model;
    uint32_t top = 0, run = AFPERF_NONE; /* top: the innermost open region, plus 1 */
    qsort(pairing->edges, pairing->n_edges, sizeof *pairing->edges, by_run_and_time);
    for (size_t i = 0; i < pairing->n_edges; i++) {
        const struct edge *edge = &pairing->edges[i];
        top = edge->run == run ? top : 0;
        run = edge->run;
        if (edge->region != AFPERF_NONE) {
            model->regions.items[edge->region].open_below = top;
            top = edge->region + 1;
        } else if (top) {
            struct afperf_span *region = &model->regions.items[top - 1];
            model->log[edge->event] = afperf_event(AFPERF_EVENT_REGION_STOP, top - 1);
            top = region->open_below;
            afperf_close_span(model, region, edge->time);
        } else {
            afperf_note(model, AFPERF_STOP_WITHOUT_START, edge->offset, edge->line);
        }
    }
}

/* ---- all of them -------------------------------------------------------------------------------- */

static int pair(struct pairing *pairing, const struct afperf_stop *stop, struct pf_error *error)
{
    if (!stop->region)
        return pair_interval(pairing, stop, error);
    if (!stop->id.given)
        return add_stop(pairing, stop, error);
    return pair_by_id(pairing, &pairing->model->regions, &pairing->regions, stop, 0, error);
}

enum { STOPS_AT_ONCE = 1024 };

static int pair_all(struct pairing *pairing, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_store *stops = pairing->model->stops;
    uint64_t size = pf_store_size(stops);
    struct afperf_stop some[STOPS_AT_ONCE];
    for (uint64_t at = 0; at < size;) {
        size_t n = size - at < sizeof some ? (size_t)(size - at) : sizeof some;
        if (pf_store_read(stops, at, some, n, error) < 0 || pf_pass_step(pass, at, size, error) < 0)
            return -1;
        for (size_t i = 0; i < n / sizeof *some; i++)
            if (pair(pairing, &some[i], error) < 0)
                return -1;
        at += n;
    }
    if (!pairing->n_edges)
        return 0;
    if (add_starts(pairing, error) < 0)
        return -1;
    pair_edges(pairing);
    return 0;
}

int afperf_pair_stops(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct pairing pairing = {.model = model};
    int result = pair_all(&pairing, pass, error);
    afperf_open_free(pairing.regions);
    afperf_open_free(pairing.intervals);
    free(pairing.anonymous);
    free(pairing.edges);
    return result;
}
