/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/context_walk.h"

#include "formats/hpctoolkit/cct.h"
#include "formats/hpctoolkit/transpose.h"

int hpc_context_open(struct hpc_context_walk *walk, const struct hpc_state *state, uint32_t index,
                     uint32_t id, uint32_t first, struct pf_error *error)
{
    *walk = (struct hpc_context_walk){
        .state = state, .context = id, .index = index, .thread = first, .block.single = true};
    if (state->transpose)
        return hpc_transpose_find(state->transpose, index, first, &walk->pair, &walk->end, error);
    walk->cct = hpc_cct_open(state, id, first, error);
    return walk->cct || !error->code ? 0 : -1;
}

/* The next thread's pair of this context. 1; 0: none; -1. */
static int next_pair(struct hpc_context_walk *walk, uint32_t *thread, uint32_t *entry, struct pf_error *error)
{
    if (walk->state->transpose) {
        if (walk->pair == walk->end)
            return 0;
        return hpc_transpose_pair(walk->state->transpose, walk->pair++, thread, entry, error) ? -1 : 1;
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
