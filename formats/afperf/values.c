/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/tables.h"

/* The table "values": node by node, metric by metric. Nodes come by run; those of one context are linked. */
struct values {
    const struct afperf_model *model;
    struct pf_restriction only;
    size_t node, end; /* the next node to look at; end: where they end (unless linked) */
    unsigned metric;  /* the next of this node */
    pf_int128 wide;
};

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint64_t node, metric;
};

static bool linked(const struct values *values)
{
    return values->only.context >= 0;
}

static size_t first_node(const struct values *values)
{
    const struct afperf_model *model = values->model;
    if (linked(values)) {
        uint32_t first = afperf_first_node(model, (uint32_t)values->only.context);
        return first == AFPERF_NONE ? SIZE_MAX : first;
    }
    if (values->only.partition < 0)
        return 0;
    bool known = (uint64_t)values->only.partition < model->n_runs;
    return known ? model->runs[values->only.partition].nodes : model->n_nodes;
}

static int values_open(struct pf_cursor *cursor, struct pf_error *error)
{
    struct values *values = cursor->state = calloc(1, sizeof *values);
    if (!values)
        return pf_fail_memory(error);
    const struct afperf_model *model = values->model = afperf_model(cursor->profile);
    values->only = cursor->only;
    values->node = first_node(values);
    values->end = model->n_nodes;
    if (cursor->only.partition >= 0 && (uint64_t)cursor->only.partition < model->n_runs)
        values->end = values->node + model->runs[cursor->only.partition].n_nodes;
    if (linked(values))
        values->end = model->n_nodes;
    return 0;
}

static void values_close(struct pf_cursor *cursor)
{
    free(cursor->state);
}

static void next_node(struct values *values)
{
    uint32_t next = linked(values) ? values->model->nodes[values->node].next : 0;
    values->node = !linked(values) ? values->node + 1 : next == AFPERF_NONE ? SIZE_MAX : next;
    values->metric = 0;
}

struct pf_cell afperf_ticks_cell(afperf_uint128 ticks, pf_int128 *wide)
{
    if (ticks <= UINT64_MAX)
        return pf_uint((uint64_t)ticks);
    *wide = (pf_int128)ticks;
    return pf_wide(wide);
}

/* The value of a metric; false if the node has none. */
static bool value_of(struct values *values, const struct afperf_node *node, unsigned metric,
                     struct pf_cell *cell)
{
    const struct afperf_model *model = values->model;
    bool section = model->tree->kind[node->context] == AFPERF_KIND_SECTION;
    if (metric == AFPERF_CALLS) {
        *cell = pf_uint(node->calls);
        return true;
    }
    if (section && (metric == AFPERF_TIME || metric == AFPERF_TIME_NET))
        return false;
    struct afperf_times times = afperf_times_of(model, node);
    afperf_uint128 ticks = metric == AFPERF_TIME       ? times.exclusive
                           : metric == AFPERF_TIME_INC ? times.inclusive
                           : metric == AFPERF_TIME_NET ? times.exclusive_net
                                                       : times.inclusive_net;
    *cell = afperf_ticks_cell(ticks * model->runs[node->run].nanoseconds, &values->wide);
    return true;
}

static int values_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct values *values = cursor->state;
    const struct pf_restriction *only = &values->only;
    (void)error;
    for (; values->node < values->end; next_node(values)) {
        const struct afperf_node *node = &values->model->nodes[values->node];
        if (only->partition >= 0 && node->run != only->partition)
            continue;
        while (values->metric < AFPERF_METRICS) {
            unsigned metric = values->metric++;
            if ((only->metric >= 0 && metric != only->metric) ||
                !value_of(values, node, metric, &cells[AFPERF_VALUE_VALUE]))
                continue;
            cells[AFPERF_VALUE_RUN] = pf_int(node->run);
            cells[AFPERF_VALUE_CONTEXT] = pf_int(node->context);
            cells[AFPERF_VALUE_METRIC] = pf_int(metric);
            return 1;
        }
    }
    return 0;
}

static size_t values_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct values *values = cursor->state;
    struct position position = {values->node, values->metric};
    if (room >= sizeof position)
        memcpy(blob, &position, sizeof position);
    return sizeof position;
}

/* A position in another run than the cursor's: all of its rows follow, or none. */
static void clamp(struct values *values)
{
    size_t first = first_node(values);
    if (linked(values) || values->only.partition < 0 || values->node >= first)
        return;
    values->node = first;
    values->metric = 0;
}

static int values_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct values *values = cursor->state;
    struct position position;
    if (size != sizeof position)
        return pf_fail(error, EINVAL, "a saved position has a wrong size");
    memcpy(&position, blob, sizeof position);
    bool at_end = position.node == SIZE_MAX || position.node == values->model->n_nodes;
    if (position.metric > AFPERF_METRICS || (!at_end && position.node > values->model->n_nodes))
        return pf_fail(error, EINVAL, "a saved position is not in the table");
    if (!at_end && linked(values) && values->model->nodes[position.node].context != values->only.context)
        return pf_fail(error, EINVAL, "a saved position is of another context");
    values->node = position.node;
    values->metric = (unsigned)position.metric;
    clamp(values);
    return 0;
}

static double values_progress(const struct pf_cursor *cursor)
{
    const struct values *values = cursor->state;
    return values->node < values->end ? (double)values->node / (double)values->end : 1;
}

const struct pf_cursor_ops afperf_values_cursor = {
    .open = values_open,
    .next = values_next,
    .save = values_save,
    .restore = values_restore,
    .close = values_close,
    .progress = values_progress,
};
