/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/old_summary.h"

#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/array.h"
#include "formats/kit/position.h"

/* Bytes of values that are held in memory. */
enum { MEMORY = 8 << 20 };

/* As it is stored. */
struct value {
    double value;
    uint32_t metric, unused;
};

static int make_room(struct hpc_old_summary *summary, uint32_t context, struct pf_error *error)
{
    if (!summary->values && !(summary->values = pf_store_new(MEMORY)))
        return pf_fail_memory(error);
    return pf_array_reach(&summary->runs, &summary->room, context, sizeof *summary->runs, error);
}

int hpc_old_summary_add(struct hpc_old_summary *summary, uint32_t context, uint32_t metric, double number,
                        struct pf_error *error)
{
    struct value value = {.value = number, .metric = metric};
    if (make_room(summary, context, error))
        return -1;
    struct hpc_run *run = &summary->runs[context];
    if (run->count && (run->first + run->count != summary->count || run->count == UINT32_MAX))
        return 0;
    if (pf_store_append(summary->values, &value, sizeof value, error))
        return -1;
    if (!run->count++)
        run->first = summary->count;
    summary->count++;
    return 1;
}

void hpc_old_summary_free(struct hpc_old_summary *summary)
{
    pf_store_free(summary->values);
    free(summary->runs);
    *summary = (struct hpc_old_summary){0};
}

/* ---- the table ------------------------------------------------------------------------------------------ */

struct position {
    uint32_t context, value; /* the latter: of the context's */
};

struct walk {
    const struct hpc_state *state;
    struct position at;
    uint32_t end; /* one past the last context */
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct hpc_state *state = hpc_state(cursor->profile);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    /* Contexts beyond the last that has values need no look. */
    walk->end =
        state->model.summary.room < state->model.contexts ? state->model.summary.room : state->model.contexts;
    if (cursor->only.context >= 0 && (uint64_t)cursor->only.context < walk->end) {
        walk->at.context = (uint32_t)cursor->only.context;
        walk->end = walk->at.context + 1;
    } else if (cursor->only.context >= 0) {
        walk->end = 0;
    }
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct hpc_old_summary *summary = &walk->state->model.summary;
    struct value value;
    while (walk->at.context < walk->end && walk->at.value >= summary->runs[walk->at.context].count)
        walk->at = (struct position){.context = walk->at.context + 1};
    if (walk->at.context >= walk->end)
        return 0;
    uint64_t i = summary->runs[walk->at.context].first + walk->at.value++;
    if (pf_store_read(summary->values, i * sizeof value, &value, sizeof value, error))
        return -1;
    cells[HPC_SUMMARY_CONTEXT] = pf_int(walk->at.context);
    cells[HPC_SUMMARY_METRIC] = pf_string(walk->state->summary_metrics.items[value.metric].name);
    cells[HPC_SUMMARY_VALUE] = pf_double(value.value);
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
    if (at.context > walk->state->model.contexts)
        return pf_position_refuse(error);
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    return walk->at.context < walk->end ? (double)walk->at.context / walk->end : 1;
}

const struct pf_cursor_ops hpc_old_summary_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
