/* SPDX-License-Identifier: MIT */
#ifndef PF_ACCESS_H
#define PF_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Read permission of a file as owner, group and mode, so that a file made from several others can get the intersection
 * of their permissions. All functions are thread-safe. */
struct pf_access {
    uid_t uid;
    gid_t gid;
    mode_t mode; /* a subset of 0444 */
};

/* The permission to read a file, or to list a folder and access its entries. */
struct pf_access pf_access_of(const struct stat *st);
/* The permission to access the entries of a folder (search permission). */
struct pf_access pf_access_through(const struct stat *st);

/*
 * Intersects two permissions. The result may grant less than the exact intersection, since it must have one owner, one
 * group and one mode, but never more. If the owners differ, or their common owner may not read both, the result's
 * owner is `reader`, the user of this process, who could read both.
 */
void pf_access_restrict(struct pf_access *access, const struct pf_access *further, uid_t reader);

bool pf_access_same(const struct pf_access *a, const struct pf_access *b);

/*
 * Corrects a mode if the file has an access control list, which changes the meaning of the mode's bits. Drops the group's
 * bits, and those bits of others that some named user, some group or the mask in the list lacks. Drops all bits of group and
 * others if the list cannot be read. `name` is the file's name in the open directory; if it is "", the file is the descriptor
 * `directory` itself, of any type.
 */
mode_t pf_mode_without_list(int directory, const char *name, mode_t mode);

#endif
