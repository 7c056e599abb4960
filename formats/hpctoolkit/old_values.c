/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/bytes.h"
#include "formats/hpctoolkit/parts.h"
#include "formats/kit/position.h"

/*
 * Databases of 2.x have a dense table a thread: row r holds what context r + 1 has, eight bytes a column. Most are
 * zero, which stands for nothing.
 */
struct position {
    uint32_t thread, row, column;
};

struct walk {
    const struct hpc_state *state;
    struct pf_restriction only;
    uint64_t context_id; /* of the one context */
    struct position at;
    uint32_t end;    /* one past the last thread */
    uint32_t number; /* of the context of row at.row; HPC_NO_NUMBER: it is not in the tree */
    bool placed;     /* number holds */
    struct hpc_window window;
    struct hpc_part *part; /* the file that is being read, or NULL */
};

enum { CELL = 8, ROOM = 64 * 1024 };

static void leave(struct walk *walk)
{
    walk->window.have = 0;
    walk->window.input = NULL;
    walk->placed = false;
    if (walk->part)
        hpc_part_release(walk->state->parts, walk->part);
    walk->part = NULL;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct hpc_state *state = hpc_state(cursor->profile);
    const struct pf_tree *tree = cursor->profile->contexts;
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    walk->only = cursor->only;
    walk->window.room = ROOM;
    walk->end = state->threads.count;
    if (cursor->only.partition >= 0 && (uint64_t)cursor->only.partition < walk->end) {
        walk->at.thread = (uint32_t)cursor->only.partition;
        walk->end = walk->at.thread + 1;
    }
    if (cursor->only.context >= 0 && (uint64_t)cursor->only.context < tree->count)
        walk->context_id = tree->id[cursor->only.context];
    return 0;
}

/* Stands in a row that may hold something. False: the thread has none. */
static bool find_row(struct walk *walk, const struct hpc_thread *thread)
{
    if (walk->only.context >= 0) {
        uint64_t row = walk->context_id - 1;
        if (walk->context_id < 1 || row < walk->at.row || row >= thread->block.n_contexts)
            return false;
        if (row > walk->at.row)
            walk->at = (struct position){walk->at.thread, (uint32_t)row, 0};
        walk->number = (uint32_t)walk->only.context;
        return true;
    }
    for (; walk->at.row < thread->block.n_contexts;
         walk->at.row++, walk->at.column = 0, walk->placed = false) {
        if (!walk->placed)
            walk->number = hpc_idmap_find(&walk->state->model.ids, (uint64_t)walk->at.row + 1);
        walk->placed = true;
        if (walk->number != HPC_NO_NUMBER)
            return true;
    }
    return false;
}

static int enter(struct walk *walk, const struct hpc_thread *thread, struct pf_error *error)
{
    if (walk->part)
        return 0;
    walk->part = hpc_part_use(walk->state->parts, thread->part, &walk->window.input, error);
    return walk->part ? 0 : -1;
}

/* The next value of the row that is not zero. 1: *value and *metric filled; 0: the row is over; -1. */
static int next_value(struct walk *walk, const struct hpc_thread *thread, uint32_t *metric, double *value,
                      struct pf_error *error)
{
    uint64_t row = thread->block.values + (uint64_t)walk->at.row * thread->columns * CELL;
    uint64_t end = walk->only.context >= 0 ? row + (uint64_t)thread->columns * CELL
                                           : thread->block.values + thread->block.n_values * CELL;
    while (walk->at.column < thread->columns) {
        uint32_t column = walk->at.column++;
        const unsigned char *bytes =
            hpc_window_at(&walk->window, row + (uint64_t)column * CELL, CELL, end, error);
        if (!bytes)
            return -1;
        *metric = hpc_metric_at(&walk->state->columns, column);
        *value = hpc_f64(bytes, true);
        if (*value != 0 && *metric != HPC_NO_NUMBER &&
            (walk->only.metric < 0 || *metric == walk->only.metric))
            return 1;
    }
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    while (walk->at.thread < walk->end) {
        const struct hpc_thread *thread = &walk->state->threads.items[walk->at.thread];
        uint32_t metric;
        double value;
        if (!find_row(walk, thread)) {
            leave(walk);
            walk->at = (struct position){.thread = walk->at.thread + 1};
            continue;
        }
        int more = enter(walk, thread, error) ? -1 : next_value(walk, thread, &metric, &value, error);
        if (more < 0)
            return -1;
        if (more) {
            cells[HPC_VALUES_THREAD] = pf_int(walk->at.thread);
            cells[HPC_VALUES_CONTEXT] = pf_int(walk->number);
            cells[HPC_VALUES_METRIC] = pf_int(metric);
            cells[HPC_VALUES_VALUE] = pf_double(value);
            return 1;
        }
        walk->at = (struct position){walk->at.thread, walk->at.row + 1, 0};
        walk->placed = false;
    }
    return 0;
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
         (at.row > walk->state->threads.items[at.thread].block.n_contexts ||
          at.column > walk->state->threads.items[at.thread].columns)) ||
        (walk->only.partition >= 0 && at.thread < walk->only.partition))
        return pf_position_refuse(error);
    leave(walk);
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk) {
        leave(walk);
        hpc_window_close(&walk->window);
    }
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    uint32_t first = cursor->only.partition > 0 ? (uint32_t)cursor->only.partition : 0;
    if (walk->at.thread >= walk->end)
        return 1;
    uint32_t rows = walk->state->threads.items[walk->at.thread].block.n_contexts;
    double inside = rows && walk->at.row < rows ? (double)walk->at.row / rows : 0;
    return (walk->at.thread - first + inside) / (walk->end - first);
}

const struct pf_cursor_ops hpc_old_values_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
