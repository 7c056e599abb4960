/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/* ---- the timeline ------------------------------------------------------------------------------- */

struct afperf_nesting {
    struct afperf_model *model;
    struct pf_sorter *moments; /* by run and time; at equal times, pauses first, then file order */
    struct afperf_walk walk;
    PF_LIST(struct afperf_open) trial; /* the open regions, in try_moment */
    struct afperf_stack stack;
    struct pf_store_window *timeline;
};

static void sort_moment(struct afperf_nesting *nesting, uint32_t run, struct afperf_moment moment)
{
    moment.run = run;
    afperf_sort(nesting->model, nesting->moments, &moment);
}

/* Returns the name of a region's context: the region's label, else its id, else "(blank)". */
static uint32_t name_of_region(struct afperf_model *model, const struct afperf_event *start)
{
    char id[AFPERF_HEX];
    if (start->label != PF_NO_STRING)
        return start->label;
    if (!start->id_given)
        return afperf_name(model, "(blank)", sizeof "(blank)" - 1);
    return afperf_name(model, id, afperf_hex(start->id, id));
}

/*
 * Returns true if a region's stop is before its start in the file, and not after it in time. The moment of such a stop is added with that
 * of the start, so that the start is sorted first.
 */
static bool stops_first(uint64_t start_time, uint64_t start_index, uint64_t stop_time, uint64_t stop_index)
{
    return stop_time <= start_time && stop_index < start_index;
}

static void sort_region(struct afperf_nesting *nesting, const struct afperf_event *event,
                        const struct afperf_link *link)
{
    uint64_t index = nesting->walk.next - 1;
    struct afperf_moment moment = {.kind = event->kind & 7,
                                   .time = event->time,
                                   .number = link->number & AFPERF_NUMBERS_MAX,
                                   .name = name_of_region(nesting->model, event),
                                   .tags = event->other,
                                   .closed = link->found == AFPERF_FOUND,
                                   .stop = link->time > event->time ? link->time : event->time};
    uint32_t run = afperf_run_of(nesting->model, event->owner);
    sort_moment(nesting, run, moment);
    if (moment.closed && stops_first(event->time, index, link->time, link->index))
        sort_moment(nesting, run,
                    (struct afperf_moment){
                        .kind = AFPERF_EVENT_REGION_STOP, .time = event->time, .number = moment.number});
}

/*
 * Adds the event of the walk to the sorter, unless it is data, a stop without start, or a stop that sort_region adds (stops_first). A stop
 * whose time is before that of its start gets the time of the start.
 */
static void sort_event(struct afperf_nesting *nesting)
{
    const struct afperf_model *model = nesting->model;
    const struct afperf_event *event = &nesting->walk.event;
    const struct afperf_link *link = &nesting->walk.link;
    uint64_t later = event->time > link->time ? event->time : link->time, index = nesting->walk.next - 1;
    uint32_t section;
    switch (event->kind) {
    case AFPERF_EVENT_REGION_START:
        sort_region(nesting, event, link);
        break;
    case AFPERF_EVENT_REGION_STOP:
        if (link->found == AFPERF_FOUND && !stops_first(link->time, link->index, event->time, index))
            sort_moment(nesting, afperf_run_of(model, link->owner),
                        (struct afperf_moment){.kind = AFPERF_EVENT_REGION_STOP,
                                               .time = later,
                                               .number = link->number & AFPERF_NUMBERS_MAX});
        break;
    case AFPERF_EVENT_INTERVAL_START:
    case AFPERF_EVENT_INTERVAL_STOP:
        section = model->names[AFPERF_SECTIONS].refs[event->owner].object;
        if (event->kind == AFPERF_EVENT_INTERVAL_START)
            afperf_sort_interval(nesting->model, &nesting->walk);
        if (event->kind == AFPERF_EVENT_INTERVAL_START || link->found == AFPERF_FOUND)
            sort_moment(nesting, afperf_run_of_section(model, section),
                        (struct afperf_moment){
                            .kind = event->kind & 7,
                            .time = event->kind == AFPERF_EVENT_INTERVAL_START ? event->time : later,
                            .number = section & AFPERF_NUMBERS_MAX});
        break;
    default:
        break;
    }
}

static void sort_moments(struct afperf_nesting *nesting)
{
    struct afperf_model *model = nesting->model;
    for (size_t i = 0; i < model->n_pauses; i++) {
        const struct afperf_pause *pause = &model->pauses[i];
        sort_moment(nesting, pause->run,
                    (struct afperf_moment){.kind = AFPERF_EVENT_PAUSE, .time = pause->start});
        sort_moment(nesting, pause->run,
                    (struct afperf_moment){.kind = AFPERF_EVENT_RESUME, .time = pause->stop});
    }
    while (afperf_walk(&nesting->walk))
        sort_event(nesting);
    pf_run_check(model->run, pf_sorter_finish(nesting->moments, model->run->error));
}

/* ---- trial -------------------------------------------------------------------------------------- */

/*
 * Replays a moment with the stack nesting->trial. A stop also ends the regions inside the stopped one. Returns false if one of these inner
 * regions is closed by a later stop, because the two regions overlap then.
 */
static bool try_moment(struct afperf_nesting *nesting, const struct afperf_moment *moment)
{
    if (moment->kind == AFPERF_EVENT_REGION_START) {
        *PF_PUSH(nesting->model->run, nesting->trial) =
            (struct afperf_open){.number = moment->number, .closed = moment->closed};
        return true;
    }
    if (moment->kind != AFPERF_EVENT_REGION_STOP)
        return true;
    while (nesting->trial.n) {
        const struct afperf_open *top = &nesting->trial.at[--nesting->trial.n];
        if (top->number == moment->number)
            return true;
        if (top->closed)
            return false;
    }
    return false;
}

/*
 * Moves the moments of run `number`, from `next` on, to the timeline, and tests whether its regions nest. Returns the first moment of a
 * later run, or NULL.
 */
static const struct afperf_moment *list_moments(struct afperf_nesting *nesting, uint32_t number,
                                                const struct afperf_moment *next)
{
    struct afperf_model *model = nesting->model;
    struct afperf_run *run = &model->runs[number];
    run->events = pf_store_size(model->stores[TIMELINE]) / sizeof *next;
    nesting->trial.n = 0;
    for (; next && next->run == number; next = afperf_sorted(model, nesting->moments)) {
        afperf_append(model, model->stores[TIMELINE], next, sizeof *next);
        run->geometry = run->geometry || !try_moment(nesting, next);
        run->n_events++;
        run->n_regions += next->kind == AFPERF_EVENT_REGION_START;
    }
    return next;
}

/* ---- replay ------------------------------------------------------------------------------------- */

/*
 * Leaves open regions, from the innermost one up to the one with this number. Leaves all open regions if none has this number. Regions
 * without stop end at `time`.
 */
static void leave_to(struct afperf_nesting *nesting, uint32_t number, uint64_t time)
{
    struct afperf_stack *stack = &nesting->stack;
    for (bool found = false; stack->open.n && !found;) {
        struct afperf_open *top = &stack->open.at[stack->open.n - 1];
        found = top->number == number;
        if (!top->closed)
            top->stop = time;
        afperf_leave(stack);
    }
}

static void replay_run(struct afperf_nesting *nesting, const struct afperf_run *run)
{
    struct afperf_model *model = nesting->model;
    struct afperf_moment moment;
    for (uint64_t i = run->events; i < run->events + run->n_events; i++) {
        afperf_item(model, nesting->timeline, i, &moment, sizeof moment);
        const struct afperf_open region = {.start = moment.time,
                                           .stop = moment.stop,
                                           .closed = moment.closed,
                                           .number = moment.number,
                                           .name = moment.name};
        if (moment.kind == AFPERF_EVENT_REGION_START)
            afperf_enter(&nesting->stack, &region);
        else if (moment.kind == AFPERF_EVENT_REGION_STOP)
            leave_to(nesting, moment.number, moment.time);
    }
    leave_to(nesting, AFPERF_NONE, run->end);
}

/* ---- all runs ----------------------------------------------------------------------------------- */

void afperf_nest(struct afperf_model *model)
{
    struct pf_run *run = model->run;
    struct afperf_nesting *nesting = PF_OWN(run, calloc(1, sizeof *nesting), free);
    nesting->model = nesting->walk.model = nesting->stack.model = model;
    nesting->moments = afperf_new_sorter(model, sizeof(struct afperf_moment), 2);
    nesting->timeline = afperf_window(model, model->stores[TIMELINE]);
    model->nested = afperf_new_sorter(model, sizeof(struct afperf_nested), 1);
    afperf_begin_intervals(model);
    sort_moments(nesting);
    afperf_time_intervals(model);
    const struct afperf_moment *next = afperf_sorted(model, nesting->moments);
    for (uint32_t i = 0; i < model->n_runs; i++)
        next = list_moments(nesting, i, next);
    struct pf_sorter *extents = afperf_sort_extents(model);
    for (uint32_t i = 0; i < model->n_runs; i++) {
        pf_run_check(run, pf_pass_step(i, model->n_runs, run->error));
        nesting->stack.run = i;
        if (model->runs[i].geometry)
            afperf_nest_by_geometry(&nesting->stack, extents);
        else
            replay_run(nesting, &model->runs[i]);
        afperf_time_sections(model, i);
        afperf_end_sums(model, i);
    }
    pf_run_check(run, pf_sorter_finish(model->nested, run->error));
}
