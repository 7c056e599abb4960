/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/log.h"
#include "formats/afperf/model.h"
#include "formats/kit/sorter.h"

/*
 * Starts and stops by run, in each run by time and, at equal times, as they stand in the file: but a region without length
 * never stops before it starts. Most runs write their events in the order of time; the others are sorted.
 */

/* Events of the log that are looked at between two steps. */
enum { EVENTS_A_STEP = 1 << 16 };

/* Events held for all runs together before they are written. */
enum { BUFFERED = 1 << 17 };

struct timeline {
    struct afperf_model *model;
    uint64_t *buffers; /* `room` events for each run */
    uint32_t *used;
    size_t room;
};

/* What an event starts or stops; NULL if it does not, or is told of elsewhere. *run and *time are its. */
static const struct afperf_span *span_of(const struct afperf_model *model, uint64_t event, uint32_t *run,
                                         uint64_t *time)
{
    enum afperf_event kind = afperf_event_kind(event);
    uint32_t number = afperf_event_number(event);
    if (kind == AFPERF_EVENT_RUN || kind == AFPERF_EVENT_SECTION || kind == AFPERF_EVENT_LOST_STOP ||
        number == AFPERF_NONE)
        return NULL;
    bool region = kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_REGION_STOP;
    bool start = kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_INTERVAL_START;
    const struct afperf_span *span = afperf_span(region ? &model->regions : &model->intervals, number);
    if (!start && span->flags & AFPERF_EARLY_STOP)
        return NULL;
    *run = region ? afperf_region_run(model, span) : afperf_interval_run(model, span);
    *time = start ? span->start : span->stop;
    return span;
}

/* True if the event that stops a region comes with that which starts it. */
static bool stops_too(const struct afperf_span *span, uint64_t event)
{
    return afperf_event_kind(event) == AFPERF_EVENT_REGION_START && span->flags & AFPERF_EARLY_STOP;
}

/* ---- how long runs last ------------------------------------------------------------------------- */

static void lasts_until(struct afperf_run *run, const struct afperf_span *span)
{
    uint64_t last = span->flags & AFPERF_CLOSED ? span->stop : span->start;
    if (last > run->end)
        run->end = last;
}

/* Spans that are looked at between two steps. */
enum { SPANS_A_STEP = 1 << 18 };

int afperf_find_ends(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    for (uint32_t i = 0; i < model->regions.count; i++) {
        const struct afperf_span *region = afperf_span(&model->regions, i);
        if (i % SPANS_A_STEP == 0 && pf_pass_step(pass, i, model->regions.count, error) < 0)
            return -1;
        lasts_until(&model->runs[afperf_region_run(model, region)], region);
    }
    for (uint32_t i = 0; i < model->intervals.count; i++) {
        const struct afperf_span *interval = afperf_span(&model->intervals, i);
        lasts_until(&model->runs[afperf_interval_run(model, interval)], interval);
    }
    return 0;
}

/* ---- counting ----------------------------------------------------------------------------------- */

/* Counts the events of each run, and sees whether they are in order. */
static int count_events(struct timeline *timeline, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_model *model = timeline->model;
    struct afperf_log_reader log;
    uint64_t n = pf_store_size(model->log) / sizeof(uint64_t), event, time;
    uint32_t number;
    int result = afperf_log_reader_init(&log, model->log, error);
    for (uint64_t i = 0; i < n && !result; i++) {
        if (i % EVENTS_A_STEP == 0 && (result = pf_pass_step(pass, i, 2 * n, error)) < 0)
            break;
        result = afperf_log_get(&log, i, &event, error);
        const struct afperf_span *span = result ? NULL : span_of(model, event, &number, &time);
        if (!span)
            continue;
        struct afperf_run *run = &model->runs[number];
        run->n_events += 1 + stops_too(span, event);
        run->unordered |= time < run->last_time;
        run->last_time = time;
    }
    afperf_log_reader_free(&log);
    return result;
}

/* ---- by run ------------------------------------------------------------------------------------- */

/* Writes what is held of a run behind what has been written of it; run->last_time counts that here. */
static int write_run(struct timeline *timeline, uint32_t number, struct pf_error *error)
{
    struct afperf_run *run = &timeline->model->runs[number];
    uint64_t at = run->events + run->last_time;
    run->last_time += timeline->used[number];
    size_t size = timeline->used[number] * sizeof(uint64_t);
    timeline->used[number] = 0;
    return pf_store_write(timeline->model->timeline, at * sizeof(uint64_t),
                          timeline->buffers + number * timeline->room, size, error);
}

static int add_event(struct timeline *timeline, uint32_t run, uint64_t event, struct pf_error *error)
{
    timeline->buffers[run * timeline->room + timeline->used[run]++] = event;
    return timeline->used[run] == timeline->room ? write_run(timeline, run, error) : 0;
}

static int distribute(struct timeline *timeline, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_model *model = timeline->model;
    struct afperf_log_reader log;
    uint64_t n = pf_store_size(model->log) / sizeof(uint64_t), event, time;
    uint32_t run;
    int result = afperf_log_reader_init(&log, model->log, error);
    for (uint64_t i = 0; i < n && !result; i++) {
        if (i % EVENTS_A_STEP == 0 && (result = pf_pass_step(pass, n + i, 2 * n, error)) < 0)
            break;
        result = afperf_log_get(&log, i, &event, error);
        const struct afperf_span *span = result ? NULL : span_of(model, event, &run, &time);
        if (!span)
            continue;
        result = add_event(timeline, run, event, error);
        if (!result && stops_too(span, event))
            result = add_event(timeline, run,
                               afperf_event(AFPERF_EVENT_REGION_STOP, afperf_event_number(event)), error);
    }
    for (uint32_t i = 0; i < model->n_runs && !result; i++)
        result = write_run(timeline, i, error);
    afperf_log_reader_free(&log);
    return result;
}

/* ---- by time ------------------------------------------------------------------------------------ */

/* What is sorted: an event's time, its number in the run, which keeps the order of equal times, and what it is. */
enum { TIME, NUMBER, EVENT, WORDS };

static int add_timed(const struct afperf_model *model, const struct afperf_run *run, struct pf_sorter *sorter,
                     struct pf_error *error)
{
    struct afperf_log_reader log;
    uint64_t record[WORDS] = {0};
    uint32_t number;
    int result = afperf_log_reader_init(&log, model->timeline, error);
    for (uint64_t i = 0; i < run->n_events && !result; i++) {
        result = afperf_log_get(&log, run->events + i, &record[EVENT], error);
        if (result)
            break;
        /* Of a stop that comes early there is no time: it stands behind its start, whose time it has. */
        span_of(model, record[EVENT], &number, &record[TIME]);
        record[NUMBER] = i;
        result = pf_sorter_add(sorter, record, error);
    }
    afperf_log_reader_free(&log);
    return result ? result : pf_sorter_finish(sorter, error);
}

static int write_sorted(struct afperf_model *model, const struct afperf_run *run, struct pf_sorter *sorter,
                        struct pf_error *error)
{
    struct afperf_log_writer log;
    const uint64_t *record;
    int more = afperf_log_writer_init(&log, model->timeline, error) < 0 ? -1 : 1;
    for (uint64_t i = 0; more > 0 && (more = pf_sorter_next(sorter, &record, error)) > 0; i++)
        if (afperf_log_set(&log, run->events + i, record[EVENT], error) < 0)
            more = -1;
    if (!more)
        more = afperf_log_flush(&log, error);
    afperf_log_writer_free(&log);
    return more;
}

static int sort_run(struct afperf_model *model, const struct afperf_run *run, struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(WORDS, NUMBER + 1, AFPERF_LIST_HELD);
    if (!sorter)
        return pf_fail_memory(error);
    int result = add_timed(model, run, sorter, error);
    if (!result)
        result = write_sorted(model, run, sorter, error);
    pf_sorter_free(sorter);
    return result;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static int make_room(struct timeline *timeline, struct pf_error *error)
{
    struct afperf_model *model = timeline->model;
    size_t n = model->n_runs + 1;
    uint64_t events = 0;
    timeline->room = BUFFERED / n < 1 ? 1 : BUFFERED / n > 4096 ? 4096 : BUFFERED / n;
    timeline->buffers = calloc(n * timeline->room, sizeof *timeline->buffers);
    timeline->used = calloc(n, sizeof *timeline->used);
    if (!timeline->buffers || !timeline->used)
        return pf_fail_memory(error);
    for (size_t i = 0; i < model->n_runs; i++) {
        model->runs[i].events = events;
        model->runs[i].last_time = 0;
        events += model->runs[i].n_events;
    }
    return 0;
}

/* Forgets what an earlier attempt has left. */
static int start_anew(struct afperf_model *model, struct pf_error *error)
{
    pf_store_free(model->timeline);
    model->timeline = pf_store_new(AFPERF_LIST_HELD);
    for (size_t i = 0; i < model->n_runs; i++) {
        struct afperf_run *run = &model->runs[i];
        run->n_events = run->last_time = 0;
        run->unordered = false;
    }
    return model->timeline ? 0 : pf_fail_memory(error);
}

int afperf_make_timeline(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct timeline timeline = {.model = model};
    int result = -1;
    if (model->has_timeline)
        return 0;
    if (start_anew(model, error) < 0)
        return -1;
    if (count_events(&timeline, pass, error) == 0 && make_room(&timeline, error) == 0)
        result = distribute(&timeline, pass, error);
    free(timeline.buffers);
    free(timeline.used);
    for (size_t i = 0; i < model->n_runs && !result; i++)
        if (model->runs[i].unordered)
            result = sort_run(model, &model->runs[i], error);
    model->has_timeline = !result;
    return result;
}
