/* SPDX-License-Identifier: MIT */
#ifndef PF_RUN_SNAPSHOTS_H
#define PF_RUN_SNAPSHOTS_H

#include "fs/runs/folder.h"

/*
 * The runs/ of one folder at one moment. Each has a number, which stands in the place of a profile's instance; when it is older than
 * fs->snapshot_seconds and its members have changed, the next look-up gives another. Guarded by fs->lock, but for what never changes
 * and what its job alone changes.
 */
struct pf_runs {
    uint32_t id;
    uint64_t folder; /* the entry it stands in */
    uint64_t shown;  /* what programs see as its st_ino */
    char *path;      /* of that below SOURCE */
    struct pf_members members;
    uint64_t state;  /* of these; */
    bool inside;     /* also of what is in those that are directories: something was read of them */
    bool everybodys; /* everybody may read all members, and what they were made from so far */
    uint64_t looked; /* monotonic seconds */
    unsigned uses;   /* under way; it is freed with the last one once it is replaced */
    bool replaced;
    struct pf_job *job; /* that makes something of it; not held */
    bool listed, summarised;
    struct pf_shared_metrics metrics; /* once it is listed */
    struct pf_runs_texts *texts;      /* one a metric */
    struct pf_buf summary;
    uint64_t held; /* bytes of texts */
};

/* The snapshot that a number is of, used; NULL: it is no more. */
struct pf_runs *pf_runs_enter(struct pf_fs *fs, uint64_t ino);
void pf_runs_put(struct pf_fs *fs, struct pf_runs *runs);

/* Lists the members of one that is used again if it is time. True if they are what they were. */
bool pf_runs_is_fresh(struct pf_fs *fs, struct pf_runs *runs);

/* A new snapshot of a folder's entry, used, in the place of its last one; takes the members over. NULL: out of memory. */
struct pf_runs *pf_runs_new(struct pf_fs *fs, uint64_t folder, const char *path, struct pf_members *members);

/*
 * With fs->lock held: what was made is made from files that not everybody may read (closed), and others are let in. As the kernel was
 * told otherwise, it has to ask again: by another number.
 */
void pf_runs_close_off(struct pf_fs *fs, struct pf_runs *runs, bool closed);

/* With fs->lock held: lets go of texts while all snapshots hold too many. */
void pf_runs_limit(struct pf_fs *fs);

#endif
