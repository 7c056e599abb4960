/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"
#include "formats/kit/array.h"

/* ---- contexts and nodes ------------------------------------------------------------------------- */

/* Makes room for a context in the lists of first and last nodes. */
static int know_context(struct afperf_model *model, uint32_t context, struct pf_error *error)
{
    for (; model->n_contexts <= context; model->n_contexts++) {
        if (afperf_grow(&model->first_node, model->n_contexts, &model->first_node_room,
                        sizeof *model->first_node, error) < 0 ||
            afperf_grow(&model->last_node, model->n_contexts, &model->last_node_room,
                        sizeof *model->last_node, error) < 0)
            return -1;
        model->first_node[model->n_contexts] = model->last_node[model->n_contexts] = AFPERF_NONE;
    }
    return 0;
}

uint32_t afperf_node_of(struct afperf_model *model, uint32_t run, uint32_t context, struct pf_error *error)
{
    if (know_context(model, context, error) < 0)
        return AFPERF_NONE;
    uint32_t last = model->last_node[context];
    if (last != AFPERF_NONE && model->nodes[last].run == run)
        return last;
    if (AFPERF_GROW(model, nodes, error) < 0)
        return AFPERF_NONE;
    uint32_t node = (uint32_t)model->n_nodes++;
    model->nodes[node] = (struct afperf_node){
        .run = run, .context = context, .next = AFPERF_NONE, .first_region = AFPERF_NONE};
    if (last == AFPERF_NONE)
        model->first_node[context] = node;
    else
        model->nodes[last].next = node;
    model->last_node[context] = node;
    return node;
}

uint32_t afperf_first_node(const struct afperf_model *model, uint32_t context)
{
    return context < model->n_contexts ? model->first_node[context] : AFPERF_NONE;
}

/* What a region is called in its path: its label, else its id. */
static uint32_t name_of(struct afperf_model *model, const struct afperf_span *region, struct pf_error *error)
{
    char id[AFPERF_HEX];
    if (region->label != PF_NO_STRING)
        return region->label;
    if (region->flags & AFPERF_ANONYMOUS)
        return pf_intern(model->tree->strings, "(blank)", sizeof "(blank)" - 1, error);
    return pf_intern(model->tree->strings, id, afperf_hex(region->id, id), error);
}

int afperf_enter(struct afperf_model *model, uint32_t number, uint32_t run, struct pf_error *error)
{
    struct afperf_span *region = &model->regions.items[number];
    bool root = region->parent == AFPERF_NONE;
    uint32_t around = root ? PF_NO_CONTEXT : model->nodes[model->regions.items[region->parent].owner].context;
    uint32_t name = name_of(model, region, error);
    if (name == PF_NO_STRING)
        return -1;
    uint8_t flags = root ? PF_FRAME | PF_ROOT : PF_FRAME;
    uint32_t context = pf_tree_child(model->tree, around, name, name, AFPERF_KIND_REGION, flags, error);
    if (context == PF_NO_CONTEXT)
        return -1;
    region->owner = afperf_node_of(model, run, context, error);
    region->exclusive = region->exclusive_net = 0;
    return region->owner == AFPERF_NONE ? -1 : 0;
}

void afperf_leave(struct afperf_model *model, uint32_t number)
{
    struct afperf_span *region = &model->regions.items[number];
    struct afperf_node *node = &model->nodes[region->owner];
    uint64_t inclusive = region->stop - region->start;
    uint64_t net = inclusive - afperf_paused(model, &model->runs[node->run], region->start, region->stop);
    region->exclusive = inclusive - region->exclusive;
    region->exclusive_net = net - region->exclusive_net;
    node->calls++;
    node->inclusive += inclusive;
    node->inclusive_net += net;
    node->exclusive += region->exclusive;
    node->exclusive_net += region->exclusive_net;
    node->first_region = number < node->first_region ? number : node->first_region;
    node->last_region = number > node->last_region ? number : node->last_region;
    if (!region->data_end)
        return;
    /* Data begin with the start record, if they do not stand before it. */
    uint32_t first = region->flags & AFPERF_EARLY_DATA ? 0 : afperf_block_of(region->offset);
    afperf_extend(&node->data, (struct afperf_extent){first, region->data_end});
}

/* ---- the timeline ------------------------------------------------------------------------------- */

/*
 * Starts and stops by run, in each run by time and, at equal times, as they stand in the file: but a region without length
 * never stops before it starts.
 */
struct moment {
    uint64_t time;
    uint32_t run, event;
    uint32_t rank; /* place in the log; of a region's stop at least that of its start */
};

static int by_moment(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    /* A region's stop behind its start: kinds are so numbered. */
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Where the events of each run start in the timeline. */
static void count_events(struct afperf_model *model)
{
    uint32_t run, at = 0;
    uint64_t time;
    for (uint32_t i = 0; i < model->n_log; i++)
        if (afperf_event_span(model, model->log[i], &run, &time))
            model->runs[run].n_events++;
    for (size_t i = 0; i < model->n_runs; i++) {
        model->runs[i].events = at;
        at += model->runs[i].n_events;
    }
}

/* Notes where in the log each region starts: in its parent, which is not known yet. */
static void number_starts(struct afperf_model *model)
{
    for (uint32_t i = 0; i < model->n_log; i++)
        if (afperf_event_kind(model->log[i]) == AFPERF_EVENT_REGION_START)
            model->regions.items[afperf_event_number(model->log[i])].parent = i;
}

/* The moments of the log; returns how many. *ordered: they come as the timeline wants them. */
static size_t list_moments(const struct afperf_model *model, struct moment *moments, bool *ordered)
{
    size_t n = 0;
    *ordered = true;
    for (uint32_t i = 0; i < model->n_log; i++) {
        struct moment *moment = &moments[n];
        *moment = (struct moment){.event = model->log[i], .rank = i};
        const struct afperf_span *span = afperf_event_span(model, moment->event, &moment->run, &moment->time);
        if (!span)
            continue;
        bool early =
            afperf_event_kind(moment->event) == AFPERF_EVENT_REGION_STOP && span->start == span->stop;
        if (early && span->parent > i)
            moment->rank = span->parent;
        *ordered = *ordered && (!n || by_moment(moment - 1, moment) < 0);
        n++;
    }
    return n;
}

int afperf_make_timeline(struct afperf_model *model, struct pf_error *error)
{
    struct moment *moments = malloc((model->n_log + 1) * sizeof *moments);
    uint32_t *timeline = malloc((model->n_log + 1) * sizeof *timeline);
    bool ordered;
    if (!moments || !timeline) {
        free(moments);
        free(timeline);
        return pf_fail_memory(error);
    }
    count_events(model);
    number_starts(model);
    size_t n = list_moments(model, moments, &ordered);
    if (!ordered)
        qsort(moments, n, sizeof *moments, by_moment);
    for (size_t i = 0; i < n; i++)
        timeline[i] = moments[i].event;
    free(moments);
    model->timeline = timeline;
    return 0;
}

/* ---- replay ------------------------------------------------------------------------------------- */

/* The events of a run one by one, with a stack of open regions: each one's parent is the one below it. */
struct replay {
    struct afperf_model *model;
    uint32_t run;
    uint32_t top;
    bool trial; /* only sees whether every stop fits */
};

static int push(struct replay *replay, uint32_t number, struct pf_error *error)
{
    replay->model->regions.items[number].parent = replay->top;
    replay->top = number;
    return replay->trial ? 0 : afperf_enter(replay->model, number, replay->run, error);
}

/* Takes off the innermost region; it covers its parent's time. */
static void pop(struct replay *replay)
{
    struct afperf_model *model = replay->model;
    const struct afperf_span *region = &model->regions.items[replay->top];
    if (!replay->trial)
        afperf_leave(model, replay->top);
    replay->top = region->parent;
    if (replay->trial || region->parent == AFPERF_NONE)
        return;
    struct afperf_span *parent = &model->regions.items[region->parent];
    uint64_t duration = region->stop - region->start;
    parent->exclusive += duration;
    parent->exclusive_net +=
        duration - afperf_paused(model, &model->runs[replay->run], region->start, region->stop);
}

/* Closes the regions above `number` at this time. False: one of them has a stop, so that the run's regions overlap. */
static bool close_above(struct replay *replay, uint32_t number, uint64_t time)
{
    while (replay->top != number) {
        if (replay->top == AFPERF_NONE)
            return false;
        struct afperf_span *region = &replay->model->regions.items[replay->top];
        if (region->flags & AFPERF_CLOSED)
            return false;
        if (!replay->trial) {
            region->stop = time;
            afperf_note(replay->model, AFPERF_UNCLOSED_REGION, region->offset, 0);
        }
        pop(replay);
    }
    return true;
}

/* 1; 0: the run's regions do not nest; -1: *error filled. */
static int play(struct replay *replay, struct pf_error *error)
{
    const struct afperf_model *model = replay->model;
    const struct afperf_run *run = &model->runs[replay->run];
    replay->top = AFPERF_NONE;
    for (uint32_t i = 0; i < run->n_events; i++) {
        uint32_t event = model->timeline[run->events + i], number = afperf_event_number(event);
        if (afperf_event_kind(event) == AFPERF_EVENT_REGION_START) {
            if (push(replay, number, error) < 0)
                return -1;
        } else if (afperf_event_kind(event) == AFPERF_EVENT_REGION_STOP) {
            if (!close_above(replay, number, model->regions.items[number].stop))
                return 0;
            pop(replay);
        }
    }
    return close_above(replay, AFPERF_NONE, run->end);
}

/* ---- all runs ----------------------------------------------------------------------------------- */

static int nest_run(struct afperf_model *model, uint32_t number, struct pf_error *error)
{
    struct replay replay = {.model = model, .run = number, .trial = true};
    int fits = play(&replay, error);
    if (fits > 0) {
        replay.trial = false;
        return play(&replay, error) < 0 ? -1 : 0;
    }
    if (fits < 0)
        return -1;
    model->runs[number].geometry = true;
    return afperf_nest_by_geometry(model, number, error);
}

/* The first section of each run; sections are linked in their order. NULL with *error filled. */
static uint32_t *list_sections(struct afperf_model *model, struct pf_error *error)
{
    uint32_t *first = calloc(model->n_runs + 1, sizeof *first);
    if (!first) {
        pf_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < model->n_runs; i++)
        first[i] = AFPERF_NONE;
    for (size_t i = model->n_sections; i-- > 0;) {
        struct afperf_section *section = &model->sections[i];
        section->next = first[section->run];
        first[section->run] = (uint32_t)i;
    }
    return first;
}

/* Tells regions and intervals where in the timeline their events are. */
static void number_events(struct afperf_model *model)
{
    for (uint32_t i = 0; i < model->regions.count; i++)
        model->regions.items[i].stop_event = AFPERF_NONE;
    for (uint32_t i = 0; i < model->intervals.count; i++)
        model->intervals.items[i].stop_event = AFPERF_NONE;
    for (size_t i = 0; i < model->n_runs; i++) {
        const struct afperf_run *run = &model->runs[i];
        for (uint32_t at = run->events; at < run->events + run->n_events; at++) {
            uint32_t event = model->timeline[at];
            enum afperf_event kind = afperf_event_kind(event);
            struct afperf_spans *spans = afperf_event_is_region(event) ? &model->regions : &model->intervals;
            struct afperf_span *span = &spans->items[afperf_event_number(event)];
            if (kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_INTERVAL_START)
                span->start_event = at;
            else
                span->stop_event = at;
        }
    }
}

int afperf_nest(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    uint32_t *sections = list_sections(model, error);
    int result = sections ? 0 : -1;
    for (uint32_t i = 0; i < model->n_runs && !result; i++) {
        struct afperf_run *run = &model->runs[i];
        run->nodes = model->n_nodes;
        result = pf_pass_step(pass, i, model->n_runs, error) < 0 || nest_run(model, i, error) < 0 ||
                         afperf_time_sections(model, sections[i], error) < 0
                     ? -1
                     : 0;
        run->n_nodes = model->n_nodes - run->nodes;
    }
    free(sections);
    model->nested = true;
    number_events(model);
    return result;
}
