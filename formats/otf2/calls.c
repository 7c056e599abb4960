/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/otf2/otf2.h"

/* The pass over all events: computes calls, their durations, the increments of counters during them, and messages. */

/* An open call. */
struct otf2_open_call {
    uint32_t context, id;     /* id: of the region */
    uint32_t region;          /* number of the region */
    uint32_t outer_of_region; /* stack index + 1 of the nearest caller in the same region; 0: none */
    uint32_t function;
    uint32_t outer; /* stack index + 1 of the nearest caller of the same function; 0: not recursive */
    uint64_t held;  /* completed calls of the same function inside this one, at any depth */
    int64_t start;
    pf_int128 time; /* without callees */
    uint64_t row;   /* row of the table "trace" */
};

/* State of a region in this pass. Undefined regions have numbers after the defined ones. */
struct region {
    bool entered;       /* false: the other fields are not set yet */
    uint32_t name;      /* string number */
    uint32_t function;  /* regions with the same name and file are one function, as in functions.csv */
    uint32_t innermost; /* stack index + 1 of its innermost open call; 0: not open */
};

/* State of the pass. */
struct follow {
    struct otf2_state *state;
    struct pf_build *build;
    struct otf2_events events;
    const uint64_t *about; /* definition of the current location */
    uint32_t location;     /* place of the current location */
    uint64_t count;        /* number of events read */
    uint64_t sampled;      /* number of sampled (skipped) events */
    int64_t now, latest;   /* in ns; now: time of the current event; latest: time of the last change of the stack */
    PF_LIST(struct otf2_open_call) stack;
    PF_LIST(struct region) regions; /* indexed by number */
    struct pf_ids unknown;          /* undefined regions: id -> number */
    struct pf_strings *functions;   /* string i: numbers of the name and file of function i */
    PF_LIST(uint32_t) innermost;    /* by function: stack index + 1 of its innermost open call; 0: not open */
    struct otf2_reading {
        uint64_t bits;
        uint32_t location; /* place of the location that read it, plus 1; 0: not read yet */
    } * last;              /* last value of each counter, indexed like class_members */
};

static void otf2_warn(struct follow *follow, const char *code, const char *what, uint32_t region)
{
    pf_build_warn(follow->build, 0, -1, "warning", code,
                  "location %" PRIu64 ": region %u at %" PRId64 " ns: %s", follow->about[OTF2_ID], region,
                  follow->now, what);
}

/* ---- regions ------------------------------------------------------------------------------------ */

/* Returns the number of a region; OTF2_NONE if the region is undefined and was never entered. */
static uint32_t find_region(const struct follow *follow, uint32_t id)
{
    uint32_t place = otf2_place(&follow->state->definitions, OTF2_REGIONS, id);
    return place != OTF2_NONE ? place : pf_ids_find(&follow->unknown, id);
}

/* Returns the number of a region. An undefined region is added. */
static uint32_t otf2_number_of(struct follow *follow, uint32_t id)
{
    struct otf2_state *state = follow->state;
    struct pf_build *build = follow->build;
    uint32_t number = find_region(follow, id);
    if (number != OTF2_NONE)
        return number;
    otf2_warn(follow, "undefined", "not defined", id);
    pf_run_check(build->run, pf_array_room(&state->unknown, &state->unknown_room, state->n_unknown,
                                           sizeof *state->unknown, build->run->error));
    state->unknown[state->n_unknown++] = id;
    number = otf2_count(&state->definitions, OTF2_REGIONS) + (uint32_t)state->n_unknown - 1;
    pf_run_check(build->run, pf_ids_set(&follow->unknown, id, number, build->run->error));
    return number;
}

/* Returns the region with this number and id, initialized on first use. */
static struct region *otf2_region_of(struct follow *follow, uint32_t number, uint32_t id)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct pf_build *build = follow->build;
    struct region *region = PF_ITEM(build->run, follow->regions, number);
    if (region->entered)
        return region;
    const uint64_t *defined = otf2_at(definitions, OTF2_REGIONS, number);
    const uint64_t *file = defined ? otf2_find(definitions, OTF2_STRINGS, defined[OTF2_REGION_FILE]) : NULL;
    struct pf_cell name = otf2_text_of(definitions, defined, OTF2_NAME);
    char text[32];
    if (name.type == PF_ABSENT)
        name = pf_text(text, (size_t)snprintf(text, sizeof text, "region %u", id));
    *region = (struct region){.entered = true, .name = pf_build_name(build, name.text, name.size)};
    uint64_t pair[] = {region->name, file ? file[OTF2_STRING_TEXT] : UINT64_MAX};
    region->function = pf_build_intern(build, follow->functions, pair, sizeof pair);
    return region;
}

/* Sets the file and line of each context from its region. */
static void otf2_add_places(struct follow *follow)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct pf_build *build = follow->build;
    struct pf_tree *tree = build->model->contexts;
    pf_run_check(build->run,
                 pf_array_resize(&tree->file, tree->count, sizeof *tree->file, build->run->error));
    pf_run_check(build->run,
                 pf_array_resize(&tree->line, tree->count, sizeof *tree->line, build->run->error));
    for (uint32_t i = 0; i < tree->count; i++) {
        const uint64_t *region = otf2_at(definitions, OTF2_REGIONS, tree->key[i]);
        struct pf_cell file = otf2_text_of(definitions, region, OTF2_REGION_FILE);
        pf_run_check(build->run, pf_pass_check(build->run->error));
        tree->file[i] = file.size ? pf_build_name(build, file.text, file.size) : PF_NO_STRING;
        tree->line[i] = region ? (uint32_t)region[OTF2_REGION_LINE] : 0;
    }
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void otf2_add(struct follow *follow, uint32_t context, uint32_t metric, pf_int128 value)
{
    pf_build_add(follow->build, follow->location, context, metric, pf_wide(&value));
}

static struct otf2_open_call *top(struct follow *follow)
{
    return follow->stack.n ? &follow->stack.at[follow->stack.n - 1] : NULL;
}

/* Adds the time since the last change of the stack to the innermost open call. */
static void otf2_pass_time(struct follow *follow)
{
    if (top(follow))
        top(follow)->time += (pf_int128)follow->now - follow->latest;
    follow->latest = follow->now;
}

static void otf2_enter(struct follow *follow, uint32_t id)
{
    struct pf_build *build = follow->build;
    uint32_t number = otf2_number_of(follow, id);
    struct region *region = otf2_region_of(follow, number, id);
    otf2_pass_time(follow);
    struct otf2_open_call call = {.id = id,
                                  .region = number,
                                  .outer_of_region = region->innermost,
                                  .function = region->function,
                                  .start = follow->now};
    call.context =
        pf_build_child(build, top(follow) ? top(follow)->context : PF_NO_CONTEXT, number, region->name, 0);
    call.row = pf_build_stay(build, follow->location, call.context, pf_int(call.start), pf_int(0));
    uint32_t *innermost = PF_ITEM(build->run, follow->innermost, call.function);
    call.outer = *innermost;
    *PF_PUSH(build->run, follow->stack) = call;
    *innermost = region->innermost = (uint32_t)follow->stack.n;
}

static void leave_top(struct follow *follow)
{
    const struct otf2_open_call *call = &follow->stack.at[--follow->stack.n];
    pf_build_lasts(follow->build, call->row, pf_int(follow->now - call->start));
    otf2_add(follow, call->context, OTF2_CALLS, 1);
    otf2_add(follow, call->context, OTF2_HELD_CALLS, call->held + 1);
    otf2_add(follow, call->context, OTF2_TIME_METRIC, call->time);
    if (call->outer)
        follow->stack.at[call->outer - 1].held += call->held + 1;
    follow->innermost.at[call->function] = call->outer;
    follow->regions.at[call->region].innermost = call->outer_of_region;
}

/* Leaves a region. Calls that are still open inside it end, too, with a warning. */
static void otf2_leave(struct follow *follow, uint32_t id)
{
    uint32_t region = find_region(follow, id);
    uint32_t call = region < follow->regions.room ? follow->regions.at[region].innermost : 0;
    if (!call) {
        otf2_warn(follow, "not-open", "leave without an enter: ignored", id);
        return;
    }
    otf2_pass_time(follow);
    while (follow->stack.n > call) {
        otf2_warn(follow, "no-leave", "leave is missing: closed with its caller", top(follow)->id);
        leave_top(follow);
    }
    leave_top(follow);
}

/* ---- counters ----------------------------------------------------------------------------------- */

enum { SIGNED_TYPE = 5, REAL_TYPE = 10 };

static struct pf_cell value_cell(uint64_t type, uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return type == REAL_TYPE ? pf_double(real) : type >= SIGNED_TYPE ? pf_int((int64_t)bits) : pf_uint(bits);
}

/* Adds the increase of a counter since its last reading to the innermost open call. */
static void otf2_add_counter_value(struct follow *follow, uint64_t place, uint64_t bits)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct otf2_reading before = follow->last[place];
    uint32_t member = otf2_place(definitions, OTF2_MEMBERS, definitions->class_members.at[place]);
    int metric = member == OTF2_NONE ? -1 : follow->state->counter[member];
    follow->last[place] = (struct otf2_reading){bits, follow->location + 1};
    if (metric < 0 || before.location != follow->location + 1 || !top(follow))
        return;
    uint64_t type = otf2_at(definitions, OTF2_MEMBERS, member)[OTF2_MEMBER_TYPE];
    struct pf_cell from = value_cell(type, before.bits), to = value_cell(type, bits);
    if (type == REAL_TYPE)
        pf_build_add(follow->build, follow->location, top(follow)->context, (uint32_t)metric,
                     pf_double(to.d - from.d));
    else
        otf2_add(follow, top(follow)->context, (uint32_t)metric,
                 type >= SIGNED_TYPE ? (pf_int128)to.i - from.i : (pf_int128)to.u - from.u);
}

static void take_readings(struct follow *follow, struct otf2_event *event)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct otf2_fields *fields = &event->fields;
    const uint64_t *class =
        otf2_class_of(definitions, otf2_mapped(&follow->events, OTF2_MAP_METRIC, otf2_id(fields)));
    unsigned n = otf2_byte(fields);
    for (unsigned i = 0; class && i < n && i < class[OTF2_CLASS_COUNT]; i++) {
        uint64_t place = class[OTF2_CLASS_FIRST] + i;
        const uint64_t *member = otf2_find(definitions, OTF2_MEMBERS, definitions->class_members.at[place]);
        uint8_t type = otf2_byte(fields);
        uint64_t bits = otf2_number(fields, 8);
        if (fields->bad)
            return;
        struct pf_cell cells[OTF2_READING_COLUMNS] = {pf_int(follow->location), pf_whole(&event->time),
                                                      value_cell(type, bits),
                                                      otf2_text_of(definitions, member, OTF2_MEMBER_UNIT),
                                                      otf2_text_of(definitions, member, OTF2_NAME)};
        pf_build_row(follow->build, OTF2_READINGS, cells);
        if (!class[OTF2_CLASS_OCCURRENCE]) /* 0 is strict: read at each enter and leave */
            otf2_add_counter_value(follow, place, bits);
    }
}

/* ---- messages ----------------------------------------------------------------------------------- */

static void otf2_handle_message(struct follow *follow, struct otf2_event *event)
{
    static const char *const names[] = {
        [OTF2_SEND] = "send", [OTF2_ISEND] = "isend", [OTF2_RECV] = "recv", [OTF2_IRECV] = "irecv"};
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct otf2_fields *fields = &event->fields;
    uint32_t rank = otf2_id(fields), comm = otf2_mapped(&follow->events, OTF2_MAP_COMM, otf2_id(fields)),
             tag = otf2_id(fields);
    uint64_t bytes = otf2_number(fields, 8);
    bool asynchronous = event->type == OTF2_ISEND || event->type == OTF2_IRECV;
    struct pf_cell cells[OTF2_MESSAGE_COLUMNS] = {
        pf_int(follow->location),
        pf_whole(&event->time),
        pf_string(names[event->type]),
        pf_uint(rank),
        otf2_rank(definitions, comm, rank),
        pf_uint(tag),
        pf_uint(bytes),
        asynchronous ? pf_uint(otf2_number(fields, 8)) : pf_absent(),
        otf2_name_of(definitions, otf2_find(definitions, OTF2_COMMS, comm), OTF2_NAME)};
    pf_build_row(follow->build, OTF2_MESSAGES, cells);
}

/* ---- locations ---------------------------------------------------------------------------------- */

static void otf2_handle_event(struct follow *follow, struct otf2_event *event)
{
    enum { SAMPLED_FIRST = 66, SAMPLED_LAST = 68 };
    const int64_t most = INT64_MAX / 2; /* half the range, so that differences do not overflow */
    follow->now = event->time > most ? most : event->time < -most ? -most : (int64_t)event->time;
    follow->count++;
    follow->sampled += event->type >= SAMPLED_FIRST && event->type <= SAMPLED_LAST;
    if (event->type == OTF2_METRIC) {
        take_readings(follow, event);
    } else if (event->type == OTF2_SEND || event->type == OTF2_ISEND || event->type == OTF2_RECV ||
               event->type == OTF2_IRECV) {
        otf2_handle_message(follow, event);
    } else if (event->type == OTF2_ENTER || event->type == OTF2_LEAVE) {
        uint32_t region = otf2_mapped(&follow->events, OTF2_MAP_REGION, otf2_id(&event->fields));
        if (!event->fields.bad)
            (event->type == OTF2_ENTER ? otf2_enter : otf2_leave)(follow, region);
    }
}

/*
 * Warns if the location's events ended abnormally, or if their number differs from the announced one. `end` is the
 * error that ended them; its code is 0 at the regular end.
 */
static void otf2_check_end(struct follow *follow, const struct pf_error *end)
{
    uint64_t id = follow->about[OTF2_ID], announced = follow->about[OTF2_LOCATION_EVENTS];
    if (end->code == ENOENT && announced)
        pf_build_warn(follow->build, 0, -1, "error", "no-events",
                      "location %" PRIu64 ": no file of events, %" PRIu64 " are declared", id, announced);
    else if (end->code && end->code != ENOENT)
        pf_build_warn(follow->build, 0, end->offset, "fatal", "events",
                      "location %" PRIu64 ": reading of events ends here: %.80s; %" PRIu64 " of %" PRIu64
                      " are read",
                      id, end->what, follow->count, announced);
    else if (!end->code && follow->count != announced)
        pf_build_warn(follow->build, 0, -1, "warning", "event-count",
                      "location %" PRIu64 ": %" PRIu64 " events are read, %" PRIu64 " announced", id,
                      follow->count, announced);
}

/* Reads a location's events up to their end or the first damage. */
static void otf2_read_events(struct follow *follow)
{
    struct otf2_state *state = follow->state;
    struct pf_build *build = follow->build;
    struct pf_error end = {0};
    struct otf2_event event;
    int more = otf2_events_open(&follow->events, state, follow->about[OTF2_ID]);
    while (more >= 0 && (more = otf2_events_next(&follow->events, &event)) > 0) {
        if (follow->count % 8192 == 0)
            pf_run_check(build->run,
                         pf_pass_step(follow->location, otf2_count(&state->definitions, OTF2_LOCATIONS),
                                      build->run->error));
        otf2_handle_event(follow, &event);
    }
    if (more < 0)
        end = *build->run->error;
    otf2_check_end(follow, &end);
    otf2_events_close(&follow->events);
}

static void follow_location(struct follow *follow)
{
    follow->count = 0;
    otf2_read_events(follow);
    otf2_pass_time(follow);
    while (follow->stack.n) {
        otf2_warn(follow, "still-open", "open at the end: closed there", top(follow)->id);
        leave_top(follow);
    }
}

static void close_events(void *events)
{
    otf2_events_close(events);
}

void otf2_follow(struct otf2_state *state)
{
    struct pf_build *build = state->build;
    struct follow *follow = PF_OWN(build->run, calloc(1, sizeof *follow), free);
    follow->build = build;
    follow->state = state;
    follow->last =
        PF_OWN(build->run, calloc(state->definitions.class_members.n + 1, sizeof *follow->last), free);
    follow->functions = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    PF_OWN(build->run, &follow->unknown, pf_ids_free);
    pf_own(build->run, &follow->events, close_events);
    pf_stored_names(build->stored[OTF2_MESSAGES], state->definitions.strings);
    pf_stored_names(build->stored[OTF2_READINGS], state->definitions.strings);
    for (; (follow->about = otf2_at(&state->definitions, OTF2_LOCATIONS, follow->location));
         follow->location++)
        follow_location(follow);
    otf2_add_places(follow);
    if (follow->sampled)
        pf_build_warn(build, 0, -1, "warning", "sampled",
                      "%" PRIu64 " events of sampled call paths are not shown", follow->sampled);
}
