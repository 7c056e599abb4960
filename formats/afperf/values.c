/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/kit/numbered.h"

/*
 * The table "values": node by node, metric by metric; a record's number is the node's times the metrics, plus the metric. Nodes
 * come by run; those of one context are linked.
 */
static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->profile);
    const struct pf_restriction *only = &cursor->only;
    uint64_t first = 0, end = model->n_nodes;
    if (only->partition >= 0 && (uint64_t)only->partition < model->n_runs) {
        first = model->runs[only->partition].nodes;
        end = first + model->runs[only->partition].n_nodes;
    }
    if (only->context >= 0) {
        uint32_t linked = afperf_first_node(model, (uint32_t)only->context);
        first = linked == AFPERF_NONE ? end : linked;
    }
    numbers->next = first * AFPERF_METRICS;
    numbers->end = end * AFPERF_METRICS;
    numbers->own = malloc(sizeof(pf_int128)); /* a value of more than 64 bits */
    return numbers->own ? 0 : pf_fail_memory(error);
}

/* The value of a metric; false if the node has none. */
static bool value_of(const struct afperf_model *model, const struct afperf_node *node, unsigned metric,
                     pf_int128 *wide, struct pf_cell *cell)
{
    bool section = model->tree->kind[node->context] == AFPERF_KIND_SECTION;
    if (metric == AFPERF_CALLS) {
        *cell = pf_uint(node->calls);
        return true;
    }
    if (section && (metric == AFPERF_TIME || metric == AFPERF_TIME_NET))
        return false;
    afperf_uint128 ticks = metric == AFPERF_TIME       ? node->exclusive
                           : metric == AFPERF_TIME_INC ? node->inclusive
                           : metric == AFPERF_TIME_NET ? node->exclusive_net
                                                       : node->inclusive_net;
    *cell = afperf_ticks_cell(ticks * model->runs[node->run].nanoseconds, wide);
    return true;
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->profile);
    const struct afperf_node *node = &model->nodes[number / AFPERF_METRICS];
    unsigned metric = number % AFPERF_METRICS;
    (void)error;
    if (!pf_wanted(cursor->only.partition, node->run) || !pf_wanted(cursor->only.context, node->context) ||
        !pf_wanted(cursor->only.metric, metric) || !value_of(model, node, metric, own, &cells[3]))
        return 0;
    cells[0] = pf_int(node->run);
    cells[1] = pf_int(node->context);
    cells[2] = pf_int(metric);
    return 1;
}

static uint64_t after(const struct pf_cursor *cursor, uint64_t number)
{
    const struct afperf_model *model = afperf_model(cursor->profile);
    if (cursor->only.context < 0 || number % AFPERF_METRICS < AFPERF_METRICS - 1)
        return number + 1;
    uint32_t next = model->nodes[number / AFPERF_METRICS].next;
    return next == AFPERF_NONE ? PF_NO_NUMBER : (uint64_t)next * AFPERF_METRICS;
}

static const struct pf_column columns[] = {
    AFPERF_RUN, AFPERF_CONTEXT, {"metric", PF_METRIC, 0}, AFPERF_PLAIN("value"), {"name", PF_CONTEXT_NAME, 0},
};

static const struct pf_numbered values = {PF_NUMBERED, begin, row, after, NULL};

const struct pf_table afperf_values_table = {.name = "values",
                                             AFPERF_COLUMNS(columns),
                                             .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                             .ops = &values.ops};
