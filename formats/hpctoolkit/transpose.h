/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_TRANSPOSE_H
#define PF_HPC_TRANSPOSE_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * An index from contexts to where the threads' blocks of profile.db have them: for each context the pairs
 * (thread, entry of its block), by ascending thread. Made when cct.db is of no use. In memory up to a limit, in an
 * unlinked file beyond.
 */
struct hpc_transpose;

/* NULL with *error filled. */
struct hpc_transpose *hpc_transpose_new(const struct hpc_state *state, struct pf_pass *pass,
                                        struct pf_error *error);
void hpc_transpose_free(struct hpc_transpose *transpose);

/* The pairs of context number `index` from thread `first` on: [*pair, *end). 0, or -1 with *error filled. */
int hpc_transpose_find(const struct hpc_transpose *transpose, uint32_t index, uint32_t first, uint64_t *pair,
                       uint64_t *end, struct pf_error *error);
int hpc_transpose_pair(const struct hpc_transpose *transpose, uint64_t pair, uint32_t *thread,
                       uint32_t *entry, struct pf_error *error);

#endif
