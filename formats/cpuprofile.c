/* SPDX-License-Identifier: MIT */
/* V8's .cpuprofile and .heapprofile, of now and as node 8 wrote them: see docs/formats/cpuprofile.md. */
#include <errno.h>
#include <stdlib.h>

#include "formats/json/probe.h"
#include "formats/json/walk.h"
#include "formats/kit/array.h"
#include "formats/kit/fixed.h"
#include "formats/kit/samples.h"
#include "formats/kit/sorter.h"
#include "formats/kit/spans.h"
#include "formats/kit/table.h"

extern const struct pf_driver pf_cpuprofile_driver;

enum { SAMPLES, TIME };

#define NONE UINT32_MAX

/* Times, in ns, are less than this, so that differences of times fit too. */
#define TIME_MAX (INT64_C(1) << 61)

/* A node of the tree of calls. */
struct node {
    struct pf_frame frame;
    uint32_t parent, top; /* indexes; top: on the way to the first of its ancestors */
    uint32_t context;
    int64_t id,
        parent_id; /* -1: the file does not tell; parent_id: in files that tell that instead of children */
    int64_t hits, bytes;
};

/* A child as the file tells of it. */
struct link {
    int64_t id;
    uint32_t node; /* of which it is a child */
};

struct v8 {
    struct pf_samples samples; /* first: the kit looks here */
    struct pf_spans *spans;
    struct pf_json *json, *times; /* the second one reads times beside samples */
    struct pf_pass *pass;
    struct node *nodes;
    size_t n_nodes, nodes_room;
    struct link *links;
    size_t n_links, links_room;
    struct pf_map ids; /* index + 1, by id + 1 */
    uint32_t *open;    /* nodes whose end has not come, the innermost last */
    size_t n_open, open_room;
    struct pf_sorter *sorter;
    bool heap, old;
    unsigned wrapped; /* in so many objects */
    struct pf_json_place sample_list, deltas, stamps;
    int64_t start, end; /* ns; the end INT64_MIN if it is not told */
};

static struct v8 *v8_of(const struct pf_profile *profile)
{
    return profile->state;
}

/* ---- probing ------------------------------------------------------------------------------------ */

/* What the first node is told by: its first members are enough, its children may be the whole file. */
struct signs {
    bool frame, bytes, hits, function;
};

static int see(const struct pf_json_walk *walk)
{
    const struct signs *signs = walk->into;
    pf_json_take_notice(walk);
    return (signs->frame && (signs->bytes || signs->hits)) || (signs->function && signs->hits);
}

static const struct pf_json_member look_node_members[] = {
    PF_MEMBER("callFrame", PF_JSON_END, see, struct signs, frame),
    PF_MEMBER("selfSize", PF_JSON_END, see, struct signs, bytes),
    PF_MEMBER("hitCount", PF_JSON_END, see, struct signs, hits),
    PF_MEMBER("functionName", PF_JSON_END, see, struct signs, function),
    PF_MEMBERS_END,
};

/* These say 1 if it is a profile, -1 if not. */
static int look_at_list(const struct pf_json_walk *walk)
{
    struct pf_json_token token;
    struct signs signs = {false};
    bool seen = pf_json_next(walk->json, &token, walk->error) == PF_JSON_OBJECT &&
                pf_json_object(walk, &signs, look_node_members) >= 0;
    return seen && signs.frame ? 1 : -1;
}

static int look_at_head(const struct pf_json_walk *walk)
{
    struct signs signs = {false};
    bool seen = pf_json_object(walk, &signs, look_node_members) >= 0;
    return seen && (signs.bytes || (signs.hits && signs.function)) ? 1 : -1;
}

static pf_json_taker look_within;

static const struct pf_json_member look_members[] = {
    PF_MEMBER_OF_ALL("nodes", PF_JSON_ARRAY, look_at_list),
    PF_MEMBER_OF_ALL("head", PF_JSON_OBJECT, look_at_head),
    PF_MEMBER_OF_ALL("profile", PF_JSON_OBJECT, look_within),
    PF_MEMBER_OF_ALL("result", PF_JSON_OBJECT, look_within),
    PF_MEMBERS_END,
};

static int look_within(const struct pf_json_walk *walk)
{
    unsigned *wrapped = walk->into;
    return (*wrapped)++ < 2 ? pf_json_object(walk, wrapped, look_members) : -1;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    unsigned wrapped = 0;
    bool called = pf_probe_is_called(probe, ".cpuprofile") || pf_probe_is_called(probe, ".heapprofile");
    if (pf_probe_object(probe, called ? PF_PROBE_SCAN : 0, &wrapped, look_members))
        verdict->confidence = 12;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static const struct pf_json_member frame_members[] = {
    PF_MEMBER("functionName", PF_JSON_STRING, pf_json_take_name, struct pf_frame, name),
    PF_MEMBER("url", PF_JSON_STRING, pf_json_take_name, struct pf_frame, module),
    PF_MEMBER("lineNumber", PF_JSON_NUMBER, pf_json_take_line, struct pf_frame, line),
    PF_MEMBERS_END,
};

/* Lines count from 0 here, and from 1 in old files. */
static int take_frame(const struct pf_json_walk *walk)
{
    struct pf_frame *frame = walk->place;
    frame->line = UINT32_MAX;
    int got = pf_json_object(walk, frame, frame_members);
    frame->line++; /* 0 if there is none */
    return got;
}

static int take_bytes(const struct pf_json_walk *walk)
{
    v8_of(walk->profile)->heap = true;
    return pf_json_take_whole(walk);
}

/* All of a node's but its children. */
static const struct pf_json_member node_members[] = {
    PF_MEMBER("callFrame", PF_JSON_OBJECT, take_frame, struct node, frame),
    PF_MEMBER("id", PF_JSON_NUMBER, pf_json_take_whole, struct node, id),
    PF_MEMBER("hitCount", PF_JSON_NUMBER, pf_json_take_whole, struct node, hits),
    PF_MEMBER("parent", PF_JSON_NUMBER, pf_json_take_whole, struct node, parent_id),
    PF_MEMBER("selfSize", PF_JSON_END, take_bytes, struct node, bytes),
    PF_MEMBER("functionName", PF_JSON_STRING, pf_json_take_name, struct node, frame.name),
    PF_MEMBER("url", PF_JSON_STRING, pf_json_take_name, struct node, frame.module),
    PF_MEMBER("lineNumber", PF_JSON_NUMBER, pf_json_take_line, struct node, frame.line),
    PF_MEMBERS_END,
};

/* Opens a node, below that which is open. */
static int begin_node(struct v8 *v8, struct pf_error *error)
{
    uint32_t node = (uint32_t)v8->n_nodes, parent = v8->n_open ? v8->open[v8->n_open - 1] : NONE;
    if (v8->n_nodes >= NONE - 1)
        return pf_fail(error, EFBIG, "more nodes than can be counted");
    if (pf_array_room(&v8->nodes, &v8->nodes_room, node, sizeof *v8->nodes, error) ||
        pf_array_room(&v8->open, &v8->open_room, v8->n_open, sizeof *v8->open, error))
        return -1;
    v8->nodes[v8->n_nodes++] =
        (struct node){.frame = {.name = PF_NO_STRING, .file = PF_NO_STRING, .module = PF_NO_STRING},
                      .parent = parent,
                      .top = parent == NONE ? node : parent,
                      .context = PF_NO_CONTEXT,
                      .id = -1,
                      .parent_id = -1};
    v8->open[v8->n_open++] = node;
    return 0;
}

static int add_link(struct v8 *v8, uint32_t node, const struct pf_json_token *token, struct pf_error *error)
{
    int64_t id;
    if (!pf_json_whole(token, &id) || id < 0)
        return 0;
    if (pf_array_room(&v8->links, &v8->links_room, v8->n_links, sizeof *v8->links, error))
        return -1;
    v8->links[v8->n_links++] = (struct link){.id = id, .node = node};
    return 0;
}

/*
 * From a node's bracket to its end. A heap's nodes stand in their parents' list `children`, as deep as calls are: so what comes next
 * is a member of the innermost open node, or an element of its parent's list; others have ids there.
 */
static int read_node(const struct pf_json_walk *walk)
{
    struct v8 *v8 = v8_of(walk->profile);
    struct pf_json_token token;
    uint64_t offset = walk->token->offset;
    size_t before = v8->n_nodes;
    int failed = begin_node(v8, walk->error);
    while (v8->n_open && !failed) {
        uint32_t node = v8->open[v8->n_open - 1];
        int got = pf_json_next(walk->json, &token, walk->error);
        bool children = got == PF_JSON_NAME && pf_json_is(&token, "children");
        if (children)
            got = pf_json_next(walk->json, &token, walk->error);
        if (got == PF_JSON_NAME)
            failed = pf_json_member(walk, &v8->nodes[node], node_members, &token);
        else if (got == PF_JSON_OBJECT && !children)
            failed = begin_node(v8, walk->error);
        else if (got == PF_JSON_OBJECT || (got == PF_JSON_ARRAY && !children))
            failed = pf_json_leave(walk->json, walk->error);
        else if (got == PF_JSON_NUMBER && !children)
            failed = add_link(v8, node, &token, walk->error);
        else if (got == PF_JSON_OBJECT_END)
            v8->n_open--;
        else
            failed = got < 0;
    }
    if (failed && !v8->old)
        v8->n_nodes = before; /* what is not whole tells nothing */
    return failed || (before % 1024 == 0 && pf_samples_step(walk->profile, v8->pass, offset, walk->error))
               ? -1
               : 0;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

/* The node of an id, or NONE. */
static uint32_t node_of(const struct v8 *v8, int64_t id)
{
    return (uint32_t)((uintptr_t)pf_map_get(&v8->ids, (uint64_t)id + 1) - 1);
}

static int list_ids(struct pf_profile *profile, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    for (size_t i = 0; i < v8->n_nodes; i++) {
        int64_t id = v8->nodes[i].id;
        if (id < 0)
            continue;
        if (node_of(v8, id) != NONE) {
            if (pf_json_warn(profile, NULL, "repeated-id", "two nodes have one id: the first one counts",
                             error))
                return -1;
        } else if (!pf_map_put(&v8->ids, (uint64_t)id + 1, (void *)(uintptr_t)(i + 1))) {
            return pf_fail_memory(error);
        }
    }
    return 0;
}

/* The first ancestor of a node; the way there is made shorter for whoever asks next. */
static uint32_t top_of(struct v8 *v8, uint32_t node)
{
    while (v8->nodes[node].top != node) {
        uint32_t above = v8->nodes[node].top;
        node = v8->nodes[node].top = v8->nodes[above].top;
    }
    return node;
}

static int set_parent(struct pf_profile *profile, uint32_t child, uint32_t parent, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    if (child == NONE || parent == NONE)
        return pf_json_warn(profile, NULL, "no-node", "a child or parent does not exist: ignored", error);
    if (v8->nodes[child].parent == parent)
        return 0;
    if (v8->nodes[child].parent != NONE)
        return pf_json_warn(profile, NULL, "two-parents", "a node has two parents: the first one counts",
                            error);
    if (top_of(v8, parent) == child)
        return pf_json_warn(profile, NULL, "cycle",
                            "a node is below itself: the cycle is cut where it closes", error);
    v8->nodes[child].parent = v8->nodes[child].top = parent;
    return 0;
}

static int link_nodes(struct pf_profile *profile, struct pf_error *error)
{
    const struct v8 *v8 = v8_of(profile);
    for (size_t i = 0; i < v8->n_links; i++)
        if (v8->links[i].node < v8->n_nodes &&
            set_parent(profile, node_of(v8, v8->links[i].id), v8->links[i].node, error))
            return -1;
    for (size_t i = 0; i < v8->n_nodes; i++)
        if (v8->nodes[i].parent_id >= 0 &&
            set_parent(profile, (uint32_t)i, node_of(v8, v8->nodes[i].parent_id), error))
            return -1;
    return 0;
}

/* The name that a file gives, if that is one. */
static uint32_t named(const struct pf_profile *profile, uint32_t name)
{
    return pf_interned(profile->contexts->strings, name).size ? name : PF_NO_STRING;
}

static int make_context(struct pf_profile *profile, struct node *node, uint32_t parent,
                        struct pf_error *error)
{
    struct pf_frame *frame = &node->frame;
    frame->module = named(profile, frame->module);
    frame->name = named(profile, frame->name);
    if (frame->name == PF_NO_STRING)
        frame->name = pf_samples_string(profile, "(anonymous)", strlen("(anonymous)"), error);
    uint32_t number = frame->name == PF_NO_STRING ? PF_NO_STRING : pf_samples_frame(profile, frame, error);
    if (number == PF_NO_STRING)
        return -1;
    node->context = pf_samples_enter(profile, parent, number, error);
    return node->context == PF_NO_CONTEXT ? -1 : 0;
}

/* A context for each node, those above it first. */
static int enter_nodes(struct pf_profile *profile, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    for (size_t i = 0; i < v8->n_nodes; i++) {
        v8->n_open = 0;
        for (uint32_t node = (uint32_t)i; node != NONE && v8->nodes[node].context == PF_NO_CONTEXT;
             node = v8->nodes[node].parent) {
            if (pf_array_room(&v8->open, &v8->open_room, v8->n_open, sizeof *v8->open, error))
                return -1;
            v8->open[v8->n_open++] = node;
        }
        while (v8->n_open) {
            struct node *node = &v8->nodes[v8->open[--v8->n_open]];
            uint32_t above = node->parent == NONE ? PF_NO_CONTEXT : v8->nodes[node->parent].context;
            if (make_context(profile, node, above, error))
                return -1;
        }
    }
    return 0;
}

/* What the nodes tell of themselves. */
static int add_counts(struct pf_profile *profile, const char *name, const char *unit, struct pf_error *error)
{
    const struct v8 *v8 = v8_of(profile);
    int metric = pf_samples_metric(profile, name, strlen(name), unit, error);
    if (metric < 0)
        return -1;
    for (size_t i = 0; i < v8->n_nodes; i++) {
        const struct node *node = &v8->nodes[i];
        if (pf_samples_add(profile, 0, node->context, (uint32_t)metric,
                           pf_int(v8->heap ? node->bytes : node->hits), error))
            return -1;
    }
    return 0;
}

/* Microseconds, in ns. */
static bool time_of(const struct pf_json_token *token, int64_t *time)
{
    pf_int128 value;
    if (token->event != PF_JSON_NUMBER || !pf_parse_fixed(token->text, token->size, 3, &value) ||
        value <= -TIME_MAX || value >= TIME_MAX)
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
    bool backwards;
};

static int add_time(struct v8 *v8, struct counts *counts, const struct pf_json_token *token, uint32_t node,
                    struct pf_error *error)
{
    bool delta = !v8->stamps.line;
    int64_t time = 0;
    time_of(token, &time);
    if (delta && (__builtin_add_overflow(counts->last, time, &time) || time >= TIME_MAX || time <= -TIME_MAX))
        return pf_fail(error, EBADMSG, "times add up to more than can be");
    counts->backwards |= counts->timed && time < counts->last;
    counts->last = time;
    uint64_t record[WORDS] = {[AT] = pf_ordered(time), [NUMBER] = counts->timed++, [NODE] = node};
    return pf_sorter_add(v8->sorter, record, error);
}

/* Reads samples and, beside them, their times. */
static int read_samples(struct pf_profile *profile, struct counts *counts, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    struct pf_json_token token, time;
    int more_times = pf_json_enter_array(v8->times, v8->stamps.line ? &v8->stamps : &v8->deltas, error);
    bool listed = pf_json_enter_array(v8->json, &v8->sample_list, error);
    int more = 0;
    counts->last = v8->start;
    while (listed && (more = next_number(v8->json, &token, error)) > 0) {
        int64_t id = -1;
        uint32_t node = pf_json_whole(&token, &id) && id >= 0 ? node_of(v8, id) : NONE;
        counts->samples++;
        more_times = more_times > 0 ? next_number(v8->times, &time, error) : more_times;
        if (more_times < 0 || (more_times && add_time(v8, counts, &time, node, error)))
            return -1;
        if (node == NONE ? pf_json_warn(profile, &token, "no-node",
                                        "a sample of a node that does not exist: ignored", error)
                         : pf_samples_add(profile, 0, v8->nodes[node].context, SAMPLES, pf_int(1), error))
            return -1;
        if (counts->samples % 1024 == 0 && pf_samples_step(profile, v8->pass, token.offset, error))
            return -1;
    }
    if (more < 0 || more_times < 0)
        return -1;
    /* Of old files the last time stamp is the end of the last sample. */
    if (more_times > 0 && v8->stamps.line && next_number(v8->times, &time, error) > 0)
        time_of(&time, &v8->end);
    return pf_sorter_finish(v8->sorter, error);
}

/* A sample lasts until the next one begins. */
static int add_sample(struct pf_profile *profile, int64_t from, int64_t to, uint32_t index,
                      struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    if (index == NONE)
        return 0;
    const struct node *node = &v8->nodes[index];
    struct pf_span_row row = {.time = pf_time(from),
                              .duration = pf_time(to - from),
                              .context = node->context,
                              .name = profile->contexts->name[node->context]};
    return pf_samples_add(profile, 0, node->context, TIME, pf_int(to - from), error) ||
                   pf_spans_add(v8->spans, &row, error)
               ? -1
               : 0;
}

static int add_samples(struct pf_profile *profile, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    const uint64_t *record;
    uint32_t node = NONE;
    int64_t from = 0;
    int more;
    while ((more = pf_sorter_next(v8->sorter, &record, error)) > 0) {
        int64_t at = pf_signed(record[AT]);
        if (add_sample(profile, from, at, node, error))
            return -1;
        from = at;
        node = (uint32_t)record[NODE];
    }
    if (more < 0)
        return -1;
    int64_t end = v8->end > from ? v8->end : from;
    return add_sample(profile, from, end, node, error);
}

/* The values of a profile of time. */
static int read_times(struct pf_profile *profile, struct pf_error *error)
{
    struct counts counts = {0};
    if (pf_samples_metric(profile, "samples", strlen("samples"), "", error) < 0 ||
        pf_samples_metric(profile, "time", strlen("time"), "ns", error) < 0 ||
        read_samples(profile, &counts, error))
        return -1;
    if (!counts.samples)
        return pf_json_warn(profile, NULL, "no-samples",
                            "there are no samples: hit counts are shown, and no times", error)
                   ? -1
                   : add_counts(profile, "samples", "", error);
    if ((counts.timed != counts.samples &&
         pf_json_warn(profile, NULL, "counts",
                      "there are not as many times as samples: the first ones have times", error)) ||
        (counts.backwards && pf_json_warn(profile, NULL, "backwards",
                                          "time stamps go backwards: samples are sorted by time", error)))
        return -1;
    return add_samples(profile, error);
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int take_nodes(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_OBJECT, read_node);
}

static int take_head(const struct pf_json_walk *walk)
{
    *(bool *)walk->place = true;
    return read_node(walk);
}

static int take_time(const struct pf_json_walk *walk)
{
    time_of(walk->token, walk->place);
    return 0;
}

static pf_json_taker take_wrapped;

static const struct pf_json_member file_members[] = {
    PF_MEMBER_OF_ALL("nodes", PF_JSON_ARRAY, take_nodes),
    PF_MEMBER("head", PF_JSON_OBJECT, take_head, struct v8, old),
    PF_MEMBER("startTime", PF_JSON_END, take_time, struct v8, start),
    PF_MEMBER("endTime", PF_JSON_END, take_time, struct v8, end),
    PF_MEMBER("samples", PF_JSON_ARRAY, pf_json_take_place, struct v8, sample_list),
    PF_MEMBER("timeDeltas", PF_JSON_ARRAY, pf_json_take_place, struct v8, deltas),
    PF_MEMBER("timestamps", PF_JSON_ARRAY, pf_json_take_place, struct v8, stamps),
    PF_MEMBER_OF_ALL("profile", PF_JSON_OBJECT, take_wrapped),
    PF_MEMBER_OF_ALL("result", PF_JSON_OBJECT, take_wrapped),
    PF_MEMBERS_END,
};

/* A profile as the answer of a protocol, or as what an answer holds. */
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

static int read_all(struct pf_profile *profile, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    struct pf_json_walk walk = {.json = v8->json, .profile = profile, .error = error};
    struct pf_json_token token;
    int got = pf_json_next(v8->json, &token, error);
    if ((got < 0 || (got == PF_JSON_OBJECT && pf_json_object(&walk, v8, file_members))) &&
        pf_json_warn_of_damage(profile, error))
        return -1;
    /* Old files have seconds here, and microseconds in `timestamps`. */
    if (v8->old && !v8->heap)
        v8->end = v8->end > 0 && v8->end < TIME_MAX / 1000000 ? v8->end * 1000000 : INT64_MIN;
    if (list_ids(profile, error) || link_nodes(profile, error) || enter_nodes(profile, error))
        return -1;
    return v8->heap ? add_counts(profile, "bytes", "bytes", error) : read_times(profile, error);
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct v8 *v8 = v8_of(profile);
    v8->pass = pass;
    v8->end = INT64_MIN;
    v8->json = pf_json_new(v8->samples.input, 0, PF_JSON_DEPTH_MAX);
    v8->times = pf_json_new(v8->samples.input, 0, 0);
    v8->spans = pf_spans_new(profile->options->cache / 2);
    v8->sorter = pf_sorter_new(WORDS, NUMBER + 1, profile->options->cache / 4);
    if (!v8->json || !v8->times || !v8->spans || !v8->sorter)
        return pf_fail_memory(error);
    bool failed = read_all(profile, error) && pf_json_warn_of_damage(profile, error);
    return failed ? -1 : pf_spans_end_partition(v8->spans, error);
}

static void clear(struct pf_profile *profile)
{
    struct v8 *v8 = v8_of(profile);
    pf_spans_free(v8->spans);
    pf_json_free(v8->json);
    pf_json_free(v8->times);
    pf_sorter_free(v8->sorter);
    pf_map_free(&v8->ids);
    free(v8->nodes);
    free(v8->links);
    free(v8->open);
}

static const struct pf_table tables[] = {PF_SPANS_TRACE(struct v8, spans, PF_MODELLED)};

static const struct pf_samples_format format = {.state = sizeof(struct v8),
                                                .tables = tables,
                                                .n_tables = 1,
                                                .time_unit = "ns",
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_cpuprofile_driver = {.name = "cpuprofile",
                                               .title =
                                                   "V8's .cpuprofile and .heapprofile (Chrome, node, Deno)",
                                               .version = 2,
                                               .kit = &format,
                                               .probe = probe,
                                               PF_SAMPLES_OPERATIONS};
