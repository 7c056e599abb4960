/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_AGREE_H
#define PF_HPC_AGREE_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * Whether cct.db holds the same values as profile.db, as far as it is used: 1 or 0; -1 with *error filled. Both are read in
 * full, so that larger databases are believed: 1. For the stage that `pass` is of.
 */
int hpc_cct_agrees(const struct hpc_state *state, const struct pf_tree *tree, struct pf_pass *pass,
                   struct pf_error *error);

#endif
