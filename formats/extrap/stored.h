/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STORED_H
#define PF_EXTRAP_STORED_H

#include "formats/extrap/columns.h"
#include "formats/extrap/study.h"

/*
 * Profiles whose measurements are collected in a store: what their drivers share. A driver supplies a function that
 * reads its file into a study; the rest (stages, tables, cursors) is here. A composite of several files is
 * another such function.
 */

/* Reads study->input into a new study. Damage is noted; all else that is wrong is the study's failure. */
typedef void pf_study_read(struct pf_study *study);

/* What such a driver has as its .kit. */
struct pf_stored_format {
    pf_study_read *read;
    uint64_t
        whole; /* files of at most so many bytes are read when they are opened; of larger ones about PF_STUDY_HEAD are */
    bool models; /* there is a table of them */
};
#define PF_STUDY_HEAD ((uint64_t)1 << 20)

/* The state of such a profile. */
struct pf_stored {
    struct pf_input *input;
    struct pf_study *study;     /* NULL before the pass */
    struct pf_experiment *head; /* big files: the parameters as their first MB has them; else NULL */
    struct pf_experiment_tables tables;
};

/* The functions of a driver. */
int pf_stored_open(struct pf_profile *profile, struct pf_error *error);
int pf_stored_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                   struct pf_error *error);
void pf_stored_close(struct pf_profile *profile);
#define PF_STORED .open = pf_stored_open, .load = pf_stored_load, .close = pf_stored_close

#endif
