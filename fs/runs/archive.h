/* SPDX-License-Identifier: MIT */
#ifndef PF_RUNS_ARCHIVE_H
#define PF_RUNS_ARCHIVE_H

#include "fs/tree/vfs_private.h"

/* What .profilefs/tables holds: of all profiles below SOURCE, but those that stand beside what a folder holds. */
enum pf_archive_table {
    PF_ARCHIVE_FUNCTIONS, /* the rows of each one's primary/metric/functions.csv */
    PF_ARCHIVE_SUMMARY,   /* a row a profile */
    PF_ARCHIVE_WARNINGS,  /* the rows of each one's tables/warnings.csv */
    PF_ARCHIVE_TABLES
};

/* Made by one walk, and never changed then. Zeroed: there is none. */
struct pf_archive {
    struct pf_store *table[PF_ARCHIVE_TABLES]; /* settled texts */
};

/*
 * Makes all tables, one profile at a time: memory does not grow with their number. To be called by a pass's thread, which makes the
 * passes over the profiles too. *state: of the profiles that they are made of, as pf_archive_state gives it. 0; or -1 with *error filled
 * and nothing to free.
 */
int pf_archive_make(struct pf_fs *fs, struct pf_pass *pass, struct pf_archive *archive, uint64_t *state,
                    struct pf_error *error);
void pf_archive_free(struct pf_archive *archive);

/* A number that differs once there are other profiles, or one has changed; found by looking at names and times alone. */
int pf_archive_state(struct pf_fs *fs, struct pf_pass *pass, uint64_t *state, struct pf_error *error);

#endif
