/* SPDX-License-Identifier: MIT */
#ifndef PF_LISTING_H
#define PF_LISTING_H

#include "fs/text/buf.h"
#include "fs/tree/vfs.h"

/*
 * The table of all profiles below SOURCE, found by probing alone:
 * format,version,bytes,mtime,confidence,path,message; by path, each folder's entries in byte order. A file or folder that could not be
 * looked at (an I/O error) has a row without a format, whose message is the reason. And the table of what is wrong with the archives
 * on the way: severity,code,path,text. Appends to both; -1 with *error filled if the pass was stopped, or memory or descriptors ran
 * out.
 */
int pf_list_profiles(struct pf_fs *fs, struct pf_buf *profiles, struct pf_buf *archives,
                     struct pf_error *error);

/*
 * Calls `each` for every profile below SOURCE, in that order. Its return value other than 0 ends the walk and is returned. If a file
 * or folder could not be looked at, all others are visited before -1 is returned with *error filled.
 */
struct pf_found;
int pf_each_profile(struct pf_fs *fs,
                    int (*each)(void *arg, const char *path, const struct pf_found *found,
                                struct pf_error *error),
                    void *arg, struct pf_error *error);

/* The same, and calls `seen` for every folder that is entered, before the entries of the folder. */
struct pf_folder;
typedef void pf_folder_seen(void *arg, const char *path, const struct pf_folder *folder);
int pf_each_profile_and_folder(struct pf_fs *fs,
                               int (*each)(void *arg, const char *path, const struct pf_found *found,
                                           struct pf_error *error),
                               pf_folder_seen *seen, void *arg, struct pf_error *error);

#endif
