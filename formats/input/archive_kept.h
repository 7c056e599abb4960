/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_KEPT_H
#define PF_ARCHIVE_KEPT_H

#include "formats/input/archive_tree.h"
#include "formats/input/stamp.h"

/* Serializes a tree of members, to be stored between mounts, and deserializes it. */

/* Returns the tree of this version of an archive as malloc'd bytes, which the caller frees; NULL: out of memory. */
void *pf_archive_pack(const struct pf_archive_tree *tree, const struct pf_stamp *stamp, size_t *size);
/*
 * Fills an empty tree from bytes of pf_archive_pack. Returns false, with the tree empty, if the bytes are damaged, belong to
 * another version of the archive or have another layout.
 */
bool pf_archive_unpack_index(struct pf_archive_tree *tree, const struct pf_stamp *stamp, const void *bytes,
                             size_t size);

#endif
