/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_INDEX_H
#define PF_ARCHIVE_INDEX_H

#include "formats/input/archive_tree.h"
#include "formats/input/opened.h"
#include "formats/input/packing.h"

/* Lists the members of an archive through libarchive. */

/* The bytes of an archive. Both pointers are borrowed. */
struct pf_archive_bytes {
    const struct pf_opened *file;
    struct pf_unpacked *unpacked; /* the uncompressed bytes of a compressed tar, which contain its members; otherwise NULL */
};

/*
 * Callbacks of type pf_inflate_source whose `arg` is a pf_archive_bytes. pf_archive_read_file reads the archive's file,
 * pf_archive_read the bytes that contain the members.
 */
ssize_t pf_archive_read_file(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);
ssize_t pf_archive_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/*
 * Fills an empty tree. Damage ends the listing and is recorded as a problem of the tree. tree->size must be the size of
 * the bytes that contain the members or, for a compressed tar, INT64_MAX, which is replaced by the size. Reports progress
 * to the thread's pass. Returns 0, or -1 with *error filled if bytes cannot be read, memory runs out or the pass is
 * cancelled.
 */
int pf_archive_index(struct pf_archive_tree *tree, const struct pf_archive_bytes *bytes,
                     enum pf_archive_kind kind, struct pf_error *error);

#endif
