/* SPDX-License-Identifier: MIT */
#ifndef PF_TREE_H
#define PF_TREE_H

#include <stdint.h>

#include "formats/kit/error.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"

/*
 * The calling-context tree, as arrays. A context is known by its index: parents always have lower indexes
 * than their children, so one loop upwards visits parents first and one loop downwards adds up subtrees.
 * Building is for one thread; once `pf_tree_finish` has run the tree is immutable and may be read by all.
 */
#define PF_NO_CONTEXT UINT32_MAX

enum pf_context_flags {
    PF_FRAME = 1, /* a procedure's frame: metrics with over_contexts `frames` add up over these */
    PF_ROOT = 2,  /* metrics with over_contexts `roots` add up over these */
};

/* What is looked at of a context to find a child: side by side, as contexts are many and looked for all over the tree. */
struct pf_tree_link {
    uint32_t key; /* of the column */
    uint32_t eldest,
        sibling; /* the first of its children, the next younger one in its list; indexes plus 1, 0: none */
};

struct pf_tree {
    struct pf_strings *strings; /* owned */
    uint32_t count, room;
    uint32_t *parent; /* PF_NO_CONTEXT for a root */
    uint32_t *depth;  /* 0 for a root */
    uint32_t *name;   /* in strings */
    uint32_t
        *key; /* what tells siblings apart while building (a function id, a name); a driver's to choose */
    uint8_t *flags;           /* enum pf_context_flags */
    uint8_t *kind;            /* index into kinds[] */
    const char *const *kinds; /* words for contexts.csv, e.g. {"function", "loop"}; borrowed, static */

    /* Optional columns: NULL where no context has one. */
    uint64_t *id;     /* the format's own id; NULL: the index is the id */
    uint32_t *line;   /* 0: none */
    uint32_t *file;   /* in strings, or PF_NO_STRING */
    uint32_t *module; /* in strings, or PF_NO_STRING */

    /* Made by pf_tree_finish: the children of c are child[first[c]] .. child[first[c + 1] - 1], in index
     * order; the roots stand at root[0 .. roots - 1]. */
    uint32_t *first, *child;
    uint32_t *root;
    uint32_t roots;

    /*
     * While building: what pf_tree_child has added. The first few children of a context form a list, its eldest first: mostly they
     * were added soon after each other, so that to walk it costs few misses of the processor's cache. Further ones are found by a
     * hash of (parent, key).
     */
    struct pf_tree_link *links; /* by context */
    uint32_t eldest_root;
    struct pf_hash_table further;
};

struct pf_tree *pf_tree_new(const char *const *kinds); /* NULL: out of memory */
void pf_tree_free(struct pf_tree *tree);

/*
 * The child of `parent` (PF_NO_CONTEXT: a root) with this key, added with the given name, kind and flags if
 * there is none. Returns its index, or PF_NO_CONTEXT with *error filled.
 */
uint32_t pf_tree_child(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                       uint8_t flags, struct pf_error *error);

/* Adds a context without looking for an equal one. Returns its index, or PF_NO_CONTEXT with *error filled. */
uint32_t pf_tree_add(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                     uint8_t flags, struct pf_error *error);

/* Makes the lists of children and drops what only building needs. 0, or -1 with *error filled. */
int pf_tree_finish(struct pf_tree *tree, struct pf_error *error);

static inline uint64_t pf_tree_id(const struct pf_tree *tree, uint32_t context)
{
    return tree->id ? tree->id[context] : context;
}

#endif
