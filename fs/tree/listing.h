/* SPDX-License-Identifier: MIT */
#ifndef PF_LISTING_H
#define PF_LISTING_H

#include "fs/text/buf.h"
#include "fs/tree/vfs.h"

/*
 * Lists all profiles below SOURCE, depth first, the entries of each folder in byte order. Probes the profiles, but opens none.
 * Appends to three buffers:
 * - profiles: a CSV table format,version,bytes,mtime,confidence,path,message. A file or folder that could not be examined
 *   (an I/O error) has a row without a format, with the reason as its message.
 * - archives: a CSV table severity,code,path,text of the problems found in archives.
 * - paths: the paths in `profiles`, NUL-terminated each. The caller checks paths->failed.
 * Returns 0, or -1 with *error filled if the pass was stopped, or memory or descriptors ran out.
 */
int pf_list_profiles(struct pf_fs *fs, struct pf_buf *profiles, struct pf_buf *archives, struct pf_buf *paths,
                     struct pf_error *error);

/*
 * Calls `each` for every profile below SOURCE, in the order of pf_list_profiles. listed: the paths from an earlier call of
 * pf_list_profiles, to visit only these; NULL: visits all files and folders. If `each` returns a nonzero value, the walk
 * ends and returns this value. If a file or folder cannot be examined, the walk continues and returns -1 with *error
 * filled at its end.
 */
struct pf_entry_info;
int pf_each_profile(struct pf_fs *fs, const struct pf_buf *listed,
                    int (*each)(void *arg, const char *path, const struct pf_entry_info *info,
                                struct pf_error *error),
                    void *arg, struct pf_error *error);

/*
 * As pf_each_profile with `listed` NULL; also calls `seen` for every folder that the walk enters, before the entries of the
 * folder. The walk may skip a folder that was listed just before and has neither profiles nor folders (pf_entry_is_plain).
 */
struct pf_folder;
typedef void pf_folder_seen(void *arg, const char *path, const struct pf_folder *folder);
int pf_each_profile_and_folder(struct pf_fs *fs,
                               int (*each)(void *arg, const char *path, const struct pf_entry_info *info,
                                           struct pf_error *error),
                               pf_folder_seen *seen, void *arg, struct pf_error *error);

#endif
