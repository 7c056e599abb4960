/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "formats/hpctoolkit/context_walk.h"
#include "formats/kit/position.h"

const struct pf_column hpc_values_columns[HPC_VALUES_COLUMNS] = {
    [HPC_VALUES_THREAD] = {"thread", PF_PARTITION, 0}, [HPC_VALUES_CONTEXT] = {"context", PF_CONTEXT, 0},
    [HPC_VALUES_METRIC] = {"metric", PF_METRIC, 0},    [HPC_VALUES_VALUE] = {"value", PF_PLAIN, 0},
    [HPC_VALUES_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

/* The next row: value `value` of the group of pair `entry` of the thread's block. Of a walk over one context, entry is 0. */
struct position {
    uint32_t thread, entry, value;
};

struct walk {
    const struct hpc_state *state;
    struct pf_restriction only;
    struct position at; /* of the group that is open, or of the next one */
    bool open;          /* the group is that of `at` */
    uint32_t end;       /* one past the last thread */
    uint32_t context;   /* the group's, its number in the tree */
    struct hpc_group group;
    struct hpc_block_walk block;    /* over all contexts: of thread at.thread */
    bool entered;                   /* block stands in it */
    struct hpc_context_walk column; /* over one context */
};

static int start(struct walk *walk, const struct pf_tree *tree, struct position at, struct pf_error *error)
{
    walk->at = at;
    walk->open = walk->entered = false;
    if (walk->only.context < 0)
        return 0;
    if ((uint64_t)walk->only.context >= tree->count) {
        walk->end = 0;
        return 0;
    }
    uint32_t index = (uint32_t)walk->only.context;
    hpc_context_close(&walk->column);
    return hpc_context_open(&walk->column, walk->state, index, (uint32_t)tree->id[index], at.thread, error);
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(cursor->profile);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    walk->only = cursor->only;
    walk->end = state->threads.count;
    struct position at = {0};
    if (cursor->only.partition >= 0 && (uint64_t)cursor->only.partition < walk->end) {
        at.thread = (uint32_t)cursor->only.partition;
        walk->end = at.thread + 1;
    }
    return start(walk, cursor->profile->contexts, at, error);
}

/* The next group of the thread's block. 1; 0: the thread has no more; -1: *error filled. */
static int next_in_block(struct walk *walk, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    uint32_t id;
    uint64_t first, end;
    int more;
    if (!walk->entered) {
        hpc_block_enter(&walk->block, state, &state->threads.items[walk->at.thread].block, walk->at.entry);
        walk->entered = true;
    }
    while ((more = hpc_block_next(&walk->block, &id, &first, &end, error)) > 0) {
        walk->at.entry = walk->block.entry - 1;
        walk->context = hpc_idmap_find(&state->model.ids, id);
        if (walk->context == HPC_NO_NUMBER) /* as in a damaged database; told when contexts were read */
            continue;
        if (hpc_block_values(&walk->block, first, end, &state->metrics.by_id, &walk->group, error))
            return -1;
        if (walk->group.count)
            return 1;
    }
    return more;
}

static int next_group(struct walk *walk, struct pf_error *error)
{
    int more = 0;
    if (walk->only.context >= 0) {
        uint32_t thread;
        walk->context = (uint32_t)walk->only.context;
        more = walk->end ? hpc_context_next(&walk->column, &thread, &walk->group, error) : 0;
        if (more <= 0 || thread >= walk->end)
            return more < 0 ? -1 : 0;
        if (thread != walk->at.thread)
            walk->at = (struct position){.thread = thread};
        return 1;
    }
    while (walk->at.thread < walk->end && !(more = next_in_block(walk, error))) {
        walk->at = (struct position){.thread = walk->at.thread + 1};
        walk->entered = false;
    }
    return more;
}

/* Leaves the group: the position is behind it. */
static void leave_group(struct walk *walk)
{
    walk->open = false;
    walk->at.value = 0;
    if (walk->only.context >= 0)
        walk->at = (struct position){.thread = walk->at.thread + 1};
    else
        walk->at.entry++;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    for (;;) {
        if (!walk->open) {
            int more = next_group(walk, error);
            if (more <= 0)
                return more;
            walk->open = true;
        }
        while (walk->at.value < walk->group.count) {
            const struct hpc_group_value *value = &walk->group.values[walk->at.value++];
            uint32_t metric = hpc_metric_at(&walk->state->metrics.by_id, value->metric);
            if (walk->only.metric >= 0 && metric != walk->only.metric)
                continue;
            cells[HPC_VALUES_THREAD] = pf_int(walk->at.thread);
            cells[HPC_VALUES_CONTEXT] = pf_int(walk->context);
            cells[HPC_VALUES_METRIC] = pf_int(metric);
            cells[HPC_VALUES_VALUE] = pf_double(value->value);
            return 1;
        }
        leave_group(walk);
    }
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
    if (at.thread > walk->state->threads.count ||
        (at.thread < walk->state->threads.count &&
         at.entry > walk->state->threads.items[at.thread].block.n_contexts) ||
        at.value > HPC_GROUP_MAX || (walk->only.partition >= 0 && at.thread < walk->only.partition))
        return pf_position_refuse(error);
    return start(walk, cursor->profile->contexts, at, error);
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    hpc_block_leave(&walk->block);
    hpc_context_close(&walk->column);
    hpc_group_free(&walk->group);
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    uint32_t first = cursor->only.partition > 0 ? (uint32_t)cursor->only.partition : 0;
    if (walk->at.thread >= walk->end)
        return 1;
    uint32_t entries = walk->state->threads.items[walk->at.thread].block.n_contexts;
    double inside = entries ? (double)walk->at.entry / entries : 0;
    return (walk->at.thread - first + (inside < 1 ? inside : 1)) / (walk->end - first);
}

const struct pf_cursor_ops hpc_values_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
