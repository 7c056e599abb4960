/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/log.h"
#include "formats/afperf/tables.h"

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint64_t run, event, pause;
};

/*
 * The table "trace": run by run the events of the timeline, and between them pauses, by time. Of one context only those runs are
 * walked through that have it, and where regions nest as they come not even these: regions of one path follow each other then,
 * each has its start and its stop before the next.
 */
struct walk {
    const struct afperf_model *model;
    struct pf_restriction only;
    struct afperf_log_reader timeline;
    struct afperf_reader *reader; /* for tags */
    struct position at; /* event: of the run, or in a node; pause: its starts are even, its ends odd */
    uint32_t node;      /* of one context: in that run, or AFPERF_NONE */
};

/* Whether events are taken from the regions of the node, which are numbered by time: the start of n is event 2n, its stop 2n + 1. */
static bool is_by_regions(const struct walk *walk)
{
    const struct afperf_model *model = walk->model;
    return walk->only.context >= 0 && walk->node != AFPERF_NONE && !model->runs[walk->at.run].tangled &&
           model->tree->kind[walk->only.context] == AFPERF_KIND_REGION;
}

/* Goes to the first event of a run; of one context, of this run or the next one that has it. */
static void go_to_run(struct walk *walk, uint64_t run)
{
    const struct afperf_model *model = walk->model;
    walk->at = (struct position){.run = run};
    if (walk->only.context < 0)
        return;
    if (walk->node == AFPERF_NONE || model->nodes[walk->node].run > run)
        walk->node = afperf_first_node(model, (uint32_t)walk->only.context);
    while (walk->node != AFPERF_NONE && model->nodes[walk->node].run < run)
        walk->node = model->nodes[walk->node].next;
    walk->at.run = walk->node == AFPERF_NONE ? model->n_runs : model->nodes[walk->node].run;
    if (is_by_regions(walk)) {
        uint32_t first, end;
        afperf_regions_of_node(model, &model->nodes[walk->node], &first, &end);
        walk->at.event = 2 * (uint64_t)first;
    }
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->model = afperf_model(cursor->profile);
    walk->only = cursor->only;
    walk->reader = afperf_reader_new(walk->model->input);
    if (!walk->reader)
        return pf_fail_memory(error);
    walk->node = AFPERF_NONE;
    go_to_run(walk, cursor->only.partition >= 0 ? (uint64_t)cursor->only.partition : 0);
    return afperf_log_reader_init(&walk->timeline, walk->model->timeline, error);
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    afperf_reader_free(walk->reader);
    afperf_log_reader_free(&walk->timeline);
    free(walk);
}

static const struct afperf_span *span_of(const struct afperf_model *model, uint64_t event, bool *region,
                                         bool *start)
{
    enum afperf_event kind = afperf_event_kind(event);
    *region = kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_REGION_STOP;
    *start = kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_INTERVAL_START;
    return afperf_span(*region ? &model->regions : &model->intervals, afperf_event_number(event));
}

static void pause_cells(struct walk *walk, uint64_t time, struct pf_cell *cells)
{
    bool resume = walk->at.pause++ % 2;
    cells[AFPERF_TRACE_TIME] = pf_uint(time);
    cells[AFPERF_TRACE_EVENT] = resume ? pf_plain("resume", 6) : pf_plain("pause", 5);
    cells[AFPERF_TRACE_CONTEXT] = pf_absent();
    cells[AFPERF_TRACE_TAGS] = pf_absent();
}

static int event_cells(struct walk *walk, uint64_t event, struct pf_cell *cells, struct pf_error *error)
{
    static const char *const names[2][2] = {{"section-stop", "section-start"},
                                            {"region-stop", "region-start"}};
    const struct afperf_model *model = walk->model;
    bool region, start;
    const struct afperf_span *span = span_of(model, event, &region, &start);
    const char *name = names[region][start];
    cells[AFPERF_TRACE_TIME] = pf_uint(start ? span->start : span->stop);
    cells[AFPERF_TRACE_EVENT] = pf_plain(name, strlen(name));
    cells[AFPERF_TRACE_CONTEXT] =
        pf_int(region ? model->nodes[span->owner].context : model->sections[span->owner].context);
    cells[AFPERF_TRACE_TAGS] = pf_absent();
    if (!start)
        return 0;
    struct afperf_text tags = {"", 0};
    if (region && afperf_region_tags(model, walk->reader, span, &tags, error) < 0)
        return -1;
    if (tags.size)
        cells[AFPERF_TRACE_TAGS] = pf_text(tags.text, tags.size);
    else if (!region)
        cells[AFPERF_TRACE_TAGS] = pf_interned(model->strings, model->sections[span->owner].tags);
    return 0;
}

/* The next row of the run. 1; 0: there are no more; -1: *error filled. */
static int next_of_run(struct walk *walk, struct pf_cell *cells, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_run *run = &model->runs[walk->at.run];
    bool events = walk->at.event < run->n_events, pauses = walk->at.pause < 2 * (uint64_t)run->n_pauses;
    uint64_t event = 0, time = UINT64_MAX, pause_time = 0;
    if (!events && !pauses)
        return 0;
    if (events) {
        bool region, start;
        if (afperf_log_get(&walk->timeline, run->events + walk->at.event, &event, error) < 0)
            return -1;
        const struct afperf_span *span = span_of(model, event, &region, &start);
        time = start ? span->start : span->stop;
    }
    if (pauses) {
        const struct afperf_pause *pause = &model->pauses[run->pauses + walk->at.pause / 2];
        pause_time = walk->at.pause % 2 ? pause->stop : pause->start;
    }
    if (pauses && (!events || pause_time <= time)) {
        pause_cells(walk, pause_time, cells);
        return 1;
    }
    walk->at.event++;
    return event_cells(walk, event, cells, error) < 0 ? -1 : 1;
}

/* The same, from the regions of the node. */
static int next_of_node(struct walk *walk, struct pf_cell *cells, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    uint32_t first, end;
    afperf_regions_of_node(model, &model->nodes[walk->node], &first, &end);
    for (; walk->at.event < 2 * (uint64_t)end; walk->at.event += 2) {
        uint32_t region = (uint32_t)(walk->at.event / 2);
        if (afperf_span(&model->regions, region)->owner != walk->node)
            continue;
        bool stop = walk->at.event++ % 2;
        enum afperf_event kind = stop ? AFPERF_EVENT_REGION_STOP : AFPERF_EVENT_REGION_START;
        return event_cells(walk, afperf_event(kind, region), cells, error) < 0 ? -1 : 1;
    }
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct pf_restriction *only = &walk->only;
    while (walk->at.run < walk->model->n_runs &&
           (only->partition < 0 || walk->at.run == (uint64_t)only->partition)) {
        int got = (is_by_regions(walk) ? next_of_node : next_of_run)(walk, cells, error);
        if (got < 0)
            return -1;
        if (!got) {
            go_to_run(walk, walk->at.run + 1);
            continue;
        }
        const struct pf_cell *context = &cells[AFPERF_TRACE_CONTEXT];
        if (only->context >= 0 && (context->type != PF_INT || context->i != only->context))
            continue;
        cells[AFPERF_TRACE_RUN] = pf_int((int64_t)walk->at.run);
        return 1;
    }
    return 0;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->at)
        memcpy(blob, &walk->at, sizeof walk->at);
    return sizeof walk->at;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    struct position at;
    if (size != sizeof at)
        return pf_fail(error, EINVAL, "a saved position has a wrong size");
    memcpy(&at, blob, sizeof at);
    if (at.run > model->n_runs)
        return pf_fail(error, EINVAL, "a saved position is not in the table");
    bool before = walk->only.partition >= 0 && at.run < (uint64_t)walk->only.partition;
    go_to_run(walk, before ? (uint64_t)walk->only.partition : at.run);
    if (walk->at.run != at.run || at.run == model->n_runs) /* all rows of the next run follow, or none */
        return 0;
    const struct afperf_run *run = &model->runs[at.run];
    uint64_t events = is_by_regions(walk) ? 2 * (uint64_t)model->regions.count : run->n_events;
    if (at.event > events || at.pause > 2 * (uint64_t)run->n_pauses || at.event < walk->at.event)
        return pf_fail(error, EINVAL, "a saved position is not in the table");
    walk->at = at;
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    uint64_t all = pf_store_size(model->timeline) / sizeof(uint64_t);
    if (walk->at.run >= model->n_runs || !all)
        return 1;
    const struct afperf_run *run = &model->runs[walk->at.run];
    if (walk->only.context >= 0)
        return (double)walk->at.run / (double)model->n_runs;
    if (walk->only.partition >= 0)
        return run->n_events ? (double)walk->at.event / (double)run->n_events : 1;
    return (double)(run->events + walk->at.event) / (double)all;
}

const struct pf_cursor_ops afperf_trace_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};
