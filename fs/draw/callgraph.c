/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "fs/draw/draw.h"
#include "fs/sums/order.h"
#include "fs/sums/readable.h"

/*
 * callgraph.dot, for Graphviz. Shows the functions that have at least 0.5 % of the metric, and the calls between them that have at
 * least 0.1 %. Lines are wider and boxes darker for larger shares.
 */

enum { NODES_MAX = 200, NAME_MAX_BYTES = 96 };
static const double node_percent = 0.5, edge_percent = 0.1;

/* The colour of a function whose exclusive value is 100 % of the metric; a function with 0 % is white. */
static const int deepest[3] = {0xd9, 0x5f, 0x0e};

struct graph {
    struct pf_order *names, *edges;
    const struct pf_strings *node_strings, *edge_strings;
    const struct pf_function *nodes[NODES_MAX]; /* numbered from 1 */
    size_t n;
    uint32_t *
        node_of; /* by string of edge_strings: number of the node of this name; 0: none. The last item is for the empty name */
};

struct edge {
    uint32_t from, to; /* numbers of nodes */
    double percent;
};

/* ---- numbers and names -------------------------------------------------------------------------- */

static double percent_of(const union pf_number *part, bool real, double whole)
{
    return pf_number_double(part, real) * 100 / whole;
}

/* Appends the line width of a call that has this share of the metric. */
static void add_pen(struct pf_buf *out, double percent)
{
    double share = percent > 100 ? 100 : percent > 0 ? percent : 0;
    pf_buf_printf(out, ", penwidth=%.2f", 1 + share / 25);
}

static void add_colour(struct pf_buf *out, double percent)
{
    double share = percent > 100 ? 100 : percent > 0 ? percent : 0;
    pf_buf_str(out, ", fillcolor=\"#");
    for (int c = 0; c < 3; c++)
        pf_buf_printf(out, "%02x", (unsigned)floor(255 - (255 - deepest[c]) * sqrt(share / 100) + 0.5));
    pf_buf_char(out, '"');
}

/* Appends text to a string in quotes. `&` is escaped, since Graphviz expands entities in labels. */
static void add_quoted(struct pf_buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            pf_buf_char(out, '\\');
        pf_buf_char(out, text[i]);
        if (text[i] == '&')
            pf_buf_str(out, "amp;");
    }
}

static void add_node_name(struct pf_buf *out, const struct pf_cell *name)
{
    struct pf_buf line = {0};
    pf_add_name(&line, name);
    size_t size = pf_cut_end(&line, 0, NAME_MAX_BYTES);
    if (size)
        add_quoted(out, line.data, size);
    else
        pf_buf_str(out, "[unnamed]");
    out->failed |= line.failed;
    pf_buf_free(&line);
}

/* ---- the graph ---------------------------------------------------------------------------------- */

/* Returns the share in percent that determines whether a function becomes a node. */
static double node_share(const struct pf_order *names, const struct pf_function *function)
{
    return function->unknown
               ? percent_of(&function->exclusive, names->exclusive_real, names->totals.exclusive)
               : percent_of(&function->inclusive, names->inclusive_real, names->totals.inclusive);
}

/* Fills nodes[]. There are no nodes if the total is not positive and finite, since shares are then undefined. */
static void find_nodes(struct graph *graph)
{
    const struct pf_order *names = graph->names;
    double whole = names->totals.exclusive;
    for (size_t i = 0; i < names->n_functions && graph->n < NODES_MAX && whole > 0 && isfinite(whole); i++)
        if (node_share(names, &names->functions[i]) >= node_percent)
            graph->nodes[graph->n++] = &names->functions[i];
}

/* Fills node_of[]. Returns 0, or -1 with *error filled. */
static int number_nodes(struct graph *graph, struct pf_error *error)
{
    uint32_t strings = pf_strings_count(graph->edge_strings);
    if (!(graph->node_of = calloc((size_t)strings + 1, sizeof *graph->node_of)))
        return pf_fail_memory(error);
    for (size_t i = 0; i < graph->n; i++) {
        struct pf_cell name = pf_interned(graph->node_strings, graph->nodes[i]->name);
        uint32_t string = name.size ? pf_string_of(graph->edge_strings, name.text, name.size) : strings;
        if (string != PF_NO_STRING)
            graph->node_of[string] = (uint32_t)i + 1;
    }
    return 0;
}

static uint32_t find_graph_node(const struct graph *graph, uint32_t string)
{
    bool named = pf_interned(graph->edge_strings, string).size > 0;
    return graph->node_of[named ? string : pf_strings_count(graph->edge_strings)];
}

static int by_numbers(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* Returns the edges of at least edge_percent between nodes, sorted by the nodes' numbers. The caller frees them. NULL with *error
 * filled on failure. */
static struct edge *find_graph_edges(const struct graph *graph, size_t *n, struct pf_error *error)
{
    const struct pf_order *edges = graph->edges;
    struct edge *found = calloc(edges->n_functions + 1, sizeof *found);
    *n = 0;
    if (!found)
        pf_fail_memory(error);
    for (size_t i = 0; i < edges->n_functions && found; i++) {
        const struct pf_function *it = &edges->functions[i];
        struct edge edge = {
            find_graph_node(graph, it->file), find_graph_node(graph, it->name),
            percent_of(&it->inclusive, edges->inclusive_real, graph->names->totals.inclusive)};
        if (!(edge.percent >= edge_percent))
            break;
        if (edge.from && edge.to)
            found[(*n)++] = edge;
    }
    if (found)
        qsort(found, *n, sizeof *found, by_numbers);
    return found;
}

/* ---- text --------------------------------------------------------------------------------------- */

static void add_node(const struct graph *graph, size_t i, struct pf_buf *out)
{
    const struct pf_order *names = graph->names;
    const struct pf_function *it = graph->nodes[i];
    struct pf_cell name = pf_interned(graph->node_strings, it->name);
    pf_buf_printf(out, "  n%zu [label=\"", i + 1);
    add_node_name(out, &name);
    pf_buf_str(out, "\\n");
    if (it->unknown)
        pf_buf_char(out, '-');
    else
        pf_add_percent(out, pf_number_double(&it->inclusive, names->inclusive_real), names->totals.inclusive,
                       0);
    pf_buf_str(out, " inclusive\\n");
    pf_add_percent(out, pf_number_double(&it->exclusive, names->exclusive_real), names->totals.exclusive, 0);
    pf_buf_str(out, " exclusive\"");
    add_pen(out, it->unknown ? 0 : node_share(names, it));
    add_colour(out, percent_of(&it->exclusive, names->exclusive_real, names->totals.exclusive));
    pf_buf_str(out, "];\n");
}

static void add_graph_head(const struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                           const struct graph *graph, struct pf_buf *out)
{
    struct pf_buf title = {0};
    struct pf_cell name = pf_string(model->metrics[metric].name);
    if (!pf_add_sums_missing(&title, model, metric) && graph->names) {
        pf_add_name(&title, &name);
        pf_buf_str(&title, ": ");
        pf_add_total_line(&title, aggregate, metric, graph->names->totals.metric);
    }
    pf_buf_str(out, "digraph callgraph {\n  graph [label=\"");
    add_quoted(out, title.data, title.failed ? 0 : title.size - 1); /* without the newline */
    pf_buf_str(out, "\", labelloc=t, fontname=\"sans-serif\"];\n"
                    "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
                    "  edge [fontname=\"sans-serif\"];\n");
    out->failed |= title.failed;
    pf_buf_free(&title);
}

static int add_graph(struct graph *graph, struct pf_buf *out, struct pf_error *error)
{
    size_t n;
    find_nodes(graph);
    if (number_nodes(graph, error))
        return -1;
    struct edge *edges = find_graph_edges(graph, &n, error);
    if (!edges)
        return -1;
    for (size_t i = 0; i < graph->n; i++)
        add_node(graph, i, out);
    for (size_t i = 0; i < n; i++) {
        pf_buf_printf(out, "  n%u -> n%u [label=\"", edges[i].from, edges[i].to);
        pf_add_percent(out, edges[i].percent, 100, 0);
        pf_buf_char(out, '"');
        add_pen(out, edges[i].percent);
        pf_buf_str(out, "];\n");
    }
    free(edges);
    return 0;
}

struct pf_walk *pf_callgraph_walk(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                  struct pf_error *error)
{
    struct graph graph = {0};
    struct pf_buf out = {0};
    bool adds = pf_adds_up(&model->metrics[metric]);
    int result = 0;
    if (adds) {
        graph.names = pf_order_get(aggregate, metric, PF_BY_NAME, error);
        graph.edges = graph.names ? pf_order_get(aggregate, metric, PF_BY_EDGE, error) : NULL;
        result = graph.edges ? 0 : -1;
    }
    if (!result)
        add_graph_head(model, aggregate, metric, &graph, &out);
    if (!result && adds) {
        graph.node_strings = model->contexts->strings;
        graph.edge_strings = graph.edges->strings ? graph.edges->strings : graph.node_strings;
        result = add_graph(&graph, &out, error);
    }
    if (graph.names)
        pf_order_release(aggregate, graph.names);
    if (graph.edges)
        pf_order_release(aggregate, graph.edges);
    free(graph.node_of);
    pf_buf_str(&out, "}\n");
    if (!result)
        return pf_walk_of_text(&out, error);
    pf_buf_free(&out);
    return NULL;
}
