/* SPDX-License-Identifier: MIT */
#include "formats/afperf/log.h"
#include "formats/afperf/model.h"
#include "formats/kit/sorter.h"

/*
 * Regions without ids: a stop closes the innermost one that is open at its time. While reading, this was taken to be the order
 * in the file; runs for which it was not are paired anew here, in the order of time. What is sorted is an edge: a start or stop.
 */
enum {
    RUN,
    TIME,
    EVENT,  /* number in the log */
    REGION, /* that starts; AFPERF_NONE: a stop */
    WORDS
};

struct edges {
    struct afperf_model *model;
    struct pf_sorter *edges; /* by run, in it by time, at equal times as in the file */
    struct pf_sorter *lost;  /* events that stop nothing */
    struct afperf_log_writer log;
};

/* Events that are looked at between two steps, and bytes that are read. */
enum { EVENTS_A_STEP = 1 << 16, BYTES_A_STEP = 1 << 20 };

static bool concerns(const struct afperf_model *model, uint32_t run)
{
    return run != AFPERF_NONE && model->runs[run].pair_anew;
}

/* The edge that an event of the log is, if it is one that starts or stops a region of such a run. */
static bool is_edge(const struct afperf_model *model, uint64_t event, uint64_t *record)
{
    enum afperf_event kind = afperf_event_kind(event);
    uint32_t number = afperf_event_number(event);
    bool start = kind == AFPERF_EVENT_REGION_START;
    if ((!start && kind != AFPERF_EVENT_REGION_STOP) || number == AFPERF_NONE)
        return false;
    const struct afperf_span *region = afperf_span(&model->regions, number);
    record[RUN] = afperf_region_run(model, region);
    record[TIME] = start ? region->start : region->stop;
    record[REGION] = start ? number : AFPERF_NONE;
    return region->flags & AFPERF_ANONYMOUS && concerns(model, (uint32_t)record[RUN]);
}

/* Starts, and stops that closed something. */
static int gather_paired(struct edges *edges, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_log_reader log;
    uint64_t n = pf_store_size(edges->model->log) / sizeof(uint64_t), event, record[WORDS];
    int result = afperf_log_reader_init(&log, edges->model->log, error);
    for (uint64_t i = 0; i < n && !result; i++) {
        if (i % EVENTS_A_STEP == 0 && (result = pf_pass_step(pass, i, n, error)) < 0)
            break;
        result = afperf_log_get(&log, i, &event, error);
        record[EVENT] = i;
        if (!result && is_edge(edges->model, event, record))
            result = pf_sorter_add(edges->edges, record, error);
    }
    afperf_log_reader_free(&log);
    return result;
}

/* Stops that closed nothing. */
static int gather_unpaired(struct edges *edges, struct pf_error *error)
{
    const struct afperf_model *model = edges->model;
    struct afperf_stop stop;
    uint64_t size = pf_store_size(model->stops);
    for (uint64_t at = 0; at < size; at += sizeof stop) {
        if (pf_store_read(model->stops, at, &stop, sizeof stop, error) < 0)
            return -1;
        if (!stop.region || stop.id.given || !concerns(model, model->refs[stop.owner].run))
            continue;
        const uint64_t record[WORDS] = {model->refs[stop.owner].run, stop.time, stop.event, AFPERF_NONE};
        if (pf_sorter_add(edges->edges, record, error) < 0)
            return -1;
    }
    return 0;
}

/* A stop at this time closes the region, if there is one. */
static int stop_region(struct edges *edges, uint32_t number, const uint64_t *record, struct pf_error *error)
{
    if (number != AFPERF_NONE) {
        struct afperf_span *region = afperf_span(&edges->model->regions, number);
        region->stop = record[TIME];
        region->flags |= AFPERF_CLOSED;
    } else if (pf_sorter_add(edges->lost, &record[EVENT], error) < 0) {
        return -1;
    }
    return afperf_log_set(&edges->log, record[EVENT], afperf_event(AFPERF_EVENT_REGION_STOP, number), error);
}

/* Pairs all edges, which have been sorted. */
static int pair(struct edges *edges, struct pf_error *error)
{
    const uint64_t *record;
    uint64_t run = AFPERF_NONE;
    uint32_t top = 0; /* innermost open region, plus 1 */
    int more;
    while ((more = pf_sorter_next(edges->edges, &record, error)) > 0) {
        if (record[RUN] != run)
            top = 0;
        run = record[RUN];
        if (record[REGION] != AFPERF_NONE) {
            struct afperf_span *region = afperf_span(&edges->model->regions, (uint32_t)record[REGION]);
            region->open_below = top;
            region->flags &= (uint8_t)~AFPERF_CLOSED;
            top = (uint32_t)record[REGION] + 1;
            continue;
        }
        uint32_t closed = top - 1; /* AFPERF_NONE if there is none */
        top = top ? afperf_span(&edges->model->regions, closed)->open_below : 0;
        if (stop_region(edges, closed, record, error) < 0)
            return -1;
    }
    return more < 0 ? -1 : afperf_log_flush(&edges->log, error);
}

/* Notes the stops that closed nothing. Where in the file they stand is found by counting the records that the log tells of. */
static int note_lost(struct edges *edges, struct afperf_reader *reader, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct afperf_model *model = edges->model;
    struct afperf_record record;
    struct afperf_decoded decoded;
    const uint64_t *lost;
    uint64_t event = 0, stepped = 0;
    int more = pf_sorter_next(edges->lost, &lost, error);
    while (more > 0 && (more = afperf_next_decoded(reader, &record, &decoded, error)) > 0) {
        if (record.offset - stepped >= BYTES_A_STEP) {
            stepped = record.offset;
            if (pf_pass_step(pass, stepped, model->end, error) < 0)
                return -1;
        }
        if (record.kind != AFPERF_FIELDS || decoded.error || !afperf_is_mark(decoded.type) ||
            event++ != *lost)
            continue;
        if (afperf_note(&model->notes, AFPERF_STOP_WITHOUT_START, record.offset, record.line, error) < 0)
            return -1;
        more = pf_sorter_next(edges->lost, &lost, error);
    }
    return more < 0 ? -1 : 0;
}

static int pair_edges(struct edges *edges, struct pf_pass *pass, struct pf_error *error)
{
    if (gather_paired(edges, pass, error) < 0 || gather_unpaired(edges, error) < 0 ||
        pf_sorter_finish(edges->edges, error) < 0 || pair(edges, error) < 0 ||
        pf_sorter_finish(edges->lost, error) < 0)
        return -1;
    struct afperf_reader *reader = afperf_reader_new(edges->model->input);
    int result = reader ? note_lost(edges, reader, pass, error) : pf_fail_memory(error);
    afperf_reader_free(reader);
    return result;
}

int afperf_pair_anew(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    bool any = false;
    for (size_t i = 0; i < model->n_runs; i++)
        any |= model->runs[i].pair_anew;
    if (!any)
        return 0;
    struct edges edges = {.model = model,
                          .edges = pf_sorter_new(WORDS, EVENT + 1, AFPERF_LIST_HELD),
                          .lost = pf_sorter_new(1, 1, AFPERF_LIST_HELD)};
    int result = edges.edges && edges.lost ? afperf_log_writer_init(&edges.log, model->log, error)
                                           : pf_fail_memory(error);
    if (!result)
        result = pair_edges(&edges, pass, error);
    afperf_log_writer_free(&edges.log);
    pf_sorter_free(edges.edges);
    pf_sorter_free(edges.lost);
    return result;
}
