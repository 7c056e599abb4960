/* SPDX-License-Identifier: MIT */
/* Speedscope's JSON with evented and sampled profiles. See docs/formats/speedscope.md. */
#include <errno.h>
#include <stdio.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"
#include "formats/kit/number.h"
#include "formats/probe.h"
#include "formats/runtime/build.h"

extern const struct pf_driver pf_speedscope_driver;

/*
 * Fixed point: amounts are integers in 10^-12 of the metric's unit, which is ns for times. This represents up to 12
 * decimals exactly.
 */
enum { PLACES = 12 };
#define ONE ((pf_int128)1000000000000)

struct speedscope_unit {
    const char *name, *metric, *unit;
    int places; /* the file's unit is 10^places of the metric's unit */
};

static const struct speedscope_unit units[] = {
    {"nanoseconds", "time", "ns", 0}, {"microseconds", "time", "ns", 3}, {"milliseconds", "time", "ns", 6},
    {"seconds", "time", "ns", 9},     {"bytes", "bytes", "bytes", 0},    {"none", "samples", "", 0},
};
enum { NO_UNIT = sizeof units / sizeof *units - 1 };

/* An open frame. */
struct open_frame {
    uint32_t context;
    int64_t frame;
    uint64_t row;
    pf_int128 begin;
};

/*
 * An item of the file's list `profiles`. Its members come in any order, and the meaning of amounts depends on `unit`. So
 * the members with amounts are only located at first, and read once the item has ended.
 */
struct speedscope_item {
    uint32_t number; /* also its partition */
    uint32_t name, metric;
    const struct speedscope_unit *unit;
    bool sampled, evented;
    bool ends; /* it has a valid endValue */
    struct pf_json_place samples, weights, events, start_value, end_value;
    pf_int128 start, end;
};

/* State of the pass over the file. */
struct speedscope_profile {
    struct pf_build *build;
    struct pf_json *json;          /* reads samples or events */
    struct pf_json *weights;       /* reads the weights of the samples alongside */
    bool shared;                   /* the member `shared`, which has the frames, has been read */
    struct pf_json_place profiles; /* profiles that precede `shared`, to be read after it */
    PF_LIST(uint32_t) frames;      /* frame number in the file -> frame of the build */
    struct pf_build_files files;
    PF_LIST(uint32_t) open_counts; /* by frame number: how often the frame is on the stack */
    PF_LIST(struct open_frame) stack;
    uint32_t n_profiles;
    struct speedscope_item current; /* the profile that is being read */
};

/* Sentinel for a missing or fractional frame number. */
#define NO_FRAME INT64_MIN

/* True if the number refers to a frame of the file. */
static bool is_frame(const struct speedscope_profile *scope, int64_t frame)
{
    return frame >= 0 && (uint64_t)frame < scope->frames.n;
}

/* ---- probing ------------------------------------------------------------------------------------ */

struct speedscope_evidence {
    bool shared, profiles;
};

static int speedscope_see_member(const struct pf_json_walk *walk)
{
    const struct speedscope_evidence *signs = walk->into;
    pf_json_take_notice(walk);
    return signs->shared && signs->profiles;
}

static int see_schema(const struct pf_json_walk *walk)
{
    static const char schema[] = "https://www.speedscope.app/";
    size_t size = sizeof schema - 1;
    return walk->token->size >= size && !memcmp(walk->token->text, schema, size);
}

/* A member is recognised when its value begins, since the value may be longer than the examined part of the file. */
static const struct pf_json_member look_members[] = {
    PF_MEMBER_OF_ALL("$schema", PF_JSON_STRING, see_schema),
    PF_MEMBER("shared", PF_JSON_OBJECT, speedscope_see_member, struct speedscope_evidence, shared),
    PF_MEMBER("profiles", PF_JSON_ARRAY, speedscope_see_member, struct speedscope_evidence, profiles),
    PF_MEMBERS_END,
};

static void speedscope_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct speedscope_evidence signs = {false};
    uint64_t scan = pf_probe_is_called(probe, ".speedscope.json") ? PF_PROBE_SCAN : 0;
    if (pf_probe_object(probe, PF_JSON_PACKED, scan, &signs, look_members))
        result->confidence = 16;
}

/* ---- frames ------------------------------------------------------------------------------------- */

static const struct pf_json_member frame_members[] = {
    PF_MEMBER("name", PF_JSON_STRING, pf_json_take_name, struct pf_frame, name),
    PF_MEMBER("file", PF_JSON_STRING, pf_json_take_name, struct pf_frame, file),
    PF_MEMBER("line", PF_JSON_NUMBER, pf_json_take_line, struct pf_frame, line),
    PF_MEMBERS_END,
};

static int read_frame(const struct pf_json_walk *walk)
{
    struct speedscope_profile *scope = pf_build_state(walk->model);
    struct pf_frame frame = {
        .name = pf_build_name(scope->build, "", 0), .file = PF_NO_STRING, .module = PF_NO_STRING};
    if (walk->token->event == PF_JSON_OBJECT && pf_json_object(walk, &frame, frame_members))
        return -1;
    pf_build_add_file(scope->build, &scope->files, frame.name, frame.file);
    *PF_PUSH(scope->build->run, scope->frames) = pf_build_frame(scope->build, &frame);
    return pf_json_check_full(scope->build->run);
}

/*
 * Reads the list of frames. Once all frames are known, a frame keeps its file only if no other file has a function of
 * its name. `apart` distinguishes frames of one name in different files.
 */
static int read_frames(const struct pf_json_walk *walk)
{
    struct speedscope_profile *scope = walk->into;
    int got = pf_json_array(walk, scope, PF_JSON_END, read_frame);
    for (size_t i = 0; i < scope->frames.n; i++) {
        struct pf_frame frame = pf_build_frame_at(scope->build, scope->frames.at[i]);
        pf_run_check(scope->build->run, pf_pass_check(scope->build->run->error));
        frame.apart = frame.file;
        frame.file = pf_build_file_of(&scope->files, frame.name);
        scope->frames.at[i] = pf_build_frame(scope->build, &frame);
    }
    return got;
}

/* A frame's number, and the number's text (truncated; empty if the token is not a number). */
struct frame_number {
    int64_t frame;
    char text[32];
};

static struct frame_number frame_number_of(const struct pf_json_token *token)
{
    struct frame_number number = {.frame = NO_FRAME};
    if (token->event == PF_JSON_NUMBER) {
        pf_json_whole(token, &number.frame);
        snprintf(number.text, sizeof number.text, "%.*s", (int)token->size, token->text);
    }
    return number;
}

/* Returns the context of a frame below the context `parent`, adding it if it is new. An undefined frame is named by its number. */
static uint32_t speedscope_enter(struct speedscope_profile *scope, uint32_t parent,
                                 const struct frame_number *number, const struct pf_json_token *at)
{
    struct pf_build *build = scope->build;
    if (is_frame(scope, number->frame))
        return pf_build_enter(build, parent, scope->frames.at[number->frame]);
    char name[sizeof number->text + sizeof "[frame ]"];
    int size = snprintf(name, sizeof name, *number->text ? "[frame %s]" : "[no frame]", number->text);
    pf_json_warn(build->run, at, "no-frame", "the file has no frame with this number");
    return pf_build_enter(build, parent, pf_build_named_frame(build, name, (size_t)size));
}

/* ---- amounts ------------------------------------------------------------------------------------ */

/* Converts a number of the file. Returns false, with *amount unchanged, if it is invalid or exceeds 10^22 units. */
static bool amount_of(const struct pf_json_token *token, const struct speedscope_unit *unit,
                      pf_int128 *amount)
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

static struct pf_cell speedscope_cell_of(pf_int128 amount)
{
    pf_int128 whole = amount / ONE;
    bool exact = whole * ONE == amount && whole == (int64_t)whole;
    return exact ? pf_int((int64_t)whole) : pf_double(pf_fixed_double(amount, PLACES));
}

/* Adds an amount to a time, saturating at 10^26 units. Returns false if it saturated. */
static bool speedscope_advance(pf_int128 *at, pf_int128 amount)
{
    const pf_int128 most = ONE * ONE * 10000000000 * 10000;
    pf_int128 sum = *at + amount; /* 10^38 + 10^34 does not overflow */
    *at = sum > most ? most : sum < -most ? -most : sum;
    return *at == sum;
}

static void speedscope_add(struct speedscope_profile *scope, uint32_t context, pf_int128 amount)
{
    struct pf_cell value = speedscope_cell_of(amount);
    if (value.type == PF_DOUBLE)
        scope->build->metrics[scope->current.metric].type = "double";
    pf_build_add(scope->build, scope->current.number, context, scope->current.metric, value);
}

/* ---- sampled ------------------------------------------------------------------------------------ */

/*
 * Reads the stack whose bracket was read. *context is the innermost context, PF_NO_CONTEXT for an empty stack. Returns 1;
 * 0 if the run is full; -1 for damage. In some files of brook-profiler, frames are in nested brackets. Such a frame counts
 * as in speedscope, where JavaScript ignores the brackets.
 */
static int read_stack(struct speedscope_profile *scope, uint32_t *context)
{
    struct pf_json_token token;
    struct pf_json *json = scope->json;
    struct pf_error *error = scope->build->run->error;
    unsigned inside = pf_json_depth(json);
    int got;
    *context = PF_NO_CONTEXT;
    while ((got = pf_json_got(scope->build->run, pf_json_next(json, &token, error))) > 0 &&
           pf_json_depth(json) >= inside) {
        if (pf_run_is_full(scope->build->run))
            return 0;
        if (got == PF_JSON_ARRAY || got == PF_JSON_ARRAY_END)
            continue;
        struct frame_number number = frame_number_of(&token);
        if (got == PF_JSON_OBJECT && pf_json_got(scope->build->run, pf_json_leave(json, error)) < 0)
            return -1;
        *context = speedscope_enter(scope, *context, &number, &token);
    }
    return got < 0 ? -1 : 1;
}

/* Reads the next weight. Returns 1; 0 at the end of the weights; -1 for damage. */
static int next_weight(struct speedscope_profile *scope, pf_int128 *weight)
{
    struct pf_json_token token;
    int got = pf_json_got(scope->build->run, pf_json_skip(scope->weights, &token, scope->build->run->error));
    if (got <= 0 || got == PF_JSON_ARRAY_END)
        return got < 0 ? -1 : 0;
    *weight = 0;
    if (!amount_of(&token, scope->current.unit, weight))
        pf_json_warn(scope->build->run, &token, "no-weight", "invalid weight: 0 assumed");
    else if (*weight < 0)
        pf_json_warn(scope->build->run, &token, "negative-weight", "negative weight");
    return 1;
}

/* Reads the next sample. *token is its bracket. Returns 1; 0 at the end of the samples or if the run is full; -1 for damage. */
static int next_sample(struct speedscope_profile *scope, struct pf_json_token *token, uint32_t *context)
{
    int got = pf_json_got(scope->build->run, pf_json_next(scope->json, token, scope->build->run->error));
    if (got <= 0 || got == PF_JSON_ARRAY_END)
        return got < 0 ? -1 : 0;
    return got == PF_JSON_ARRAY ? read_stack(scope, context)
                                : pf_fail(scope->build->run->error, EBADMSG, "sample is not an array");
}

/* Reads samples with their weights. Returns 0; 1 if there are more samples than weights or fewer; -1 for damage. */
static int read_pairs(struct speedscope_profile *scope)
{
    struct pf_build *build = scope->build;
    struct pf_json_token token;
    pf_int128 at = scope->current.start, weight;
    uint32_t context = PF_NO_CONTEXT;
    bool fits = true;
    bool samples = pf_json_enter_array(build->run, scope->json, &scope->current.samples);
    bool weights = pf_json_enter_array(build->run, scope->weights, &scope->current.weights);
    if (!samples || !weights)
        return samples != weights;
    for (uint64_t i = 0;; i++) {
        int sample = next_sample(scope, &token, &context);
        if (sample < 0 || pf_run_is_full(build->run))
            return sample < 0 ? -1 : 0;
        int weighted = next_weight(scope, &weight);
        if (weighted < 0 || !sample || !weighted)
            return weighted < 0 ? -1 : sample != weighted;
        if (context != PF_NO_CONTEXT) {
            speedscope_add(scope, context, weight);
            pf_build_stay(build, scope->current.number, context, speedscope_cell_of(at),
                          speedscope_cell_of(weight));
        }
        if (i % 1024 == 0)
            pf_build_step(build, token.offset);
        if (!speedscope_advance(&at, weight) && fits) {
            pf_json_warn(build->run, &token, "time-range", "times exceed 1e26: later samples start there");
            fits = false;
        }
    }
}

/* Returns 0, or -1 for damage. `whole`: the profile is not truncated; otherwise a list may be missing because of the truncation. */
static int speedscope_read_samples(struct speedscope_profile *scope, bool whole)
{
    int differ = read_pairs(scope);
    if (differ > 0 && whole)
        pf_build_warn(scope->build, scope->current.samples.line, scope->current.samples.offset, "warning",
                      "counts", "profile %u: different numbers of weights and samples: the excess ignored",
                      scope->current.number);
    return differ < 0 ? -1 : 0;
}

/* ---- evented ------------------------------------------------------------------------------------ */

struct speedscope_event {
    const struct speedscope_item *item;
    char type;
    struct frame_number number;
    pf_int128 at;
    bool timed;
};

static int speedscope_read_type(const struct pf_json_walk *walk)
{
    if (walk->token->size == 1)
        *(char *)walk->place = *walk->token->text;
    return 0;
}

static int speedscope_read_frame(const struct pf_json_walk *walk)
{
    *(struct frame_number *)walk->place = frame_number_of(walk->token);
    return 0;
}

static int take_at(const struct pf_json_walk *walk)
{
    struct speedscope_event *event = walk->into;
    event->timed = amount_of(walk->token, event->item->unit, &event->at);
    return 0;
}

static const struct pf_json_member event_members[] = {
    PF_MEMBER("type", PF_JSON_STRING, speedscope_read_type, struct speedscope_event, type),
    PF_MEMBER("frame", PF_JSON_NUMBER, speedscope_read_frame, struct speedscope_event, number),
    PF_MEMBER_OF_ALL("at", PF_JSON_END, take_at),
    PF_MEMBERS_END,
};

/* Adds the time between two events to the innermost open frame. */
static void speedscope_pass_time(struct speedscope_profile *scope, pf_int128 from, pf_int128 to)
{
    if (scope->stack.n && to != from)
        speedscope_add(scope, scope->stack.at[scope->stack.n - 1].context, to - from);
}

static void open_frame(struct speedscope_profile *scope, const struct speedscope_event *event,
                       const struct pf_json_token *at)
{
    struct pf_build *build = scope->build;
    uint32_t parent = scope->stack.n ? scope->stack.at[scope->stack.n - 1].context : PF_NO_CONTEXT;
    uint32_t context = speedscope_enter(scope, parent, &event->number, at);
    int64_t frame = event->number.frame;
    if (is_frame(scope, frame))
        ++*PF_ITEM(build->run, scope->open_counts, (size_t)frame);
    uint64_t row =
        pf_build_stay(build, scope->current.number, context, speedscope_cell_of(event->at), pf_int(0));
    *PF_PUSH(build->run, scope->stack) = (struct open_frame){context, frame, row, event->at};
}

/* Closes the innermost open frame. */
static void close_top(struct speedscope_profile *scope, pf_int128 at)
{
    const struct open_frame *top = &scope->stack.at[--scope->stack.n];
    if (is_frame(scope, top->frame))
        scope->open_counts.at[top->frame]--;
    pf_build_lasts(scope->build, top->row, speedscope_cell_of(at - top->begin));
}

/* Closes a frame, after all frames above it on the stack; warns if there are any. Ignores a frame that is not open. */
static void close_frame(struct speedscope_profile *scope, const struct speedscope_event *event,
                        const struct pf_json_token *at)
{
    int64_t frame = event->number.frame;
    bool top = scope->stack.n && scope->stack.at[scope->stack.n - 1].frame == frame;
    bool open =
        top || (is_frame(scope, frame) && *PF_ITEM(scope->build->run, scope->open_counts, (size_t)frame));
    if (!open) {
        pf_json_warn(scope->build->run, at, "stray-close", "frame closed that is not open: ignored");
        return;
    }
    if (!top)
        pf_json_warn(scope->build->run, at, "close-below",
                     "frame closed before its callees: these closed too");
    while (scope->stack.at[scope->stack.n - 1].frame != frame)
        close_top(scope, event->at);
    close_top(scope, event->at);
}

static void speedscope_handle_event(struct speedscope_profile *scope, struct speedscope_event *event,
                                    pf_int128 *last, const struct pf_json_token *at)
{
    if (!event->timed || (event->type != 'O' && event->type != 'C')) {
        pf_json_warn(scope->build->run, at, "bad-event", "event without type, frame and at: ignored");
        return;
    }
    if (event->at < *last) {
        event->at = *last;
        pf_json_warn(scope->build->run, at, "backwards", "at decreases: the previous value is used");
    }
    speedscope_pass_time(scope, *last, event->at);
    *last = event->at;
    if (event->type == 'O')
        open_frame(scope, event, at);
    else
        close_frame(scope, event, at);
}

/*
 * Closes the frames that are still open after the last event. They end at the profile's endValue, or at the last event
 * if the file is truncated or its endValue is earlier or missing.
 */
static void close_rest(struct speedscope_profile *scope, pf_int128 last, bool whole)
{
    const struct speedscope_item *item = &scope->current;
    pf_int128 end = whole && item->ends && item->end > last ? item->end : last;
    if (!scope->stack.n)
        return;
    pf_build_warn(scope->build, item->events.line, item->events.offset, "warning", "not-closed",
                  "profile %u: %zu frames open at the end: closed there", item->number, scope->stack.n);
    speedscope_pass_time(scope, last, end);
    while (scope->stack.n)
        close_top(scope, end);
}

/* Returns 0, or -1 for damage. */
static int speedscope_read_events(struct speedscope_profile *scope)
{
    struct pf_build *build = scope->build;
    struct pf_json_walk walk = {.json = scope->json, .model = build->model, .error = build->run->error};
    struct pf_json_token token;
    pf_int128 last = -ONE * ONE * 100000000000; /* less than any amount */
    int got = pf_json_enter_array(build->run, scope->json, &scope->current.events) ? PF_JSON_ARRAY : 0;
    for (uint64_t i = 0; got > 0 && !pf_run_is_full(build->run); i++) {
        struct speedscope_event event = {.item = &scope->current, .number = {.frame = NO_FRAME}};
        got = pf_json_got(build->run, pf_json_next(scope->json, &token, build->run->error));
        if (got == PF_JSON_OBJECT)
            got = pf_json_got(build->run, pf_json_object(&walk, &event, event_members)) ? -1 : got;
        if (got == PF_JSON_ARRAY)
            got = pf_json_got(build->run, pf_json_leave(scope->json, build->run->error)) ? -1 : got;
        if (got <= 0 || got == PF_JSON_ARRAY_END)
            break;
        speedscope_handle_event(scope, &event, &last, &token);
        if (i % 1024 == 0)
            pf_build_step(build, token.offset);
    }
    close_rest(scope, last, got == PF_JSON_ARRAY_END);
    return got < 0 ? -1 : 0;
}

/* ---- profiles ----------------------------------------------------------------------------------- */

static int take_unit(const struct pf_json_walk *walk)
{
    size_t i = 0;
    while (i < NO_UNIT && !pf_json_is(walk->token, units[i].name))
        i++;
    *(const struct speedscope_unit **)walk->place = &units[i];
    return 0;
}

static int take_profile_type(const struct pf_json_walk *walk)
{
    struct speedscope_item *item = walk->into;
    item->sampled |= pf_json_is(walk->token, "sampled");
    item->evented |= pf_json_is(walk->token, "evented");
    return 0;
}

static const struct pf_json_member profile_members[] = {
    PF_MEMBER_OF_ALL("type", PF_JSON_STRING, take_profile_type),
    PF_MEMBER("name", PF_JSON_STRING, pf_json_take_name, struct speedscope_item, name),
    PF_MEMBER("unit", PF_JSON_STRING, take_unit, struct speedscope_item, unit),
    PF_MEMBER("samples", PF_JSON_ARRAY, pf_json_take_place, struct speedscope_item, samples),
    PF_MEMBER("weights", PF_JSON_ARRAY, pf_json_take_place, struct speedscope_item, weights),
    PF_MEMBER("events", PF_JSON_ARRAY, pf_json_take_place, struct speedscope_item, events),
    PF_MEMBER("startValue", PF_JSON_NUMBER, pf_json_take_place, struct speedscope_item, start_value),
    PF_MEMBER("endValue", PF_JSON_NUMBER, pf_json_take_place, struct speedscope_item, end_value),
    PF_MEMBERS_END,
};

/* Reads the number at a place. Returns false if the member is missing or the number invalid. */
static bool amount_at(struct speedscope_profile *scope, const struct pf_json_place *place, pf_int128 *amount)
{
    struct pf_json_token token;
    pf_json_seek(scope->weights, place->offset, place->line);
    return place->line &&
           pf_json_got(scope->build->run, pf_json_next(scope->weights, &token, scope->build->run->error)) >
               0 &&
           amount_of(&token, scope->current.unit, amount);
}

/* Adds the current profile's partition, values and rows. `whole`: the profile is not truncated. */
static void speedscope_add_profile(struct speedscope_profile *scope, const struct pf_json_token *at,
                                   bool whole)
{
    struct pf_build *build = scope->build;
    struct speedscope_item *item = &scope->current;
    struct pf_cell unit = item->unit == &units[NO_UNIT] ? pf_absent() : pf_string(item->unit->name);
    struct pf_cell name = pf_build_named(build, item->name);
    char other[32];
    if (!name.size)
        name = pf_text(other, (size_t)snprintf(other, sizeof other, "profile %u", item->number));
    amount_at(scope, &item->start_value, &item->start);
    item->ends = amount_at(scope, &item->end_value, &item->end);
    item->metric = pf_build_metric(build, item->unit->metric, strlen(item->unit->metric), item->unit->unit);
    pf_build_own_partition(build, name.text, name.size, &unit);
    if (!item->sampled && !item->evented)
        pf_json_warn(build->run, at, "no-type", "profile is neither sampled nor evented: skipped");
    else if ((item->sampled ? speedscope_read_samples(scope, whole) : speedscope_read_events(scope)) && whole)
        pf_json_warn_of_damage(build->run);
}

/* Reads a profile: locates its members, up to the first damage, and then adds its values. */
static int read_profile(const struct pf_json_walk *walk)
{
    struct speedscope_profile *scope = pf_build_state(walk->model);
    const struct pf_json_token at = *walk->token;
    scope->current = (struct speedscope_item){
        .number = scope->n_profiles++, .name = PF_NO_STRING, .unit = &units[NO_UNIT]};
    int failed = pf_json_got(scope->build->run, pf_json_object(walk, &scope->current, profile_members));
    struct pf_error damage = *walk->error;
    speedscope_add_profile(scope, &at, !failed);
    if (pf_json_check_full(scope->build->run))
        return -1;
    *walk->error = damage;
    return failed;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int take_profiles(const struct pf_json_walk *walk)
{
    const struct speedscope_profile *scope = walk->into;
    struct pf_json_place *place = walk->place;
    if (!scope->shared)
        return pf_json_take_place(walk);
    place->line = 0; /* forgets a list of profiles before `shared` */
    return pf_json_array(walk, walk->into, PF_JSON_OBJECT, read_profile);
}

static const struct pf_json_member shared_members[] = {
    PF_MEMBER_OF_ALL("frames", PF_JSON_ARRAY, read_frames),
    PF_MEMBERS_END,
};

static int take_shared(const struct pf_json_walk *walk)
{
    struct speedscope_profile *scope = walk->into;
    bool first = !scope->shared;
    scope->shared = true;
    return first ? pf_json_object(walk, scope, shared_members) : 0;
}

/* `shared` has the frames, which profiles need. Profiles before it are only located, and read at the end. */
static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("shared", PF_JSON_OBJECT, take_shared),
    PF_MEMBER("profiles", PF_JSON_ARRAY, take_profiles, struct speedscope_profile, profiles),
    PF_MEMBERS_END,
};

static void speedscope_read_file(struct pf_build *build)
{
    struct speedscope_profile *scope = build->state;
    struct pf_json *file = PF_OWN(build->run, pf_json_new(build->input, 0, 0), pf_json_free);
    scope->build = build;
    scope->json = PF_OWN(build->run, pf_json_new(build->input, 0, 0), pf_json_free);
    scope->weights = PF_OWN(build->run, pf_json_new(build->input, 0, 0), pf_json_free);
    struct pf_json_walk walk = {.json = file, .model = build->model, .error = build->run->error};
    if (pf_json_got(build->run, pf_json_whole_object(&walk, scope, file_members)) < 0)
        pf_json_warn_of_damage(build->run);
    else if (scope->profiles.line && !scope->shared)
        pf_build_warn(build, 0, -1, "fatal", "damaged", "member shared is missing: no names");
    if (scope->profiles.line && scope->shared && pf_json_enter_array(build->run, file, &scope->profiles) &&
        pf_json_got(build->run, pf_json_array(&walk, scope, PF_JSON_OBJECT, read_profile)))
        pf_json_warn_of_damage(build->run);
}

static const struct pf_column fields[] = {{"unit", PF_PLAIN, 0}};

static const struct pf_build_format format = {.state = sizeof(struct speedscope_profile),
                                              .fields = fields,
                                              .n_fields = 1,
                                              .partitioned = true,
                                              .time_unit = "ns (or the profile's unit if not a time)",
                                              .read = speedscope_read_file};

const struct pf_driver pf_speedscope_driver = {.name = "speedscope",
                                               .title = "speedscope's JSON, sampled and evented",
                                               .version = 10,
                                               .kit = &format,
                                               .text = true,
                                               .probe = speedscope_probe,
                                               PF_BUILD_OPERATIONS};
