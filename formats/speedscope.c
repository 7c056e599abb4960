/* SPDX-License-Identifier: MIT */
/* The JSON of speedscope, evented and sampled: see docs/formats/speedscope.md. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"
#include "formats/kit/array.h"
#include "formats/kit/fixed.h"
#include "formats/kit/samples.h"
#include "formats/kit/spans.h"

extern const struct pf_driver pf_speedscope_driver;

/* Amounts are held in 10^-12 of a unit (of a ns, where it is a time): exactly, whatever decimals they have. */
enum { PLACES = 12 };
#define ONE ((pf_int128)1000000000000)

struct unit {
    const char *name, *metric, *unit;
    int places; /* what it is called in the file is 10^places of the metric's unit */
};

static const struct unit units[] = {
    {"nanoseconds", "time", "ns", 0}, {"microseconds", "time", "ns", 3}, {"milliseconds", "time", "ns", 6},
    {"seconds", "time", "ns", 9},     {"bytes", "bytes", "bytes", 0},    {"none", "samples", "", 0},
};
enum { NO_UNIT = sizeof units / sizeof *units - 1 };

/* A frame that has begun. */
struct open_frame {
    uint32_t context;
    int64_t frame;
    uint64_t row;
    pf_int128 begin;
};

struct scope {
    struct pf_samples samples; /* first: the kit looks here */
    struct pf_spans *spans;
    struct pf_json *json, *weights; /* the second one reads weights beside samples */
    struct pf_pass *pass;
    bool shared;                   /* its value was met */
    struct pf_json_place profiles; /* which stand before it, to be read behind it */
    uint32_t *frames;              /* of the kit, by their numbers in the file */
    size_t n_frames, frames_room;
    uint32_t *open_counts; /* how often each is open */
    size_t counts_room;
    struct open_frame *stack;
    size_t depth, room;
    uint32_t n_profiles;
};

/* A member of `profiles`. Amounts are read once the unit is known. */
struct one {
    uint32_t number; /* the partition, too */
    uint32_t name;
    const struct unit *unit;
    bool sampled, evented, ends;
    struct pf_json_place samples, weights, events, start_value, end_value;
    int metric;
    pf_int128 start, end;
};

static struct scope *scope_of(const struct pf_profile *profile)
{
    return profile->state;
}

static bool is_frame(const struct scope *scope, int64_t frame)
{
    return frame >= 0 && (uint64_t)frame < scope->n_frames;
}

/* ---- probing ------------------------------------------------------------------------------------ */

struct signs {
    bool shared, profiles;
};

static int see(const struct pf_json_walk *walk)
{
    const struct signs *signs = walk->into;
    pf_json_take_notice(walk);
    return signs->shared && signs->profiles;
}

static int see_schema(const struct pf_json_walk *walk)
{
    static const char schema[] = "https://www.speedscope.app/";
    size_t size = sizeof schema - 1;
    return walk->token->size >= size && !memcmp(walk->token->text, schema, size);
}

/* A member counts as soon as its value begins: that may be longer than what is looked at. */
static const struct pf_json_member look_members[] = {
    PF_MEMBER_OF_ALL("$schema", PF_JSON_STRING, see_schema),
    PF_MEMBER("shared", PF_JSON_OBJECT, see, struct signs, shared),
    PF_MEMBER("profiles", PF_JSON_ARRAY, see, struct signs, profiles),
    PF_MEMBERS_END,
};

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct signs signs = {false};
    uint64_t scan = pf_probe_is_called(probe, ".speedscope.json") ? PF_PROBE_SCAN : 0;
    if (pf_probe_object(probe, scan, &signs, look_members))
        verdict->confidence = 16;
}

/* ---- frames ------------------------------------------------------------------------------------- */

static const struct pf_json_member frame_members[] = {
    PF_MEMBER("name", PF_JSON_STRING, pf_json_take_name, struct pf_frame, name),
    PF_MEMBER("file", PF_JSON_STRING, pf_json_take_name, struct pf_frame, module),
    PF_MEMBER("line", PF_JSON_NUMBER, pf_json_take_line, struct pf_frame, line),
    PF_MEMBERS_END,
};

static int read_frame(const struct pf_json_walk *walk)
{
    struct scope *scope = scope_of(walk->profile);
    struct pf_frame frame = {.file = PF_NO_STRING, .module = PF_NO_STRING};
    frame.name = pf_samples_string(walk->profile, "", 0, walk->error);
    if (frame.name == PF_NO_STRING ||
        (walk->token->event == PF_JSON_OBJECT && pf_json_object(walk, &frame, frame_members)) ||
        pf_array_room(&scope->frames, &scope->frames_room, scope->n_frames, sizeof *scope->frames,
                      walk->error))
        return -1;
    uint32_t number = pf_samples_frame(walk->profile, &frame, walk->error);
    scope->frames[scope->n_frames++] = number;
    return number == PF_NO_STRING ? -1 : 0;
}

static int read_frames(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_END, read_frame);
}

/* The context of a frame below another; one that the file does not tell of is called by its number. */
static uint32_t enter(struct pf_profile *profile, uint32_t parent, int64_t frame,
                      const struct pf_json_token *at, struct pf_error *error)
{
    const struct scope *scope = scope_of(profile);
    if (is_frame(scope, frame))
        return pf_samples_enter(profile, parent, scope->frames[frame], error);
    char name[40];
    int size = snprintf(name, sizeof name, "[frame %llu]", (unsigned long long)(frame < 0 ? -1 : frame));
    uint32_t number = pf_samples_named_frame(profile, name, (size_t)size, error);
    if (number == PF_NO_STRING ||
        pf_json_warn(profile, at, "no-frame", "there is no frame of this number", error))
        return PF_NO_CONTEXT;
    return pf_samples_enter(profile, parent, number, error);
}

/* ---- amounts ------------------------------------------------------------------------------------ */

static bool amount_of(const struct pf_json_token *token, const struct unit *unit, pf_int128 *amount)
{
    const pf_int128 most = ONE * ONE * 10000000000;
    pf_int128 value;
    bool is = token->event == PF_JSON_NUMBER &&
              pf_parse_fixed(token->text, token->size, unit->places + PLACES, &value) && value <= most &&
              value >= -most;
    if (is)
        *amount = value;
    return is;
}

static struct pf_time time_of(pf_int128 amount)
{
    pf_int128 whole = amount / ONE;
    if (whole * ONE == amount && whole == (int64_t)whole)
        return pf_time((int64_t)whole);
    return (struct pf_time){.d = pf_fixed_double(amount, PLACES), .real = true};
}

static int add(struct pf_profile *profile, const struct one *one, uint32_t context, pf_int128 amount,
               struct pf_error *error)
{
    struct pf_time value = time_of(amount);
    if (value.real)
        scope_of(profile)->samples.metrics[one->metric].type = "double";
    return pf_samples_add(profile, one->number, context, (uint32_t)one->metric,
                          value.real ? pf_double(value.d) : pf_int(value.i), error);
}

/* ---- sampled ------------------------------------------------------------------------------------ */

/* The context that the stack ends in whose bracket was read, PF_NO_CONTEXT for an empty one. 0, or -1. */
static int read_stack(struct pf_profile *profile, uint32_t *context, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    struct pf_json_token token;
    int got;
    *context = PF_NO_CONTEXT;
    while ((got = pf_json_skip(scope->json, &token, error)) > 0 && got != PF_JSON_ARRAY_END) {
        int64_t frame = -1;
        pf_json_whole(&token, &frame);
        *context = enter(profile, *context, frame, &token, error);
        if (*context == PF_NO_CONTEXT)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

static int add_sample(struct pf_profile *profile, const struct one *one, uint32_t context, pf_int128 at,
                      pf_int128 weight, struct pf_error *error)
{
    struct pf_span_row row = {.time = time_of(at),
                              .duration = time_of(weight),
                              .context = context,
                              .name = profile->contexts->name[context]};
    bool failed = add(profile, one, context, weight, error);
    return failed ? -1 : pf_spans_add(scope_of(profile)->spans, &row, error);
}

/* The next weight. 1; 0: there are no more; -1. */
static int next_weight(struct pf_profile *profile, const struct one *one, pf_int128 *weight,
                       struct pf_error *error)
{
    struct pf_json_token token;
    int got = pf_json_skip(scope_of(profile)->weights, &token, error);
    if (got <= 0 || got == PF_JSON_ARRAY_END)
        return got < 0 && !pf_json_is_damage(error) ? -1 : 0;
    *weight = 0;
    int failed = !amount_of(&token, one->unit, weight)
                     ? pf_json_warn(profile, &token, "no-weight",
                                    "the weight is no number that can be used: taken as 0", error)
                 : *weight < 0
                     ? pf_json_warn(profile, &token, "negative-weight", "the weight is negative", error)
                     : 0;
    return failed ? -1 : 1;
}

static int read_samples(struct pf_profile *profile, const struct one *one, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    struct pf_json_token token = {0};
    pf_int128 at = one->start, weight;
    bool samples = pf_json_enter_array(scope->json, &one->samples, error);
    bool weights = pf_json_enter_array(scope->weights, &one->weights, error);
    uint32_t context = PF_NO_CONTEXT;
    int got = 0, more = 0;
    for (uint64_t i = 0; samples && weights; i++) {
        got = pf_json_next(scope->json, &token, error);
        if (got == PF_JSON_ARRAY && read_stack(profile, &context, error))
            got = -1;
        if (got <= 0 || got == PF_JSON_ARRAY_END)
            break;
        if (got != PF_JSON_ARRAY)
            return pf_fail(error, EBADMSG, "a sample is no array");
        more = next_weight(profile, one, &weight, error);
        if (more <= 0)
            break;
        if ((context != PF_NO_CONTEXT && add_sample(profile, one, context, at, weight, error)) ||
            (i % 1024 == 0 && pf_samples_step(profile, scope->pass, token.offset, error)))
            return -1;
        at += weight;
    }
    if (more < 0 || (got < 0 && !pf_json_is_damage(error)))
        return -1;
    bool even = samples == weights && (got <= 0 || got == PF_JSON_ARRAY_END) &&
                (!weights || next_weight(profile, one, &weight, error) == 0);
    return even ? 0
                : pf_warn(profile, (int64_t)one->samples.line, (int64_t)one->samples.offset, "warning",
                          "counts", error,
                          "profile %u: there are not as many weights as samples: those that have both count",
                          one->number);
}

/* ---- evented ------------------------------------------------------------------------------------ */

struct event {
    const struct one *one;
    char type;
    int64_t frame; /* -1: none */
    pf_int128 at;
    bool timed;
};

static int take_type(const struct pf_json_walk *walk)
{
    if (walk->token->size == 1)
        *(char *)walk->place = *walk->token->text;
    return 0;
}

static int take_at(const struct pf_json_walk *walk)
{
    struct event *event = walk->into;
    event->timed = amount_of(walk->token, event->one->unit, &event->at);
    return 0;
}

static const struct pf_json_member event_members[] = {
    PF_MEMBER("type", PF_JSON_STRING, take_type, struct event, type),
    PF_MEMBER("frame", PF_JSON_NUMBER, pf_json_take_whole, struct event, frame),
    PF_MEMBER_OF_ALL("at", PF_JSON_END, take_at),
    PF_MEMBERS_END,
};

static int pass_time(struct pf_profile *profile, const struct one *one, pf_int128 from, pf_int128 to,
                     struct pf_error *error)
{
    const struct scope *scope = scope_of(profile);
    return scope->depth && to != from
               ? add(profile, one, scope->stack[scope->depth - 1].context, to - from, error)
               : 0;
}

static int open_frame(struct pf_profile *profile, const struct event *event, const struct pf_json_token *at,
                      struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    uint32_t parent = scope->depth ? scope->stack[scope->depth - 1].context : PF_NO_CONTEXT;
    uint32_t context = enter(profile, parent, event->frame, at, error);
    if (context == PF_NO_CONTEXT ||
        pf_array_room(&scope->stack, &scope->room, scope->depth, sizeof *scope->stack, error) ||
        (is_frame(scope, event->frame) &&
         pf_array_reach(&scope->open_counts, &scope->counts_room, (size_t)event->frame,
                        sizeof *scope->open_counts, error)))
        return -1;
    if (is_frame(scope, event->frame))
        scope->open_counts[event->frame]++;
    struct pf_span_row row = {
        .time = time_of(event->at), .context = context, .name = profile->contexts->name[context]};
    scope->stack[scope->depth++] =
        (struct open_frame){context, event->frame, pf_spans_count(scope->spans), event->at};
    return pf_spans_add(scope->spans, &row, error);
}

static int close_top(struct pf_profile *profile, pf_int128 at, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    const struct open_frame *top = &scope->stack[--scope->depth];
    if (is_frame(scope, top->frame))
        scope->open_counts[top->frame]--;
    return pf_spans_set_duration(scope->spans, top->row, time_of(at - top->begin), error);
}

/* Where frames are not closed in the order that they were opened in. */
static int close_frame(struct pf_profile *profile, const struct event *event, const struct pf_json_token *at,
                       struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    bool top = scope->depth && scope->stack[scope->depth - 1].frame == event->frame;
    bool open = top || (is_frame(scope, event->frame) && (size_t)event->frame < scope->counts_room &&
                        scope->open_counts[event->frame]);
    if (!open)
        return pf_json_warn(profile, at, "stray-close", "a frame is closed that is not open: ignored", error);
    if (!top && pf_json_warn(profile, at, "close-below",
                             "a frame is closed before those above it: they are closed too", error))
        return -1;
    while (scope->stack[scope->depth - 1].frame != event->frame)
        if (close_top(profile, event->at, error))
            return -1;
    return close_top(profile, event->at, error);
}

static int take_event(struct pf_profile *profile, const struct one *one, struct event *event, pf_int128 *last,
                      const struct pf_json_token *at, struct pf_error *error)
{
    if (!event->timed || (event->type != 'O' && event->type != 'C'))
        return pf_json_warn(profile, at, "bad-event", "an event without type, frame and at: ignored", error);
    if (event->at < *last) {
        event->at = *last;
        if (pf_json_warn(profile, at, "backwards", "at is before that of the event before: taken as that",
                         error))
            return -1;
    }
    if (pass_time(profile, one, *last, event->at, error))
        return -1;
    *last = event->at;
    return event->type == 'O' ? open_frame(profile, event, at, error)
                              : close_frame(profile, event, at, error);
}

/* What is open at the end ends there, or in a file that was cut with the last event. */
static int close_rest(struct pf_profile *profile, const struct one *one, pf_int128 last, bool whole,
                      struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    pf_int128 end = whole && one->ends && one->end > last ? one->end : last;
    if (!scope->depth)
        return 0;
    if (pf_warn(profile, (int64_t)one->events.line, (int64_t)one->events.offset, "warning", "not-closed",
                error, "profile %u: %zu frames are open at the end: they end there", one->number,
                scope->depth) ||
        pass_time(profile, one, last, end, error))
        return -1;
    while (scope->depth)
        if (close_top(profile, end, error))
            return -1;
    return 0;
}

static int read_events(struct pf_profile *profile, const struct one *one, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    struct pf_json_walk walk = {.json = scope->json, .profile = profile, .error = error};
    struct pf_json_token token;
    struct event event;
    pf_int128 last = -ONE * ONE * 100000000000;
    int got = pf_json_enter_array(scope->json, &one->events, error) ? PF_JSON_ARRAY : 0;
    for (uint64_t i = 0; got > 0; i++) {
        got = pf_json_next(scope->json, &token, error);
        event = (struct event){.one = one, .frame = -1};
        if (got == PF_JSON_OBJECT && pf_json_object(&walk, &event, event_members))
            got = -1;
        if (got <= 0 || got == PF_JSON_ARRAY_END)
            break;
        if (got == PF_JSON_ARRAY && pf_json_leave(scope->json, error))
            break;
        if (take_event(profile, one, &event, &last, &token, error) ||
            (i % 1024 == 0 && pf_samples_step(profile, scope->pass, token.offset, error)))
            return -1;
    }
    bool failed = got < 0 && !pf_json_is_damage(error);
    return failed ? -1 : close_rest(profile, one, last, got == PF_JSON_ARRAY_END, error);
}

/* ---- profiles ----------------------------------------------------------------------------------- */

static int take_unit(const struct pf_json_walk *walk)
{
    size_t i = 0;
    while (i < NO_UNIT && !pf_json_is(walk->token, units[i].name))
        i++;
    *(const struct unit **)walk->place = &units[i];
    return 0;
}

static int take_sort(const struct pf_json_walk *walk)
{
    struct one *one = walk->into;
    one->sampled |= pf_json_is(walk->token, "sampled");
    one->evented |= pf_json_is(walk->token, "evented");
    return 0;
}

static const struct pf_json_member profile_members[] = {
    PF_MEMBER_OF_ALL("type", PF_JSON_STRING, take_sort),
    PF_MEMBER("name", PF_JSON_STRING, pf_json_take_name, struct one, name),
    PF_MEMBER("unit", PF_JSON_STRING, take_unit, struct one, unit),
    PF_MEMBER("samples", PF_JSON_ARRAY, pf_json_take_place, struct one, samples),
    PF_MEMBER("weights", PF_JSON_ARRAY, pf_json_take_place, struct one, weights),
    PF_MEMBER("events", PF_JSON_ARRAY, pf_json_take_place, struct one, events),
    PF_MEMBER("startValue", PF_JSON_NUMBER, pf_json_take_place, struct one, start_value),
    PF_MEMBER("endValue", PF_JSON_NUMBER, pf_json_take_place, struct one, end_value),
    PF_MEMBERS_END,
};

static bool amount_at(struct scope *scope, const struct pf_json_place *place, const struct unit *unit,
                      pf_int128 *amount)
{
    struct pf_json_token token;
    struct pf_error ignored;
    pf_json_seek(scope->weights, place->offset, place->line);
    return place->line && pf_json_next(scope->weights, &token, &ignored) > 0 &&
           amount_of(&token, unit, amount);
}

/* Adds the partition, its values and rows. */
static int add_profile(struct pf_profile *profile, struct one *one, const struct pf_json_token *at,
                       struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    struct pf_cell unit = one->unit == &units[NO_UNIT] ? pf_absent() : pf_string(one->unit->name);
    struct pf_cell name = pf_interned(profile->contexts->strings, one->name);
    char other[32];
    if (!name.size)
        name = pf_text(other, (size_t)snprintf(other, sizeof other, "profile %u", one->number));
    amount_at(scope, &one->start_value, one->unit, &one->start);
    one->ends = amount_at(scope, &one->end_value, one->unit, &one->end);
    one->metric =
        pf_samples_metric(profile, one->unit->metric, strlen(one->unit->metric), one->unit->unit, error);
    if (one->metric < 0 ||
        pf_samples_own_partition(profile, name.text, name.size, &unit, error) == PF_NO_PARTITION)
        return -1;
    int failed = one->sampled ? read_samples(profile, one, error)
                 : one->evented
                     ? read_events(profile, one, error)
                     : pf_json_warn(profile, at, "no-type",
                                    "a profile that is neither sampled nor evented has no values", error);
    return failed ? -1 : pf_spans_end_partition(scope->spans, error);
}

/* The reader goes back to the values, and stands behind the profile afterwards, but if the file is damaged in it. */
static int read_profile(const struct pf_json_walk *walk)
{
    struct one one = {
        .number = scope_of(walk->profile)->n_profiles++, .name = PF_NO_STRING, .unit = &units[NO_UNIT]};
    const struct pf_json_token at = *walk->token;
    unsigned char behind[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH_MAX / 8];
    int failed = pf_json_object(walk, &one, profile_members);
    struct pf_error damage = *walk->error;
    if (failed && !pf_json_is_damage(&damage))
        return -1;
    size_t saved = pf_json_save(walk->json, behind, sizeof behind);
    if (add_profile(walk->profile, &one, &at, walk->error))
        return -1;
    if (!failed)
        return pf_json_restore(walk->json, behind, saved, walk->error);
    *walk->error = damage;
    return -1;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int take_profiles(const struct pf_json_walk *walk)
{
    const struct scope *scope = walk->into;
    struct pf_json_place *place = walk->place;
    if (!scope->shared)
        return pf_json_take_place(walk);
    place->line = 0; /* these count, not any before */
    return pf_json_array(walk, walk->into, PF_JSON_OBJECT, read_profile);
}

static const struct pf_json_member shared_members[] = {
    PF_MEMBER_OF_ALL("frames", PF_JSON_ARRAY, read_frames),
    PF_MEMBERS_END,
};

static int take_shared(const struct pf_json_walk *walk)
{
    struct scope *scope = walk->into;
    bool first = !scope->shared;
    scope->shared = true;
    return first ? pf_json_object(walk, scope, shared_members) : 0;
}

/* In any order: profiles are read when the frames are known. */
static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("shared", PF_JSON_OBJECT, take_shared),
    PF_MEMBER("profiles", PF_JSON_ARRAY, take_profiles, struct scope, profiles),
    PF_MEMBERS_END,
};

static int read_all(struct pf_profile *profile, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    struct pf_json_walk walk = {.json = scope->json, .profile = profile, .error = error};
    struct pf_json_token token;
    int got = pf_json_next(scope->json, &token, error);
    bool damaged = got < 0 || (got == PF_JSON_OBJECT && pf_json_object(&walk, scope, file_members));
    if (damaged && pf_json_warn_of_damage(profile, error))
        return -1;
    if (scope->profiles.line && !scope->shared)
        return damaged ? 0
                       : pf_warn(profile, 0, -1, "fatal", "damaged", error,
                                 "there is no member shared: nothing can be named");
    return pf_json_enter_array(scope->json, &scope->profiles, error) &&
                   pf_json_array(&walk, scope, PF_JSON_OBJECT, read_profile)
               ? pf_json_warn_of_damage(profile, error)
               : 0;
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct scope *scope = scope_of(profile);
    scope->pass = pass;
    scope->json = pf_json_new(scope->samples.input, 0, 0);
    scope->weights = pf_json_new(scope->samples.input, 0, 0);
    scope->spans = pf_spans_new(profile->options->cache);
    return scope->json && scope->weights && scope->spans ? read_all(profile, error) : pf_fail_memory(error);
}

static void clear(struct pf_profile *profile)
{
    struct scope *scope = scope_of(profile);
    pf_spans_free(scope->spans);
    pf_json_free(scope->json);
    pf_json_free(scope->weights);
    free(scope->frames);
    free(scope->open_counts);
    free(scope->stack);
}

static const struct pf_column fields[] = {{"unit", PF_PLAIN, 0}};

static const struct pf_table tables[] = {PF_SPANS_TRACE(struct scope, spans, PF_PARTITIONED)};

static const struct pf_samples_format format = {.state = sizeof(struct scope),
                                                .fields = fields,
                                                .n_fields = 1,
                                                .partitioned = true,
                                                .tables = tables,
                                                .n_tables = 1,
                                                .time_unit = "ns (of what is no time: its own unit)",
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_speedscope_driver = {.name = "speedscope",
                                               .title = "speedscope's JSON, sampled and evented",
                                               .version = 2,
                                               .kit = &format,
                                               .probe = probe,
                                               PF_SAMPLES_OPERATIONS};
