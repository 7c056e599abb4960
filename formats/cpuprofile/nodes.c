/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/kit/array.h"

int v8_warn(struct pf_profile *profile, const struct pf_json_token *at, const char *code, const char *what,
            struct pf_error *error)
{
    return pf_warn(profile, at ? (int64_t)at->line : 0, at ? (int64_t)at->offset : -1, "warning", code, error,
                   "%s", what);
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static int add_node(struct v8_state *state, struct pf_error *error)
{
    if (state->n_nodes >= V8_NONE - 1)
        return pf_fail(error, EFBIG, "more nodes than can be counted");
    if (pf_array_room(&state->nodes, &state->nodes_room, state->n_nodes, sizeof *state->nodes, error))
        return -1;
    state->nodes[state->n_nodes] = (struct v8_node){.id = UINT64_MAX,
                                                    .name = V8_NONE,
                                                    .url = V8_NONE,
                                                    .parent = V8_NONE,
                                                    .top = (uint32_t)state->n_nodes,
                                                    .context = PF_NO_CONTEXT,
                                                    .parent_id = -1};
    state->n_nodes++;
    return 0;
}

static int add_link(struct v8_state *state, uint32_t node, const struct pf_json_token *id,
                    struct pf_error *error)
{
    int64_t value = -1;
    if (!pf_json_whole(id, &value) || value < 0)
        return 0;
    if (pf_array_room(&state->links, &state->links_room, state->n_links, sizeof *state->links, error))
        return -1;
    state->links[state->n_links++] = (struct v8_link){.id = (uint64_t)value, .node = node};
    return 0;
}

/* A member that tells where a function is. Lines count from 0 in a callFrame, and from 1 in old files. */
static int take_place(struct pf_profile *profile, struct v8_node *node, const struct pf_json_name *name,
                      const struct pf_json_token *value, bool from_zero, struct pf_error *error)
{
    bool function = pf_json_named(name, "functionName"), url = pf_json_named(name, "url");
    int64_t line;
    if (value->event == PF_JSON_STRING && (function || (url && value->size))) {
        uint32_t text = value->size ? pf_samples_string(profile, value->text, value->size, error)
                                    : pf_samples_string(profile, "(anonymous)", strlen("(anonymous)"), error);
        *(function ? &node->name : &node->url) = text;
        return text == PF_NO_STRING ? -1 : 0;
    }
    if (pf_json_named(name, "lineNumber") && pf_json_whole(value, &line) && line >= !from_zero &&
        line < UINT32_MAX)
        node->line = (uint32_t)line + from_zero;
    return 0;
}

static int read_frame(struct pf_profile *profile, uint32_t node, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    struct pf_json_name name;
    int got = pf_json_next(state->json, &token, error);
    if (got != PF_JSON_OBJECT)
        return got < 0 || (got == PF_JSON_ARRAY && pf_json_leave(state->json, error)) ? -1 : 0;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NAME) {
        name = pf_json_name_of(&token);
        if (pf_json_skip(state->json, &token, error) < 0 ||
            take_place(profile, &state->nodes[node], &name, &token, true, error))
            return -1;
    }
    return got < 0 ? -1 : 0;
}

/* The value of a node's member that is neither its children nor its callFrame. */
static int read_number(struct pf_profile *profile, uint32_t index, const struct pf_json_name *name,
                       struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct v8_node *node = &state->nodes[index];
    struct pf_json_token token;
    int64_t value;
    if (pf_json_skip(state->json, &token, error) < 0)
        return -1;
    bool whole = pf_json_whole(&token, &value);
    if (pf_json_named(name, "id") && whole && value >= 0)
        node->id = (uint64_t)value;
    else if (pf_json_named(name, "parent") && whole && value >= 0)
        node->parent_id = value;
    else if (pf_json_named(name, "hitCount") && whole)
        node->hits = value;
    else if (pf_json_named(name, "selfSize")) {
        state->heap = true;
        if (whole)
            node->bytes = value;
    } else {
        return take_place(profile, node, name, &token, false, error);
    }
    return 0;
}

/* The elements of `children`: ids, until an object begins or the array ends. Returns the event. */
static int read_ids(struct pf_profile *profile, uint32_t node, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    int got;
    while ((got = pf_json_next(state->json, &token, error)) == PF_JSON_NUMBER)
        if (add_link(state, node, &token, error))
            return -1;
    return got;
}

static int begin_node(struct v8_state *state, struct pf_error *error)
{
    uint32_t node = (uint32_t)state->n_nodes;
    uint32_t parent = state->n_open ? state->open[state->n_open - 1] : V8_NONE;
    if (add_node(state, error) ||
        pf_array_room(&state->open, &state->open_room, state->n_open, sizeof *state->open, error))
        return -1;
    if (parent != V8_NONE) {
        state->nodes[node].parent = parent;
        state->nodes[node].top = parent;
    }
    state->open[state->n_open++] = node;
    return 0;
}

/* Reads on from a node's bracket to its end, and the nodes that stand in it: those of a heap stand in each other. */
int v8_read_nodes_within(struct pf_profile *profile, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    struct pf_json_name name;
    if (begin_node(state, error))
        return -1;
    while (state->n_open) {
        uint32_t node = state->open[state->n_open - 1];
        int got = pf_json_next(state->json, &token, error);
        if (got == PF_JSON_NAME && pf_json_is(&token, "children")) {
            got = pf_json_next(state->json, &token, error);
            if (got == PF_JSON_ARRAY)
                got = read_ids(profile, node, error);
            else if (got == PF_JSON_OBJECT && pf_json_leave(state->json, error))
                return -1;
            else
                continue;
        } else if (got == PF_JSON_NAME) {
            bool frame = pf_json_is(&token, "callFrame");
            name = pf_json_name_of(&token);
            if (frame ? read_frame(profile, node, error) : read_number(profile, node, &name, error))
                return -1;
            continue;
        }
        if (got < 0 || (got == PF_JSON_OBJECT && begin_node(state, error)) ||
            (got == PF_JSON_ARRAY && pf_json_leave(state->json, error)))
            return -1;
        if (got == PF_JSON_OBJECT_END)
            state->n_open--;
    }
    return 0;
}

/* The value of `nodes`. */
int v8_read_nodes(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    struct pf_json_token token;
    int got = pf_json_next(state->json, &token, error);
    if (got != PF_JSON_ARRAY)
        return got < 0 || (got == PF_JSON_OBJECT && pf_json_leave(state->json, error)) ? -1 : 0;
    while ((got = pf_json_next(state->json, &token, error)) > 0 && got != PF_JSON_ARRAY_END) {
        size_t before = state->n_nodes;
        if (got == PF_JSON_OBJECT && v8_read_nodes_within(profile, error)) {
            state->n_nodes = before; /* what is not whole tells nothing */
            return -1;
        }
        if ((got == PF_JSON_ARRAY && pf_json_leave(state->json, error)) ||
            (before % 1024 == 0 && pf_samples_step(profile, pass, token.offset, error)))
            return -1;
    }
    return got < 0 ? -1 : 0;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

/* The node of an id, or V8_NONE. */
uint32_t v8_node_of(const struct v8_state *state, uint64_t id)
{
    return (uint32_t)((uintptr_t)pf_map_get(&state->ids, id + 1) - 1);
}

static int list_ids(struct pf_profile *profile, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    for (size_t i = 0; i < state->n_nodes; i++) {
        uint64_t id = state->nodes[i].id;
        if (id == UINT64_MAX)
            continue;
        if (v8_node_of(state, id) != V8_NONE) {
            if (v8_warn(profile, NULL, "repeated-id", "two nodes have one id: the first one counts", error))
                return -1;
        } else if (!pf_map_put(&state->ids, id + 1, (void *)(uintptr_t)(i + 1))) {
            return pf_fail_memory(error);
        }
    }
    return 0;
}

/* The first ancestor of a node; the way there is made shorter for whoever asks next. */
static uint32_t top_of(struct v8_state *state, uint32_t node)
{
    while (state->nodes[node].top != node) {
        uint32_t above = state->nodes[node].top;
        node = state->nodes[node].top = state->nodes[above].top;
    }
    return node;
}

static int set_parent(struct pf_profile *profile, uint32_t child, uint32_t parent, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    if (child == V8_NONE || parent == V8_NONE)
        return v8_warn(profile, NULL, "no-node", "a child or parent does not exist: ignored", error);
    if (state->nodes[child].parent == parent)
        return 0;
    if (state->nodes[child].parent != V8_NONE)
        return v8_warn(profile, NULL, "two-parents", "a node has two parents: the first one counts", error);
    if (top_of(state, parent) == child)
        return v8_warn(profile, NULL, "cycle", "a node is below itself: the cycle is cut where it closes",
                       error);
    state->nodes[child].parent = state->nodes[child].top = parent;
    return 0;
}

static int link_nodes(struct pf_profile *profile, struct pf_error *error)
{
    const struct v8_state *state = v8_state(profile);
    for (size_t i = 0; i < state->n_links; i++)
        if (state->links[i].node < state->n_nodes &&
            set_parent(profile, v8_node_of(state, state->links[i].id), state->links[i].node, error))
            return -1;
    for (size_t i = 0; i < state->n_nodes; i++)
        if (state->nodes[i].parent_id >= 0 &&
            set_parent(profile, (uint32_t)i, v8_node_of(state, (uint64_t)state->nodes[i].parent_id), error))
            return -1;
    return 0;
}

static int make_context(struct pf_profile *profile, struct v8_node *node, uint32_t parent,
                        struct pf_error *error)
{
    struct pf_frame frame = {
        .name = node->name, .file = PF_NO_STRING, .module = node->url, .line = node->line};
    if (frame.name == V8_NONE)
        frame.name = pf_samples_string(profile, "(anonymous)", strlen("(anonymous)"), error);
    uint32_t number = frame.name == PF_NO_STRING ? PF_NO_STRING : pf_samples_frame(profile, &frame, error);
    if (number == PF_NO_STRING)
        return -1;
    node->context = pf_samples_enter(profile, parent, number, error);
    return node->context == PF_NO_CONTEXT ? -1 : 0;
}

/* A context for each node, those above it first. */
static int enter_nodes(struct pf_profile *profile, struct pf_error *error)
{
    struct v8_state *state = v8_state(profile);
    for (size_t i = 0; i < state->n_nodes; i++) {
        state->n_open = 0;
        for (uint32_t node = (uint32_t)i; node != V8_NONE && state->nodes[node].context == PF_NO_CONTEXT;
             node = state->nodes[node].parent) {
            if (pf_array_room(&state->open, &state->open_room, state->n_open, sizeof *state->open, error))
                return -1;
            state->open[state->n_open++] = node;
        }
        while (state->n_open) {
            struct v8_node *node = &state->nodes[state->open[--state->n_open]];
            uint32_t above = node->parent == V8_NONE ? PF_NO_CONTEXT : state->nodes[node->parent].context;
            if (make_context(profile, node, above, error))
                return -1;
        }
    }
    return 0;
}

int v8_make_contexts(struct pf_profile *profile, struct pf_error *error)
{
    return list_ids(profile, error) || link_nodes(profile, error) || enter_nodes(profile, error) ? -1 : 0;
}
