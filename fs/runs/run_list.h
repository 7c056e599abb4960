/* SPDX-License-Identifier: MIT */
#ifndef PF_RUN_LIST_H
#define PF_RUN_LIST_H

#include "fs/tree/vfs.h"

/* The runs of a folder of SOURCE: the profiles directly in it, sorted like `ls -v`. */

/* The fewest and the most runs that are compared. */
enum { PF_RUNS_LEAST = 2, PF_RUNS_MOST = 4096 };

struct pf_listed_run {
    char *path; /* relative to SOURCE */
    const char *name;
    struct pf_entry_info info;
};

struct pf_run_list {
    struct pf_listed_run *runs;
    unsigned n;
    bool too_many;   /* more than PF_RUNS_MOST profiles: the list is incomplete and must not be compared */
    uint64_t others; /* digest of the folder's other files, since a run can be made from several files */
};

/* Lists the runs of an open folder, whose path is relative to SOURCE. Returns 0 with *list filled, ENOENT if there are too
 * few runs or if a profile is made from the folder's files, or another errno value. */
int pf_run_list_read(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                     struct pf_run_list *list);
void pf_run_list_free(struct pf_run_list *list);

/*
 * Adds a profile at a path relative to SOURCE to a digest and returns the new digest, which changes when the profile's
 * attributes change. If with_entries is set and the profile is a directory, the digest also changes when the attributes of its
 * entries change. Only some thousand entries are considered.
 */
uint64_t pf_profile_digest(struct pf_fs *fs, uint64_t digest, const char *path,
                           const struct pf_entry_info *info, bool with_entries);

/* Returns a digest that changes when the run list or a run changes (see pf_profile_digest). */
uint64_t pf_run_list_digest(struct pf_fs *fs, const struct pf_run_list *list, bool with_entries);

/* Three-way comparison in the order of `ls -v`. */
int pf_natural_compare(const char *a, const char *b);

#endif
