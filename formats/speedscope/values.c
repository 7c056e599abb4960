/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/fixed.h"
#include "formats/speedscope/speedscope.h"

int scope_warn(struct pf_profile *profile, const struct pf_json_token *at, const char *code, const char *what,
               struct pf_error *error)
{
    return pf_warn(profile, (int64_t)at->line, (int64_t)at->offset, "warning", code, error, "%s", what);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* The context of a frame below another; one that the file does not tell of is called by its number. */
static uint32_t enter(struct pf_profile *profile, uint32_t parent, uint64_t frame,
                      const struct pf_json_token *at, struct pf_error *error)
{
    const struct scope_state *state = scope_state(profile);
    if (frame < state->n_frames)
        return pf_samples_enter(profile, parent, state->frames[frame], error);
    char name[40];
    int size = snprintf(name, sizeof name, "[frame %llu]", (unsigned long long)frame);
    struct pf_frame unknown = {pf_samples_string(profile, name, (size_t)size, error), PF_NO_STRING,
                               PF_NO_STRING, 0, 0};
    uint32_t number =
        unknown.name == PF_NO_STRING ? PF_NO_STRING : pf_samples_frame(profile, &unknown, error);
    if (number == PF_NO_STRING ||
        scope_warn(profile, at, "no-frame", "there is no frame of this number", error))
        return PF_NO_CONTEXT;
    return pf_samples_enter(profile, parent, number, error);
}

/* The number of a frame. UINT64_MAX: it is none. */
static uint64_t frame_of(const struct pf_json_token *token)
{
    return token->simple && token->integer && !token->negative ? token->mantissa : UINT64_MAX;
}

/* ---- amounts ------------------------------------------------------------------------------------ */

bool scope_amount(const struct pf_json_token *token, const struct scope_unit *unit, pf_int128 *amount)
{
    const pf_int128 most = ONE * ONE * 10000000000;
    pf_int128 value;
    if (token->event != PF_JSON_NUMBER ||
        !pf_parse_fixed(token->text, token->size, unit->places + PLACES, &value) || value > most ||
        value < -most)
        return false;
    *amount = value;
    return true;
}

static struct pf_time time_of(pf_int128 amount)
{
    pf_int128 whole = amount / ONE;
    if (whole * ONE == amount && whole == (int64_t)whole)
        return pf_time((int64_t)whole);
    return (struct pf_time){.d = pf_fixed_double(amount, PLACES), .real = true};
}

static int add(struct pf_profile *profile, const struct scope_one *one, uint32_t context, pf_int128 amount,
               struct pf_error *error)
{
    struct pf_time value = time_of(amount);
    if (value.real)
        scope_state(profile)->samples.metrics[one->metric].type = "double";
    return pf_samples_add(profile, one->number, context, (uint32_t)one->metric,
                          value.real ? pf_double(value.d) : pf_int(value.i), error);
}

/* ---- sampled ------------------------------------------------------------------------------------ */

/* The context that the stack ends in whose bracket was read, PF_NO_CONTEXT for an empty one. 0, or -1. */
static int read_stack(struct pf_profile *profile, uint32_t *context, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token;
    int got;
    *context = PF_NO_CONTEXT;
    while ((got = pf_json_skip(state->json, &token, error)) > 0 && got != PF_JSON_ARRAY_END) {
        *context = enter(profile, *context, frame_of(&token), &token, error);
        if (*context == PF_NO_CONTEXT)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

static int add_sample(struct pf_profile *profile, const struct scope_one *one, uint32_t context, pf_int128 at,
                      pf_int128 weight, struct pf_error *error)
{
    if (context == PF_NO_CONTEXT)
        return 0;
    struct pf_span_row row = {.time = time_of(at),
                              .duration = time_of(weight),
                              .context = context,
                              .name = profile->contexts->name[context]};
    return add(profile, one, context, weight, error) || pf_spans_add(scope_state(profile)->spans, &row, error)
               ? -1
               : 0;
}

/* The next weight. 1; 0: there are no more; -1. */
static int next_weight(struct pf_profile *profile, const struct scope_one *one, pf_int128 *weight,
                       struct pf_error *error)
{
    struct pf_json_token token;
    int got = pf_json_skip(scope_state(profile)->weights, &token, error);
    if (got <= 0 || got == PF_JSON_ARRAY_END)
        return got < 0 && !pf_json_is_damage(error) ? -1 : 0;
    *weight = 0;
    if (!scope_amount(&token, one->unit, weight))
        return scope_warn(profile, &token, "no-weight",
                          "the weight is no number that can be used: taken as 0", error)
                   ? -1
                   : 1;
    if (*weight < 0 && scope_warn(profile, &token, "negative-weight", "the weight is negative", error))
        return -1;
    return 1;
}

static int warn_of_numbers(struct pf_profile *profile, const struct scope_one *one, struct pf_error *error)
{
    return pf_warn(profile, (int64_t)one->samples.line, (int64_t)one->samples.offset, "warning", "counts",
                   error, "profile %u: there are not as many weights as samples: those that have both count",
                   one->number);
}

int scope_read_samples(struct pf_profile *profile, const struct scope_one *one, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token = {0};
    pf_int128 at = one->start, weight;
    bool samples = pf_json_enter_array(state->json, &one->samples, error);
    bool weights = pf_json_enter_array(state->weights, &one->weights, error);
    uint32_t context = PF_NO_CONTEXT;
    int got = 0, more = 0;
    for (uint64_t i = 0; samples && weights; i++) {
        got = pf_json_next(state->json, &token, error);
        if (got == PF_JSON_ARRAY && read_stack(profile, &context, error))
            got = -1;
        if (got <= 0 || got == PF_JSON_ARRAY_END)
            break;
        if (got != PF_JSON_ARRAY)
            return pf_fail(error, EBADMSG, "a sample is no array");
        more = next_weight(profile, one, &weight, error);
        if (more <= 0)
            break;
        if (add_sample(profile, one, context, at, weight, error) ||
            (i % 1024 == 0 && pf_samples_step(profile, state->pass, token.offset, error)))
            return -1;
        at += weight;
    }
    if (more < 0 || (got < 0 && !pf_json_is_damage(error)))
        return -1;
    bool even = samples == weights && (got <= 0 || got == PF_JSON_ARRAY_END) &&
                (!weights || next_weight(profile, one, &weight, error) == 0);
    return even ? 0 : warn_of_numbers(profile, one, error);
}

/* ---- evented ------------------------------------------------------------------------------------ */

struct event {
    char type;
    uint64_t frame;
    pf_int128 at;
    bool timed;
};

/* The event whose bracket was read. */
static int read_event(struct pf_profile *profile, const struct scope_one *one, struct event *event,
                      struct pf_error *error)
{
    struct pf_json *json = scope_state(profile)->json;
    struct pf_json_token token;
    int got;
    *event = (struct event){.frame = UINT64_MAX};
    while ((got = pf_json_next(json, &token, error)) == PF_JSON_NAME) {
        bool type = pf_json_is(&token, "type"), frame = pf_json_is(&token, "frame"),
             at = pf_json_is(&token, "at");
        if (pf_json_skip(json, &token, error) < 0)
            return -1;
        if (type && token.event == PF_JSON_STRING && token.size == 1)
            event->type = *token.text;
        else if (frame)
            event->frame = frame_of(&token);
        else if (at)
            event->timed = scope_amount(&token, one->unit, &event->at);
    }
    return got < 0 ? -1 : 0;
}

static int pass_time(struct pf_profile *profile, const struct scope_one *one, pf_int128 from, pf_int128 to,
                     struct pf_error *error)
{
    const struct scope_state *state = scope_state(profile);
    return state->depth && to != from
               ? add(profile, one, state->stack[state->depth - 1].context, to - from, error)
               : 0;
}

static int open_frame(struct pf_profile *profile, const struct event *event, const struct pf_json_token *at,
                      struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    uint32_t parent = state->depth ? state->stack[state->depth - 1].context : PF_NO_CONTEXT;
    uint32_t context = enter(profile, parent, event->frame, at, error);
    if (context == PF_NO_CONTEXT ||
        pf_array_room(&state->stack, &state->room, state->depth, sizeof *state->stack, error) ||
        (event->frame < state->n_frames && pf_array_reach(&state->open_counts, &state->counts_room,
                                                          event->frame, sizeof *state->open_counts, error)))
        return -1;
    if (event->frame < state->n_frames)
        state->open_counts[event->frame]++;
    struct pf_span_row row = {
        .time = time_of(event->at), .context = context, .name = profile->contexts->name[context]};
    state->stack[state->depth++] =
        (struct scope_open_frame){context, event->frame, pf_spans_count(state->spans), event->at};
    return pf_spans_add(state->spans, &row, error);
}

static int close_top(struct pf_profile *profile, pf_int128 at, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    const struct scope_open_frame *top = &state->stack[--state->depth];
    if (top->frame < state->n_frames)
        state->open_counts[top->frame]--;
    return pf_spans_set_duration(state->spans, top->row, time_of(at - top->begin), error);
}

/* Where frames are not closed in the order that they were opened in. */
static int close_frame(struct pf_profile *profile, const struct event *event, const struct pf_json_token *at,
                       struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    bool top = state->depth && state->stack[state->depth - 1].frame == event->frame;
    bool open = top || (event->frame < state->n_frames && event->frame < state->counts_room &&
                        state->open_counts[event->frame]);
    if (!open)
        return scope_warn(profile, at, "stray-close", "a frame is closed that is not open: ignored", error);
    if (!top && scope_warn(profile, at, "close-below",
                           "a frame is closed before those above it: they are closed too", error))
        return -1;
    while (state->stack[state->depth - 1].frame != event->frame)
        if (close_top(profile, event->at, error))
            return -1;
    return close_top(profile, event->at, error);
}

static int take_event(struct pf_profile *profile, const struct scope_one *one, struct event *event,
                      pf_int128 *last, const struct pf_json_token *at, struct pf_error *error)
{
    if (!event->timed || (event->type != 'O' && event->type != 'C'))
        return scope_warn(profile, at, "bad-event", "an event without type, frame and at: ignored", error);
    if (event->at < *last) {
        event->at = *last;
        if (scope_warn(profile, at, "backwards", "at is before that of the event before: taken as that",
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
static int close_rest(struct pf_profile *profile, const struct scope_one *one, pf_int128 last, bool whole,
                      struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    pf_int128 end = whole && one->ends && one->end > last ? one->end : last;
    if (!state->depth)
        return 0;
    if (pf_warn(profile, (int64_t)one->events.line, (int64_t)one->events.offset, "warning", "not-closed",
                error, "profile %u: %zu frames are open at the end: they end there", one->number,
                state->depth) ||
        pass_time(profile, one, last, end, error))
        return -1;
    while (state->depth)
        if (close_top(profile, end, error))
            return -1;
    return 0;
}

int scope_read_events(struct pf_profile *profile, const struct scope_one *one, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token;
    struct event event;
    pf_int128 last = -ONE * ONE * 100000000000;
    int got = pf_json_enter_array(state->json, &one->events, error) ? PF_JSON_ARRAY : 0;
    for (uint64_t i = 0; got > 0; i++) {
        got = pf_json_next(state->json, &token, error);
        if (got == PF_JSON_OBJECT && read_event(profile, one, &event, error))
            got = -1;
        if (got <= 0 || got == PF_JSON_ARRAY_END)
            break;
        if (got != PF_JSON_OBJECT)
            event = (struct event){0};
        if (got == PF_JSON_ARRAY && pf_json_leave(state->json, error))
            break;
        if (take_event(profile, one, &event, &last, &token, error) ||
            (i % 1024 == 0 && pf_samples_step(profile, state->pass, token.offset, error)))
            return -1;
    }
    if (got < 0 && !pf_json_is_damage(error))
        return -1;
    return close_rest(profile, one, last, got == PF_JSON_ARRAY_END, error);
}
