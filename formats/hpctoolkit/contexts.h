/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_CONTEXTS_H
#define PF_HPC_CONTEXTS_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * Makes profile->contexts: what the database describes, and after that, by ascending id, what has values without being
 * described (instructions that their writer has folded into lines). Also looks whether cct.db is of use, and into
 * the blocks of profile.db unless these are large and cct.db vouches for them. 0, or -1 with *error filled; then
 * all is as before.
 */
int hpc_contexts_load(struct pf_profile *profile, struct hpc_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);

/* The format's own columns of contexts.csv. */
enum { HPC_CONTEXT_RELATION, HPC_CONTEXT_OFFSET, HPC_CONTEXT_COLUMNS };
extern const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS];
void hpc_context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells);

#endif
