/* SPDX-License-Identifier: MIT */
#ifndef PF_ACCESS_H
#define PF_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Who may read something: as owner, group and mode tell of a file, so that it can be shown as that of another file made from
 * several. All functions are safe from any thread.
 */
struct pf_access {
    uid_t uid;
    gid_t gid;
    mode_t mode; /* of 0444 */
};

/* Who may read a file, or list a folder and reach what is in it. */
struct pf_access pf_access_of(const struct stat *st);
/* Who may reach what is in a folder. */
struct pf_access pf_access_through(const struct stat *st);

/*
 * Leaves only those who may read both, as far as one owner, one group and one mode can say so: never more. Where the owners differ
 * what is left is `reader`'s, the user that this process runs for, who could read both.
 */
void pf_access_narrow(struct pf_access *access, const struct pf_access *further, uid_t reader);

bool pf_access_same(const struct pf_access *a, const struct pf_access *b);

/*
 * The bits of a mode that an access control list changes the meaning of: the group's are dropped, and others keep what
 * everybody has whom the list names. Nothing is asked where the mode grants them nothing. `name` is what the mode is of in the
 * open directory; "": the directory itself, which may be any descriptor.
 */
mode_t pf_mode_without_list(int directory, const char *name, mode_t mode);

#endif
