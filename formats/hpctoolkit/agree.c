/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>

#include "formats/hpctoolkit/cct.h"

/* A larger profile.db is not compared. */
#define COMPARED ((uint64_t)16 << 20)

/* Sums of hashes do not depend on the order of what is added up: one a context is enough. */
struct comparing {
    const struct hpc_state *state;
    struct hpc_progress progress; /* each pair counts twice: it is in both files */
    uint64_t *sums;               /* by context */
    struct hpc_group group;
};

static uint64_t hash(uint32_t thread, const struct hpc_group_value *value)
{
    uint64_t bits;
    memcpy(&bits, &value->value, sizeof bits);
    bits ^= ((uint64_t)thread << 16 ^ value->metric) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* What the group, which a thread has in some context, adds to the context's sum. */
static uint64_t hash_group(const struct comparing *all, uint32_t thread)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < all->group.count; i++)
        sum += hash(thread, &all->group.values[i]);
    return sum;
}

static int add_pair(void *arg, const struct hpc_pair *pair, struct pf_error *error)
{
    struct comparing *all = arg;
    if (hpc_block_values(pair->walk, pair->first, pair->end, &all->state->metrics.by_id, &all->group, error))
        return -1;
    all->sums[pair->context] += hash_group(all, pair->thread);
    return 0;
}

/* 1; 0, also if its values turn out to be in disorder; -1. A context whose block is not sound agrees: it is not read from there. */
static int context_agrees(struct comparing *all, uint32_t context, uint64_t id, struct pf_error *error)
{
    uint32_t thread;
    uint64_t sum = 0;
    int more;
    struct hpc_cct_walk *walk = id <= UINT32_MAX ? hpc_cct_open(all->state, (uint32_t)id, 0, error) : NULL;
    if (!walk)
        return id <= UINT32_MAX && error->code ? -1 : 1;
    while ((more = hpc_cct_next(walk, &thread, &all->group, error)) > 0) {
        sum += hash_group(all, thread);
        if (hpc_progress_step(&all->progress, error)) {
            more = -1;
            break;
        }
    }
    hpc_cct_close(walk);
    if (more < 0)
        return error->code == EIO ? 0 : -1;
    return sum == all->sums[context];
}

static int compare(struct comparing *all, const struct pf_tree *tree, struct pf_error *error)
{
    int agree = hpc_pairs_walk(all->state, &all->progress, add_pair, all, error) ? -1 : 1;
    for (uint32_t c = 0; c < tree->count && agree > 0; c++)
        agree = context_agrees(all, c, tree->id[c], error);
    return agree;
}

int hpc_cct_agrees(const struct hpc_state *state, const struct pf_tree *tree, struct pf_pass *pass,
                   struct pf_error *error)
{
    struct comparing all = {.state = state, .progress = {.pass = pass, .total = 2 * hpc_pairs_count(state)}};
    if (pf_input_size(state->profile_db) > COMPARED)
        return 1;
    all.sums = calloc((size_t)tree->count + 1, sizeof *all.sums);
    int agree = all.sums ? compare(&all, tree, error) : pf_fail_memory(error);
    hpc_group_free(&all.group);
    free(all.sums);
    return agree;
}
