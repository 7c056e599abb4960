/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_KEPT_H
#define PF_ARCHIVE_KEPT_H

#include "formats/input/archive_tree.h"
#include "formats/input/stamp.h"

/* Converts a tree of members to bytes, which are kept between mounts, and back. */

/* Returns the tree of this version of an archive as bytes, from malloc; NULL: out of memory. */
void *pf_archive_pack(const struct pf_archive_tree *tree, const struct pf_stamp *stamp, size_t *size);
/* Fills an empty tree. false: the bytes are damaged, or of another version or edition; the tree is empty. */
bool pf_archive_unpack_index(struct pf_archive_tree *tree, const struct pf_stamp *stamp, const void *bytes,
                             size_t size);

#endif
