/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/otf2/otf2.h"

/* The pass over all events: calls, how long they take, and what counters count meanwhile. */

struct call {
    uint32_t context, region; /* region: id */
    uint32_t function;        /* number of the region's name and file */
    int64_t start;
    uint64_t row; /* of the spans */
};

struct follow {
    struct pf_profile *profile;
    struct otf2_state *state;
    struct pf_error *error;
    struct pf_spans *spans; /* NULL: the tree and the sums are made */
    struct pf_map contexts; /* with spans: caller and region -> context + 1 */
    struct pf_map unknown;  /* regions that are not defined: id -> number + 1 */
    struct otf2_events events;
    uint32_t location;
    uint64_t count;      /* events so far */
    uint64_t sampled;    /* events that are not read */
    int64_t now, latest; /* ns: of this event; of the last one that changed the stack */
    struct call *stack;
    size_t depth, stack_room;
    struct pf_strings
        *functions;      /* bytes of two numbers of strings: what functions.csv takes for one function */
    uint32_t *innermost; /* by function: context of the innermost open call plus 1, 0: none is open */
    uint32_t *outer;     /* by context: the nearest caller of the same function plus 1, 0: there is none */
    size_t innermost_room, outer_room;
    struct pf_total *totals; /* by context and metric, of this location */
    size_t totals_room;
    uint32_t *touched; /* contexts with totals */
    size_t n_touched, touched_room;
    bool *is_touched;
    size_t is_touched_room;
    struct reading {
        uint64_t bits;
        bool known;
    } * last; /* by place in class_members: what this location's counters have read last */
};

static int warn(struct follow *follow, const char *severity, const char *code, const char *what,
                uint32_t region)
{
    return follow->spans ? 0
                         : pf_warn(follow->profile, 0, -1, severity, code, follow->error,
                                   "location %" PRIu64 ": region %u %s at %" PRId64 " ns",
                                   otf2_locations(&follow->state->definitions)[follow->location].id, region,
                                   what, follow->now);
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* The number of a region: its place, or one behind those that are defined. */
static uint32_t number_of(struct follow *follow, uint32_t id)
{
    struct otf2_state *state = follow->state;
    uint32_t regions = state->definitions.things[OTF2_REGIONS].count,
             place = otf2_find(&state->definitions, OTF2_REGIONS, id);
    if (place != OTF2_NONE)
        return place;
    uintptr_t known = (uintptr_t)pf_map_get(&follow->unknown, id);
    if (known)
        return (uint32_t)(known - 1);
    size_t i = state->n_unknown;
    if (warn(follow, "warning", "undefined", "is not defined, entered", id) ||
        pf_array_room(&state->unknown, &state->unknown_room, i, sizeof *state->unknown, follow->error))
        return OTF2_NONE;
    state->unknown[state->n_unknown++] = id;
    if (!pf_map_put(&follow->unknown, id, (void *)(uintptr_t)(regions + i + 1))) {
        pf_fail_memory(follow->error);
        return OTF2_NONE;
    }
    return regions + (uint32_t)i;
}

static uint32_t name_of(struct follow *follow, uint32_t region, uint32_t id)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    char text[32];
    struct pf_cell name = pf_absent();
    if (region < definitions->things[OTF2_REGIONS].count)
        name = otf2_string(definitions, otf2_regions(definitions)[region].name);
    if (name.type == PF_ABSENT)
        name = pf_text(text, (size_t)snprintf(text, sizeof text, "region %u", id));
    return pf_intern(follow->profile->contexts->strings, name.text, name.size, follow->error);
}

static uint32_t context_of(struct follow *follow, uint32_t region, uint32_t id)
{
    uint32_t caller = follow->depth ? follow->stack[follow->depth - 1].context : PF_NO_CONTEXT;
    if (follow->spans) {
        uintptr_t known = (uintptr_t)pf_map_get(&follow->contexts, (uint64_t)caller << 32 | region);
        if (known)
            return (uint32_t)(known - 1);
        pf_fail(follow->error, ESTALE, "the events have changed");
        return PF_NO_CONTEXT;
    }
    uint32_t name = name_of(follow, region, id);
    uint8_t flags = caller == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    return name == PF_NO_STRING
               ? PF_NO_CONTEXT
               : pf_tree_child(follow->profile->contexts, caller, region, name, 0, flags, follow->error);
}

/* Of the finished tree, which context a region is below a caller; and the regions that are not defined. */
static int index_contexts(struct follow *follow)
{
    const struct otf2_state *state = follow->state;
    const struct pf_tree *tree = follow->profile->contexts;
    uintptr_t regions = state->definitions.things[OTF2_REGIONS].count;
    for (size_t i = 0; i < state->n_unknown; i++)
        if (!pf_map_put(&follow->unknown, state->unknown[i], (void *)(regions + i + 1)))
            return pf_fail_memory(follow->error);
    for (uint32_t i = 0; i < tree->count; i++)
        if (!pf_map_put(&follow->contexts, (uint64_t)tree->parent[i] << 32 | tree->key[i],
                        (void *)((uintptr_t)i + 1)))
            return pf_fail_memory(follow->error);
    return 0;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static struct pf_total *total_of(struct follow *follow, uint32_t context, size_t metric)
{
    size_t metrics = follow->state->n_metrics, first = context * metrics;
    if (pf_array_reach(&follow->totals, &follow->totals_room, first + metrics - 1, sizeof *follow->totals,
                       follow->error) ||
        pf_array_reach(&follow->is_touched, &follow->is_touched_room, context, sizeof *follow->is_touched,
                       follow->error))
        return NULL;
    if (!follow->is_touched[context]) {
        if (pf_array_room(&follow->touched, &follow->touched_room, follow->n_touched, sizeof *follow->touched,
                          follow->error))
            return NULL;
        follow->touched[follow->n_touched++] = context;
        follow->is_touched[context] = true;
    }
    return &follow->totals[first + metric];
}

/* What has passed since the stack changed last belongs to its top. */
static int pass_time(struct follow *follow)
{
    if (!follow->spans && follow->depth) {
        struct pf_total *time = total_of(follow, follow->stack[follow->depth - 1].context, OTF2_TIME_METRIC);
        if (!time)
            return -1;
        pf_total_add_whole(time, (pf_int128)follow->now - follow->latest);
    }
    follow->latest = follow->now;
    return 0;
}

static int add_span(struct follow *follow, struct call *call)
{
    struct pf_span_row row = {.time = pf_time(call->start),
                              .context = call->context,
                              .name = follow->profile->contexts->name[call->context]};
    call->row = pf_spans_count(follow->spans);
    return pf_spans_add(follow->spans, &row, follow->error);
}

static int add_call(struct follow *follow, const struct call *call)
{
    struct pf_total *calls = total_of(follow, call->context, OTF2_CALLS);
    if (!calls ||
        pf_array_reach(&follow->innermost, &follow->innermost_room, call->function, sizeof *follow->innermost,
                       follow->error) ||
        pf_array_reach(&follow->outer, &follow->outer_room, call->context, sizeof *follow->outer,
                       follow->error))
        return -1;
    pf_total_add_whole(calls, 1);
    follow->outer[call->context] = follow->innermost[call->function];
    follow->innermost[call->function] = call->context + 1;
    return 0;
}

/* What region a context is of, as functions.csv knows it: two regions may have one name and file. */
static uint32_t function_of(struct follow *follow, uint32_t context, uint32_t region)
{
    const struct otf2_definitions *definitions = &follow->state->definitions;
    bool defined = region < definitions->things[OTF2_REGIONS].count;
    uint32_t file =
        defined ? otf2_find(definitions, OTF2_STRINGS, otf2_regions(definitions)[region].file) : OTF2_NONE;
    const uint32_t *numbers = definitions->things[OTF2_STRINGS].items;
    uint32_t pair[] = {follow->profile->contexts->name[context],
                       file == OTF2_NONE ? OTF2_NONE : numbers[file]};
    return pf_intern(follow->functions, (const char *)pair, sizeof pair, follow->error);
}

static int enter(struct follow *follow, uint32_t id)
{
    struct call call = {.region = id, .start = follow->now};
    uint32_t number = number_of(follow, id);
    if (number == OTF2_NONE || pass_time(follow) ||
        pf_array_room(&follow->stack, &follow->stack_room, follow->depth, sizeof *follow->stack,
                      follow->error))
        return -1;
    call.context = context_of(follow, number, id);
    if (call.context == PF_NO_CONTEXT)
        return -1;
    call.function = function_of(follow, call.context, number);
    if (call.function == PF_NO_STRING || (follow->spans ? add_span(follow, &call) : add_call(follow, &call)))
        return -1;
    follow->stack[follow->depth++] = call;
    return 0;
}

static int leave_top(struct follow *follow)
{
    const struct call *call = &follow->stack[--follow->depth];
    if (follow->spans)
        return pf_spans_set_duration(follow->spans, call->row, pf_time(follow->now - call->start),
                                     follow->error);
    follow->innermost[call->function] = follow->outer[call->context];
    return 0;
}

/* Calls that are open above the one that is left end with it. */
static int leave(struct follow *follow, uint32_t id)
{
    size_t call = follow->depth;
    while (call && follow->stack[call - 1].region != id)
        call--;
    if (!call)
        return warn(follow, "warning", "not-open", "is left, which is not open: that is ignored,", id);
    if (pass_time(follow))
        return -1;
    while (follow->depth > call)
        if (warn(follow, "warning", "no-leave", "has no leave: it is closed with its caller",
                 follow->stack[follow->depth - 1].region) ||
            leave_top(follow))
            return -1;
    return leave_top(follow);
}

/* ---- counters ----------------------------------------------------------------------------------- */

/* A counter has gone on: what it counted meanwhile belongs to the call that is open. */
static int count(struct follow *follow, uint32_t place, uint64_t bits)
{
    enum { REAL = 10, SIGNED = 5 };
    const struct otf2_definitions *definitions = &follow->state->definitions;
    struct reading *last = &follow->last[place];
    uint32_t member = otf2_find(definitions, OTF2_MEMBERS, definitions->class_members[place]);
    int metric = member == OTF2_NONE ? -1 : follow->state->counter[member];
    uint64_t before = last->bits;
    bool known = last->known;
    *last = (struct reading){bits, true};
    if (metric < 0 || !known || !follow->depth)
        return 0;
    struct pf_total *total = total_of(follow, follow->stack[follow->depth - 1].context, (size_t)metric);
    if (!total)
        return -1;
    uint8_t type = otf2_members(definitions)[member].type;
    double from, to;
    memcpy(&from, &before, sizeof from);
    memcpy(&to, &bits, sizeof to);
    if (type == REAL)
        pf_total_add_real(total, to - from);
    else if (type >= SIGNED)
        pf_total_add_whole(total, (pf_int128)(int64_t)bits - (int64_t)before);
    else
        pf_total_add_whole(total, (pf_int128)bits - (pf_int128)before);
    return 0;
}

static int read_counters(struct follow *follow, struct otf2_fields *fields)
{
    uint32_t id = otf2_mapped(&follow->events, OTF2_MAP_METRIC, otf2_id(fields));
    const struct otf2_class *class = otf2_class_of(&follow->state->definitions, id);
    unsigned n = otf2_byte(fields);
    if (!class || !class->strict || follow->spans)
        return 0;
    for (unsigned i = 0; i < n && i < class->count && !fields->bad; i++) {
        otf2_byte(fields); /* its type, which the definition has too */
        uint64_t bits = otf2_number(fields, 8);
        if (!fields->bad && count(follow, class->first + i, bits))
            return -1;
    }
    return 0;
}

/* ---- locations ---------------------------------------------------------------------------------- */

static int read_event(struct follow *follow, struct otf2_event *event)
{
    enum { SAMPLED_FIRST = 66, SAMPLED_LAST = 68 };
    pf_int128 ns = otf2_ns(&follow->state->definitions, event->ticks);
    follow->now = ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN / 2 ? INT64_MIN / 2 : (int64_t)ns;
    follow->count++;
    follow->sampled += event->type >= SAMPLED_FIRST && event->type <= SAMPLED_LAST;
    switch (event->type) {
    case OTF2_ENTER:
    case OTF2_LEAVE: {
        uint32_t region = otf2_mapped(&follow->events, OTF2_MAP_REGION, otf2_id(&event->fields));
        return event->fields.bad           ? 0
               : event->type == OTF2_ENTER ? enter(follow, region)
                                           : leave(follow, region);
    }
    case OTF2_METRIC:
        return read_counters(follow, &event->fields);
    default:
        return 0;
    }
}

static int tell_end(struct follow *follow, const struct pf_error *end)
{
    const struct otf2_location *location = &otf2_locations(&follow->state->definitions)[follow->location];
    if (follow->spans)
        return 0;
    if (end->code == ENOENT)
        return location->announced
                   ? pf_warn(follow->profile, 0, -1, "error", "no-events", follow->error,
                             "location %" PRIu64 ": no file of events, %" PRIu64 " are announced",
                             location->id, location->announced)
                   : 0;
    if (end->code)
        return pf_warn(follow->profile, 0, end->offset, "fatal", "events", follow->error,
                       "location %" PRIu64 ": the events end here: %.80s; %" PRIu64 " of %" PRIu64
                       " are read",
                       location->id, end->what, follow->count, location->announced);
    if (follow->count != location->announced)
        return pf_warn(follow->profile, 0, -1, "warning", "event-count", follow->error,
                       "location %" PRIu64 ": %" PRIu64 " events are read, %" PRIu64 " announced",
                       location->id, follow->count, location->announced);
    return 0;
}

/* Reads the events as far as they go. What ends them, if not their end, is told in *end. */
static int read_events(struct follow *follow, struct pf_pass *pass, struct pf_error *end)
{
    struct otf2_state *state = follow->state;
    struct otf2_event event;
    int more =
        otf2_events_open(&follow->events, &state->definitions, &state->files, follow->location, end) ? -1 : 1;
    while (more > 0 && (more = otf2_events_next(&follow->events, &event, end)) > 0) {
        if (follow->count % 8192 == 0 &&
            pf_pass_step(pass, follow->location, state->definitions.things[OTF2_LOCATIONS].count,
                         follow->error))
            return -1;
        if (read_event(follow, &event))
            return -1;
    }
    if (more < 0 && end->code != EINVAL && end->code != ENOENT) {
        *follow->error = *end;
        return -1;
    }
    if (more >= 0)
        end->code = 0;
    return 0;
}

static int deepest_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* Calls of a function within calls of the same function are held by these, as time is. */
static void hold_calls(struct follow *follow)
{
    size_t metrics = follow->state->n_metrics;
    if (follow->n_touched)
        qsort(follow->touched, follow->n_touched, sizeof *follow->touched, deepest_first);
    for (size_t i = 0; i < follow->n_touched; i++) {
        struct pf_total *totals = &follow->totals[follow->touched[i] * metrics];
        uint32_t outer = follow->outer[follow->touched[i]];
        totals[OTF2_HELD_CALLS].whole += totals[OTF2_CALLS].whole;
        if (outer)
            follow->totals[(outer - 1) * metrics + OTF2_HELD_CALLS].whole += totals[OTF2_HELD_CALLS].whole;
    }
}

/* The location's totals are added to the sums. */
static int end_location(struct follow *follow)
{
    size_t metrics = follow->state->n_metrics;
    hold_calls(follow);
    for (size_t i = 0; i < follow->n_touched; i++) {
        uint32_t context = follow->touched[i];
        follow->is_touched[context] = false;
        for (size_t m = 0; m < metrics; m++) {
            struct pf_total *total = &follow->totals[context * metrics + m];
            if ((total->whole || total->has_real) &&
                pf_sums_add_total(follow->state->sums.sums, follow->location, context, (uint32_t)m, total,
                                  follow->error))
                return -1;
            *total = (struct pf_total){0};
        }
    }
    follow->n_touched = 0;
    return 0;
}

static int follow_location(struct follow *follow, struct pf_pass *pass)
{
    struct pf_error end = {0};
    follow->count = 0;
    follow->depth = 0;
    if (follow->last)
        memset(follow->last, 0, follow->state->definitions.n_class_members * sizeof *follow->last);
    int failed = read_events(follow, pass, &end) || tell_end(follow, &end) || pass_time(follow);
    otf2_events_close(&follow->events);
    while (!failed && follow->depth)
        failed = warn(follow, "warning", "still-open", "is open at the end: it is closed",
                      follow->stack[follow->depth - 1].region) ||
                 leave_top(follow);
    if (failed)
        return -1;
    return follow->spans ? pf_spans_end_partition(follow->spans, follow->error) : end_location(follow);
}

int otf2_follow(struct pf_profile *profile, struct pf_spans *spans, struct pf_pass *pass,
                struct pf_error *error)
{
    struct otf2_state *state = otf2_state(profile);
    struct follow follow = {.profile = profile, .state = state, .error = error, .spans = spans};
    follow.last = calloc(state->definitions.n_class_members + 1, sizeof *follow.last);
    follow.functions = pf_strings_new();
    int failed = !follow.last || !follow.functions ? pf_fail_memory(error)
                 : spans                           ? index_contexts(&follow)
                                                   : 0;
    for (; follow.location < state->definitions.things[OTF2_LOCATIONS].count && !failed; follow.location++)
        failed = follow_location(&follow, pass);
    if (!failed && !spans && follow.sampled)
        failed = pf_warn(profile, 0, -1, "warning", "sampled", error,
                         "%" PRIu64 " events of sampled call paths are not shown", follow.sampled);
    pf_map_free(&follow.contexts);
    pf_map_free(&follow.unknown);
    free(follow.stack);
    pf_strings_free(follow.functions);
    free(follow.innermost);
    free(follow.outer);
    free(follow.totals);
    free(follow.touched);
    free(follow.is_touched);
    free(follow.last);
    return failed ? -1 : 0;
}
