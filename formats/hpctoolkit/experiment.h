/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_EXPERIMENT_H
#define PF_HPC_EXPERIMENT_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * experiment.xml, versions 2.x and 4.0: metrics, names and the calling-context tree; of 2.x also the values of
 * the summary. It may have hundreds of MB; it is read in one go, and nothing is kept but the model.
 */

/* The version that the root element in a file's head (terminated by NUL) names; NULL if there is none. Changes the head. */
const char *hpc_experiment_version(char *head);

/* Reads what stands before the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout.
 * 0, or -1 with *error filled. */
int hpc_experiment_open(struct pf_profile *profile, struct hpc_notes *notes, struct pf_error *error);

/* Reads the rest into a fresh model, and for 2.x the summary's values. 0, or -1 with *error filled. */
int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct hpc_notes *notes,
                            struct pf_pass *pass, struct pf_error *error);

#endif
