/* SPDX-License-Identifier: MIT */
#ifndef PF_FOLDER_H
#define PF_FOLDER_H

#include "formats/input/archive.h"

/*
 * A folder of SOURCE, in the file system or in an archive, whose members appear as files. Symbolic links are not
 * followed, and no path leaves a folder. Functions return 0 or an errno value; those that return a pointer return NULL
 * with errno. Many threads may read one folder. Archives on a path are indexed within the calling thread's pass.
 */
struct pf_folder;

/*
 * Creates a folder from an open descriptor, and takes ownership of the descriptor. Paths below the folder lead into archives,
 * which are entered through `archives` (borrowed). If `archives` is NULL, archives are files.
 */
struct pf_folder *pf_folder_new(int fd, struct pf_archives *archives);
/*
 * Returns the root folder of the archive at a path in a folder of the file system. The archive is not entered now, but
 * by each call that uses the root folder.
 */
struct pf_folder *pf_folder_below(const struct pf_folder *folder, const char *archive);
/* False if the folder is in an archive whose file has changed or been removed. */
bool pf_folder_is_current(const struct pf_folder *folder);
/* Opens a subfolder by path; "." is the folder itself. */
struct pf_folder *pf_folder_open(const struct pf_folder *folder, const char *path);
void pf_folder_free(struct pf_folder *folder);

/* Number of bytes to unpack before the first `bytes` bytes of a file in the folder can be read. */
uint64_t pf_folder_distance(const struct pf_folder *folder, const char *name, uint64_t bytes);

/* The limit on unpacked bytes that the folder's files share; NULL if unlimited. */
struct pf_unpackings *pf_folder_unpackings(const struct pf_folder *folder);

/* The descriptor of a folder of the file system; -1 if the folder is in an archive or was made by pf_folder_below. */
int pf_folder_fd(const struct pf_folder *folder);

/* Attributes of an entry (of a symbolic link itself, not its target); "." for the folder. */
int pf_folder_stat(const struct pf_folder *folder, const char *path, struct stat *st);
/* The target of a symbolic link, NUL-terminated. */
int pf_folder_link(const struct pf_folder *folder, const char *name, char *target, size_t room);

/* Visits all entries except `.` and `..`, in no particular order. A nonzero result of `each` ends the listing, which is no error. */
int pf_folder_list(const struct pf_folder *folder, pf_folder_visit *each, void *arg);

/* Lists the problems of an archive if the folder is the archive's root. */
void pf_folder_problems(const struct pf_folder *folder, pf_folder_problem *each, void *arg);

/* Opens a regular file; the caller closes *opened. EINVAL: not a regular file. */
int pf_folder_file(const struct pf_folder *folder, const char *path, struct pf_opened *opened);

#endif
