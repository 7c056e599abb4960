/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/formula.h"
#include "formats/hpctoolkit/group.h"
#include "formats/kit/position.h"

const struct pf_column hpc_summary_columns[HPC_SUMMARY_COLUMNS] = {
    [HPC_SUMMARY_CONTEXT] = {"context", PF_CONTEXT, 0},
    [HPC_SUMMARY_METRIC] = {"metric", PF_PLAIN, 0},
    [HPC_SUMMARY_VALUE] = {"value", PF_PLAIN, 0},
    [HPC_SUMMARY_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

/* The next row: value `value` of the group of pair `entry` of the summary's block; of statistics, metric `value`. */
struct position {
    uint32_t entry, value;
};

struct walk {
    const struct hpc_state *state;
    struct position at;
    bool open;        /* the group is that of `at` */
    uint32_t end;     /* one past the last pair */
    uint32_t context; /* the group's, its number in the tree */
    struct hpc_group group;
    struct hpc_block_walk block;
};

static void start(struct walk *walk, struct position at)
{
    walk->at = at;
    walk->open = false;
    hpc_block_enter(&walk->block, walk->state, &walk->state->summary, at.entry);
}

/* Restricts the walk to the one pair of the context, if it has any. */
static int find(struct walk *walk, const struct pf_cursor *cursor, struct position *at,
                struct pf_error *error)
{
    const struct pf_tree *tree = cursor->profile->contexts;
    uint32_t entry = walk->end;
    if ((uint64_t)cursor->only.context < tree->count &&
        hpc_block_find(walk->state, &walk->state->summary, (uint32_t)tree->id[cursor->only.context], &entry,
                       error))
        return -1;
    at->entry = entry;
    walk->end = entry < walk->end ? entry + 1 : entry;
    return 0;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(cursor->profile);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    struct position at = {0};
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    walk->end = state->summary.n_contexts;
    walk->block.single = cursor->only.context >= 0;
    if (walk->block.single && find(walk, cursor, &at, error))
        return -1;
    start(walk, at);
    return 0;
}

/* 1: walk->group holds values; 0: the walk is over; -1: *error filled. */
static int next_group(struct walk *walk, struct pf_error *error)
{
    uint32_t id;
    uint64_t first, end;
    int more;
    while (walk->block.entry < walk->end &&
           (more = hpc_block_next(&walk->block, &id, &first, &end, error)) != 0) {
        if (more < 0)
            return -1;
        walk->at.entry = walk->block.entry - 1;
        walk->context = hpc_idmap_find(&walk->state->model.ids, id);
        if (walk->context == HPC_NO_NUMBER)
            continue;
        if (hpc_block_values(&walk->block, first, end, &walk->state->summary_metrics.by_id, &walk->group,
                             error))
            return -1;
        if (walk->group.count)
            return 1;
    }
    return 0;
}

/* Leaves the group, if one is open, and opens the next. 1; 0: there is none; -1: *error filled. */
static int open_next(struct walk *walk, struct pf_error *error)
{
    if (walk->open)
        walk->at = (struct position){.entry = walk->at.entry + 1};
    int more = next_group(walk, error);
    walk->open = more > 0;
    return more;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct hpc_summary_metrics *metrics = &walk->state->summary_metrics;
    while (!walk->open || walk->at.value >= walk->group.count) {
        int more = open_next(walk, error);
        if (more <= 0)
            return more;
    }
    const struct hpc_group_value *value = &walk->group.values[walk->at.value++];
    cells[HPC_SUMMARY_CONTEXT] = pf_int(walk->context);
    cells[HPC_SUMMARY_METRIC] = pf_string(metrics->items[hpc_metric_at(&metrics->by_id, value->metric)].name);
    cells[HPC_SUMMARY_VALUE] = pf_double(value->value);
    return 1;
}

static double operand(void *arg, uint32_t id, bool *known)
{
    const struct hpc_group *group = arg;
    for (size_t i = 0; i < group->count; i++)
        if (group->values[i].metric == id) {
            *known = true;
            return group->values[i].value;
        }
    return 0;
}

/* Goes to the next metric that can be computed from the group; false if there is none. */
static bool next_statistic(struct walk *walk, double *value)
{
    const struct hpc_summary_metrics *metrics = &walk->state->summary_metrics;
    for (; walk->at.value < metrics->count; walk->at.value++) {
        const struct hpc_formula *formula = metrics->items[walk->at.value].formula;
        if (formula && hpc_formula_value(formula, operand, &walk->group, value))
            return true;
    }
    return false;
}

static int next_statistics_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    double value = 0;
    while (!walk->open || !next_statistic(walk, &value)) {
        int more = open_next(walk, error);
        if (more <= 0)
            return more;
    }
    cells[HPC_SUMMARY_CONTEXT] = pf_int(walk->context);
    cells[HPC_SUMMARY_METRIC] = pf_string(walk->state->summary_metrics.items[walk->at.value++].name);
    cells[HPC_SUMMARY_VALUE] = pf_double(value);
    return 1;
}

static size_t save_walk(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore_walk(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.entry > walk->state->summary.n_contexts)
        return pf_position_refuse(error);
    start(walk, at);
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    hpc_block_leave(&walk->block);
    hpc_group_free(&walk->group);
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    return walk->end && walk->at.entry < walk->end ? (double)walk->at.entry / walk->end : 1;
}

const struct pf_cursor_ops hpc_summary_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};

const struct pf_cursor_ops hpc_statistics_cursor = {
    .open = open_walk,
    .next = next_statistics_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
