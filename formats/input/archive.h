/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_H
#define PF_ARCHIVE_H

#include "formats/input/folder.h"

/*
 * Archives as folders: tar, also compressed by gzip, zstd or xz, and zip. An index of the members is made when one is first
 * entered. Members of a tar are read where they lie; a compressed tar is unpacked as it is read (formats/input/unpacked.h), and so
 * is a member of a zip that is compressed.
 */

/*
 * Archives that have been entered, the last few of which stay known. What is unpacked, of them and of single files that are
 * compressed, takes at most `limit` bytes of memory and disk. enter: whether archives are folders at all. NULL: out of memory.
 */
struct pf_archives *pf_archives_new(uint64_t limit, bool enter);
struct pf_unpackings *pf_archives_unpackings(struct pf_archives *archives); /* NULL for NULL */
/* Whether they are folders. */
bool pf_archives_are_entered(const struct pf_archives *archives);
/* True if an archive of this version would be entered at once. */
struct pf_stamp;
bool pf_archives_know(struct pf_archives *archives, const struct pf_stamp *stamp);

/* Where indexes are kept between mounts: `get` gives what was put for a version, allocated, or NULL. */
struct pf_archive_keeper {
    void *arg;                                                           /* borrowed */
    void *(*get)(void *arg, const struct pf_stamp *stamp, size_t *size); /* NULL: nowhere */
    void (*put)(void *arg, const struct pf_stamp *stamp, const void *bytes, size_t size);
};
void pf_archives_keep(struct pf_archives *archives, const struct pf_archive_keeper *keeper);

/* Lets go of descriptors as far as nobody is in need of them just now. */
void pf_archives_relieve(struct pf_archives *archives);
void pf_archives_free(struct pf_archives *archives);

/* True if an open file's name and first bytes are those of an archive that can be entered. */
bool pf_archive_is(const char *name, const struct pf_opened *file, const unsigned char *head, size_t size);

/* True if bytes are the head of a tar or zip archive, whatever the file's name is. */
bool pf_archive_begins(const unsigned char *head, size_t size);

/* An open archive, held. */
struct pf_archive;
/* Where an archive's file stands: at a path in a folder of the file system, or in another archive. All borrowed. */
struct pf_archive_place {
    struct pf_archive *outer; /* NULL: in none, but in */
    int folder;
    const char *path;
};

/*
 * The archive that an open file is, which stays the caller's. If it is not known, its index is made first, in a pass (NULL: in
 * none), which may take long; if that is being done just now, the thread waits. NULL with errno: ENOTDIR if it is none.
 */
struct pf_pass;
struct pf_archive *pf_archive_enter(struct pf_archives *archives, const struct pf_archive_place *place,
                                    const struct pf_opened *file, struct pf_pass *pass);
/* True if its file, or that of the archive it stands in, is still what it was where it was found. */
bool pf_archive_is_current(const struct pf_archive *archive);
struct pf_archive *pf_archive_hold(struct pf_archive *archive);
void pf_archive_release(struct pf_archive *archive);

/* The file that it is. */
const struct pf_opened *pf_archive_file(const struct pf_archive *archive);

/* The member at a path from another one (0: the archive's own folder); UINT32_MAX: there is none. */
uint32_t pf_archive_find(const struct pf_archive *archive, uint32_t from, const char *path);
void pf_archive_stat(const struct pf_archive *archive, uint32_t member, struct stat *st);
const char *pf_archive_link(const struct pf_archive *archive, uint32_t member);
void pf_archive_list(const struct pf_archive *archive, uint32_t folder, pf_folder_visit *each, void *arg);
/* How much must be unpacked before the first `bytes` of a member can be read. */
uint64_t pf_archive_distance(struct pf_archive *archive, uint32_t member, uint64_t bytes);
int pf_archive_open(struct pf_archive *archive, uint32_t member, struct pf_opened *opened);

/* What is wrong with it, until `each` returns nonzero. */
void pf_archive_problems(struct pf_archive *archive, pf_folder_problem *each, void *arg);

#endif
