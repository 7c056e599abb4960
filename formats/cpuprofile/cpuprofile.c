/* SPDX-License-Identifier: MIT */
/* V8's .cpuprofile and .heapprofile, of now and as node 8 wrote them: see docs/formats/cpuprofile.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/json/probe.h"
#include "formats/kit/fixed.h"

extern const struct pf_driver pf_cpuprofile_driver;

enum { SAMPLES, TIME };

/* ---- probing ------------------------------------------------------------------------------------ */

/* What the members of a node tell it by. */
struct signs {
    bool frame, bytes, hits, function;
};

static int look_at_node(struct pf_json *json, struct signs *signs, struct pf_error *error)
{
    struct pf_json_token token;
    int got;
    while ((got = pf_json_next(json, &token, error)) == PF_JSON_NAME) {
        signs->frame |= pf_json_is(&token, "callFrame");
        signs->bytes |= pf_json_is(&token, "selfSize");
        signs->hits |= pf_json_is(&token, "hitCount");
        signs->function |= pf_json_is(&token, "functionName");
        /* Of the first node the first members are enough: its children may be the whole file. */
        if ((signs->frame && (signs->bytes || signs->hits)) || (signs->function && signs->hits))
            return 1;
        if (pf_json_skip(json, &token, error) < 0)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

/* The object whose bracket was read. */
static bool is_profile(struct pf_json *json, unsigned wrapped, struct pf_error *error)
{
    struct pf_json_token token;
    while (pf_json_next(json, &token, error) == PF_JSON_NAME) {
        struct signs signs = {0};
        bool nodes = pf_json_is(&token, "nodes"), head = pf_json_is(&token, "head");
        bool wraps = wrapped < 2 && (pf_json_is(&token, "profile") || pf_json_is(&token, "result"));
        int got = pf_json_next(json, &token, error);
        bool in_list = nodes && got == PF_JSON_ARRAY && pf_json_next(json, &token, error) == PF_JSON_OBJECT;
        if (in_list)
            return look_at_node(json, &signs, error) >= 0 && signs.frame;
        if (head && got == PF_JSON_OBJECT)
            return look_at_node(json, &signs, error) >= 0 && (signs.bytes || (signs.hits && signs.function));
        if (wraps && got == PF_JSON_OBJECT)
            return is_profile(json, wrapped + 1, error);
        if (got < 0 || nodes ||
            ((got == PF_JSON_OBJECT || got == PF_JSON_ARRAY) && pf_json_leave(json, error)))
            return false;
    }
    return false;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct pf_json_look look;
    struct pf_json_token token;
    struct pf_error error = {0};
    bool called = pf_probe_is_called(probe, ".cpuprofile") || pf_probe_is_called(probe, ".heapprofile");
    struct pf_json *json = pf_json_look(probe, &look, true, 0, called ? PF_PROBE_SCAN : 0);
    if (json && pf_json_next(json, &token, &error) == PF_JSON_OBJECT && is_profile(json, 0, &error))
        verdict->confidence = 12;
    pf_json_look_end(probe, &look, &error);
}

/* What the nodes tell of themselves. */
static int add_counts(struct pf_profile *profile, int metric, bool bytes, struct pf_error *error)
{
    const struct v8_state *state = v8_state(profile);
    for (size_t i = 0; i < state->n_nodes; i++) {
        const struct v8_node *node = &state->nodes[i];
        if (pf_samples_add(profile, 0, node->context, (uint32_t)metric,
                           pf_int(bytes ? node->bytes : node->hits), error))
            return -1;
    }
    return 0;
}

/* ---- samples ------------------------------------------------------------------------------------ */

/* Microseconds, in ns. */
static bool time_of(const struct pf_json_token *token, int places, int64_t *time)
{
    pf_int128 value;
    if (token->event != PF_JSON_NUMBER || !pf_parse_fixed(token->text, token->size, places, &value) ||
        value <= -V8_TIME_MAX || value >= V8_TIME_MAX)
        return false;
    *time = (int64_t)value;
    return true;
}

/* The next number of a list. 1; 0: no more; -1. */
static int next_number(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    int got = pf_json_skip(json, token, error);
    if (got < 0)
        return pf_json_is_damage(error) ? 0 : -1;
    return got && got != PF_JSON_ARRAY_END;
}

/* Samples by time: their time stamps, numbers and nodes. */
enum { AT, NUMBER, NODE, WORDS };

/* What is counted while samples are read. */
struct counts {
    uint64_t samples, timed;
    int64_t last; /* time stamp */
    bool backwards, uneven;
};

static int add_time(struct v8_state *state, struct counts *counts, const struct pf_json_token *token,
                    uint32_t node, struct pf_error *error)
{
    bool delta = !state->stamps.line;
    int64_t time = 0;
    time_of(token, 3, &time);
    if (delta && __builtin_add_overflow(counts->last, time, &time))
        return pf_fail(error, EBADMSG, "times add up to more than can be");
    if (delta && (time >= V8_TIME_MAX || time <= -V8_TIME_MAX))
        return pf_fail(error, EBADMSG, "times add up to more than can be");
    counts->backwards |= counts->timed && time < counts->last;
    counts->last = time;
    uint64_t record[WORDS] = {[AT] = pf_ordered(time), [NUMBER] = counts->timed++, [NODE] = node};
    return pf_sorter_add(state->sorter, record, error);
}

/* Reads samples and, beside them, their times. */
static int read_samples(struct pf_profile *profile, struct pf_pass *pass, struct counts *counts,
                        struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token, time;
    bool timed =
        pf_json_enter_array(state->times, state->stamps.line ? &state->stamps : &state->deltas, error);
    bool listed = pf_json_enter_array(state->json, &state->sample_list, error);
    int more = 0, more_times = timed;
    counts->last = state->start;
    while (listed && (more = next_number(state->json, &token, error)) > 0) {
        int64_t id = -1;
        uint32_t node = pf_json_whole(&token, &id) && id >= 0 ? v8_node_of(state, (uint64_t)id) : V8_NONE;
        counts->samples++;
        more_times = more_times > 0 ? next_number(state->times, &time, error) : more_times;
        if (more_times < 0 || (more_times && add_time(state, counts, &time, node, error)))
            return -1;
        if (node == V8_NONE
                ? v8_warn(profile, &token, "no-node", "a sample of a node that does not exist: ignored",
                          error)
                : pf_samples_add(profile, 0, state->nodes[node].context, SAMPLES, pf_int(1), error))
            return -1;
        if (counts->samples % 1024 == 0 && pf_samples_step(profile, pass, token.offset, error))
            return -1;
    }
    counts->uneven = counts->timed != counts->samples;
    if (more < 0 || more_times < 0)
        return -1;
    /* Of old files the last time stamp is the end of the last sample. */
    int64_t end;
    if (more_times > 0 && state->stamps.line && next_number(state->times, &time, error) > 0 &&
        time_of(&time, 3, &end)) {
        state->end = end;
        state->ends = true;
    }
    return pf_sorter_finish(state->sorter, error);
}

/* A sample lasts until the next one begins. */
static int add_sample(struct pf_profile *profile, int64_t from, int64_t to, uint32_t index,
                      struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    if (index == V8_NONE)
        return 0;
    const struct v8_node *node = &state->nodes[index];
    struct pf_span_row row = {.time = pf_time(from),
                              .duration = pf_time(to - from),
                              .context = node->context,
                              .name = profile->contexts->name[node->context]};
    return pf_samples_add(profile, 0, node->context, TIME, pf_int(to - from), error) ||
                   pf_spans_add(state->spans, &row, error)
               ? -1
               : 0;
}

static int add_samples(struct pf_profile *profile, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    const uint64_t *record;
    uint32_t node = V8_NONE;
    int64_t from = 0;
    bool any = false;
    int more;
    while ((more = pf_sorter_next(state->sorter, &record, error)) > 0) {
        int64_t at = pf_signed(record[AT]);
        if (any && add_sample(profile, from, at, node, error))
            return -1;
        from = at;
        node = (uint32_t)record[NODE];
        any = true;
    }
    if (more < 0)
        return -1;
    int64_t end = state->ends && state->end > from ? state->end : from;
    return any ? add_sample(profile, from, end, node, error) : 0;
}

/* The values of a profile of time. */
static int read_times(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct counts counts = {0};
    int metric = pf_samples_metric(profile, "samples", strlen("samples"), "", error);
    if (metric < 0 || pf_samples_metric(profile, "time", strlen("time"), "ns", error) < 0 ||
        read_samples(profile, pass, &counts, error))
        return -1;
    if (!counts.samples)
        return v8_warn(profile, NULL, "no-samples",
                       "there are no samples: hit counts are shown, and no times", error)
                   ? -1
                   : add_counts(profile, metric, false, error);
    if ((counts.uneven &&
         v8_warn(profile, NULL, "counts", "there are not as many times as samples: the first ones have times",
                 error)) ||
        (counts.backwards &&
         v8_warn(profile, NULL, "backwards", "time stamps go backwards: samples are sorted by time", error)))
        return -1;
    return add_samples(profile, error);
}

static int read_bytes(struct pf_profile *profile, struct pf_error *error)
{
    int metric = pf_samples_metric(profile, "bytes", strlen("bytes"), "bytes", error);
    return metric < 0 ? -1 : add_counts(profile, metric, true, error);
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* Goes through the members of the profile, some of which may be wrapped in others. */
static int read_members(struct pf_profile *profile, unsigned wrapped, struct pf_pass *pass,
                        struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    struct pf_json_name name;
    int got;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        name = pf_json_name_of(&token);
        bool head = pf_json_named(&name, "head");
        if (pf_json_named(&name, "nodes")) {
            if (v8_read_nodes(profile, pass, error))
                return -1;
            continue;
        }
        got = pf_json_next(state->json, &token, error);
        struct pf_json_place place = pf_json_place_of(&token);
        bool nested = got == PF_JSON_OBJECT || got == PF_JSON_ARRAY;
        bool wraps = wrapped < 2 && (pf_json_named(&name, "profile") || pf_json_named(&name, "result"));
        if (got == PF_JSON_ARRAY && pf_json_named(&name, "samples"))
            state->sample_list = place;
        else if (got == PF_JSON_ARRAY && pf_json_named(&name, "timeDeltas"))
            state->deltas = place;
        else if (got == PF_JSON_ARRAY && pf_json_named(&name, "timestamps"))
            state->stamps = place;
        else if (pf_json_named(&name, "startTime"))
            state->starts |= time_of(&token, 3, &state->start);
        else if (pf_json_named(&name, "endTime"))
            state->ends |= time_of(&token, 3, &state->end);
        if (got < 0)
            return -1;
        if (head && got == PF_JSON_OBJECT) {
            state->old = true;
            if (v8_read_nodes_within(profile, error))
                return -1;
        } else if (wraps && got == PF_JSON_OBJECT) {
            if (read_members(profile, wrapped + 1, pass, error))
                return -1;
        } else if (nested && pf_json_leave(state->json, error)) {
            return -1;
        }
    }
    return got < 0 ? -1 : 0;
}

static int warn_of_damage(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_error damage = *error;
    if (!pf_json_is_damage(error))
        return -1;
    return pf_warn(profile, damage.line, damage.offset, "fatal", "damaged", error,
                   "%s: what is before it is kept", damage.what);
}

static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    int got = pf_json_next(state->json, &token, error);
    if (got == PF_JSON_OBJECT && read_members(profile, 0, pass, error))
        got = -1;
    if (got < 0 && warn_of_damage(profile, error))
        return -1;
    /* Old files have seconds here, and microseconds in `timestamps`. */
    if (state->old && !state->heap)
        state->ends = state->end < V8_TIME_MAX / 1000000 &&
                      !__builtin_mul_overflow(state->end, 1000000, &state->end) && state->ends;
    if (v8_make_contexts(profile, error))
        return -1;
    return state->heap ? read_bytes(profile, error) : read_times(profile, pass, error);
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    state->json = pf_json_new(state->samples.input, 0, PF_JSON_DEPTH_MAX);
    state->times = pf_json_new(state->samples.input, 0, 0);
    state->spans = pf_spans_new(profile->options->cache / 2);
    state->sorter = pf_sorter_new(WORDS, NUMBER + 1, profile->options->cache / 4);
    if (!state->json || !state->times || !state->spans || !state->sorter)
        return pf_fail_memory(error);
    if (read_all(profile, pass, error) && warn_of_damage(profile, error))
        return -1;
    return pf_spans_end_partition(state->spans, error);
}

static void clear(struct pf_profile *profile)
{
    struct v8_state *state = v8_state(profile);
    pf_spans_free(state->spans);
    pf_json_free(state->json);
    pf_json_free(state->times);
    pf_sorter_free(state->sorter);
    pf_map_free(&state->ids);
    free(state->nodes);
    free(state->links);
    free(state->open);
    struct pf_samples samples = state->samples;
    *state = (struct v8_state){.samples = samples};
}

static const struct pf_table tables[] = {
    {.name = "trace",
     .columns = pf_spans_columns,
     .n_columns = PF_SPANS_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_SPANS_FLAGS,
     .ops = &pf_spans_cursor,
     .user = offsetof(struct v8_state, spans)},
};

static const struct pf_samples_format format = {.state = sizeof(struct v8_state),
                                                .tables = tables,
                                                .n_tables = 1,
                                                .time_unit = "ns",
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_cpuprofile_driver = {.name = "cpuprofile",
                                               .title =
                                                   "V8's .cpuprofile and .heapprofile (Chrome, node, Deno)",
                                               .version = 1,
                                               .kit = &format,
                                               .probe = probe,
                                               .open = pf_samples_open,
                                               .load = pf_samples_load,
                                               .close = pf_samples_close};
