/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_H
#define PF_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/input/opened.h"
#include "formats/input/packing.h"
#include "formats/input/stamp.h"

/*
 * Archives as trees of members: tar, also compressed by gzip, zstd or xz, and zip. The index of the members is made when an archive
 * is first entered. Members of a tar are read in place; a compressed tar is unpacked as it is read (formats/input/unpacked.h), and so
 * is a compressed member of a zip. Functions are safe from any thread.
 */

/* An entry of a folder; type is one of readdir's DT_ values. Nonzero ends the listing. */
typedef int pf_folder_visit(void *arg, const char *name, unsigned char type);
/* A problem of an archive: three cells, severity, code, text. Nonzero ends the listing. */
struct pf_cell;
typedef int pf_folder_problem(void *arg, const struct pf_cell *row);

/*
 * The archives that have been entered; the last few stay known. All that is unpacked, of archives and of compressed files, takes at
 * most `limit` bytes of memory and disk. enter: whether archives are folders at all. NULL: out of memory.
 */
struct pf_archives;
struct pf_unpackings;
struct pf_archives *pf_archives_new(uint64_t limit, bool enter);
void pf_archives_free(struct pf_archives *archives);
struct pf_unpackings *pf_archives_unpackings(struct pf_archives *archives); /* NULL for NULL */
/* True if archives are folders. */
bool pf_archives_are_entered(const struct pf_archives *archives);
/* True if an archive of this version would be entered at once. */
bool pf_archives_know(struct pf_archives *archives, const struct pf_stamp *stamp);

/* Keeps indexes between mounts. `get` returns what was put for a version, allocated, or NULL. Called without locks held. */
struct pf_archive_keeper {
    void *arg;                                                           /* borrowed */
    void *(*get)(void *arg, const struct pf_stamp *stamp, size_t *size); /* NULL: nothing is kept */
    void (*put)(void *arg, const struct pf_stamp *stamp, const void *bytes, size_t size);
};
void pf_archives_keep(struct pf_archives *archives, const struct pf_archive_keeper *keeper);

/* Closes the descriptors of archives without users, and of unpacked bytes that are not being read. */
void pf_archives_relieve(struct pf_archives *archives);

/* True if an open file's name and first bytes are those of an archive that can be entered. */
bool pf_archive_is(const char *name, const struct pf_opened *file, const unsigned char *head, size_t size);

/* The place of an archive's file: a path in a folder of the file system, or in another archive. All borrowed. */
struct pf_archive;
struct pf_archive_place {
    struct pf_archive *outer; /* NULL: the file is in `folder` */
    int folder;
    const char *path;
};

/*
 * Enters the archive that an open file is (which stays the caller's) and takes a reference to it. If the archive is not known, the
 * thread makes its index, which may take long, or waits for the thread that does. NULL with errno: ENOTDIR if it is not an archive.
 */
struct pf_archive *pf_archive_enter(struct pf_archives *archives, const struct pf_archive_place *place,
                                    const struct pf_opened *file);
/* True if its file, or that of the archive it is in, is unchanged. */
bool pf_archive_is_current(const struct pf_archive *archive);
struct pf_archive *pf_archive_hold(struct pf_archive *archive); /* takes a reference; NULL for NULL */
void pf_archive_release(struct pf_archive *archive);

/* The member at a path from another one (0: the archive's own folder); UINT32_MAX: there is none. */
uint32_t pf_archive_find(const struct pf_archive *archive, uint32_t from, const char *path);
void pf_archive_stat(const struct pf_archive *archive, uint32_t member, struct stat *st);
/* The target of a link; NULL if the member is not a link. */
const char *pf_archive_link(const struct pf_archive *archive, uint32_t member);
void pf_archive_list(const struct pf_archive *archive, uint32_t folder, pf_folder_visit *each, void *arg);
/* Bytes to unpack before the first `bytes` of a member can be read. */
uint64_t pf_archive_distance(struct pf_archive *archive, uint32_t member, uint64_t bytes);
/* Opens a member. 0 or an errno value; *opened is the caller's to close. */
int pf_archive_open(struct pf_archive *archive, uint32_t member, struct pf_opened *opened);
/* Lists what is wrong with the archive. */
void pf_archive_problems(const struct pf_archive *archive, pf_folder_problem *each, void *arg);

#endif
