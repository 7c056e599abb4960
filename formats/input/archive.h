/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_H
#define PF_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/input/opened.h"
#include "formats/input/packing.h"
#include "formats/input/stamp.h"

/*
 * Archives as trees of members: tar (uncompressed or compressed by gzip, zstd or xz) and zip. An archive's members are
 * indexed when the archive is first entered. Members of a tar are read in place; a compressed tar, or a compressed
 * member of a zip, is unpacked as it is read (formats/input/unpacked.h). Functions are thread-safe.
 */

/* Visits an entry of a folder; type is a DT_ value as in readdir. Nonzero ends the listing. */
typedef int pf_folder_visit(void *arg, const char *name, unsigned char type);
/* Visits a problem of an archive. `row` has three cells: severity, code, text. Nonzero ends the listing. */
struct pf_cell;
typedef int pf_folder_problem(void *arg, const struct pf_cell *row);

/*
 * The archives that have been entered, with a cache of the last few unused ones. All unpacked bytes, of archives and of
 * compressed files, are limited to `limit` bytes of memory and disk. If `enter` is false, archives are treated as
 * files. NULL: out of memory.
 */
struct pf_archives;
struct pf_unpackings;
struct pf_archives *pf_archives_new(uint64_t limit, bool enter);
void pf_archives_free(struct pf_archives *archives);
struct pf_unpackings *pf_archives_unpackings(struct pf_archives *archives); /* NULL for NULL */
/* True if archives are treated as folders. */
bool pf_archives_are_entered(const struct pf_archives *archives);
/* True if the index of this version of an archive is cached, so that entering the archive is fast. */
bool pf_archives_know(struct pf_archives *archives, const struct pf_stamp *stamp);

/*
 * A store of indexes that outlives a mount. `get` returns the bytes stored for a version of an archive, which the
 * caller must free, or NULL. Both functions are called without locks held.
 */
struct pf_archive_keeper {
    void *arg;                                                           /* borrowed */
    void *(*get)(void *arg, const struct pf_stamp *stamp, size_t *size); /* NULL: indexes are not stored */
    void (*put)(void *arg, const struct pf_stamp *stamp, const void *bytes, size_t size);
};
void pf_archives_keep(struct pf_archives *archives, const struct pf_archive_keeper *keeper);

/*
 * Evicts archives without users, and unpacked bytes that are not being read and use a descriptor. This closes their
 * descriptors.
 */
void pf_archives_relieve(struct pf_archives *archives);

/* True if the open file is an archive that can be entered, judging by its name and first bytes. */
bool pf_archive_is(const char *name, const struct pf_opened *file, const unsigned char *head, size_t size);

/* The location of an archive's file: a path in a folder of the file system, or in another archive. All members are
 * borrowed. */
struct pf_archive;
struct pf_archive_place {
    struct pf_archive *outer; /* NULL: the file is in `folder` */
    int folder;
    const char *path;
};

/*
 * Enters the archive in an open file, which the caller keeps, and returns a reference to the archive. If the archive is
 * not cached, indexes it, which may take long, or waits for the thread that is indexing it. NULL with errno: ENOTDIR if
 * the file is not an archive.
 */
struct pf_archive *pf_archive_enter(struct pf_archives *archives, const struct pf_archive_place *place,
                                    const struct pf_opened *file);
/* True if the archive's file (for a nested archive: the outermost archive's file) is unchanged. */
bool pf_archive_is_current(const struct pf_archive *archive);
struct pf_archive *pf_archive_hold(struct pf_archive *archive); /* takes a reference; NULL for NULL */
void pf_archive_release(struct pf_archive *archive);

/* The member at a path relative to another member (0: the archive's root folder); UINT32_MAX if there is no such
 * member. */
uint32_t pf_archive_find(const struct pf_archive *archive, uint32_t from, const char *path);
void pf_archive_stat(const struct pf_archive *archive, uint32_t member, struct stat *st);
/* The target of a link; NULL if the member is not a link. */
const char *pf_archive_link(const struct pf_archive *archive, uint32_t member);
void pf_archive_list(const struct pf_archive *archive, uint32_t folder, pf_folder_visit *each, void *arg);
/* Number of bytes to unpack before the first `bytes` bytes of a member can be read. */
uint64_t pf_archive_distance(struct pf_archive *archive, uint32_t member, uint64_t bytes);
/* Opens a member. Returns 0 or an errno value; the caller closes *opened. */
int pf_archive_open(struct pf_archive *archive, uint32_t member, struct pf_opened *opened);
/* Lists the problems of the archive. */
void pf_archive_problems(const struct pf_archive *archive, pf_folder_problem *each, void *arg);

#endif
