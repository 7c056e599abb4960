/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/*
 * Finds the start of each stop, and the start of the region or interval that data name. Events with an id are matched by a pass over the
 * events of this id in file order:
 *
 * - A stop stops the latest start before it in its segment that is still open. If there is none, the stop waits for the next start in the
 *   segment. If none follows, it takes the latest open start of an earlier segment, else the first start of a later one.
 * - Data belong to the latest start before them in their segment. If there is none, they wait like a stop. For data it makes no difference
 *   whether a start has been stopped, or whether other data belong to it.
 *
 * Events without an id are matched with each other. The stop of a region stops the innermost region of the run that is open at the stop's
 * time. The stops of a section, in file order, stop the section's intervals in the order of the intervals' starts.
 */

/*
 * Events are sorted into groups, each of which is matched on its own. The first key of the sorter holds the class and the scope of the
 * event. The scope is the number of the object whose events are matched with each other. The second key is the id; for events without an
 * id, it is their time, or 0 if they are LATE.
 */
enum match_class {
    MATCH_REGION,                           /* the scope is the file, number 0 */
    MATCH_INTERVAL,                         /* the scope is a section */
    MATCH_NAMELESS,                         /* added to the class of events without an id */
    MATCH_NAMELESS_REGION = MATCH_NAMELESS, /* the scope is a run */
    MATCH_NAMELESS_INTERVAL,                /* the scope is a section; its stops are LATE */
};
/*
 * The positions of class and scope in the first key, and a flag in its lowest bit. LATE marks stops that are sorted
 * after all starts of their scope, in file order.
 */
enum { CLASS_SHIFT = 33, SCOPE_SHIFT = 1, LATE = 1 };

/*
 * The place of an event is a number. Its upper bits are the index of the event in model->events, followed by the role. In the place of a
 * start, the low bits are the number of its region, or of its interval within the section.
 */
enum match_role { MATCH_START, MATCH_STOP, MATCH_DATA };
enum { INDEX_SHIFT = 31, ROLE_SHIFT = 28 };

/* An event that is to be matched. `owner` is that of struct afperf_event. */
struct match {
    uint64_t place, time;
    uint32_t owner;
};

/* A record of the sorter, which keeps records with equal keys in file order. The keys are `group` and `value`. */
struct match_record {
    uint64_t group, value;
    struct match event;
};
enum { MATCH_KEYS = 2 };

/* ---- filling the sorter ------------------------------------------------------------------------- */

bool afperf_walk(struct afperf_walk *walk)
{
    struct afperf_model *model = walk->model;
    uint64_t n = pf_store_size(model->events) / sizeof walk->event;
    if (!walk->events)
        walk->events = afperf_window(model, model->events);
    if (!walk->links && model->links)
        walk->links = afperf_window(model, model->links);
    if (walk->next == n)
        return false;
    if (walk->next % 4096 == 0)
        pf_run_check(model->run, pf_pass_step(walk->next, n, model->run->error));
    afperf_item(model, walk->events, walk->next, &walk->event, sizeof walk->event);
    if (walk->links)
        afperf_item(model, walk->links, walk->next, &walk->link, sizeof walk->link);
    walk->next++;
    return true;
}

static bool is_interval_event(const struct afperf_event *event)
{
    return event->kind == AFPERF_EVENT_INTERVAL_START || event->kind == AFPERF_EVENT_INTERVAL_STOP;
}

uint32_t afperf_section_of(const struct afperf_model *model, const struct afperf_event *data,
                           const struct afperf_event *block)
{
    uint32_t ref = AFPERF_NONE;
    if (data->id_given)
        ref = afperf_find(model, AFPERF_SECTIONS, data->id, data->offset);
    else if (!data->apart && is_interval_event(block))
        ref = block->owner;
    return ref == AFPERF_NONE ? AFPERF_NONE : model->names[AFPERF_SECTIONS].refs[ref].object;
}

/* State of the matching. First the sorter of events is filled. Then the events are matched, group by group. */
struct matching {
    struct afperf_model *model;
    struct pf_sorter *events, *links;

    /* Used while the sorter of events is filled. */
    struct afperf_walk walk;
    struct afperf_event block; /* the last start or stop */
    uint32_t n_regions;

    uint64_t group, value;               /* keys of the events that are being matched */
    uint64_t segment_begin, segment_end; /* events of the current segment; empty before the first one */
    struct match last;                   /* the latest start; valid if `any` */
    bool any;

    PF_LIST(struct match) open; /* starts that have not been stopped */
    /* Stops. From index first_stop on they are waiting; from segment_stop on they belong to the current segment. */
    PF_LIST(struct match) stops;
    size_t first_stop, segment_stop;
    /* Places of waiting data. Once the id has had a start, all are from the current segment. */
    PF_LIST(uint64_t) data;

    /* A queue of the starts of intervals without an id. It is a store, since it may be long. */
    struct pf_store *queue;
    struct pf_store_window *queued;
    uint64_t first_queued;
};

/* Adds matching->walk.event to the sorter. If the event has no id, its class is `class` + MATCH_NAMELESS. */
static void fill_event(struct matching *matching, enum match_class class, uint32_t scope,
                       enum match_role role, uint32_t number)
{
    const struct afperf_event *event = &matching->walk.event;
    struct afperf_model *model = matching->model;
    bool named = event->id_given || role == MATCH_DATA;
    bool late = !named && class == MATCH_INTERVAL && role == MATCH_STOP;
    uint64_t id = role == MATCH_DATA && class == MATCH_INTERVAL ? event->other : event->id;
    uint64_t index = matching->walk.next - 1;
    if (number > AFPERF_NUMBERS_MAX)
        pf_run_check(model->run, pf_fail(model->run->error, EFBIG, "too many records of a kind"));
    class += named ? 0 : MATCH_NAMELESS;
    const struct match_record record = {
        .group = (uint64_t) class << CLASS_SHIFT | (uint64_t)scope << SCOPE_SHIFT | (late ? LATE : 0),
        .value = late    ? 0
                 : named ? id
                         : event->time,
        .event = {.place = index << INDEX_SHIFT | (uint64_t)role << ROLE_SHIFT | number,
                  .time = event->time,
                  .owner = event->owner}};
    afperf_sort(model, matching->events, &record);
}

/*
 * Adds data to the sorter if they name a region or interval by id. Other data need no match, because they belong to the start or stop
 * before them, to a run, or to all regions or sections of a run.
 */
static void fill_data(struct matching *matching)
{
    const struct afperf_event *data = &matching->walk.event;
    bool region = data->type == AFPERF_REGION_POINT || data->type == AFPERF_REGION_AGGREGATE;
    if (region && data->id_given)
        fill_event(matching, MATCH_REGION, 0, MATCH_DATA, 0);
    if (!data->other_given)
        return;
    uint32_t section = afperf_section_of(matching->model, data, &matching->block);
    if (section != AFPERF_NONE && (data->id_given || !data->processed))
        fill_event(matching, MATCH_INTERVAL, section, MATCH_DATA, 0);
}

/* Adds all events to the sorter, and numbers the intervals by section. */
static void fill_sorter(struct matching *matching)
{
    struct afperf_model *model = matching->model;
    const struct afperf_ref *sections = model->names[AFPERF_SECTIONS].refs;
    while (afperf_walk(&matching->walk)) {
        const struct afperf_event *event = &matching->walk.event;
        bool region = !is_interval_event(event), data = event->kind == AFPERF_EVENT_DATA;
        uint32_t scope = !region                   ? sections[event->owner].object
                         : event->id_given || data ? 0
                                                   : afperf_run_of(model, event->owner);
        if (data)
            fill_data(matching);
        else
            matching->block = *event;
        if (event->kind == AFPERF_EVENT_REGION_START)
            fill_event(matching, MATCH_REGION, scope, MATCH_START, matching->n_regions++);
        else if (event->kind == AFPERF_EVENT_INTERVAL_START)
            fill_event(matching, MATCH_INTERVAL, scope, MATCH_START, model->sections[scope].count++);
        else if (!data && scope != AFPERF_NONE)
            fill_event(matching, region ? MATCH_REGION : MATCH_INTERVAL, scope, MATCH_STOP, 0);
    }
    uint64_t first = 0;
    for (size_t i = 0; i < model->n_sections; i++) {
        model->sections[i].first = (uint32_t)first;
        first += model->sections[i].count;
    }
    if (first > AFPERF_NUMBERS_MAX)
        pf_run_check(model->run, pf_fail(model->run->error, EFBIG, "too many records of a kind"));
    pf_run_check(model->run, pf_sorter_finish(matching->events, model->run->error));
}

/* ---- matching ----------------------------------------------------------------------------------- */

static uint64_t index_of(uint64_t place)
{
    return place >> INDEX_SHIFT;
}

static enum match_role role_of(uint64_t place)
{
    return (enum match_role)(place >> ROLE_SHIFT & 7);
}

/* Adds a link from the event at `place` to the region or interval of `start`. `time` and `index` are those of the counterpart. */
static void link_event(struct matching *matching, uint64_t place, enum afperf_found found,
                       const struct match *start, uint64_t time, uint64_t index)
{
    uint64_t class = matching->group >> CLASS_SHIFT, number = start->place & AFPERF_NUMBERS_MAX;
    if (class % MATCH_NAMELESS == MATCH_INTERVAL)
        number += matching->model->sections[(uint32_t)(matching->group >> SCOPE_SHIFT)].first;
    const struct afperf_link_record record = {index_of(place),
                                              {.time = time,
                                               .number = (uint32_t)number,
                                               .owner = start->owner,
                                               .index = (uint32_t)index,
                                               .found = found}};
    afperf_sort(matching->model, matching->links, &record);
}

static void link_pair(struct matching *matching, const struct match *start, const struct match *stop)
{
    link_event(matching, start->place, AFPERF_FOUND, start, stop->time, index_of(stop->place));
    link_event(matching, stop->place, AFPERF_FOUND, start, start->time, index_of(start->place));
}

static void link_unclosed(struct matching *matching, const struct match *start)
{
    link_event(matching, start->place, AFPERF_NOT_FOUND, start, 0, 0);
}

static void link_data(struct matching *matching, uint64_t place, const struct match *start)
{
    link_event(matching, place, AFPERF_FOUND, start, start->time, index_of(start->place));
}

static void link_waiting_data(struct matching *matching, const struct match *start)
{
    for (size_t i = 0; i < matching->data.n; i++)
        link_data(matching, matching->data.at[i], start);
    matching->data.n = 0;
}

/*
 * Ends the current segment. Its waiting stops take open starts of earlier segments, as long as there are any. Its waiting data take the
 * latest start, if there is one.
 */
static void end_segment(struct matching *matching)
{
    size_t kept =
        matching->segment_stop > matching->first_stop ? matching->segment_stop : matching->first_stop;
    for (size_t i = kept; i < matching->stops.n; i++)
        if (matching->open.n)
            link_pair(matching, &matching->open.at[--matching->open.n], &matching->stops.at[i]);
        else
            matching->stops.at[kept++] = matching->stops.at[i];
    matching->stops.n = matching->segment_stop = kept;
    if (matching->any)
        link_waiting_data(matching, &matching->last);
}

/*
 * Ends the events of an id. If the id has starts, stops are left waiting only if all starts have been stopped. These stops are
 * therefore duplicates.
 */
static void end_id(struct matching *matching)
{
    end_segment(matching);
    static const struct match none = {.owner = AFPERF_NONE};
    for (size_t i = matching->first_stop; i < matching->stops.n && matching->any; i++)
        link_event(matching, matching->stops.at[i].place, AFPERF_STOPPED_ALREADY, &none, 0, 0);
    for (size_t i = 0; i < matching->open.n; i++)
        link_unclosed(matching, &matching->open.at[i]);
    matching->open.n = matching->stops.n = matching->data.n = 0;
    matching->first_stop = matching->segment_stop = 0;
    matching->segment_end = 0;
    matching->any = false;
}

/* Goes to the segment of event number `index`. The event must not be in an earlier segment than the current one. */
static void enter_segment(struct matching *matching, uint64_t index)
{
    const struct afperf_model *model = matching->model;
    size_t segment = afperf_segment(model, UINT64_MAX, index);
    if (matching->segment_end)
        end_segment(matching);
    matching->segment_begin = model->segments[segment].events;
    matching->segment_end =
        segment + 1 < model->n_segments ? model->segments[segment + 1].events : UINT64_MAX;
}

static void match_by_id(struct matching *matching, const struct match *event)
{
    if (index_of(event->place) >= matching->segment_end)
        enter_segment(matching, index_of(event->place));
    struct pf_run *run = matching->model->run;
    uint64_t begin = matching->segment_begin;
    switch (role_of(event->place)) {
    case MATCH_DATA:
        if (matching->any && index_of(matching->last.place) >= begin)
            link_data(matching, event->place, &matching->last);
        else
            *PF_PUSH(run, matching->data) = event->place;
        break;
    case MATCH_STOP:
        if (matching->open.n && index_of(matching->open.at[matching->open.n - 1].place) >= begin)
            link_pair(matching, &matching->open.at[--matching->open.n], event);
        else
            *PF_PUSH(run, matching->stops) = *event;
        break;
    default:
        if (matching->first_stop < matching->stops.n)
            link_pair(matching, event, &matching->stops.at[matching->first_stop++]);
        else
            *PF_PUSH(run, matching->open) = *event;
        if (matching->first_stop == matching->stops.n)
            matching->first_stop = matching->segment_stop = matching->stops.n = 0;
        link_waiting_data(matching, event);
        matching->last = *event;
        matching->any = true;
    }
}

static void match_nameless_region(struct matching *matching, const struct match *event)
{
    if (role_of(event->place) == MATCH_START)
        *PF_PUSH(matching->model->run, matching->open) = *event;
    else if (matching->open.n)
        link_pair(matching, &matching->open.at[--matching->open.n], event);
}

/* Returns the first start of the queue, or false if it is empty. */
static bool first_queued(struct matching *matching, struct match *start)
{
    if (matching->first_queued == pf_store_size(matching->queue) / sizeof *start)
        return false;
    afperf_item(matching->model, matching->queued, matching->first_queued, start, sizeof *start);
    return true;
}

static void match_nameless_interval(struct matching *matching, const struct match *event)
{
    struct match start;
    if (role_of(event->place) == MATCH_START) {
        afperf_append(matching->model, matching->queue, event, sizeof *event);
    } else if (first_queued(matching, &start) && start.time <= event->time) {
        link_pair(matching, &start, event);
        matching->first_queued++;
    }
}

static void end_group(struct matching *matching)
{
    end_id(matching);
    for (struct match start; first_queued(matching, &start); matching->first_queued++)
        link_unclosed(matching, &start);
}

/* Returns true if an event is to be matched with the events that matching->group and matching->value describe. */
static bool is_alike(const struct matching *matching, const struct match_record *record)
{
    bool by_id = record->group >> CLASS_SHIFT < MATCH_NAMELESS;
    return (record->group | LATE) == (matching->group | LATE) && (!by_id || record->value == matching->value);
}

static void match_all(struct matching *matching)
{
    for (const struct match_record *record; (record = afperf_sorted(matching->model, matching->events));) {
        uint64_t class = record->group >> CLASS_SHIFT;
        if (!is_alike(matching, record))
            end_group(matching);
        matching->group = record->group;
        matching->value = record->value;
        if (class == MATCH_NAMELESS_REGION)
            match_nameless_region(matching, &record->event);
        else if (class == MATCH_NAMELESS_INTERVAL)
            match_nameless_interval(matching, &record->event);
        else
            match_by_id(matching, &record->event);
    }
    end_group(matching);
}

void afperf_match(struct afperf_model *model, struct pf_sorter *links)
{
    struct matching *matching = PF_OWN(model->run, calloc(1, sizeof *matching), free);
    matching->model = matching->walk.model = model;
    matching->events = afperf_new_sorter(model, sizeof(struct match_record), MATCH_KEYS);
    matching->links = links;
    matching->queue = afperf_new_store(model);
    matching->queued = afperf_window(model, matching->queue);
    fill_sorter(matching);
    match_all(matching);
    pf_run_check(model->run, pf_sorter_finish(links, model->run->error));
}
