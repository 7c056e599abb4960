/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_CCT_H
#define PF_HPC_CCT_H

#include "formats/hpctoolkit/group.h"

/*
 * cct.db: profile.db transposed, without the summary. A context's block holds, by ascending metric, the values
 * of ascending profiles. Known writers left whole files of zeros behind right headers, so that a block counts only where
 * it fits what is said of it.
 */
struct hpc_cct_walk;

/* Reads the header of cct.db, and whether its records announce as many values as profile.db has. */
int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error);

/* Calls `each` with the id of each context that cct.db says to have values. 0, or -1 with *error filled. */
int hpc_cct_ids(const struct hpc_state *state, struct pf_pass *pass,
                int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg,
                struct pf_error *error);

/* True if some blocks, looked at here and there, all are sound. -1 with *error filled. */
int hpc_cct_is_sound(const struct hpc_state *state, struct pf_error *error);

/*
 * A walk over a context's block, from thread `first` on. NULL with error->code 0 if the block is not sound or cct.db of no
 * use; NULL with *error filled if reading fails.
 */
struct hpc_cct_walk *hpc_cct_open(const struct hpc_state *state, uint32_t context, uint32_t first,
                                  struct pf_error *error);
/* The next thread that has values, and these in the group. 1; 0: there is none; -1: *error filled. */
int hpc_cct_next(struct hpc_cct_walk *walk, uint32_t *thread, struct hpc_group *group,
                 struct pf_error *error);
void hpc_cct_close(struct hpc_cct_walk *walk);

#endif
