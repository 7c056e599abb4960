/* SPDX-License-Identifier: MIT */
/* The JSON of speedscope, evented and sampled: see docs/formats/speedscope.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/probe.h"
#include "formats/kit/array.h"
#include "formats/speedscope/speedscope.h"

extern const struct pf_driver pf_speedscope_driver;

static const struct scope_unit units[] = {
    {"nanoseconds", "time", "ns", 0}, {"microseconds", "time", "ns", 3}, {"milliseconds", "time", "ns", 6},
    {"seconds", "time", "ns", 9},     {"bytes", "bytes", "bytes", 0},    {"none", "samples", "", 0},
};
enum { NO_UNIT = sizeof units / sizeof *units - 1 };

/* ---- probing ------------------------------------------------------------------------------------ */

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const char schema[] = "https://www.speedscope.app/";
    struct pf_json_look look;
    struct pf_json_token token;
    struct pf_error error = {0};
    bool called = pf_probe_is_called(probe, ".speedscope.json"), shared = false, profiles = false;
    struct pf_json *json = pf_json_look(probe, &look, true, 0, called ? PF_PROBE_SCAN : 0);
    int got = json ? pf_json_next(json, &token, &error) : 0;
    while (got == PF_JSON_OBJECT && !(shared && profiles) &&
           pf_json_next(json, &token, &error) == PF_JSON_NAME) {
        bool is_schema = pf_json_is(&token, "$schema"), is_shared = pf_json_is(&token, "shared");
        bool is_profiles = pf_json_is(&token, "profiles");
        int value = pf_json_next(json, &token, &error);
        /* A member counts as soon as its value begins: that may be longer than what is looked at. */
        shared |= is_shared && value == PF_JSON_OBJECT;
        profiles |= is_profiles && value == PF_JSON_ARRAY;
        if (is_schema && value == PF_JSON_STRING && token.size >= strlen(schema) &&
            !memcmp(token.text, schema, strlen(schema)))
            shared = profiles = true;
        bool nested = value == PF_JSON_OBJECT || value == PF_JSON_ARRAY;
        if (value < 0 || (nested && !(shared && profiles) && pf_json_leave(json, &error)))
            break;
    }
    verdict->confidence = shared && profiles ? 16 : 0;
    pf_json_look_end(probe, &look, &error);
}

/* ---- frames ------------------------------------------------------------------------------------- */

static int read_frame(struct pf_profile *profile, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_frame frame = {.name = PF_NO_STRING, .file = PF_NO_STRING, .module = PF_NO_STRING};
    struct pf_json_token token;
    int got;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        uint32_t *text = pf_json_is(&token, "name")   ? &frame.name
                         : pf_json_is(&token, "file") ? &frame.module
                                                      : NULL;
        bool is_line = pf_json_is(&token, "line");
        got = pf_json_skip(state->json, &token, error);
        if (got < 0)
            return -1;
        if (text && got == PF_JSON_STRING &&
            (*text = pf_samples_string(profile, token.text, token.size, error)) == PF_NO_STRING)
            return -1;
        if (is_line && token.simple && token.integer && !token.negative && token.mantissa < UINT32_MAX)
            frame.line = (uint32_t)token.mantissa;
    }
    if (got < 0)
        return -1;
    if (frame.name == PF_NO_STRING && (frame.name = pf_samples_string(profile, "", 0, error)) == PF_NO_STRING)
        return -1;
    if (pf_array_room(&state->frames, &state->frames_room, state->n_frames, sizeof *state->frames, error))
        return -1;
    uint32_t number = pf_samples_frame(profile, &frame, error);
    state->frames[state->n_frames++] = number;
    return number == PF_NO_STRING ? -1 : 0;
}

/* The value of `shared`. */
static int read_shared(struct pf_profile *profile, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token;
    int got = pf_json_next(state->json, &token, error);
    if (got != PF_JSON_OBJECT)
        return got == PF_JSON_ARRAY ? pf_json_leave(state->json, error) : got < 0 ? -1 : 0;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        bool frames = pf_json_is(&token, "frames");
        got = frames ? pf_json_next(state->json, &token, error) : pf_json_skip(state->json, &token, error);
        if (got < 0)
            return -1;
        if (frames && got == PF_JSON_OBJECT && pf_json_leave(state->json, error))
            return -1;
        while (frames && got == PF_JSON_ARRAY &&
               (got = pf_json_next(state->json, &token, error)) == PF_JSON_OBJECT) {
            if (read_frame(profile, error))
                return -1;
            got = PF_JSON_ARRAY;
        }
        if (got < 0)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

/* ---- profiles ----------------------------------------------------------------------------------- */

/* What a profile says of itself; amounts are read again once the unit is known. */
struct head {
    char name[256];
    size_t name_size;
    struct pf_json_place start, end;
};

static const struct scope_unit *unit_of(const struct pf_json_token *token)
{
    size_t i = 0;
    while (i < NO_UNIT && !pf_json_is(token, units[i].name))
        i++;
    return &units[i];
}

static void take_text(const struct pf_json_name *name, const struct pf_json_token *token, struct head *head,
                      struct scope_one *one)
{
    if (pf_json_named(name, "unit"))
        one->unit = unit_of(token);
    one->sampled |= pf_json_named(name, "type") && pf_json_is(token, "sampled");
    one->evented |= pf_json_named(name, "type") && pf_json_is(token, "evented");
    if (pf_json_named(name, "name")) {
        head->name_size = token->size < sizeof head->name ? token->size : sizeof head->name;
        memcpy(head->name, token->text, head->name_size);
    }
}

static void take_place(const struct pf_json_name *name, int event, struct pf_json_place place,
                       struct head *head, struct scope_one *one)
{
    struct {
        const char *name;
        int event;
        struct pf_json_place *place;
    } places[] = {{"samples", PF_JSON_ARRAY, &one->samples},
                  {"weights", PF_JSON_ARRAY, &one->weights},
                  {"events", PF_JSON_ARRAY, &one->events},
                  {"startValue", PF_JSON_NUMBER, &head->start},
                  {"endValue", PF_JSON_NUMBER, &head->end}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (event == places[i].event && pf_json_named(name, places[i].name))
            *places[i].place = place;
}

/* Goes through the members of the profile whose bracket was read. Damage is left in *error, and 0 returned. */
static int look_at_profile(struct scope_state *state, struct head *head, struct scope_one *one,
                           struct pf_error *error)
{
    struct pf_json_token token;
    int got;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        struct pf_json_name name = pf_json_name_of(&token);
        got = pf_json_next(state->json, &token, error);
        if (got == PF_JSON_STRING)
            take_text(&name, &token, head, one);
        else
            take_place(&name, got, pf_json_place_of(&token), head, one);
        if (pf_json_pass(state->json, got, error)) {
            got = -1;
            break;
        }
    }
    one->cut = got < 0;
    return got < 0 && !pf_json_is_damage(error) ? -1 : 0;
}

static bool amount_at(struct scope_state *state, const struct pf_json_place *place,
                      const struct scope_unit *unit, pf_int128 *amount)
{
    struct pf_json_token token;
    struct pf_error ignored;
    if (!place->line)
        return false;
    pf_json_seek(state->weights, place->offset, place->line);
    return pf_json_next(state->weights, &token, &ignored) == PF_JSON_NUMBER &&
           scope_amount(&token, unit, amount);
}

static int read_values(struct pf_profile *profile, struct scope_one *one, const struct pf_json_token *at,
                       struct pf_error *error)
{
    if (one->sampled)
        return scope_read_samples(profile, one, error);
    if (one->evented)
        return scope_read_events(profile, one, error);
    return scope_warn(profile, at, "no-type", "a profile that is neither sampled nor evented has no values",
                      error);
}

/* The profile whose bracket was read. The reader stands behind it afterwards, but if the file is damaged in it. */
static int read_profile(struct pf_profile *profile, uint32_t number, const struct pf_json_token *at,
                        struct pf_error *error)
{
    static const struct pf_cell no_name = {.type = PF_ABSENT};
    struct scope_state *state = scope_state(profile);
    struct head head = {.name_size = 0};
    struct scope_one one = {.number = number, .unit = &units[NO_UNIT]};
    struct pf_error damage = {0};
    unsigned char behind[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH_MAX / 8];
    if (look_at_profile(state, &head, &one, &damage)) {
        *error = damage;
        return -1;
    }
    size_t saved = pf_json_save(state->json, behind, sizeof behind);
    if (!head.name_size)
        head.name_size = (size_t)snprintf(head.name, sizeof head.name, "profile %u", number);
    amount_at(state, &head.start, one.unit, &one.start);
    one.ends = amount_at(state, &head.end, one.unit, &one.end);
    struct pf_cell unit = one.unit == &units[NO_UNIT] ? no_name : pf_string(one.unit->name);
    one.metric =
        pf_samples_metric(profile, one.unit->metric, strlen(one.unit->metric), one.unit->unit, error);
    if (one.metric < 0 ||
        pf_samples_own_partition(profile, head.name, head.name_size, &unit, error) == PF_NO_PARTITION ||
        read_values(profile, &one, at, error) || pf_spans_end_partition(state->spans, error))
        return -1;
    if (one.cut) {
        *error = damage;
        return -1;
    }
    return pf_json_restore(state->json, behind, saved, error);
}

/* The value of `profiles`. */
static int read_profiles(struct pf_profile *profile, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token;
    uint32_t number = 0;
    int got = pf_json_next(state->json, &token, error);
    if (got != PF_JSON_ARRAY)
        return got == PF_JSON_OBJECT ? pf_json_leave(state->json, error) : got < 0 ? -1 : 0;
    while ((got = pf_json_next(state->json, &token, error)) > 0 && got != PF_JSON_ARRAY_END) {
        if (got == PF_JSON_OBJECT ? read_profile(profile, number, &token, error)
                                  : got == PF_JSON_ARRAY && pf_json_leave(state->json, error))
            return -1;
        number += got == PF_JSON_OBJECT;
    }
    return got < 0 ? -1 : 0;
}

/* The members of the file, in any order: profiles are read when the frames are known. */
static int read_members(struct pf_profile *profile, struct pf_json_place *profiles, bool *shared,
                        struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_token token;
    int got = pf_json_next(state->json, &token, error);
    if (got != PF_JSON_OBJECT)
        return got < 0 ? -1 : 0;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        int result = 0;
        if (pf_json_is(&token, "shared") && !*shared) {
            *shared = true;
            result = read_shared(profile, error);
        } else if (pf_json_is(&token, "profiles") && *shared) {
            profiles->line = 0;
            result = read_profiles(profile, error);
        } else {
            bool later = pf_json_is(&token, "profiles");
            result = pf_json_skip(state->json, &token, error);
            if (later && result == PF_JSON_ARRAY)
                *profiles = pf_json_place_of(&token);
        }
        if (result < 0)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

static int read_all(struct pf_profile *profile, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    struct pf_json_place profiles = {0};
    bool shared = false;
    if (read_members(profile, &profiles, &shared, error)) {
        if (!pf_json_is_damage(error) || !shared)
            return -1;
        /* What stands in front of the damage. */
        struct pf_error damage = *error;
        if (pf_warn(profile, damage.line, damage.offset, "fatal", "damaged", error,
                    "%s: what is before it is kept", damage.what))
            return -1;
    }
    if (!profiles.line)
        return 0;
    if (!shared)
        return pf_fail(error, EBADMSG, "there is no member shared: nothing can be named");
    pf_json_seek(state->json, profiles.offset, profiles.line);
    return read_profiles(profile, error);
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct scope_state *state = scope_state(profile);
    state->pass = pass;
    state->json = pf_json_new(state->samples.input, 0, 0);
    state->weights = pf_json_new(state->samples.input, 0, 0);
    state->spans = pf_spans_new(profile->options->cache);
    if (!state->json || !state->weights || !state->spans)
        return pf_fail_memory(error);
    if (!read_all(profile, error))
        return 0;
    if (!pf_json_is_damage(error))
        return -1;
    struct pf_error damage = *error;
    return pf_warn(profile, damage.line, damage.offset, "fatal", "damaged", error, "%s", damage.what);
}

static void clear(struct pf_profile *profile)
{
    struct scope_state *state = scope_state(profile);
    pf_spans_free(state->spans);
    pf_json_free(state->json);
    pf_json_free(state->weights);
    free(state->frames);
    free(state->open_counts);
    free(state->stack);
    struct pf_samples samples = state->samples;
    *state = (struct scope_state){.samples = samples};
}

static const struct pf_column fields[] = {{"unit", PF_PLAIN, 0}};

static const struct pf_table tables[] = {
    {.name = "trace",
     .columns = pf_spans_columns,
     .n_columns = PF_SPANS_COLUMNS,
     .stage = PF_PARTITIONED,
     .flags = PF_SPANS_FLAGS,
     .ops = &pf_spans_cursor,
     .user = offsetof(struct scope_state, spans)},
};

static const struct pf_samples_format format = {.state = sizeof(struct scope_state),
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
                                               .version = 1,
                                               .kit = &format,
                                               .probe = probe,
                                               .open = pf_samples_open,
                                               .load = pf_samples_load,
                                               .close = pf_samples_close};
