/* SPDX-License-Identifier: MIT */
#ifndef PF_TREE_H
#define PF_TREE_H

#include <stdint.h>

#include "formats/kit/error.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"

/*
 * The calling-context tree, as arrays. A context is identified by its index. Parents have lower indexes than their
 * children, so an ascending loop visits parents first, and a descending loop can sum subtrees. One thread builds the
 * tree; after pf_tree_finish the tree is immutable, and any number of threads may read it.
 */
#define PF_NO_CONTEXT UINT32_MAX

enum pf_context_flags {
    PF_FRAME = 1, /* a procedure's frame: counted by metrics with PF_OVER_FRAMES */
    PF_ROOT = 2,  /* counted by metrics with PF_OVER_ROOTS */
};

/* The fields of a context that a search for a child reads, kept together to save cache misses. */
struct pf_tree_link {
    uint32_t key;     /* copy of the column `key` */
    uint32_t eldest;  /* index + 1 of the first child; 0: none */
    uint32_t sibling; /* index + 1 of the next sibling in the parent's list; 0: none */
};

struct pf_tree {
    struct pf_strings *strings; /* owned */
    uint32_t count, room;
    uint32_t *parent; /* PF_NO_CONTEXT for a root */
    uint32_t *depth;  /* 0 for a root */
    uint32_t *name;   /* in strings */
    uint32_t *key;  /* distinguishes siblings while building; the driver chooses it (a function id, a name) */
    uint8_t *flags; /* enum pf_context_flags */
    uint8_t *kind;  /* index into kinds[] */
    const char *const *kinds; /* words for contexts.csv, e.g. {"function", "loop"}; borrowed, static */

    /* Optional columns: NULL if no context has a value. */
    uint64_t *id;     /* the format's own id; NULL: the index is the id */
    uint32_t *line;   /* 0: none */
    uint32_t *file;   /* in strings, or PF_NO_STRING */
    uint32_t *module; /* in strings, or PF_NO_STRING */

    /* Set by pf_tree_finish: the children of c are child[first[c]] .. child[first[c + 1] - 1], in index order; the
     * roots are root[0 .. roots - 1]. */
    uint32_t *first, *child;
    uint32_t *root;
    uint32_t roots;

    /* While building, for pf_tree_child: the first few children of a context form a linked list, oldest first. They
     * were usually added soon after each other, so walking the list causes few cache misses. Longer lists are replaced
     * by a hash table of (parent, key). */
    struct pf_tree_link *links; /* by context */
    uint32_t eldest_root;
    struct pf_hash_table further;
};

struct pf_tree *pf_tree_new(const char *const *kinds); /* NULL: out of memory */
void pf_tree_free(struct pf_tree *tree);

/* Finds or adds the child of `parent` (PF_NO_CONTEXT: a root) with this key; name, kind and flags are used for a new
 * child only. Returns its index, or PF_NO_CONTEXT with *error filled. */
uint32_t pf_tree_child(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                       uint8_t flags, struct pf_error *error);

/* Adds a context without searching for an equal one. Returns its index, or PF_NO_CONTEXT with *error filled. */
uint32_t pf_tree_add(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                     uint8_t flags, struct pf_error *error);

/* Builds the lists of children and frees the data that only building needs. Returns 0, or -1 with *error filled. */
int pf_tree_finish(struct pf_tree *tree, struct pf_error *error);

static inline uint64_t pf_tree_id(const struct pf_tree *tree, uint32_t context)
{
    return tree->id ? tree->id[context] : context;
}

#endif
