/* SPDX-License-Identifier: MIT */
#ifndef PF_MEMBERS_H
#define PF_MEMBERS_H

#include "fs/tree/vfs.h"

/* The profiles directly in a folder of SOURCE, sorted like `ls -v`, as a snapshot. */
enum { PF_MEMBERS_LEAST = 2, PF_MEMBERS_MOST = 4096 };

struct pf_run_member {
    char *path; /* relative to SOURCE */
    const char *name;
    struct pf_entry_info info;
};

struct pf_members {
    struct pf_run_member *members;
    unsigned n;
    bool too_many; /* the folder has more than PF_MEMBERS_MOST profiles; the list is incomplete: do not compare */
    uint64_t others; /* digest of the folder's other files, since a member can be made from several files */
};

/* Lists the members of an open folder, whose path is relative to SOURCE. Returns 0 with *members filled; ENOENT if
 * there are too few members, or if a profile is made from the folder's files; otherwise an errno value. */
int pf_members_list(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                    struct pf_members *members);
void pf_members_free(struct pf_members *members);
/*
 * Returns a digest of `state` and of a profile at a path relative to SOURCE. The digest changes when the profile's
 * attributes change; with look_inside, and if the profile is a directory, also when the attributes of its entries change
 * (limited to some thousand entries).
 */
uint64_t pf_member_state(struct pf_fs *fs, uint64_t state, const char *path, const struct pf_entry_info *info,
                         bool look_inside);

/* Returns a digest that changes when the list of members or a member changes (see pf_member_state). */
uint64_t pf_members_state(struct pf_fs *fs, const struct pf_members *members, bool look_inside);

/* Three-way comparison in the order of `ls -v`. */
int pf_compare_versions(const char *a, const char *b);

#endif
