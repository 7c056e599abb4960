/* SPDX-License-Identifier: MIT */
#include "formats/kit/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"

struct pf_tree *pf_tree_new(const char *const *kinds)
{
    struct pf_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    tree->kinds = kinds;
    tree->strings = pf_strings_new();
    if (!tree->strings) {
        free(tree);
        return NULL;
    }
    return tree;
}

void pf_tree_free(struct pf_tree *tree)
{
    if (!tree)
        return;
    pf_strings_free(tree->strings);
    pf_hash_free(&tree->further);
    void *arrays[] = {tree->parent, tree->depth, tree->name, tree->key,  tree->flags,
                      tree->kind,   tree->id,    tree->line, tree->file, tree->module,
                      tree->first,  tree->child, tree->root, tree->links};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(tree);
}

struct child {
    uint32_t parent, key;
};

static bool is_child(const void *of, uint32_t context, const void *key)
{
    const struct pf_tree *tree = of;
    const struct child *child = key;
    return tree->parent[context] == child->parent && tree->key[context] == child->key;
}

/* Reallocates all columns to `room` contexts. */
static int tree_resize(struct pf_tree *tree, uint32_t room, struct pf_error *error)
{
    if (pf_array_resize(&tree->parent, room, sizeof *tree->parent, error) ||
        pf_array_resize(&tree->depth, room, sizeof *tree->depth, error) ||
        pf_array_resize(&tree->name, room, sizeof *tree->name, error) ||
        pf_array_resize(&tree->key, room, sizeof *tree->key, error) ||
        pf_array_resize(&tree->flags, room, sizeof *tree->flags, error) ||
        pf_array_resize(&tree->kind, room, sizeof *tree->kind, error))
        return -1;
    tree->room = room;
    return 0;
}

/*
 * Large columns grow by a quarter instead of doubling, which saves memory. Growing is still cheap, since realloc remaps
 * them instead of copying.
 */
enum { FIRST_ROOM = 32, LARGE_ROOM = 1 << 20 };

static int tree_grow(struct pf_tree *tree, struct pf_error *error)
{
    if (tree->count < tree->room)
        return 0;
    if (tree->room > UINT32_MAX / 4)
        return pf_fail(error, EFBIG, "too many contexts");
    uint32_t room = tree->room < FIRST_ROOM   ? FIRST_ROOM
                    : tree->room < LARGE_ROOM ? tree->room * 2
                                              : tree->room + tree->room / 4;
    return pf_array_resize(&tree->links, room, sizeof *tree->links, error) ? -1
                                                                           : tree_resize(tree, room, error);
}

uint32_t pf_tree_add(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                     uint8_t flags, struct pf_error *error)
{
    if (tree_grow(tree, error))
        return PF_NO_CONTEXT;
    uint32_t i = tree->count++;
    tree->parent[i] = parent;
    tree->depth[i] = parent == PF_NO_CONTEXT ? 0 : tree->depth[parent] + 1;
    tree->name[i] = name;
    tree->key[i] = key;
    tree->kind[i] = kind;
    tree->flags[i] = flags;
    tree->links[i] = (struct pf_tree_link){.key = key};
    return i;
}

/*
 * Maximum number of children in a list. If a context has more children, all of them are in the hash table, and its
 * `eldest` is HASHED.
 */
enum { LISTED = 8 };
#define HASHED UINT32_MAX

static uint32_t *eldest_of(struct pf_tree *tree, uint32_t parent)
{
    return parent == PF_NO_CONTEXT ? &tree->eldest_root : &tree->links[parent].eldest;
}

/*
 * Searches the parent's list for the child with this key. Returns the address of the link (index + 1) that leads to the
 * child; if there is none, of the 0 at the end of the list, for linking a new child. NULL if the children are hashed,
 * or if the list is full and does not contain the key.
 */
static uint32_t *find_listed(struct pf_tree *tree, uint32_t parent, uint32_t key)
{
    uint32_t *child = eldest_of(tree, parent);
    if (*child == HASHED)
        return NULL;
    for (unsigned n = 0; n < LISTED; n++) {
        if (!*child || tree->links[*child - 1].key == key)
            return child;
        child = &tree->links[*child - 1].sibling;
    }
    return NULL;
}

static uint64_t tree_hash_of(uint32_t parent, uint32_t key)
{
    return pf_siphash_number((uint64_t)parent << 32 | key);
}

/* Moves the children of a full list to the hash table. */
static int hash_listed(struct pf_tree *tree, uint32_t parent, struct pf_error *error)
{
    uint32_t *eldest = eldest_of(tree, parent);
    if (*eldest == HASHED)
        return 0;
    for (uint32_t child = *eldest; child; child = tree->links[child - 1].sibling)
        if (pf_hash_add(&tree->further, tree_hash_of(parent, tree->links[child - 1].key), child - 1, error))
            return -1;
    *eldest = HASHED;
    return 0;
}

uint32_t pf_tree_child(struct pf_tree *tree, uint32_t parent, uint32_t key, uint32_t name, uint8_t kind,
                       uint8_t flags, struct pf_error *error)
{
    if (tree_grow(tree, error)) /* before the search, since growing moves the links */
        return PF_NO_CONTEXT;
    uint32_t *child = find_listed(tree, parent, key);
    if (child) {
        if (!*child)
            *child = pf_tree_add(tree, parent, key, name, kind, flags, error) + 1;
        return *child - 1;
    }
    struct child wanted = {parent, key};
    uint64_t hash = tree_hash_of(parent, key);
    if (hash_listed(tree, parent, error))
        return PF_NO_CONTEXT;
    int64_t known = pf_hash_find(&tree->further, hash, is_child, tree, &wanted);
    if (known != PF_NOT_THERE)
        return (uint32_t)known;
    uint32_t i = pf_tree_add(tree, parent, key, name, kind, flags, error);
    return i == PF_NO_CONTEXT || pf_hash_add(&tree->further, hash, i, error) ? PF_NO_CONTEXT : i;
}

/* Sorts the contexts by parent (a counting sort). */
int pf_tree_finish(struct pf_tree *tree, struct pf_error *error)
{
    pf_hash_free(&tree->further);
    free(tree->links);
    tree->links = NULL;
    if (tree_resize(tree, tree->count ? tree->count : 1, error))
        return -1;
    tree->first = calloc((size_t)tree->count + 2, sizeof *tree->first);
    tree->child = malloc(((size_t)tree->count + 1) * sizeof *tree->child);
    if (!tree->first || !tree->child)
        return pf_fail_memory(error);
    pf_array_fills(tree->first, tree->count * sizeof *tree->first);
    pf_array_fills(tree->child, tree->count * sizeof *tree->child);
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->parent[i] == PF_NO_CONTEXT)
            tree->roots++;
        else
            tree->first[tree->parent[i] + 2]++;
    }
    tree->root = malloc(((size_t)tree->roots + 1) * sizeof *tree->root);
    if (!tree->root)
        return pf_fail_memory(error);
    for (uint32_t i = 2; i <= tree->count + 1 && tree->count; i++)
        tree->first[i] += tree->first[i - 1];
    uint32_t roots = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->parent[i] == PF_NO_CONTEXT)
            tree->root[roots++] = i;
        else
            tree->child[tree->first[tree->parent[i] + 1]++] = i;
    }
    return 0;
}
