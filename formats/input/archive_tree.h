/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_TREE_H
#define PF_ARCHIVE_TREE_H

#include "formats/kit/ids.h"
#include "formats/kit/rows.h"
#include "formats/kit/strings.h"

/* The members of an archive: a tree of folders. Built by one thread; any thread may read it afterwards. */

#define PF_NO_MEMBER UINT32_MAX

enum { PF_MEMBER_PLAIN, PF_MEMBER_DEFLATED, PF_MEMBER_SPARSE, PF_MEMBER_UNREADABLE };

struct pf_member {
    uint32_t parent;            /* a member; PF_NO_MEMBER: none */
    uint32_t name, link;        /* strings; PF_NO_STRING: none */
    uint32_t first, last, next; /* a folder's first and last member; the next member of the same folder */
    uint64_t start;             /* offset of the data (SPARSE: of the header) in the archive's bytes */
    uint64_t size;              /* of the unpacked data */
    int64_t mtime;              /* seconds */
    uint8_t type, method;       /* DT_DIR, DT_REG, DT_LNK; PF_MEMBER_... */
};

struct pf_archive_tree {
    struct pf_strings *strings;
    struct pf_ids by_place;    /* folder << 32 | name -> member */
    struct pf_member *members; /* the first is the archive's own folder */
    uint32_t count;
    size_t room;
    /*
     * Size of the archive. For a compressed tar, the size of the unpacked bytes; INT64_MAX while the tar is indexed,
     * UINT64_MAX if unknown.
     */
    uint64_t size;
    struct pf_rows *problems; /* severity, code, text */
};

/* Initializes an empty tree. Returns false if out of memory; the caller must call pf_archive_tree_end in either case. */
bool pf_archive_tree_begin(struct pf_archive_tree *tree, uint64_t size);
void pf_archive_tree_end(struct pf_archive_tree *tree);
/* Removes all members and problems, but keeps the strings. */
void pf_archive_tree_clear(struct pf_archive_tree *tree);

/*
 * Adds a member to a folder; if `folder` is PF_NO_MEMBER, the member becomes the root folder. Returns PF_NO_MEMBER with
 * *error filled on failure.
 */
uint32_t pf_archive_tree_add(struct pf_archive_tree *tree, uint32_t folder, uint32_t name, uint8_t type,
                             struct pf_error *error);

/* The member with this name in a folder; PF_NO_MEMBER if there is no such member. */
uint32_t pf_archive_tree_child(const struct pf_archive_tree *tree, uint32_t folder, const char *name,
                               size_t size);
/* The member at a path relative to another member (0: the root folder); PF_NO_MEMBER if there is no such member. */
uint32_t pf_archive_tree_find(const struct pf_archive_tree *tree, uint32_t from, const char *path);

#endif
