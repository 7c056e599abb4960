/* SPDX-License-Identifier: MIT */
#ifndef PF_CPUPROFILE_H
#define PF_CPUPROFILE_H

#include "formats/json/walk.h"
#include "formats/kit/samples.h"
#include "formats/kit/sorter.h"
#include "formats/kit/spans.h"
#include "formats/kit/table.h"

#define V8_NONE UINT32_MAX

/* Times, in ns, are less than this, so that differences of times fit too. */
#define V8_TIME_MAX (INT64_C(1) << 61)

/* A node of the tree of calls. */
struct v8_node {
    uint64_t id;
    uint32_t name, url, line; /* names; V8_NONE: it has none */
    uint32_t parent, top;     /* indexes; top: on the way to the first of its ancestors */
    uint32_t context;
    uint32_t children; /* of the list of links, the first one's index */
    int64_t hits, bytes;
    int64_t parent_id; /* in files that tell that instead of children; -1: not */
};

/* A child as the file tells of it. */
struct v8_link {
    uint64_t id;
    uint32_t node; /* of which it is a child */
};

struct v8_state {
    struct pf_samples samples; /* first: the kit looks here */
    struct pf_spans *spans;
    struct pf_json *json, *times; /* the second one reads times beside samples */
    struct v8_node *nodes;
    size_t n_nodes, nodes_room;
    struct v8_link *links;
    size_t n_links, links_room;
    struct pf_map ids; /* index + 1, by id + 1 */
    uint32_t *open;    /* nodes whose end has not come, the innermost last */
    size_t n_open, open_room;
    struct pf_sorter *sorter;
    bool heap, old;
    struct pf_json_place sample_list, deltas, stamps;
    int64_t start, end; /* ns */
    bool starts, ends;
};

static inline struct v8_state *v8_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* A row of warnings; at: where, or NULL. 0, or -1 with *error filled; so are the following. */
int v8_warn(struct pf_profile *profile, const struct pf_json_token *at, const char *code, const char *what,
            struct pf_error *error);

/* Reads the value of `nodes`: nodes that tell the ids of their children, or of their parent. */
int v8_read_nodes(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

/* Reads on from a node's bracket to its end, and the nodes that stand in it: those of a heap stand in each other. */
int v8_read_nodes_within(struct pf_profile *profile, struct pf_error *error);

/* Makes a context of each node, once all are read. */
int v8_make_contexts(struct pf_profile *profile, struct pf_error *error);

/* The node of an id, or V8_NONE. */
uint32_t v8_node_of(const struct v8_state *state, uint64_t id);

#endif
