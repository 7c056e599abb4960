/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/chrome_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"
#include "formats/kit/number.h"
#include "formats/probe.h"

/*
 * Trace Event JSON, written by Chrome, node, clang -ftime-trace, PyTorch's Kineto, viztracer, uftrace and many others.
 * Its events come in any order, so they are sorted by thread and time, then nested. All of this is one pass, since the
 * last event may name a thread.
 */

extern const struct pf_driver pf_chrome_trace_driver;

/* ---- probing ------------------------------------------------------------------------------------ */

/* Members that identify the first element of an array as an event, since a file may be a bare array of events. */
struct chrome_evidence {
    bool phase, place; /* has `ph`; has `ts` or `pid` */
};

/* Notes a member. Returns 1, which ends the search, once both flags of struct chrome_evidence are set. */
static int chrome_see_member(const struct pf_json_walk *walk)
{
    const struct chrome_evidence *signs = walk->into;
    pf_json_take_notice(walk);
    return signs->phase && signs->place;
}

static const struct pf_json_member look_event_members[] = {
    PF_MEMBER("ph", PF_JSON_STRING, chrome_see_member, struct chrome_evidence, phase),
    PF_MEMBER("ts", PF_JSON_END, chrome_see_member, struct chrome_evidence, place),
    PF_MEMBER("pid", PF_JSON_END, chrome_see_member, struct chrome_evidence, place),
    PF_MEMBERS_END,
};

/* Returns 1, "recognised", if `traceEvents` is an array, otherwise -1. */
static int see_events(const struct pf_json_walk *walk)
{
    return walk->token->event == PF_JSON_ARRAY ? 1 : -1;
}

static const struct pf_json_member look_members[] = {
    PF_MEMBER_OF_ALL("traceEvents", PF_JSON_END, see_events),
    PF_MEMBERS_END,
};

/*
 * Kineto writes the properties of each GPU before the events. `traceEvents` may therefore be after the head, so more
 * than the head of a *.json file is examined (pf_probe_scan).
 */
static void chrome_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct pf_json_look look;
    struct pf_json_token token;
    struct pf_error error = {0};
    struct chrome_evidence signs = {false};
    static const char *const names[] = {"traceEvents", NULL};
    struct pf_json_walk walk = {
        .json = pf_json_look(probe, &look, PF_JSON_PACKED, pf_probe_scan(probe), names), .error = &error};
    int got = walk.json ? pf_json_next(walk.json, &token, &error) : 0;
    if (got == PF_JSON_OBJECT && pf_json_object(&walk, NULL, look_members) > 0)
        result->confidence = 16;
    if (got == PF_JSON_ARRAY && pf_json_next(walk.json, &token, &error) == PF_JSON_OBJECT &&
        pf_json_object(&walk, &signs, look_event_members) > 0)
        result->confidence = 8;
    pf_json_look_end(probe, &look, &error);
}

/* ---- the tables --------------------------------------------------------------------------------- */

static const char *const kinds[] = {"slice"};

static const struct pf_metric metrics[TRACE_METRICS] = {
    [TRACE_TIME] = PF_EXCLUSIVE(TRACE_TIME, "time", "ns", "int"),
    [TRACE_CALLS] = PF_EXCLUSIVE(TRACE_CALLS, "calls", "", "int"),
};

/* Tables of the events outside stacks, in file order: asynchronous events and flows, counters, instants. */
enum chrome_kind { ASYNC, COUNTERS, INSTANTS, KINDS };

static const struct pf_column async_columns[] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0},     {"phase", PF_PLAIN, 0},
    {"id", PF_PLAIN, 0},         {"category", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
};
static const struct pf_column counter_columns[] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0},   {"value", PF_PLAIN, 0},
    {"id", PF_PLAIN, 0},         {"series", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
};
static const struct pf_column instant_columns[] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0}, {"scope", PF_PLAIN, 0},
    {"category", PF_PLAIN, 0},   {"name", PF_PLAIN, 0},
};

#define STORED(called, array)                                                                                \
    {                                                                                                        \
        .name = (called), .columns = (array), .n_columns = sizeof(array) / sizeof *(array),                  \
        .stage = PF_PARTITIONED, .ops = &pf_stored_cursor.ops                                                \
    }

static const struct pf_table tables[] = {
    [ASYNC] = STORED("async", async_columns),
    [COUNTERS] = STORED("counters", counter_columns),
    [INSTANTS] = STORED("instants", instant_columns),
};

/* ---- members of an event ------------------------------------------------------------------------ */

/* Members that are read as text; indexes into `texts` of struct chrome_reading. */
enum member { PID, TID, NAME, ID, CATEGORY, SCOPE, TEXTS };

/* Text of the current event, owned by the reading. */
struct chrome_text {
    PF_LIST(char) bytes;
    bool there;
};

/* A time, and whether the event has one. */
struct time {
    enum { ABSENT, GIVEN, UNUSABLE } given;
    int64_t ns;
};

/* Maximum size in bytes of an event's args, and of the name of a counter's series. */
enum { ARGS_MAX = 64 * 1024, SERIES_MAX = 256 };

/* The number of a thread that has had no event other than metadata. */
#define UNLISTED UINT32_MAX

/* A thread, identified by its pid and tid, each of which is a number or any text. */
struct thread {
    uint32_t pid, tid, name; /* in `strings`; name: PF_NO_STRING if unnamed */
    uint32_t number; /* index in `listed`; UNLISTED before the thread's first event that is not metadata */
};

struct chrome_reading {
    struct pf_build *build;
    struct trace_state *state;
    struct pf_json *json, *args_reader; /* args_reader parses an event's args */
    bool inside;                        /* an event is being read: if the file ends now, it is truncated */
    uint64_t number;                    /* number of events so far */

    struct {
        char phase; /* 0: missing, so the object is not an event */
        struct time time, duration;
        uint64_t offset, line;
        bool has_args, args_cut;
    } event;
    struct chrome_text texts[TEXTS]; /* of the current event */
    struct pf_json_buffer args;      /* JSON text, kept if needed or while the phase is unknown */
    char series[SERIES_MAX];         /* name of the current member of args */

    struct pf_strings *strings; /* pids, tids and names */
    struct pf_strings *pairs;   /* interned pairs of string indexes (pid, tid); index i is thread i */
    PF_LIST(struct thread) threads;
    size_t last;                 /* index of the last event's thread */
    PF_LIST(uint32_t) listed;    /* threads that become partitions: indexes into `threads` */
    PF_LIST(uint32_t) processes; /* by pid: index of the process's name + 1; 0 if unnamed */
};

static int take_phase(const struct pf_json_walk *walk)
{
    *(char *)walk->place = (char)(walk->token->size ? *walk->token->text : 0);
    return 0;
}

static int chrome_read_text(const struct pf_json_walk *walk)
{
    struct chrome_reading *reading = walk->into;
    struct chrome_text *text = walk->place;
    const struct pf_json_token *token = walk->token;
    text->there = token->event == PF_JSON_STRING || token->event == PF_JSON_NUMBER;
    text->bytes.n = text->there ? token->size : 0;
    *PF_ITEM(reading->build->run, text->bytes, text->bytes.n) = 0;
    if (text->bytes.n) /* other tokens have text NULL */
        memcpy(text->bytes.at, token->text, text->bytes.n);
    return 0;
}

/* Converts a number of microseconds, which may be written as a string, to ns. */
static int take_time(const struct pf_json_walk *walk)
{
    struct time *time = walk->place;
    const struct pf_json_token *token = walk->token;
    pf_int128 value;
    time->given = UNUSABLE;
    if (token->simple && token->places == 0) {
        value = (pf_int128)token->mantissa * 1000;
        value = token->negative ? -value : value;
    } else if ((token->event != PF_JSON_NUMBER && token->event != PF_JSON_STRING) ||
               !pf_parse_fixed(token->text, token->size, 3, &value)) {
        return 0;
    }
    if (value <= -TRACE_TIME_MAX || value >= TRACE_TIME_MAX)
        return 0;
    *time = (struct time){GIVEN, (int64_t)value};
    return 0;
}

/* Takes `tdur`, the duration by the thread's clock, unless the event has had a `dur`. */
static int take_thread_time(const struct pf_json_walk *walk)
{
    const struct time *time = walk->place;
    return time->given == ABSENT ? take_time(walk) : 0;
}

/* Keeps the args of metadata, counters, and events whose phase has not been read yet. */
static int take_args(const struct pf_json_walk *walk)
{
    struct chrome_reading *reading = walk->into;
    struct pf_json_token value;
    char phase = reading->event.phase;
    if (phase && phase != 'M' && phase != 'C')
        return pf_json_skip(walk->json, &value, walk->error) < 0 ? -1 : 0;
    int got = pf_json_take(walk->json, &value, &reading->args, walk->error);
    reading->event.has_args = got == PF_JSON_OBJECT && !value.cut;
    reading->event.args_cut = got == PF_JSON_OBJECT && value.cut;
    return got < 0 ? -1 : 0;
}

#define MEMBER(name, begins, take, field) PF_MEMBER(name, begins, take, struct chrome_reading, field)

static const struct pf_json_member members[] = {
    MEMBER("ph", PF_JSON_STRING, take_phase, event.phase),
    MEMBER("ts", PF_JSON_END, take_time, event.time),
    MEMBER("pid", PF_JSON_END, chrome_read_text, texts[PID]),
    MEMBER("tid", PF_JSON_END, chrome_read_text, texts[TID]),
    MEMBER("dur", PF_JSON_END, take_time, event.duration),
    MEMBER("name", PF_JSON_END, chrome_read_text, texts[NAME]),
    PF_MEMBER_OF_ALL("args", PF_JSON_NAME, take_args),
    MEMBER("tdur", PF_JSON_END, take_thread_time, event.duration),
    MEMBER("id", PF_JSON_END, chrome_read_text, texts[ID]),
    MEMBER("cat", PF_JSON_END, chrome_read_text, texts[CATEGORY]),
    MEMBER("s", PF_JSON_END, chrome_read_text, texts[SCOPE]),
    PF_MEMBERS_END,
};

static struct pf_cell chrome_text_of(const struct chrome_reading *reading, enum member member)
{
    const struct chrome_text *text = &reading->texts[member];
    return text->there ? pf_text(text->bytes.at, text->bytes.n) : pf_absent();
}

static bool chrome_equal_text(struct pf_cell cell, struct pf_cell other)
{
    return cell.size == other.size && !memcmp(cell.text, other.text, cell.size);
}

/* ---- threads ------------------------------------------------------------------------------------ */

/*
 * Finds or adds the event's thread. A missing pid is 0; a missing tid equals the pid, as in Perfetto. The thread of the
 * previous event is tried first.
 */
static struct thread *find_thread(struct chrome_reading *reading)
{
    const struct pf_strings *strings = reading->strings;
    struct pf_cell pid = chrome_text_of(reading, PID), tid = chrome_text_of(reading, TID);
    struct thread *last = reading->threads.n ? &reading->threads.at[reading->last] : NULL;
    pid = pid.type == PF_ABSENT ? pf_text("0", 1) : pid;
    tid = tid.type == PF_ABSENT ? pid : tid;
    if (last && chrome_equal_text(pf_interned(strings, last->tid), tid) &&
        chrome_equal_text(pf_interned(strings, last->pid), pid))
        return last;
    uint32_t pair[] = {pf_build_intern(reading->build, reading->strings, pid.text, pid.size),
                       pf_build_intern(reading->build, reading->strings, tid.text, tid.size)};
    reading->last = pf_build_intern(reading->build, reading->pairs, pair, sizeof pair);
    struct thread *thread = PF_ITEM(reading->build->run, reading->threads, reading->last);
    if (reading->last == reading->threads.n) {
        reading->threads.n++;
        *thread = (struct thread){pair[0], pair[1], PF_NO_STRING, UNLISTED};
    }
    return thread;
}

/* Returns the number of the event's thread. Lists the thread if it is not listed yet. */
static uint32_t list_thread(struct chrome_reading *reading)
{
    struct thread *thread = find_thread(reading);
    if (thread->number == UNLISTED) {
        thread->number = (uint32_t)reading->listed.n;
        *PF_PUSH(reading->build->run, reading->listed) = (uint32_t)reading->last;
    }
    return thread->number;
}

static void chrome_warn(struct chrome_reading *reading, const char *code, const char *what)
{
    pf_build_warn(reading->build, reading->event.line, reading->event.offset, "warning", code,
                  "event %llu: %s", (unsigned long long)reading->number - 1, what);
}

/* Starts to parse the event's args with args_reader. Returns false if there are none. */
static bool enter_args(struct chrome_reading *reading)
{
    struct pf_json_token token;
    struct pf_error ignored;
    if (reading->event.args_cut)
        chrome_warn(reading, "bad-args", "args exceed 64 KB: ignored");
    if (!reading->event.has_args)
        return false;
    pf_json_text(reading->args_reader, reading->args.bytes, strlen(reading->args.bytes));
    return pf_json_next(reading->args_reader, &token, &ignored) == PF_JSON_OBJECT;
}

/* Reads the next member of the event's args. Returns the type of the member's value (enum pf_json_event); 0 at the end or at an error. */
static int next_arg(struct chrome_reading *reading, struct pf_json_token *member, struct pf_json_token *value)
{
    struct pf_error error;
    int got = pf_json_next(reading->args_reader, member, &error);
    if (got == PF_JSON_NAME) {
        size_t size = member->size < SERIES_MAX ? member->size : SERIES_MAX;
        memcpy(reading->series, member->text, size);
        member->text = reading->series;
        member->size = size;
        got = pf_json_skip(reading->args_reader, value, &error);
    }
    if (got < 0)
        chrome_warn(reading, "bad-args", "args are invalid JSON: members before the error are used");
    return got < 0 || got == PF_JSON_OBJECT_END ? 0 : got;
}

/* Handles a metadata event that names a thread or a process: the name is the member `name` of its args. */
static void name_thread(struct chrome_reading *reading)
{
    struct pf_json_token member, value = {0};
    struct pf_cell what = chrome_text_of(reading, NAME);
    bool process = chrome_equal_text(what, pf_string("process_name")), found = false;
    bool there = (process || chrome_equal_text(what, pf_string("thread_name"))) && enter_args(reading);
    for (int got; there && !found && (got = next_arg(reading, &member, &value));)
        found = got == PF_JSON_STRING && pf_json_is(&member, "name");
    if (!found)
        return;
    uint32_t name = pf_build_intern(reading->build, reading->strings, value.text, value.size);
    struct thread *thread = find_thread(reading);
    if (process)
        *PF_ITEM(reading->build->run, reading->processes, thread->pid) = name + 1;
    else
        thread->name = name;
}

static const struct pf_column thread_fields[] = {
    {"pid", PF_GROUP, 0}, {"tid", PF_PLAIN, 0}, {"process", PF_GROUP, 0}};

/* Makes the listed threads partitions, named `pid/tid` or `pid/tid name`. */
static void add_threads(struct chrome_reading *reading)
{
    const struct pf_strings *strings = reading->strings;
    for (size_t i = 0; i < reading->listed.n; i++) {
        const struct thread *thread = &reading->threads.at[reading->listed.at[i]];
        uint32_t process = *PF_ITEM(reading->build->run, reading->processes, thread->pid);
        struct pf_cell fields[] = {pf_interned(strings, thread->pid), pf_interned(strings, thread->tid),
                                   process ? pf_interned(strings, process - 1) : pf_absent()};
        struct pf_cell name = pf_interned(strings, thread->name);
        char *text = NULL;
        int size =
            asprintf(&text, "%.*s/%.*s%s%.*s", (int)fields[0].size, fields[0].text, (int)fields[1].size,
                     fields[1].text, name.size ? " " : "", (int)name.size, name.size ? name.text : "");
        PF_OWN(reading->build->run, size < 0 ? NULL : text, free);
        pf_build_own_partition(reading->build, text, (size_t)size, fields);
    }
}

/* ---- events ------------------------------------------------------------------------------------- */

/* The duration of an X. An end beyond TRACE_TIME_MAX is clamped. */
static int64_t duration_of(struct chrome_reading *reading)
{
    const struct time *given = &reading->event.duration;
    int64_t longest = TRACE_TIME_MAX - reading->event.time.ns;
    if (given->given != GIVEN)
        chrome_warn(reading, "no-duration", "X without a valid dur: 0 assumed");
    else if (given->ns < 0)
        chrome_warn(reading, "negative-duration", "negative dur: 0 assumed");
    else
        return given->ns < longest ? given->ns : longest;
    return 0;
}

static enum chrome_kind chrome_kind_of(char phase)
{
    if (phase && strchr("bneSTpFstf", phase))
        return ASYNC;
    if (phase && strchr("iIR", phase))
        return INSTANTS;
    return phase == 'C' ? COUNTERS : KINDS;
}

/* Adds a row for each member of a counter's args whose value is a number. */
static void chrome_add_counter(struct chrome_reading *reading, uint32_t thread, uint32_t name)
{
    struct pf_json_token member, value;
    pf_int128 wide;
    bool there = enter_args(reading);
    for (int got; there && (got = next_arg(reading, &member, &value));) {
        if (got != PF_JSON_NUMBER)
            continue;
        struct pf_cell cells[] = {pf_int(thread),
                                  pf_int(reading->event.time.ns),
                                  pf_json_number(&value, &wide),
                                  chrome_text_of(reading, ID),
                                  pf_text(member.text, member.size),
                                  pf_name(name)};
        pf_build_row(reading->build, COUNTERS, cells);
    }
}

/* Adds a row to the table of the event's kind, if it has one. Slices have none. */
static void chrome_add_row(struct chrome_reading *reading, uint32_t thread, uint32_t name)
{
    enum chrome_kind kind = chrome_kind_of(reading->event.phase);
    struct pf_cell time = pf_int(reading->event.time.ns);
    struct pf_cell async[] = {pf_int(thread),
                              time,
                              pf_text(&reading->event.phase, 1),
                              chrome_text_of(reading, ID),
                              chrome_text_of(reading, CATEGORY),
                              pf_name(name)};
    struct pf_cell instant[] = {pf_int(thread), time, chrome_text_of(reading, SCOPE),
                                chrome_text_of(reading, CATEGORY), pf_name(name)};
    if (kind == COUNTERS)
        chrome_add_counter(reading, thread, name);
    else if (kind != KINDS)
        pf_build_row(reading->build, kind, kind == ASYNC ? async : instant);
}

/* Adds the event to its table and to the sorter. */
static void chrome_add_record(struct chrome_reading *reading, uint32_t thread)
{
    struct trace_state *state = reading->state;
    char phase = reading->event.phase;
    struct pf_cell text = chrome_text_of(reading, NAME);
    /* Old versions of Chrome write the name "" in an E without a name; Perfetto, too, treats it as missing. */
    bool named = text.type != PF_ABSENT && (text.size || phase != 'E');
    uint32_t name = named ? pf_build_name(reading->build, text.text, text.size) : PF_NO_STRING;
    int64_t duration = phase == 'X' ? duration_of(reading) : 0;
    chrome_add_row(reading, thread, named ? name : state->nameless);
    uint64_t record[TRACE_RECORD_WORDS] = {
        [TRACE_RECORD_THREAD] = thread,
        [TRACE_RECORD_TIME] = pf_ordered(reading->event.time.ns),
        [TRACE_RECORD_PLACE] = trace_place(state->records++, phase),
        [TRACE_RECORD_DURATION] = (uint64_t)duration,
        [TRACE_RECORD_NAME] = name,
    };
    pf_run_check(reading->build->run, pf_sorter_add(state->sorter, record, reading->build->run->error));
}

static void chrome_add_event(struct chrome_reading *reading)
{
    reading->number++;
    if (!reading->event.phase) {
        chrome_warn(reading, "no-event", "not an object with ph: ignored");
    } else if (reading->event.phase == 'M') {
        name_thread(reading);
    } else {
        uint32_t thread = list_thread(reading);
        if (reading->event.time.given == GIVEN)
            chrome_add_record(reading, thread);
        else
            chrome_warn(reading, "no-time", "invalid or missing ts: ignored");
    }
}

static int chrome_handle_event(const struct pf_json_walk *walk)
{
    struct chrome_reading *reading = walk->into;
    const struct pf_json_token start = *walk->token;
    memset(&reading->event, 0, sizeof reading->event);
    reading->event.offset = start.offset;
    reading->event.line = start.line;
    for (int i = 0; i < TEXTS; i++)
        reading->texts[i].there = false;
    reading->inside = true;
    if ((start.event == PF_JSON_OBJECT && pf_json_object(walk, reading, members)) ||
        (start.event == PF_JSON_ARRAY && pf_json_leave(walk->json, walk->error)))
        return -1;
    chrome_add_event(reading);
    if (reading->number % 1024 == 0)
        pf_build_step(reading->build, pf_json_tell(walk->json));
    reading->inside = false;
    return pf_json_check_full(reading->build->run);
}

static int take_events(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_END, chrome_handle_event);
}

static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("traceEvents", PF_JSON_ARRAY, take_events),
    PF_MEMBERS_END,
};

/* ---- the file ----------------------------------------------------------------------------------- */

static void chrome_read_events(struct chrome_reading *reading)
{
    struct pf_build *build = reading->build;
    struct pf_json_walk walk = {.json = reading->json, .error = build->run->error};
    struct pf_json_token token;
    int got = pf_json_next(reading->json, &token, build->run->error);
    if (got == PF_JSON_OBJECT) {
        got = pf_json_object(&walk, reading, file_members);
    } else if (got == PF_JSON_ARRAY) {
        got = pf_json_array(&walk, reading, PF_JSON_END, chrome_handle_event);
        if (got && build->run->error->code == ENODATA && !reading->inside) /* the `]` may be missing */
            return;
    }
    if (!got)
        got = pf_json_next(reading->json, &token, build->run->error); /* no value may follow */
    if (pf_json_got(build->run, got) >= 0)
        return;
    struct pf_error damage = *build->run->error;
    pf_build_warn(build, damage.line, damage.offset, "fatal", damage.code == ENODATA ? "cut" : "damaged",
                  "%s: only the events before it are read", damage.what);
}

static void chrome_read_file(struct pf_build *build)
{
    struct trace_state *state = build->state;
    struct chrome_reading *reading = PF_OWN(build->run, calloc(1, sizeof *reading), free);
    uint64_t limit = build->model->options->cache / 4;
    state->build = reading->build = build;
    reading->state = state;
    reading->json =
        PF_OWN(build->run, pf_json_new(build->input, PF_JSON_LAST_COMMAS, PF_JSON_DEPTH_MAX), pf_json_free);
    reading->args_reader = PF_OWN(build->run, pf_json_new(NULL, 0, 0), pf_json_free);
    reading->args.limit = ARGS_MAX;
    pf_own_items(build->run, &reading->args.bytes);
    reading->strings = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    reading->pairs = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    state->sorter =
        PF_OWN(build->run, pf_sorter_new(TRACE_RECORD_WORDS, TRACE_RECORD_KEYS, limit), pf_sorter_free);
    state->nameless = pf_build_name(build, "(unnamed)", strlen("(unnamed)"));
    chrome_read_events(reading);
    add_threads(reading);
    pf_run_check(build->run, pf_sorter_finish(state->sorter, build->run->error));
    trace_nest_all(state);
}

static const struct pf_build_format format = {.state = sizeof(struct trace_state),
                                              .kinds = kinds,
                                              .fields = thread_fields,
                                              .n_fields = sizeof thread_fields / sizeof *thread_fields,
                                              .partitioned = true,
                                              .metrics = metrics,
                                              .n_metrics = TRACE_METRICS,
                                              .tables = tables,
                                              .n_tables = sizeof tables / sizeof *tables,
                                              .time_unit = "ns",
                                              .phased = true,
                                              .read = chrome_read_file};

const struct pf_driver pf_chrome_trace_driver = {
    .name = "chrome-trace",
    .title = "trace events (Chrome, Perfetto, node, clang -ftime-trace, Kineto, viztracer, uftrace)",
    .version = 9,
    .kit = &format,
    .text = true,
    .probe = chrome_probe,
    PF_BUILD_OPERATIONS,
};
