/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/kit/array.h"

/* A saved position. */
struct position {
    uint64_t run;
    uint64_t event; /* of the run, the next to look at */
    uint64_t pause; /* likewise: its starts are even, its ends odd */
};

/*
 * The table "trace": run by run the events of the timeline, and between them pauses, by time. Of one context only those runs are
 * walked through that have it, and in these the events of its regions or intervals.
 */
struct walk {
    const struct afperf_model *model;
    struct pf_restriction only;
    struct afperf_reader *reader; /* for tags */
    struct position at;
    uint32_t *events; /* of the context in the run, by their places in the timeline */
    size_t n, next, room;
};

enum { TIME = 1, EVENT, CONTEXT, TAG_TEXT };
static const struct pf_column columns[] = {
    AFPERF_RUN,     AFPERF_PLAIN("time"), AFPERF_PLAIN("event"),
    AFPERF_CONTEXT, AFPERF_PLAIN("tags"), {"name", PF_CONTEXT_NAME, 0},
};

/* ---- the events of a context -------------------------------------------------------------------- */

static int add_span(struct walk *walk, const struct afperf_span *span, struct pf_error *error)
{
    if (pf_array_room(&walk->events, &walk->room, walk->n + 1, sizeof *walk->events, error))
        return -1;
    walk->events[walk->n++] = span->start_event;
    if (span->stop_event != AFPERF_NONE)
        walk->events[walk->n++] = span->stop_event;
    return 0;
}

static int list_regions(struct walk *walk, uint32_t number, struct pf_error *error)
{
    const struct afperf_node *node = &walk->model->nodes[number];
    const struct afperf_span *regions = walk->model->regions.items;
    for (uint32_t i = node->first_region; node->calls && i <= node->last_region; i++)
        if (regions[i].owner == number && add_span(walk, &regions[i], error) < 0)
            return -1;
    return 0;
}

static int list_intervals(struct walk *walk, const struct afperf_node *node, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    for (size_t s = 0; s < model->n_sections; s++) {
        const struct afperf_section *section = &model->sections[s];
        if (section->run != node->run || section->context != node->context)
            continue;
        for (uint32_t i = section->first; i < section->first + section->count; i++)
            if (add_span(walk, &model->intervals.items[model->interval_order[i]], error) < 0)
                return -1;
    }
    return 0;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static int list_events(struct walk *walk, uint32_t number, struct pf_error *error)
{
    const struct afperf_node *node = &walk->model->nodes[number];
    bool region = walk->model->tree->kind[node->context] == AFPERF_KIND_REGION;
    walk->n = walk->next = 0;
    if ((region ? list_regions(walk, number, error) : list_intervals(walk, node, error)) < 0)
        return -1;
    if (walk->n)
        qsort(walk->events, walk->n, sizeof *walk->events, by_number);
    return 0;
}

/* Goes to the first event of a run; of one context, of this run or the next one that has it. */
static int go_to_run(struct walk *walk, uint64_t run, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    walk->at = (struct position){.run = run};
    if (walk->only.context < 0)
        return 0;
    uint32_t node = afperf_first_node(model, (uint32_t)walk->only.context);
    while (node != AFPERF_NONE && model->nodes[node].run < run)
        node = model->nodes[node].next;
    walk->at.run = node == AFPERF_NONE ? model->n_runs : model->nodes[node].run;
    bool other = walk->only.partition >= 0 && walk->at.run != (uint64_t)walk->only.partition;
    return node == AFPERF_NONE || other ? 0 : list_events(walk, node, error);
}

/* ---- the cursor --------------------------------------------------------------------------------- */

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
    return go_to_run(walk, cursor->only.partition >= 0 ? (uint64_t)cursor->only.partition : 0, error);
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    afperf_reader_free(walk->reader);
    free(walk->events);
    free(walk);
}

static void pause_cells(struct walk *walk, uint64_t time, struct pf_cell *cells)
{
    bool resume = walk->at.pause++ % 2;
    cells[TIME] = pf_uint(time);
    cells[EVENT] = resume ? pf_plain("resume", 6) : pf_plain("pause", 5);
    cells[CONTEXT] = pf_absent();
    cells[TAG_TEXT] = pf_absent();
}

static int event_cells(struct walk *walk, uint32_t event, struct pf_cell *cells, struct pf_error *error)
{
    static const char *const names[] = {
        [AFPERF_EVENT_REGION_START] = "region-start",
        [AFPERF_EVENT_REGION_STOP] = "region-stop",
        [AFPERF_EVENT_INTERVAL_START] = "section-start",
        [AFPERF_EVENT_INTERVAL_STOP] = "section-stop",
    };
    const struct afperf_model *model = walk->model;
    const char *name = names[afperf_event_kind(event)];
    bool region = afperf_event_is_region(event);
    uint32_t run;
    uint64_t time;
    const struct afperf_span *span = afperf_event_span(model, event, &run, &time);
    cells[TIME] = pf_uint(time);
    cells[EVENT] = pf_plain(name, strlen(name));
    cells[CONTEXT] =
        pf_int(region ? model->nodes[span->owner].context : model->sections[span->owner].context);
    cells[TAG_TEXT] = pf_absent();
    if (afperf_event_kind(event) == AFPERF_EVENT_INTERVAL_START)
        cells[TAG_TEXT] = pf_interned(model->strings, model->sections[span->owner].tags);
    if (afperf_event_kind(event) != AFPERF_EVENT_REGION_START)
        return 0;
    struct afperf_text tags;
    if (afperf_region_tags(model, walk->reader, span, &tags, error) < 0)
        return -1;
    if (tags.size)
        cells[TAG_TEXT] = pf_text(tags.text, tags.size);
    return 0;
}

/* The next row of the run. 1; 0: there are no more; -1: *error filled. */
static int next_of_run(struct walk *walk, struct pf_cell *cells, struct pf_error *error)
{
    const struct afperf_model *model = walk->model;
    const struct afperf_run *run = &model->runs[walk->at.run];
    bool events = walk->at.event < run->n_events, pauses = walk->at.pause < 2 * (uint64_t)run->n_pauses;
    uint32_t event = events ? model->timeline[run->events + walk->at.event] : 0, number;
    uint64_t time = UINT64_MAX;
    if (!events && !pauses)
        return 0;
    if (events)
        afperf_event_span(model, event, &number, &time);
    if (pauses) {
        const struct afperf_pause *pause = &model->pauses[run->pauses + walk->at.pause / 2];
        uint64_t pause_time = walk->at.pause % 2 ? pause->stop : pause->start;
        if (!events || pause_time <= time) {
            pause_cells(walk, pause_time, cells);
            return 1;
        }
    }
    walk->at.event++;
    return event_cells(walk, event, cells, error) < 0 ? -1 : 1;
}

/* The same of the context. */
static int next_of_context(struct walk *walk, struct pf_cell *cells, struct pf_error *error)
{
    const struct afperf_run *run = &walk->model->runs[walk->at.run];
    while (walk->next < walk->n && walk->events[walk->next] < run->events + walk->at.event)
        walk->next++;
    if (walk->next == walk->n)
        return 0;
    uint32_t at = walk->events[walk->next++];
    walk->at.event = at - run->events + 1;
    return event_cells(walk, walk->model->timeline[at], cells, error) < 0 ? -1 : 1;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct pf_restriction *only = &walk->only;
    while (walk->at.run < walk->model->n_runs &&
           (only->partition < 0 || walk->at.run == (uint64_t)only->partition)) {
        int got = (only->context < 0 ? next_of_run : next_of_context)(walk, cells, error);
        if (got < 0 || (!got && go_to_run(walk, walk->at.run + 1, error) < 0))
            return -1;
        if (!got)
            continue;
        cells[0] = pf_int((int64_t)walk->at.run);
        return 1;
    }
    return 0;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.run > model->n_runs)
        return pf_position_refuse(error);
    bool before = walk->only.partition >= 0 && at.run < (uint64_t)walk->only.partition;
    if (go_to_run(walk, before ? (uint64_t)walk->only.partition : at.run, error) < 0)
        return -1;
    if (walk->at.run != at.run || at.run == model->n_runs) /* all rows of the next run follow, or none */
        return 0;
    const struct afperf_run *run = &model->runs[at.run];
    if (at.event > run->n_events || at.pause > 2 * (uint64_t)run->n_pauses)
        return pf_position_refuse(error);
    walk->at = at;
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    if (walk->at.run >= model->n_runs)
        return 1;
    const struct afperf_run *run = &model->runs[walk->at.run];
    double done = (double)(walk->at.event + 1) / (double)(run->n_events + UINT64_C(1));
    return walk->only.partition >= 0 ? done : ((double)walk->at.run + done) / (double)model->n_runs;
}

static const struct pf_cursor_ops cursor_ops = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};

const struct pf_table afperf_trace_table = {.name = "trace",
                                            AFPERF_COLUMNS(columns),
                                            .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                            .ops = &cursor_ops};
