/* SPDX-License-Identifier: MIT */
#ifndef PF_FOLDER_H
#define PF_FOLDER_H

#include "formats/input/archive.h"

/*
 * A folder of SOURCE: one of the file system, or one in an archive, whose members look like files of a folder. No symbolic link is
 * followed, and no path leaves a folder. Functions return 0 or an errno value, those that make something NULL with errno. Safe to
 * read from many threads. Indexes of archives that are entered on the way are made in the thread's pass.
 */
struct pf_folder;

/* The folder of an open descriptor, which is taken over. archives (borrowed): may be entered below it; NULL: archives are files. */
struct pf_folder *pf_folder_new(int fd, struct pf_archives *archives);
/* The content of an archive at a path in a folder of the file system, which is entered at the first use. */
struct pf_folder *pf_folder_below(const struct pf_folder *folder, const char *archive);
/* False if the folder is in an archive whose file has changed or gone since. */
bool pf_folder_is_current(const struct pf_folder *folder);
/* Opens a folder below: a path of names, or "." for the folder itself. */
struct pf_folder *pf_folder_open(const struct pf_folder *folder, const char *path);
void pf_folder_free(struct pf_folder *folder);

/* Bytes to unpack before the first `bytes` of a file in the folder can be read. */
uint64_t pf_folder_distance(const struct pf_folder *folder, const char *name, uint64_t bytes);

/* The bound of all that is unpacked; NULL: there is none. */
struct pf_unpackings *pf_folder_unpackings(const struct pf_folder *folder);

/* The descriptor of a folder of the file system; -1 in an archive, or below one. */
int pf_folder_fd(const struct pf_folder *folder);

/* Attributes of an entry (of a link, not its target); "." for the folder's own. */
int pf_folder_stat(const struct pf_folder *folder, const char *path, struct stat *st);
/* The target of a link, terminated by a NUL. */
int pf_folder_link(const struct pf_folder *folder, const char *name, char *target, size_t room);

/* Visits all entries but `.` and `..`, in no order. A nonzero result of `each` is not an error. */
int pf_folder_list(const struct pf_folder *folder, pf_folder_visit *each, void *arg);

/* Lists the problems of an archive if the folder is its topmost one. */
void pf_folder_problems(const struct pf_folder *folder, pf_folder_problem *each, void *arg);

/* Opens a regular file; *opened is the caller's to close. EINVAL: not a regular file. */
int pf_folder_file(const struct pf_folder *folder, const char *path, struct pf_opened *opened);

#endif
