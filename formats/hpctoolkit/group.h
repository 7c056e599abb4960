/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_GROUP_H
#define PF_HPC_GROUP_H

#include "formats/hpctoolkit/profiles.h"

/*
 * What one profile has in one context: a few values, of different metrics. Walks go from group to group.
 */
struct hpc_group {
    struct hpc_group_value {
        uint32_t metric; /* its id */
        uint32_t place;  /* among the values as they stood */
        double value;
    } * values;
    size_t count, room;
};

/* More values than there are ids of metrics are no group. */
#define HPC_GROUP_MAX ((uint64_t)1 << 16)

/* Adds a value. 0, or -1 with *error filled. */
int hpc_group_add(struct hpc_group *group, uint32_t metric, double value, struct pf_error *error);

void hpc_group_free(struct hpc_group *group);

/*
 * Reads a profile's block context by context. Windows are only taken while a block is read.
 */
struct hpc_block_walk {
    const struct hpc_state *state;
    struct hpc_block block;
    uint32_t entry; /* the next (context, number) pair */
    bool begun;     /* last_context holds */
    uint32_t last_context;
    bool single; /* only this one entry is wanted: nothing behind it is read ahead */
    struct hpc_window indices, values;
};

/* Stands before the block's pair `entry`. */
void hpc_block_enter(struct hpc_block_walk *walk, const struct hpc_state *state,
                     const struct hpc_block *block, uint32_t entry);

/*
 * The next context's id and the numbers [*first, *end) of its values. 1; 0: there is none; -1: *error filled. A pair that
 * cannot be (contexts do not ascend, numbers beyond the values) ends the block; walk->entry is then that pair.
 */
int hpc_block_next(struct hpc_block_walk *walk, uint32_t *context, uint64_t *first, uint64_t *end,
                   struct pf_error *error);

/* Fills the group with these values, sorted; metrics that `known` has not are left out. */
int hpc_block_values(struct hpc_block_walk *walk, uint64_t first, uint64_t end, const struct hpc_by_id *known,
                     struct hpc_group *group, struct pf_error *error);

/* The pair of a context, by halving; block.n_contexts if it has none. 0, or -1 with *error filled. */
int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint32_t context,
                   uint32_t *entry, struct pf_error *error);

void hpc_block_leave(struct hpc_block_walk *walk);

/* ---- the blocks of all threads ---- */

/* A context that a thread has values in: the numbers [first, end) of them in the block that `walk` reads. */
struct hpc_pair {
    uint32_t thread, context; /* the latter: its number in the tree */
    uint32_t entry;           /* of the block */
    uint64_t first, end;
    struct hpc_block_walk *walk;
};

/* Returns 0 to go on, or -1 with *error filled. */
typedef int hpc_take_pair(void *arg, const struct hpc_pair *pair, struct pf_error *error);

/* How far a pass over pairs is; pass may be NULL. */
struct hpc_progress {
    struct pf_pass *pass;
    uint64_t done, total;
};

/* One more pair is done. 0, or -1 with *error filled. */
int hpc_progress_step(struct hpc_progress *progress, struct pf_error *error);

/* How many pairs there are, those of contexts that are not in the tree included. */
uint64_t hpc_pairs_count(const struct hpc_state *state);

/* Goes through the pairs of all threads, in their order, whose context is in the tree. 0, or -1 with *error filled. */
int hpc_pairs_walk(const struct hpc_state *state, struct hpc_progress *progress, hpc_take_pair *take,
                   void *arg, struct pf_error *error);

#endif
