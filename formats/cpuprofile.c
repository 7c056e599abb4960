/* SPDX-License-Identifier: MIT */
/* V8's .cpuprofile and .heapprofile, in the current form and in node 8's. See docs/formats/cpuprofile.md. */
#include <errno.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"
#include "formats/kit/ids.h"
#include "formats/kit/number.h"
#include "formats/kit/sorter.h"
#include "formats/probe.h"
#include "formats/runtime/build.h"

extern const struct pf_driver pf_cpuprofile_driver;

enum { SAMPLES, TIME };

#define NONE UINT32_MAX

/* Upper bound of times in ns, so that differences of times do not overflow. */
#define TIME_MAX (INT64_C(1) << 61)

/* A node of the call tree. */
struct v8_node {
    struct pf_frame frame;
    uint32_t parent, top; /* indexes; top: union-find link to the topmost ancestor */
    uint32_t context;
    int64_t id, parent_id; /* -1: missing; parent_id: in files that list parents instead of children */
    int64_t hits, bytes;   /* number of samples, or allocated bytes, without callees */
};

/* The id of a child, as listed in its parent. */
struct link {
    int64_t id;
    uint32_t node; /* index of the parent */
};

/*
 * A time as listed in the file, in billionths of the file's unit. The unit is a microsecond, or a second in old files.
 */
struct v8_moment {
    pf_int128 billionths;
    bool given;
};

struct v8 {
    struct pf_build *build;
    struct pf_json *json, *times; /* `times` reads times in parallel to samples */
    PF_LIST(struct v8_node) nodes;
    PF_LIST(struct link) links;
    PF_LIST(uint32_t) open; /* stack of the nodes that are being read */
    struct pf_build_files files;
    struct pf_ids ids; /* node id -> index */
    struct pf_sorter *sorter;
    bool heap, old;   /* heap: a heap profile; old: nodes are nested in `head`, as in files of Node.js 8 */
    bool damaged;     /* damage has been reported */
    unsigned wrapped; /* number of enclosing wrapper objects */
    struct pf_json_place sample_list; /* node ids of the samples */
    struct pf_json_place deltas;      /* times since the previous sample; in current files */
    struct pf_json_place stamps;      /* absolute times; in old files */
    struct v8_moment started, ended;
    int64_t start, end; /* in ns; end: INT64_MIN if missing */
    /* State while samples are read: */
    uint64_t samples, timed; /* numbers of samples read, and of those with a time */
    int64_t last;            /* time stamp of the last sample */
    bool backwards;
};

/* ---- probing ------------------------------------------------------------------------------------ */

/*
 * Members seen in the first node. The walk ends once they identify a profile, since the node's children may be the rest
 * of the file.
 */
struct v8_evidence {
    bool frame, bytes, hits, function;
};

static int v8_see_member(const struct pf_json_walk *walk)
{
    const struct v8_evidence *signs = walk->into;
    pf_json_take_notice(walk);
    return (signs->frame && (signs->bytes || signs->hits)) || (signs->function && signs->hits);
}

static const struct pf_json_member look_node_members[] = {
    PF_MEMBER("callFrame", PF_JSON_END, v8_see_member, struct v8_evidence, frame),
    PF_MEMBER("selfSize", PF_JSON_END, v8_see_member, struct v8_evidence, bytes),
    PF_MEMBER("hitCount", PF_JSON_END, v8_see_member, struct v8_evidence, hits),
    PF_MEMBER("functionName", PF_JSON_END, v8_see_member, struct v8_evidence, function),
    PF_MEMBERS_END,
};

/* Examines the first element of `nodes`. Like v8_examine_head, returns 1 if the file is a profile, -1 if not. */
static int look_at_list(const struct pf_json_walk *walk)
{
    struct pf_json_token token;
    struct v8_evidence signs = {false};
    bool seen = pf_json_next(walk->json, &token, walk->error) == PF_JSON_OBJECT &&
                pf_json_object(walk, &signs, look_node_members) >= 0;
    return seen && signs.frame ? 1 : -1;
}

static int v8_examine_head(const struct pf_json_walk *walk)
{
    struct v8_evidence signs = {false};
    bool seen = pf_json_object(walk, &signs, look_node_members) >= 0;
    return seen && (signs.bytes || (signs.hits && signs.function)) ? 1 : -1;
}

static pf_json_taker look_within;

static const struct pf_json_member look_members[] = {
    PF_MEMBER_OF_ALL("nodes", PF_JSON_ARRAY, look_at_list),
    PF_MEMBER_OF_ALL("head", PF_JSON_OBJECT, v8_examine_head),
    PF_MEMBER_OF_ALL("profile", PF_JSON_OBJECT, look_within),
    PF_MEMBER_OF_ALL("result", PF_JSON_OBJECT, look_within),
    PF_MEMBERS_END,
};

static int look_within(const struct pf_json_walk *walk)
{
    unsigned *wrapped = walk->into;
    return (*wrapped)++ < 2 ? pf_json_object(walk, wrapped, look_members) : -1;
}

static void v8_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    unsigned wrapped = 0;
    bool called = pf_probe_is_called(probe, ".cpuprofile") || pf_probe_is_called(probe, ".heapprofile");
    if (pf_probe_object(probe, PF_JSON_PACKED, called ? PF_PROBE_SCAN : 0, &wrapped, look_members))
        result->confidence = 12;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static const struct pf_json_member frame_members[] = {
    PF_MEMBER("functionName", PF_JSON_STRING, pf_json_take_name, struct pf_frame, name),
    PF_MEMBER("url", PF_JSON_STRING, pf_json_take_name, struct pf_frame, file),
    PF_MEMBER("lineNumber", PF_JSON_NUMBER, pf_json_take_line, struct pf_frame, line),
    PF_MEMBERS_END,
};

/* Reads a `callFrame`. Its lines count from 0, unlike the lines of old files, which count from 1. */
static int v8_read_frame(const struct pf_json_walk *walk)
{
    struct pf_frame *frame = walk->place;
    frame->line = UINT32_MAX;
    int got = pf_json_object(walk, frame, frame_members);
    frame->line++; /* 0 if the line is missing */
    return got;
}

static int v8_read_bytes(const struct pf_json_walk *walk)
{
    ((struct v8 *)pf_build_state(walk->model))->heap = true;
    return pf_json_take_whole(walk);
}

/* All members of a node except its children. */
static const struct pf_json_member node_members[] = {
    PF_MEMBER("callFrame", PF_JSON_OBJECT, v8_read_frame, struct v8_node, frame),
    PF_MEMBER("id", PF_JSON_NUMBER, pf_json_take_whole, struct v8_node, id),
    PF_MEMBER("hitCount", PF_JSON_NUMBER, pf_json_take_whole, struct v8_node, hits),
    PF_MEMBER("parent", PF_JSON_NUMBER, pf_json_take_whole, struct v8_node, parent_id),
    PF_MEMBER("selfSize", PF_JSON_END, v8_read_bytes, struct v8_node, bytes),
    PF_MEMBER("functionName", PF_JSON_STRING, pf_json_take_name, struct v8_node, frame.name),
    PF_MEMBER("url", PF_JSON_STRING, pf_json_take_name, struct v8_node, frame.file),
    PF_MEMBER("lineNumber", PF_JSON_NUMBER, pf_json_take_line, struct v8_node, frame.line),
    PF_MEMBERS_END,
};

/* Begins a node as a child of the innermost open node. */
static void begin_node(struct v8 *v8)
{
    uint32_t node = (uint32_t)v8->nodes.n, parent = v8->open.n ? v8->open.at[v8->open.n - 1] : NONE;
    if (v8->nodes.n >= NONE - 1)
        pf_run_check(v8->build->run, pf_fail(v8->build->run->error, EFBIG, "too many nodes"));
    *PF_PUSH(v8->build->run, v8->nodes) =
        (struct v8_node){.frame = {.name = PF_NO_STRING, .file = PF_NO_STRING, .module = PF_NO_STRING},
                         .parent = parent,
                         .top = parent == NONE ? node : parent,
                         .context = PF_NO_CONTEXT,
                         .id = -1,
                         .parent_id = -1};
    *PF_PUSH(v8->build->run, v8->open) = node;
}

/*
 * Reads a node up to its end. In a list `nodes`, a node's `children` are ids. Below `head`, `children` are nested nodes; v8->open is the
 * stack of nodes whose end has not been read, and each token belongs to the innermost one.
 */
static int v8_read_node(const struct pf_json_walk *walk)
{
    struct v8 *v8 = pf_build_state(walk->model);
    struct pf_json_token token;
    uint64_t offset = walk->token->offset;
    size_t before = v8->nodes.n;
    int failed = 0;
    int64_t id;
    begin_node(v8);
    while (v8->open.n && !failed && !(failed = pf_json_check_full(v8->build->run))) {
        uint32_t node = v8->open.at[v8->open.n - 1];
        int got = pf_json_next(walk->json, &token, walk->error);
        bool children = got == PF_JSON_NAME && pf_json_is(&token, "children");
        if (children)
            got = pf_json_next(walk->json, &token, walk->error);
        if (got == PF_JSON_NAME)
            failed = pf_json_member(walk, &v8->nodes.at[node], node_members, &token);
        else if (got == PF_JSON_OBJECT && !children)
            begin_node(v8);
        else if (got == PF_JSON_OBJECT || (got == PF_JSON_ARRAY && !children))
            failed = pf_json_leave(walk->json, walk->error);
        else if (got == PF_JSON_NUMBER && !children && pf_json_whole(&token, &id) && id >= 0)
            *PF_PUSH(v8->build->run, v8->links) = (struct link){id, node};
        else if (got == PF_JSON_OBJECT_END)
            v8->open.n--;
        else
            failed = got < 0;
    }
    /* Drop an incomplete node, except below `head`, where it may be the ancestor of complete ones. */
    if (failed && !v8->old)
        v8->nodes.n = before;
    if (before % 1024 == 0)
        pf_build_step(v8->build, offset);
    return failed || pf_json_check_full(v8->build->run) ? -1 : 0;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

/* Ends the run if the pass was cancelled. Loops that read nothing call it. */
static void check_v8(const struct v8 *v8)
{
    pf_run_check(v8->build->run, pf_pass_check(v8->build->run->error));
}

/* The index of the node with an id, or NONE. */
static uint32_t v8_node_of(const struct v8 *v8, int64_t id)
{
    return pf_ids_find(&v8->ids, (uint64_t)id);
}

static void index_node_ids(struct v8 *v8)
{
    PF_OWN(v8->build->run, &v8->ids, pf_ids_free);
    for (size_t i = 0; i < v8->nodes.n; i++) {
        int64_t id = v8->nodes.at[i].id;
        check_v8(v8);
        if (id < 0)
            continue;
        if (v8_node_of(v8, id) != NONE)
            pf_json_warn(v8->build->run, NULL, "repeated-id", "duplicate node id: the first node is used");
        else
            pf_run_check(v8->build->run,
                         pf_ids_add(&v8->ids, (uint64_t)id, (uint32_t)i, v8->build->run->error) < 0 ? -1 : 0);
    }
}

/* Returns the topmost ancestor of a node; shortens the path for later calls (path halving). */
static uint32_t v8_root_of(struct v8 *v8, uint32_t node)
{
    while (v8->nodes.at[node].top != node) {
        uint32_t above = v8->nodes.at[node].top;
        node = v8->nodes.at[node].top = v8->nodes.at[above].top;
    }
    return node;
}

/* Sets a node's parent, by index (NONE: undefined id). A link that would close a cycle is ignored. */
static void v8_set_parent(struct v8 *v8, uint32_t child, uint32_t parent)
{
    struct v8_node *node = child == NONE ? NULL : &v8->nodes.at[child];
    check_v8(v8);
    if (!node || parent == NONE)
        pf_json_warn(v8->build->run, NULL, "no-node", "child or parent does not exist: ignored");
    else if (node->parent == parent)
        return;
    else if (node->parent != NONE)
        pf_json_warn(v8->build->run, NULL, "two-parents", "node with two parents: the first one is used");
    else if (v8_root_of(v8, parent) == child)
        pf_json_warn(v8->build->run, NULL, "cycle", "node is its own descendant: cycle cut");
    else
        node->parent = node->top = parent;
}

static void link_nodes(struct v8 *v8)
{
    for (size_t i = 0; i < v8->links.n; i++)
        if (v8->links.at[i].node < v8->nodes.n)
            v8_set_parent(v8, v8_node_of(v8, v8->links.at[i].id), v8->links.at[i].node);
    for (size_t i = 0; i < v8->nodes.n; i++)
        if (v8->nodes.at[i].parent_id >= 0)
            v8_set_parent(v8, (uint32_t)i, v8_node_of(v8, v8->nodes.at[i].parent_id));
}

/* Returns the name, or PF_NO_STRING if it is empty. */
static uint32_t v8_not_empty(const struct v8 *v8, uint32_t name)
{
    return pf_build_named(v8->build, name).size ? name : PF_NO_STRING;
}

static void name_nodes(struct v8 *v8)
{
    for (size_t i = 0; i < v8->nodes.n; i++) {
        struct pf_frame *frame = &v8->nodes.at[i].frame;
        check_v8(v8);
        frame->file = v8_not_empty(v8, frame->file);
        frame->name = v8_not_empty(v8, frame->name);
        if (frame->name == PF_NO_STRING)
            frame->name = pf_build_name(v8->build, "(anonymous)", strlen("(anonymous)"));
        pf_build_add_file(v8->build, &v8->files, frame->name, frame->file);
    }
}

/*
 * Adds the node's context. The node's file is shown only if no other file has a function of the same name. Functions of one name in
 * different files still get different contexts, because frame->apart differs.
 */
static void make_context(struct v8 *v8, struct v8_node *node)
{
    struct pf_frame *frame = &node->frame;
    uint32_t parent = node->parent == NONE ? PF_NO_CONTEXT : v8->nodes.at[node->parent].context;
    frame->apart = frame->file;
    frame->file = pf_build_file_of(&v8->files, frame->name);
    node->context = pf_build_enter(v8->build, parent, pf_build_frame(v8->build, frame));
}

/* Adds a context for each node, ancestors first. */
static void enter_nodes(struct v8 *v8)
{
    for (size_t i = 0; i < v8->nodes.n; i++) {
        v8->open.n = 0;
        check_v8(v8);
        for (uint32_t node = (uint32_t)i; node != NONE && v8->nodes.at[node].context == PF_NO_CONTEXT;
             node = v8->nodes.at[node].parent)
            *PF_PUSH(v8->build->run, v8->open) = node;
        while (v8->open.n)
            make_context(v8, &v8->nodes.at[v8->open.at[--v8->open.n]]);
    }
}

/* Adds the values that the nodes declare: bytes, or numbers of samples. */
static void v8_add_counts(struct v8 *v8, const char *name, const char *unit)
{
    uint32_t metric = pf_build_metric(v8->build, name, strlen(name), unit);
    for (size_t i = 0; i < v8->nodes.n; i++) {
        const struct v8_node *node = &v8->nodes.at[i];
        pf_build_add(v8->build, 0, node->context, metric, pf_int(v8->heap ? node->bytes : node->hits));
    }
}

/* ---- samples ------------------------------------------------------------------------------------ */

/* Converts a number in microseconds to ns. Returns false if it is invalid. */
static bool v8_time_of(const struct pf_json_token *token, int64_t *time)
{
    pf_int128 value;
    if (token->event != PF_JSON_NUMBER || !pf_parse_fixed(token->text, token->size, 3, &value) ||
        value <= -TIME_MAX || value >= TIME_MAX)
        return false;
    *time = (int64_t)value;
    return true;
}

/* Reports the damage in the run's error, unless damage was reported before, which this one may be a part of. */
static void v8_report_damage(struct v8 *v8)
{
    if (!v8->damaged)
        pf_json_warn_of_damage(v8->build->run);
    v8->damaged = true;
}

/* Reads the next number of an array. Returns false at its end, and at damage, which is reported. */
static bool next_number(struct v8 *v8, struct pf_json *json, struct pf_json_token *token)
{
    int got = pf_json_got(v8->build->run, pf_json_skip(json, token, v8->build->run->error));
    if (got < 0)
        v8_report_damage(v8);
    return got > 0 && got != PF_JSON_ARRAY_END;
}

/* Words of a sorter record of a sample: time stamp, number, node. */
enum { AT, NUMBER, NODE, WORDS };

/* Adds a sample to the sorter. */
static void v8_sort_sample(struct v8 *v8, int64_t time, uint32_t node)
{
    v8->backwards |= v8->timed && time < v8->last;
    v8->last = time;
    uint64_t record[WORDS] = {[AT] = pf_ordered(time), [NUMBER] = v8->timed++, [NODE] = node};
    pf_run_check(v8->build->run, pf_sorter_add(v8->sorter, record, v8->build->run->error));
}

/* Adds a sample to the sorter; its time is absolute or a delta. Returns false if the sum of the deltas is out of range. */
static bool v8_sort_timed(struct v8 *v8, int64_t time, uint32_t node)
{
    if (!v8->stamps.line &&
        (__builtin_add_overflow(v8->last, time, &time) || time >= TIME_MAX || time <= -TIME_MAX))
        return false;
    v8_sort_sample(v8, time, node);
    return true;
}

/*
 * Counts the samples of an old file without times. Its samples are taken as equidistant from start to end, as DevTools does. Returns 0 for
 * any other file, and if start and end are unusable.
 */
static uint64_t count_untimed(struct v8 *v8)
{
    struct pf_json_token token;
    uint64_t n = 0;
    if (!v8->old || v8->stamps.line || v8->deltas.line || v8->end <= v8->start)
        return 0;
    bool listed = pf_json_enter_array(v8->build->run, v8->json, &v8->sample_list);
    while (listed && next_number(v8, v8->json, &token))
        n++;
    return n;
}

/* Reads samples and, in parallel, their times. */
static void v8_read_samples(struct v8 *v8)
{
    struct pf_build *build = v8->build;
    struct pf_json_token token, time;
    uint64_t untimed = count_untimed(v8), read = 0;
    bool times = pf_json_enter_array(build->run, v8->times, v8->stamps.line ? &v8->stamps : &v8->deltas);
    bool listed = pf_json_enter_array(build->run, v8->json, &v8->sample_list);
    v8->last = v8->start;
    while (listed && next_number(v8, v8->json, &token)) {
        int64_t id = -1, at = 0;
        uint32_t node = pf_json_whole(&token, &id) && id >= 0 ? v8_node_of(v8, id) : NONE;
        if (++read % 1024 == 0)
            pf_build_step(build, token.offset);
        times = times && next_number(v8, v8->times, &time);
        if (times && !v8_time_of(&time, &at)) {
            pf_json_warn(build->run, &time, "bad-number", "invalid time: sample skipped");
            continue;
        }
        if (times && !v8_sort_timed(v8, at, node)) {
            pf_fail(build->run->error, EBADMSG, "sum of times is out of range");
            pf_json_warn_of_damage(build->run);
            break;
        }
        if (v8->samples < untimed)
            v8_sort_sample(
                v8, (int64_t)(v8->start + (pf_int128)(v8->end - v8->start) * v8->samples / untimed), node);
        v8->samples++;
        if (node == NONE)
            pf_json_warn(build->run, &token, "no-node", "sample of a node that does not exist: ignored");
        else
            pf_build_add(build, 0, v8->nodes.at[node].context, SAMPLES, pf_int(1));
    }
    /* Damage of the last time that is used shows only in a read after it. */
    if (!times || !next_number(v8, v8->times, &time) || !v8->stamps.line)
        return;
    /* In old files, the last time stamp is the end of the last sample. */
    if (!v8_time_of(&time, &v8->end))
        pf_json_warn(build->run, &time, "bad-number", "invalid end time: ignored");
    next_number(v8, v8->times, &time);
}

/* Adds the time between a sample and the next one to the sample's node. */
static void v8_add_span(struct v8 *v8, int64_t from, int64_t to, uint32_t node)
{
    if (node == NONE)
        return;
    pf_build_add(v8->build, 0, v8->nodes.at[node].context, TIME, pf_int(to - from));
    pf_build_stay(v8->build, 0, v8->nodes.at[node].context, pf_int(from), pf_int(to - from));
}

/* Adds the sorted samples to the values and to trace.csv. The last one ends at the profile's end. */
static void v8_add_spans(struct v8 *v8)
{
    struct pf_build *build = v8->build;
    const uint64_t *record;
    uint32_t node = NONE;
    int64_t from = 0;
    pf_run_check(build->run, pf_sorter_finish(v8->sorter, build->run->error));
    while (pf_run_check(build->run, pf_sorter_next(v8->sorter, &record, build->run->error))) {
        int64_t at = pf_signed(record[AT]);
        v8_add_span(v8, from, at, node);
        from = at;
        node = (uint32_t)record[NODE];
    }
    v8_add_span(v8, from, v8->end > from ? v8->end : from, node);
}

/* Reads the values of a CPU profile. */
static void v8_read_cpu_values(struct v8 *v8)
{
    struct pf_build *build = v8->build;
    pf_build_metric(build, "samples", strlen("samples"), "");
    pf_build_metric(build, "time", strlen("time"), "ns");
    v8_read_samples(v8);
    if (!v8->samples) {
        pf_json_warn(build->run, NULL, "no-samples", "no samples: hit counts are shown instead of times");
        v8_add_counts(v8, "samples", "");
        return;
    }
    if (v8->timed != v8->samples)
        pf_json_warn(build->run, NULL, "counts",
                     "fewer times than samples or vice versa: the excess ignored");
    if (v8->backwards)
        pf_json_warn(build->run, NULL, "backwards", "time stamps decrease: samples sorted by time");
    v8_add_spans(v8);
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int take_nodes(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_OBJECT, v8_read_node);
}

static int v8_read_head(const struct pf_json_walk *walk)
{
    *(bool *)walk->place = true;
    return v8_read_node(walk);
}

/* Reads a number, or a string with a number, which cpuprofilify writes. DevTools accepts both. */
static int take_moment(const struct pf_json_walk *walk)
{
    struct v8_moment *moment = walk->place;
    enum pf_json_event event = walk->token->event;
    moment->given = (event == PF_JSON_NUMBER || event == PF_JSON_STRING) &&
                    pf_parse_fixed(walk->token->text, walk->token->size, 9, &moment->billionths);
    return 0;
}

static int64_t v8_ns_of(const struct v8_moment *moment, bool seconds, int64_t none)
{
    pf_int128 ns = seconds ? moment->billionths : moment->billionths / 1000000;
    return moment->given && ns > -TIME_MAX && ns < TIME_MAX ? (int64_t)ns : none;
}

static pf_json_taker take_wrapped;

static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("nodes", PF_JSON_ARRAY, take_nodes),
    PF_MEMBER("head", PF_JSON_OBJECT, v8_read_head, struct v8, old),
    PF_MEMBER("startTime", PF_JSON_END, take_moment, struct v8, started),
    PF_MEMBER("endTime", PF_JSON_END, take_moment, struct v8, ended),
    PF_MEMBER("samples", PF_JSON_ARRAY, pf_json_take_place, struct v8, sample_list),
    PF_MEMBER("timeDeltas", PF_JSON_ARRAY, pf_json_take_place, struct v8, deltas),
    PF_MEMBER("timestamps", PF_JSON_ARRAY, pf_json_take_place, struct v8, stamps),
    PF_MEMBER_OF_ALL("profile", PF_JSON_OBJECT, take_wrapped),
    PF_MEMBER_OF_ALL("result", PF_JSON_OBJECT, take_wrapped),
    PF_MEMBERS_END,
};

/* Reads a profile that a reply of the DevTools protocol wraps in the members `result` or `profile`. */
static int take_wrapped(const struct pf_json_walk *walk)
{
    struct v8 *v8 = walk->into;
    if (v8->wrapped == 2)
        return 0;
    v8->wrapped++;
    int got = pf_json_object(walk, v8, file_members);
    v8->wrapped--;
    return got;
}

static void v8_read_file(struct pf_build *build)
{
    struct v8 *v8 = build->state;
    v8->build = build;
    v8->json = PF_OWN(build->run, pf_json_new(build->input, 0, PF_JSON_DEPTH_MAX), pf_json_free);
    v8->times = PF_OWN(build->run, pf_json_new(build->input, 0, 0), pf_json_free);
    v8->sorter = PF_OWN(build->run, pf_sorter_new(WORDS, NUMBER + 1, build->model->options->cache / 4),
                        pf_sorter_free);
    struct pf_json_walk walk = {.json = v8->json, .model = build->model, .error = build->run->error};
    if (pf_json_got(build->run, pf_json_whole_object(&walk, v8, file_members)) < 0)
        v8_report_damage(v8);
    /* Old files have start and end in seconds, but `timestamps` in microseconds. */
    v8->start = v8_ns_of(&v8->started, v8->old && !v8->heap, 0);
    v8->end = v8_ns_of(&v8->ended, v8->old && !v8->heap, INT64_MIN);
    index_node_ids(v8);
    link_nodes(v8);
    name_nodes(v8);
    enter_nodes(v8);
    if (v8->heap)
        v8_add_counts(v8, "bytes", "bytes");
    else
        v8_read_cpu_values(v8);
}

static const struct pf_build_format format = {
    .state = sizeof(struct v8), .time_unit = "ns", .read = v8_read_file};

const struct pf_driver pf_cpuprofile_driver = {.name = "cpuprofile",
                                               .title =
                                                   "V8's .cpuprofile and .heapprofile (Chrome, node, Deno)",
                                               .version = 10,
                                               .kit = &format,
                                               .text = true,
                                               .probe = v8_probe,
                                               PF_BUILD_OPERATIONS};
