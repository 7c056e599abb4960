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
 * Makes all tables, one profile at a time: memory does not grow with their number. To be called by a pass's thread while
 * another one is free to make the passes that this one waits for. 0; or -1 with *error filled and nothing to free.
 */
int pf_archive_make(struct pf_fs *fs, struct pf_pass *pass, struct pf_archive *archive,
                    struct pf_error *error);
void pf_archive_free(struct pf_archive *archive);

/*
 * Opens a profile and waits for its aggregates, as pf_archive_make does: *aggregate, which is the result's, is NULL if it
 * holds no measurements. NULL with *error filled.
 */
struct pf_live *pf_runs_member(struct pf_fs *fs, const char *path, const struct pf_found *found,
                               struct pf_aggregate **aggregate, struct pf_error *error);

/*
 * Appends a profile's row of summary.csv, with `run` in front (NULL: without) and `path` before the message (NULL: without);
 * live NULL: it can't be opened, and message says why. 0, or -1 with *error filled.
 */
int pf_archive_summary(struct pf_live *live, struct pf_aggregate *aggregate, const struct pf_found *found,
                       const char *message, const char *run, const char *path, struct pf_buf *out,
                       struct pf_error *error);

/* The state that becomes of another one by an entry. */
uint64_t pf_archive_note(uint64_t state, const char *name, const struct stat *st);

/* A number that differs once there are other profiles, or one has changed; found by looking at names and times alone. */
int pf_archive_state(struct pf_fs *fs, struct pf_pass *pass, uint64_t *state, struct pf_error *error);

#endif
