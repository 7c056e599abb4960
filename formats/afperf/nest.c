/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"
#include "formats/kit/array.h"

/* ---- contexts ----------------------------------------------------------------------------------- */

/* Returns the name of a region in its path: its label, else its id. */
static uint32_t name_of(struct afperf_model *model, const struct afperf_span *region, struct pf_error *error)
{
    char id[AFPERF_HEX];
    if (region->label != PF_NO_STRING)
        return region->label;
    if (region->flags & AFPERF_ANONYMOUS)
        return pf_intern(model->tree->strings, "(blank)", sizeof "(blank)" - 1, error);
    return pf_intern(model->tree->strings, id, afperf_hex(region->id, id), error);
}

/* Sets the context of a region; its parent must have one already. */
static int enter(struct afperf_model *model, struct afperf_span *region, struct pf_error *error)
{
    bool root = region->parent == AFPERF_NONE;
    uint32_t around = root ? PF_NO_CONTEXT : model->regions.items[region->parent].context;
    uint32_t name = name_of(model, region, error);
    if (name == PF_NO_STRING)
        return -1;
    uint8_t flags = root ? PF_FRAME | PF_ROOT : PF_FRAME;
    region->context = pf_tree_child(model->tree, around, name, name, AFPERF_KIND_REGION, flags, error);
    return region->context == PF_NO_CONTEXT ? -1 : 0;
}

/*
 * Ends a region: computes its exclusive times (which hold the children's sum so far), and adds its times to its
 * context.
 */
static int leave(struct afperf_model *model, uint32_t run, struct afperf_span *region, struct pf_error *error)
{
    uint64_t inclusive = region->stop - region->start;
    uint64_t net = inclusive - afperf_paused(model, run, region->start, region->stop);
    region->exclusive = inclusive - region->exclusive;
    region->exclusive_net = net - region->exclusive_net;
    const pf_int128 values[AFPERF_METRICS] = {[AFPERF_CALLS] = 1,
                                              [AFPERF_TIME] = region->exclusive,
                                              [AFPERF_TIME_INC] = inclusive,
                                              [AFPERF_TIME_NET] = region->exclusive_net,
                                              [AFPERF_TIME_NET_INC] = net};
    if (!(region->flags & AFPERF_CLOSED))
        afperf_note(model, AFPERF_UNCLOSED_REGION, region->offset, region->line);
    return afperf_add_values(model, run, region->context, values, error);
}

/* ---- the timeline ------------------------------------------------------------------------------- */

/*
 * A timeline entry. Sorted by run, then time, then pauses, then file order; but a region of zero length starts before
 * it stops.
 */
struct moment {
    uint64_t time,
        rank; /* pauses first, then index in the log; the stop of a zero-length region gets at least its start's rank */
    uint32_t run;
    struct afperf_event event;
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
    /* The stop of a region after its start: the enum has this order. */
    return (a->event.kind > b->event.kind) - (a->event.kind < b->event.kind);
}

/* Extends each run to its last event. Temporarily stores the log index of each region's start in `parent`. */
static void look_at_log(struct afperf_model *model)
{
    for (uint32_t i = 0; i < model->n_log; i++) {
        uint32_t run;
        uint64_t time;
        if (!afperf_event_span(model, model->log[i], &run, &time))
            continue;
        if (time > model->runs[run].end)
            model->runs[run].end = time;
        if (model->log[i].kind == AFPERF_EVENT_REGION_START)
            model->regions.items[model->log[i].number].parent = i;
    }
}

/* Lists the timeline entries in file order. Returns their number. */
static size_t list_moments(const struct afperf_model *model, struct moment *moments)
{
    size_t n = 0, pauses = 2 * model->n_pauses;
    for (uint32_t i = 0; i < model->n_pauses; i++) {
        const struct afperf_pause *pause = &model->pauses[i];
        moments[n] = (struct moment){pause->start, n, pause->run, {AFPERF_EVENT_PAUSE, i}};
        n++;
        moments[n] = (struct moment){pause->stop, n, pause->run, {AFPERF_EVENT_RESUME, i}};
        n++;
    }
    for (uint32_t i = 0; i < model->n_log; i++) {
        struct moment *moment = &moments[n];
        *moment = (struct moment){.event = model->log[i], .rank = pauses + i};
        const struct afperf_span *span = afperf_event_span(model, moment->event, &moment->run, &moment->time);
        if (!span)
            continue;
        bool stop = moment->event.kind == AFPERF_EVENT_REGION_STOP;
        if (stop && span->start == span->stop && span->parent > i)
            moment->rank = pauses + span->parent;
        n++;
    }
    return n;
}

static int make_timeline(struct afperf_model *model, struct pf_error *error)
{
    size_t room = model->n_log + 2 * model->n_pauses + 1;
    struct moment *moments = malloc(room * sizeof *moments);
    model->timeline = calloc(room, sizeof *model->timeline);
    if (!moments || !model->timeline) {
        free(moments);
        return pf_fail_memory(error);
    }
    look_at_log(model);
    size_t n = list_moments(model, moments);
    if (n)
        qsort(moments, n, sizeof *moments, by_moment);
    for (size_t i = n; i-- > 0;) {
        struct afperf_run *run = &model->runs[moments[i].run];
        model->timeline[i] = moments[i].event;
        run->events = i;
        run->n_events++;
    }
    model->n_timeline = n;
    free(moments);
    return 0;
}

/* ---- replay ------------------------------------------------------------------------------------- */

/*
 * Closes the open regions above `number` on the stack. Returns false if one of them has a stop of its own, so that
 * regions overlap.
 */
static bool close_above(const struct afperf_model *model, uint32_t *top, uint32_t number, uint64_t time)
{
    while (*top != number) {
        struct afperf_span *region = *top == AFPERF_NONE ? NULL : &model->regions.items[*top];
        if (!region || region->flags & AFPERF_CLOSED)
            return false;
        region->stop = time;
        *top = region->parent;
    }
    return true;
}

/*
 * Replays the events of a run with a stack of open regions: sets each region's parent to the one below it, and closes
 * regions without stop. Returns false if the regions do not nest.
 */
static bool play(const struct afperf_model *model, const struct afperf_run *run)
{
    uint32_t top = AFPERF_NONE;
    for (size_t i = run->events; i < run->events + run->n_events; i++) {
        const struct afperf_event event = model->timeline[i];
        if (!afperf_event_is_region(event))
            continue;
        struct afperf_span *region = &model->regions.items[event.number];
        if (event.kind == AFPERF_EVENT_REGION_START) {
            region->parent = top;
            top = event.number;
        } else if (close_above(model, &top, event.number, region->stop)) {
            top = region->parent;
        } else {
            return false;
        }
    }
    return close_above(model, &top, AFPERF_NONE, run->end);
}

/* ---- times -------------------------------------------------------------------------------------- */

/* An entry of the stack of enclosing regions. */
struct around {
    uint32_t region;
    uint64_t covered_to; /* end of the part that the children cover; all of the covered ticks are counted */
};

struct stack {
    struct around *items;
    size_t depth, room;
};

/*
 * Subtracts from the parent only the part that earlier children have not covered. Until the region ends, its exclusive
 * times hold the covered ticks.
 */
static void cover(const struct afperf_model *model, uint32_t run, struct around *around,
                  const struct afperf_span *child)
{
    struct afperf_span *parent = &model->regions.items[around->region];
    uint64_t from = child->start > around->covered_to ? child->start : around->covered_to;
    if (child->stop <= from)
        return;
    parent->exclusive += child->stop - from;
    parent->exclusive_net += child->stop - from - afperf_paused(model, run, from, child->stop);
    around->covered_to = child->stop;
}

/*
 * Makes contexts of regions whose parents and stops are known; parents must precede their children, and siblings must
 * be ordered by start.
 */
static int settle(struct afperf_model *model, uint32_t run, const uint32_t *regions, size_t n,
                  struct stack *stack, struct pf_error *error)
{
    stack->depth = 0;
    for (size_t i = 0; i < n; i++) {
        struct afperf_span *region = &model->regions.items[regions[i]];
        while (stack->depth && stack->items[stack->depth - 1].region != region->parent)
            stack->depth--;
        if (stack->depth)
            cover(model, run, &stack->items[stack->depth - 1], region);
        if (enter(model, region, error) ||
            pf_array_room(&stack->items, &stack->room, stack->depth, sizeof *stack->items, error))
            return -1;
        stack->items[stack->depth++] = (struct around){regions[i], region->start};
    }
    for (size_t i = 0; i < n; i++)
        if (leave(model, run, &model->regions.items[regions[i]], error))
            return -1;
    return 0;
}

/* ---- all runs ----------------------------------------------------------------------------------- */

static int nest_regions(struct afperf_model *model, uint32_t number, struct stack *stack,
                        struct pf_error *error)
{
    struct afperf_run *run = &model->runs[number];
    uint32_t *regions = malloc((run->n_events + 1) * sizeof *regions);
    size_t n = 0;
    if (!regions)
        return pf_fail_memory(error);
    for (size_t i = run->events; i < run->events + run->n_events; i++)
        if (model->timeline[i].kind == AFPERF_EVENT_REGION_START)
            regions[n++] = model->timeline[i].number;
    run->geometry = !play(model, run);
    int result = run->geometry ? afperf_nest_by_geometry(model, number, regions, n, error) : 0;
    if (!result)
        result = settle(model, number, regions, n, stack, error);
    free(regions);
    return result;
}

int afperf_nest(struct afperf_model *model, struct pf_error *error)
{
    struct stack stack = {0};
    int result = make_timeline(model, error);
    for (uint32_t i = 0; i < model->n_runs && !result; i++) {
        model->runs[i].nodes = model->n_nodes;
        if (pf_pass_step(i, model->n_runs, error) || nest_regions(model, i, &stack, error) ||
            afperf_time_sections(model, i, error))
            result = -1;
    }
    free(stack.items);
    return result;
}
