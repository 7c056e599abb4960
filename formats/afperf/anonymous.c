/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/log.h"
#include "formats/afperf/model.h"

/*
 * Regions without ids: a stop closes the innermost one that is open at its time. While reading, this was taken to be the order
 * in the file; runs for which it was not are paired anew here, in the order of time.
 */
struct edge {
    uint64_t time;
    uint64_t event;        /* in the log */
    uint64_t offset, line; /* of a stop that closed nothing; line 0: not known */
    uint32_t run;
    uint32_t region; /* that starts; AFPERF_NONE: a stop */
};

struct edges {
    struct edge *edge;
    size_t n_edge, edge_room;
};

static bool concerns(const struct afperf_model *model, uint32_t run)
{
    return run != AFPERF_NONE && model->runs[run].pair_anew;
}

/* Starts, and stops that closed something. */
static int gather_paired(struct afperf_model *model, struct edges *edges, struct pf_error *error)
{
    struct afperf_log_reader log;
    uint64_t n = pf_store_size(model->log) / sizeof(uint64_t), event;
    int result = afperf_log_reader_init(&log, model->log, error);
    for (uint64_t i = 0; i < n && !result; i++) {
        result = afperf_log_get(&log, i, &event, error);
        if (result)
            break;
        enum afperf_event kind = afperf_event_kind(event);
        bool start = kind == AFPERF_EVENT_REGION_START;
        uint32_t number = afperf_event_number(event);
        if ((!start && kind != AFPERF_EVENT_REGION_STOP) || number == AFPERF_NONE)
            continue;
        const struct afperf_span *region = afperf_span(&model->regions, number);
        uint32_t run = afperf_region_run(model, region);
        if (!(region->flags & AFPERF_ANONYMOUS) || !concerns(model, run))
            continue;
        result = AFPERF_GROW(edges, edge, error);
        if (!result)
            edges->edge[edges->n_edge++] = (struct edge){.time = start ? region->start : region->stop,
                                                         .event = i,
                                                         .run = run,
                                                         .region = start ? number : AFPERF_NONE};
    }
    afperf_log_reader_free(&log);
    return result;
}

/* Stops that closed nothing. */
static int gather_unpaired(struct afperf_model *model, struct edges *edges, struct pf_error *error)
{
    struct afperf_stop stop;
    uint64_t size = pf_store_size(model->stops);
    for (uint64_t at = 0; at < size; at += sizeof stop) {
        if (pf_store_read(model->stops, at, &stop, sizeof stop, error) < 0)
            return -1;
        if (!stop.region || stop.id.given || !concerns(model, model->refs[stop.owner].run))
            continue;
        if (AFPERF_GROW(edges, edge, error) < 0)
            return -1;
        edges->edge[edges->n_edge++] = (struct edge){.time = stop.time,
                                                     .event = stop.event,
                                                     .offset = stop.offset,
                                                     .line = stop.line,
                                                     .run = model->refs[stop.owner].run,
                                                     .region = AFPERF_NONE};
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

static int by_event(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Pairs all edges, which are sorted. The stops that close nothing are put at the front: returns how many, or SIZE_MAX. */
static size_t pair(struct afperf_model *model, struct edges *edges, struct afperf_log_writer *log,
                   struct pf_error *error)
{
    uint32_t top = 0; /* innermost open region, plus 1 */
    size_t left = 0;
    for (size_t i = 0; i < edges->n_edge; i++) {
        const struct edge edge = edges->edge[i];
        if (i && edge.run != edges->edge[i - 1].run)
            top = 0;
        if (edge.region != AFPERF_NONE) {
            struct afperf_span *region = afperf_span(&model->regions, edge.region);
            region->open_below = top;
            region->flags &= (uint8_t)~AFPERF_CLOSED;
            top = edge.region + 1;
            continue;
        }
        uint32_t closed = top ? top - 1 : AFPERF_NONE;
        if (top) {
            struct afperf_span *region = afperf_span(&model->regions, closed);
            top = region->open_below;
            region->stop = edge.time;
            region->flags |= AFPERF_CLOSED;
        }
        if (afperf_log_set(log, edge.event, afperf_event(AFPERF_EVENT_REGION_STOP, closed), error) < 0)
            return SIZE_MAX;
        if (closed == AFPERF_NONE)
            edges->edge[left++] = edge;
    }
    return left;
}

/* Finds where in the file the events stand whose place is not known, by counting the records that the log tells of. */
static int find_places(struct afperf_model *model, struct edge *stops, size_t n, struct pf_error *error)
{
    struct afperf_reader *reader = afperf_reader_new(model->input);
    struct afperf_record record;
    struct afperf_decoded decoded;
    uint64_t event = 0;
    int got = reader ? 1 : pf_fail_memory(error);
    for (size_t i = 0; i < n && got > 0;) {
        if (stops[i].line) {
            i++;
            continue;
        }
        got = afperf_next_decoded(reader, &record, &decoded, error);
        if (got <= 0 || record.kind != AFPERF_FIELDS || decoded.error || !afperf_is_mark(decoded.type) ||
            event++ != stops[i].event)
            continue;
        stops[i].offset = record.offset;
        stops[i].line = record.line;
    }
    afperf_reader_free(reader);
    return got < 0 ? -1 : 0;
}

static int pair_edges(struct afperf_model *model, struct edges *edges, struct pf_error *error)
{
    struct afperf_log_writer log;
    size_t left = SIZE_MAX;
    if (edges->n_edge)
        qsort(edges->edge, edges->n_edge, sizeof *edges->edge, by_run_and_time);
    if (afperf_log_writer_init(&log, model->log, error) == 0)
        left = pair(model, edges, &log, error);
    int result = left == SIZE_MAX ? -1 : afperf_log_flush(&log, error);
    afperf_log_writer_free(&log);
    if (result || !left)
        return result;
    qsort(edges->edge, left, sizeof *edges->edge, by_event);
    if (find_places(model, edges->edge, left, error) < 0)
        return -1;
    for (size_t i = 0; i < left && !result; i++)
        result = afperf_note(&model->notes, AFPERF_STOP_WITHOUT_START, edges->edge[i].offset,
                             edges->edge[i].line, error);
    return result;
}

int afperf_pair_anew(struct afperf_model *model, struct pf_error *error)
{
    bool any = false;
    for (size_t i = 0; i < model->n_runs; i++)
        any |= model->runs[i].pair_anew;
    if (!any)
        return 0;
    struct edges edges = {0};
    int result = gather_paired(model, &edges, error) < 0 || gather_unpaired(model, &edges, error) < 0
                     ? -1
                     : pair_edges(model, &edges, error);
    free(edges.edge);
    return result;
}
