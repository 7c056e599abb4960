/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/kit/array.h"
#include "formats/runtime/numbered.h"

/* Returns the node of a context in the run being processed, added if new; NULL with *error filled. */
static struct afperf_node *node_of(struct afperf_model *model, uint32_t run, uint32_t context,
                                   struct pf_error *error)
{
    if (pf_array_reach(&model->first_node, &model->first_node_room, context, sizeof *model->first_node,
                       error) ||
        pf_array_reach(&model->last_node, &model->last_node_room, context, sizeof *model->last_node, error))
        return NULL;
    uint32_t last = model->last_node[context], node = (uint32_t)model->n_nodes;
    if (last && model->nodes[last - 1].run == run)
        return &model->nodes[last - 1];
    if (AFPERF_GROW(model, nodes, error))
        return NULL;
    model->nodes[model->n_nodes++] = (struct afperf_node){.run = run, .context = context};
    *(last ? &model->nodes[last - 1].next : &model->first_node[context]) = node + 1;
    model->last_node[context] = node + 1;
    return &model->nodes[node];
}

int afperf_add_values(struct afperf_model *model, uint32_t run, uint32_t context,
                      const pf_int128 values[AFPERF_METRICS], struct pf_error *error)
{
    struct afperf_node *node = node_of(model, run, context, error);
    if (!node)
        return -1;
    for (int metric = 0; metric < AFPERF_METRICS; metric++)
        node->values[metric] += values[metric];
    return 0;
}

/*
 * The table "values", ordered by node and metric. A row's number is node * metrics + metric. Nodes are sorted by run;
 * the nodes of a context are linked.
 */
static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct pf_restriction *only = &cursor->only;
    uint64_t first = 0, end = model->n_nodes;
    if (only->partition >= 0 && (uint64_t)only->partition < model->n_runs) {
        size_t after = (size_t)only->partition + 1;
        first = model->runs[only->partition].nodes;
        end = after < model->n_runs ? model->runs[after].nodes : end;
    }
    if (only->context >= 0) {
        bool any = (uint64_t)only->context < model->first_node_room && model->first_node[only->context];
        first = any ? model->first_node[only->context] - 1 : end;
    }
    numbers->next = first * AFPERF_METRICS;
    numbers->end = end * AFPERF_METRICS;
    numbers->own = malloc(sizeof(pf_int128)); /* storage of a value that exceeds 64 bits */
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct afperf_node *node = &model->nodes[number / AFPERF_METRICS];
    unsigned metric = number % AFPERF_METRICS;
    (void)error;
    if (!pf_wanted(cursor->only.partition, node->run) || !pf_wanted(cursor->only.context, node->context) ||
        !pf_wanted(cursor->only.metric, metric))
        return 0;
    bool section = model->tree->kind[node->context] == AFPERF_KIND_SECTION;
    if (section && (metric == AFPERF_TIME || metric == AFPERF_TIME_NET))
        return 0;
    cells[0] = pf_int(node->run);
    cells[1] = pf_int(node->context);
    cells[2] = pf_int(metric);
    pf_int128 *value = own;
    *value =
        node->values[metric] * (metric == AFPERF_CALLS ? 1 : (pf_int128)model->runs[node->run].nanoseconds);
    cells[3] = afperf_wide_cell(value);
    return 1;
}

static uint64_t after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)own;
    const struct afperf_model *model = afperf_model(cursor->model);
    if (cursor->only.context < 0 || number % AFPERF_METRICS < AFPERF_METRICS - 1)
        return number + 1;
    uint32_t next = model->nodes[number / AFPERF_METRICS].next;
    return next ? (uint64_t)(next - 1) * AFPERF_METRICS : PF_NO_NUMBER;
}

static const struct pf_column columns[] = {{"run", PF_PARTITION, 0},
                                           {"context", PF_CONTEXT, 0},
                                           {"metric", PF_METRIC, 0},
                                           {.name = "value"},
                                           {"name", PF_CONTEXT_NAME, 0}};

static const struct pf_numbered values = {PF_NUMBERED, .begin = begin, .row = row, .after = after};

const struct pf_table afperf_values_table = {.name = "values",
                                             AFPERF_COLUMNS(columns),
                                             .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                             .ops = &values.ops};
