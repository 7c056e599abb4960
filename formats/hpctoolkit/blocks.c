/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* ---- windows ----------------------------------------------------------------------------------------- */

const unsigned char *hpc_window_load(struct hpc_window *window, uint64_t offset, size_t size, uint64_t end,
                                     struct pf_error *error)
{
    if (!window->bytes) {
        if (window->room < HPC_WINDOW_FIRST)
            window->room = HPC_WINDOW_FIRST;
        window->bytes = malloc(window->room);
        if (!window->bytes) {
            pf_fail_memory(error);
            return NULL;
        }
    }
    /* A record may lie across the end of the piece before. */
    bool goes_on = window->have && offset >= window->start && offset <= window->start + window->have;
    size_t want = goes_on ? window->next * 2 : HPC_WINDOW_FIRST;
    window->next = want < window->room ? want : window->room;
    want = end - offset < window->next ? (size_t)(end - offset) : window->next;
    window->have = 0;
    ssize_t got = pf_input_read(window->input, window->bytes, want, offset, error);
    if (got < 0)
        return NULL;
    window->start = offset;
    window->have = (size_t)got;
    if (window->have < size) {
        pf_fail_at(error, EIO, (int64_t)offset, "the file ends inside a record");
        return NULL;
    }
    return window->bytes;
}

void hpc_window_close(struct hpc_window *window)
{
    free(window->bytes);
    window->bytes = NULL;
    window->have = 0;
}

/* ---- groups ------------------------------------------------------------------------------------------ */

/* Of windows. What they hold too much when a reading is left has been read in vain. */
enum { ROOM = 4096 };

int hpc_group_add(struct hpc_group *group, uint32_t metric, double value, struct pf_error *error)
{
    if (pf_array_room(&group->values, &group->room, group->count, sizeof *group->values, error))
        return -1;
    group->values[group->count] =
        (struct hpc_group_value){.metric = metric, .place = (uint32_t)group->count, .value = value};
    group->count++;
    return 0;
}

static int by_metric(const void *left, const void *right)
{
    const struct hpc_group_value *a = left, *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Sorts by metric; of two values of one metric the first stays. */
static void sort_group(struct hpc_group *group)
{
    bool sorted = true;
    for (size_t i = 1; i < group->count && sorted; i++)
        sorted = group->values[i - 1].metric < group->values[i].metric;
    if (sorted)
        return;
    qsort(group->values, group->count, sizeof *group->values, by_metric);
    size_t kept = 1;
    for (size_t i = 1; i < group->count; i++)
        if (group->values[i].metric != group->values[kept - 1].metric)
            group->values[kept++] = group->values[i];
    group->count = kept;
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void hpc_block_enter(struct hpc_block_walk *walk, const struct hpc_state *state,
                     const struct hpc_block *block, uint32_t entry)
{
    walk->state = state;
    walk->block = *block;
    walk->entry = entry;
    walk->begun = false;
    walk->indices.input = walk->values.input = state->profile_db;
    walk->indices.room = ROOM;
    walk->values.room = ROOM;
}

void hpc_block_leave(struct hpc_block_walk *walk)
{
    hpc_window_close(&walk->indices);
    hpc_window_close(&walk->values);
}

/* Pairs as they stand: experiment.xml's time has one more behind them, whose number is that of all values. */
static uint64_t end_of_pairs(const struct hpc_block_walk *walk)
{
    uint64_t pairs = (uint64_t)walk->block.n_contexts + (walk->state->layout == HPC_XML4);
    return walk->block.indices + pairs * HPC_INDEX;
}

int hpc_block_next(struct hpc_block_walk *walk, uint32_t *context, uint64_t *first, uint64_t *end,
                   struct pf_error *error)
{
    if (walk->entry >= walk->block.n_contexts)
        return 0;
    bool big_endian = walk->state->big_endian, last = walk->entry + 1 == walk->block.n_contexts;
    uint64_t at = walk->block.indices + (uint64_t)walk->entry * HPC_INDEX;
    size_t size = last ? HPC_INDEX : 2 * HPC_INDEX;
    const unsigned char *bytes =
        hpc_window_at(&walk->indices, at, size, walk->single ? at + size : end_of_pairs(walk), error);
    if (!bytes)
        return -1;
    *context = pf_u32(bytes, big_endian);
    *first = pf_u64(bytes + 4, big_endian);
    *end = last ? walk->block.n_values : pf_u64(bytes + HPC_INDEX + 4, big_endian);
    if (*first > *end || *end > walk->block.n_values || *end - *first > HPC_GROUP_MAX ||
        (walk->begun && *context <= walk->last_context))
        return 0;
    walk->begun = true;
    walk->last_context = *context;
    walk->entry++;
    return 1;
}

int hpc_block_values(struct hpc_block_walk *walk, uint64_t first, uint64_t end, const struct hpc_by_id *known,
                     struct hpc_group *group, struct pf_error *error)
{
    uint64_t all = walk->block.values + (walk->single ? end : walk->block.n_values) * HPC_VALUE;
    group->count = 0;
    for (uint64_t i = first; i < end; i++) {
        const unsigned char *bytes =
            hpc_window_at(&walk->values, walk->block.values + i * HPC_VALUE, HPC_VALUE, all, error);
        if (!bytes)
            return -1;
        unsigned id;
        double value = hpc_value(walk->state, bytes, &id);
        if (hpc_metric_at(known, id) != HPC_NO_NUMBER && hpc_group_add(group, id, value, error))
            return -1;
    }
    sort_group(group);
    return 0;
}

int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint32_t context,
                   uint32_t *entry, struct pf_error *error)
{
    uint32_t low = 0, high = block->n_contexts;
    while (low < high) {
        unsigned char bytes[HPC_INDEX];
        uint32_t middle = low + (high - low) / 2;
        ssize_t got = pf_input_read(state->profile_db, bytes, sizeof bytes,
                                    block->indices + (uint64_t)middle * HPC_INDEX, error);
        if (got < (ssize_t)sizeof bytes)
            return got < 0 ? -1 : pf_fail(error, EIO, "profile.db ends inside a block");
        uint32_t id = pf_u32(bytes, state->big_endian);
        if (id == context) {
            *entry = middle;
            return 0;
        }
        if (id < context)
            low = middle + 1;
        else
            high = middle;
    }
    *entry = block->n_contexts;
    return 0;
}
