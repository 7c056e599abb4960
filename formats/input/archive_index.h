/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_INDEX_H
#define PF_ARCHIVE_INDEX_H

#include "formats/input/archive_tree.h"
#include "formats/input/opened.h"
#include "formats/input/packing.h"

/* Lists the members of an archive through libarchive. */

/* The bytes of an archive; both are borrowed. */
struct pf_archive_bytes {
    const struct pf_opened *file;
    struct pf_unpacked *unpacked; /* of a compressed tar: its members lie in that; else NULL */
};

/* As pf_inflate_source, arg being a pf_archive_bytes: bytes of the file; bytes of what the members lie in. */
ssize_t pf_archive_read_file(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);
ssize_t pf_archive_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/*
 * Fills an empty tree. Damage ends the list and is one of the tree's problems. tree->size is what the members lie in, or INT64_MAX
 * for a compressed tar, whose size is filled here. Reports progress to the thread's pass. 0, or -1 with *error filled if bytes cannot
 * be read, memory is out or the pass is cancelled.
 */
int pf_archive_index(struct pf_archive_tree *tree, const struct pf_archive_bytes *bytes,
                     enum pf_archive_kind kind, struct pf_error *error);

#endif
