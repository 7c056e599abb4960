/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_CONTEXT_WALK_H
#define PF_HPC_CONTEXT_WALK_H

#include "formats/hpctoolkit/group.h"

/*
 * What all threads have in one context, thread by thread: from the context's block of cct.db where that is
 * sound, else from the threads' blocks of profile.db, found by way of an index or, if there is none, by halving.
 */
struct hpc_context_walk {
    const struct hpc_state *state;
    uint32_t context;         /* its id */
    uint32_t index;           /* its number in the tree */
    struct hpc_cct_walk *cct; /* NULL: from profile.db */
    uint64_t pair, end;       /* in the index */
    uint32_t thread;          /* without an index: the next one to look into */
    struct hpc_block_walk block;
};

/* Stands before what thread `first` has. 0, or -1 with *error filled; to be closed in any case. */
int hpc_context_open(struct hpc_context_walk *walk, const struct hpc_state *state, uint32_t index,
                     uint32_t id, uint32_t first, struct pf_error *error);

/* The next thread that has values, and these in the group. 1; 0: there is none; -1: *error filled. */
int hpc_context_next(struct hpc_context_walk *walk, uint32_t *thread, struct hpc_group *group,
                     struct pf_error *error);
void hpc_context_close(struct hpc_context_walk *walk);

/*
 * An index from contexts to where the threads' blocks of profile.db have them. Made when cct.db is of no use. In memory up to a
 * limit, in an unlinked file beyond. NULL with *error filled.
 */
struct hpc_transpose *hpc_transpose_new(const struct hpc_state *state, struct pf_pass *pass,
                                        struct pf_error *error);
void hpc_transpose_free(struct hpc_transpose *transpose);

#endif
