/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/chrome_trace.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"

/*
 * Trace Event JSON, as Chrome, node, clang -ftime-trace, PyTorch's Kineto, viztracer, uftrace and many others write it. Its
 * events stand in any order: they are sorted by thread and time, and then nested. All of that is one pass, since a thread may
 * be named by the last event.
 */

extern const struct pf_driver pf_chrome_trace_driver;

/* ---- probing ------------------------------------------------------------------------------------ */

/* The first element of an array tells events from other objects. */
struct signs {
    bool phase, place;
};

static int see(const struct pf_json_walk *walk)
{
    const struct signs *signs = walk->into;
    pf_json_take_notice(walk);
    return signs->phase && signs->place;
}

static const struct pf_json_member event_members[] = {
    PF_MEMBER("ph", PF_JSON_STRING, see, struct signs, phase),
    PF_MEMBER("ts", PF_JSON_END, see, struct signs, place),
    PF_MEMBER("pid", PF_JSON_END, see, struct signs, place),
    PF_MEMBERS_END,
};

/* 1 if it is an array. */
static int see_events(const struct pf_json_walk *walk)
{
    return walk->token->event == PF_JSON_ARRAY ? 1 : -1;
}

static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("traceEvents", PF_JSON_END, see_events),
    PF_MEMBERS_END,
};

/* Kineto writes what it knows of each GPU before the events: they may begin beyond the head. */
static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct pf_json_look look;
    struct pf_json_token token;
    struct pf_error error = {0};
    struct signs signs = {false};
    struct pf_json_walk walk = {.json = pf_json_look(probe, &look, true, 0, pf_probe_scan(probe)),
                                .error = &error};
    int got = walk.json ? pf_json_next(walk.json, &token, &error) : 0;
    if (got == PF_JSON_OBJECT && pf_json_object(&walk, NULL, file_members) > 0)
        verdict->confidence = 16;
    if (got == PF_JSON_ARRAY && pf_json_next(walk.json, &token, &error) == PF_JSON_OBJECT &&
        pf_json_object(&walk, &signs, event_members) > 0)
        verdict->confidence = 8;
    pf_json_look_end(probe, &look, &error);
}

/* ---- the tables --------------------------------------------------------------------------------- */

static const char *const kinds[] = {"slice"};

static const struct pf_metric metrics[TRACE_METRICS] = {
    [TRACE_TIME] = PF_EXCLUSIVE(TRACE_TIME, "time", "ns", "int"),
    [TRACE_CALLS] = PF_EXCLUSIVE(TRACE_CALLS, "calls", "", "int"),
};

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array)

static const struct pf_table tables[] = {
    {.name = "trace",
     COLUMNS(pf_spans_phased_columns),
     .stage = PF_PARTITIONED,
     .flags = PF_SPANS_FLAGS,
     .ops = &pf_spans_cursor,
     .user = offsetof(struct trace_state, spans)},
    {.name = "async",
     COLUMNS(trace_async_columns),
     .stage = PF_PARTITIONED,
     .ops = &trace_details_cursor,
     .user = TRACE_ASYNC},
    {.name = "counters",
     COLUMNS(trace_counter_columns),
     .stage = PF_PARTITIONED,
     .ops = &trace_details_cursor,
     .user = TRACE_COUNTERS},
    {.name = "instants",
     COLUMNS(trace_instant_columns),
     .stage = PF_PARTITIONED,
     .ops = &trace_details_cursor,
     .user = TRACE_INSTANTS},
};

/* ---- reading ------------------------------------------------------------------------------------ */

struct reading {
    struct pf_profile *profile;
    struct trace_state *state;
    struct pf_sorter *sorter;
    struct trace_reader reader;
    struct pf_json *args; /* reads what an event's args say */
    uint64_t number;      /* events so far, */
    uint64_t records;     /* of which so many are in the sorter */
};

static int warn(const struct reading *reading, const char *code, const char *what, struct pf_error *error)
{
    const struct trace_event *event = &reading->reader.event;
    return pf_warn(reading->profile, (int64_t)event->line, (int64_t)event->offset, "warning", code, error,
                   "event %llu: %s", (unsigned long long)reading->number - 1, what);
}

/* How long an X takes. One that would end beyond all times ends with them. */
static int duration_of(const struct reading *reading, int64_t *duration, struct pf_error *error)
{
    const struct trace_event *event = &reading->reader.event;
    *duration = 0;
    if (event->duration.given != TRACE_GIVEN)
        return warn(reading, "no-duration", "X without a usable dur, taken as 0", error);
    if (event->duration.ns < 0)
        return warn(reading, "negative-duration", "dur is negative, taken as 0", error);
    int64_t longest = TRACE_TIME_MAX - event->time.ns;
    *duration = event->duration.ns < longest ? event->duration.ns : longest;
    return 0;
}

static int add_record(struct reading *reading, uint32_t thread, struct pf_error *error)
{
    const struct trace_event *event = &reading->reader.event;
    const struct trace_text *text = &event->texts[TRACE_NAME];
    uint32_t name = PF_NO_STRING;
    int64_t duration = 0;
    if (text->there) {
        name = pf_samples_string(reading->profile, text->size ? text->text : "", text->size, error);
        if (name == PF_NO_STRING)
            return -1;
    }
    if (event->phase == 'X' && duration_of(reading, &duration, error))
        return -1;
    uint64_t record[TRACE_RECORD_WORDS] = {
        [TRACE_RECORD_THREAD] = thread,
        [TRACE_RECORD_TIME] = pf_ordered(event->time.ns),
        [TRACE_RECORD_PLACE] = trace_place(reading->records++, event->phase),
        [TRACE_RECORD_DURATION] = (uint64_t)duration,
        [TRACE_RECORD_NAME] = name,
    };
    return pf_sorter_add(reading->sorter, record, error);
}

static int take_event(struct reading *reading, struct pf_error *error)
{
    const struct trace_event *event = &reading->reader.event;
    enum trace_kind kind = trace_kind_of(event->phase);
    uint32_t thread;
    reading->number++;
    if (!event->phase)
        return warn(reading, "no-event", "no object with ph, ignored", error);
    if (event->phase == 'M')
        return trace_threads_name(&reading->state->threads, event, reading->args, error);
    if (trace_threads_listed(&reading->state->threads, event, &thread, error))
        return -1;
    if (event->time.given != TRACE_GIVEN)
        return warn(reading, "no-time", "no usable ts, ignored", error);
    if (kind != TRACE_KINDS)
        reading->state->kinds[kind]++;
    return add_record(reading, thread, error);
}

static int warn_of_end(const struct reading *reading, struct pf_error *error)
{
    const struct pf_error *damage = &reading->reader.damage;
    if (reading->reader.end == TRACE_WHOLE)
        return 0;
    const char *code = reading->reader.end == TRACE_CUT ? "cut" : "damaged";
    return pf_warn(reading->profile, damage->line, damage->offset, "fatal", code, error,
                   "%s: the events before it are kept", damage->what);
}

static int read_events(struct reading *reading, struct pf_pass *pass, struct pf_error *error)
{
    int more;
    while ((more = trace_reader_next(&reading->reader, error)) > 0)
        if (take_event(reading, error) ||
            (reading->number % 1024 == 0 &&
             pf_samples_step(reading->profile, pass, pf_json_tell(reading->reader.json), error)))
            return -1;
    if (more < 0 || warn_of_end(reading, error) || pf_sorter_finish(reading->sorter, error))
        return -1;
    return trace_threads_publish(&reading->state->threads, reading->profile, error);
}

static int nest_events(const struct reading *reading, struct pf_pass *pass, struct pf_error *error)
{
    struct trace_state *state = reading->state;
    struct trace_nest nest = {.profile = reading->profile,
                              .sorter = reading->sorter,
                              .spans = state->spans,
                              .nameless = state->nameless};
    return trace_nest_all(&nest, (uint32_t)state->threads.n_listed, pass, reading->records, error);
}

static int begin_reading(struct reading *reading, struct pf_error *error)
{
    struct trace_state *state = reading->state;
    uint64_t limit = reading->profile->options->cache / 4;
    reading->args = pf_json_new(NULL, 0, 0);
    reading->sorter = pf_sorter_new(TRACE_RECORD_WORDS, TRACE_RECORD_KEYS, limit);
    state->spans = pf_spans_new(limit);
    if (!reading->args || !reading->sorter || !state->spans)
        return pf_fail_memory(error);
    state->nameless = pf_samples_string(reading->profile, "(unnamed)", strlen("(unnamed)"), error);
    if (state->nameless == PF_NO_STRING || trace_threads_begin(&state->threads, error))
        return -1;
    return trace_reader_begin(&reading->reader, state->samples.input, false, 'M', error);
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct reading reading = {.profile = profile, .state = trace_state(profile)};
    int failed = begin_reading(&reading, error) || read_events(&reading, pass, error) ||
                 nest_events(&reading, pass, error);
    trace_reader_free(&reading.reader);
    pf_json_free(reading.args);
    pf_sorter_free(reading.sorter);
    return failed ? -1 : 0;
}

static void clear(struct pf_profile *profile)
{
    struct trace_state *state = trace_state(profile);
    trace_threads_free(&state->threads);
    pf_spans_free(state->spans);
}

static const struct pf_samples_format format = {.state = sizeof(struct trace_state),
                                                .kinds = kinds,
                                                .fields = trace_thread_fields,
                                                .n_fields = TRACE_THREAD_FIELDS,
                                                .partitioned = true,
                                                .metrics = metrics,
                                                .n_metrics = TRACE_METRICS,
                                                .tables = tables,
                                                .n_tables = sizeof tables / sizeof *tables,
                                                .time_unit = "ns",
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_chrome_trace_driver = {
    .name = "chrome-trace",
    .title = "trace events (Chrome, Perfetto, node, clang -ftime-trace, Kineto, viztracer, uftrace)",
    .version = 2,
    .kit = &format,
    .probe = probe,
    PF_SAMPLES_OPERATIONS,
};
