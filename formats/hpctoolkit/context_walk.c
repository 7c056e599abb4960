/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/context_walk.h"

#include <stdlib.h>

#include "formats/hpctoolkit/cct.h"
#include "formats/kit/sorter.h"

/* ---- the index ------------------------------------------------------------------------------------------ */

/* Bytes of pairs that are held in memory while they are sorted, and afterwards. */
enum { HELD = 8 << 20 };

/* Pairs by context and thread. */
struct hpc_transpose {
    uint64_t *first;        /* by context: its first pair; one more: the number of pairs */
    struct pf_store *pairs; /* struct place */
};

struct place {
    uint32_t thread, entry;
};

static int add_pair(void *arg, const struct hpc_pair *pair, struct pf_error *error)
{
    uint64_t record[] = {(uint64_t)pair->context << 32 | pair->thread, pair->entry};
    return pf_sorter_add(arg, record, error);
}

static int fill(struct hpc_transpose *transpose, const struct hpc_state *state, struct pf_sorter *sorter,
                struct pf_pass *pass, struct pf_error *error)
{
    struct hpc_progress progress = {.pass = pass, .total = 2 * hpc_pairs_count(state)};
    const uint64_t *record;
    int more;
    if (hpc_pairs_walk(state, &progress, add_pair, sorter, error) || pf_sorter_finish(sorter, error))
        return -1;
    while ((more = pf_sorter_next(sorter, &record, error)) > 0) {
        struct place place = {(uint32_t)record[0], (uint32_t)record[1]};
        transpose->first[(record[0] >> 32) + 1]++;
        if (pf_store_append(transpose->pairs, &place, sizeof place, error) ||
            hpc_progress_step(&progress, error))
            return -1;
    }
    for (uint32_t c = 0; c < state->model.contexts; c++)
        transpose->first[c + 1] += transpose->first[c];
    return more;
}

void hpc_transpose_free(struct hpc_transpose *transpose)
{
    if (!transpose)
        return;
    pf_store_free(transpose->pairs);
    free(transpose->first);
    free(transpose);
}

struct hpc_transpose *hpc_transpose_new(const struct hpc_state *state, struct pf_pass *pass,
                                        struct pf_error *error)
{
    struct hpc_transpose *transpose = calloc(1, sizeof *transpose);
    struct pf_sorter *sorter = pf_sorter_new(2, 1, HELD);
    int failed = -1;
    if (transpose) {
        transpose->first = calloc((size_t)state->model.contexts + 1, sizeof *transpose->first);
        transpose->pairs = pf_store_new(HELD);
    }
    if (!transpose || !sorter || !transpose->first || !transpose->pairs)
        pf_fail_memory(error);
    else
        failed = fill(transpose, state, sorter, pass, error);
    pf_sorter_free(sorter);
    if (!failed)
        return transpose;
    hpc_transpose_free(transpose);
    return NULL;
}

static int place_at(const struct hpc_transpose *transpose, uint64_t pair, struct place *place,
                    struct pf_error *error)
{
    return pf_store_read(transpose->pairs, pair * sizeof *place, place, sizeof *place, error);
}

/* The pairs of a context from thread `first` on. */
static int find_pairs(struct hpc_context_walk *walk, uint32_t first, struct pf_error *error)
{
    const struct hpc_transpose *transpose = walk->state->transpose;
    uint64_t low = transpose->first[walk->index], high = transpose->first[walk->index + 1];
    walk->end = high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct place place;
        if (place_at(transpose, middle, &place, error))
            return -1;
        if (place.thread < first)
            low = middle + 1;
        else
            high = middle;
    }
    walk->pair = low;
    return 0;
}

/* ---- the walk ------------------------------------------------------------------------------------------- */

int hpc_context_open(struct hpc_context_walk *walk, const struct hpc_state *state, uint32_t index,
                     uint32_t id, uint32_t first, struct pf_error *error)
{
    *walk = (struct hpc_context_walk){
        .state = state, .context = id, .index = index, .thread = first, .block.single = true};
    if (state->transpose)
        return find_pairs(walk, first, error);
    walk->cct = hpc_cct_open(state, id, first, error);
    return walk->cct || !error->code ? 0 : -1;
}

/* The next thread's pair of this context. 1; 0: none; -1. */
static int next_pair(struct hpc_context_walk *walk, uint32_t *thread, uint32_t *entry, struct pf_error *error)
{
    if (walk->state->transpose) {
        if (walk->pair == walk->end)
            return 0;
        struct place place;
        if (place_at(walk->state->transpose, walk->pair++, &place, error))
            return -1;
        *thread = place.thread;
        *entry = place.entry;
        return 1;
    }
    for (; walk->thread < walk->state->threads.count; walk->thread++) {
        const struct hpc_block *block = &walk->state->threads.items[walk->thread].block;
        if (hpc_block_find(walk->state, block, walk->context, entry, error))
            return -1;
        if (*entry < block->n_contexts) {
            *thread = walk->thread++;
            return 1;
        }
    }
    return 0;
}

int hpc_context_next(struct hpc_context_walk *walk, uint32_t *thread, struct hpc_group *group,
                     struct pf_error *error)
{
    uint32_t entry, context;
    uint64_t first, end;
    int more;
    if (walk->cct)
        return hpc_cct_next(walk->cct, thread, group, error);
    while ((more = next_pair(walk, thread, &entry, error)) > 0) {
        hpc_block_enter(&walk->block, walk->state, &walk->state->threads.items[*thread].block, entry);
        more = hpc_block_next(&walk->block, &context, &first, &end, error);
        if (more < 0 ||
            (more && hpc_block_values(&walk->block, first, end, &walk->state->metrics.by_id, group, error)))
            return -1;
        if (more && group->count)
            return 1;
    }
    return more;
}

void hpc_context_close(struct hpc_context_walk *walk)
{
    hpc_block_leave(&walk->block);
    hpc_cct_close(walk->cct);
    walk->cct = NULL;
}
