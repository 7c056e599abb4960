/* SPDX-License-Identifier: MIT */
#ifndef PF_MEMBERS_H
#define PF_MEMBERS_H

#include "fs/tree/vfs.h"

/* The profiles that a folder of SOURCE holds directly, in the order of `ls -v`, as they were at one moment. */
enum { PF_MEMBERS_LEAST = 2, PF_MEMBERS_MOST = 4096 };

struct pf_member {
    char *path; /* below SOURCE */
    const char *name;
    struct pf_found found;
};

struct pf_members {
    struct pf_member *members;
    unsigned n;
    bool
        too_many; /* there are more than PF_MEMBERS_MOST: these are some of them, which are not to be compared */
    uint64_t others; /* differs once the folder's other files have: members may be made from those, too */
};

/*
 * Lists the members of an open folder whose path below SOURCE is this. 0 with *members filled; ENOENT if there are too
 * few, or a profile made of what the folder holds; else an errno value.
 */
int pf_members_list(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                    struct pf_members *members);
void pf_members_free(struct pf_members *members);
/*
 * The state that becomes of another one by a profile at a path below SOURCE, a number that differs once the profile's attributes
 * have changed, or, if it is a directory and that is to be looked into, those of what is in it (of some thousand entries at most).
 */
uint64_t pf_member_state(struct pf_fs *fs, uint64_t state, const char *path, const struct pf_found *found,
                         bool look_inside);

/* A number that differs once there are other members, or one has changed. */
uint64_t pf_members_state(struct pf_fs *fs, const struct pf_members *members, bool look_inside);

/* Below, at or above 0 as `ls -v` puts a before, with or behind b. */
int pf_compare_versions(const char *a, const char *b);

#endif
