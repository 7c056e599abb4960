/* SPDX-License-Identifier: MIT */
#include "formats/kit/tree.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

static const char *const kinds[] = {"function", "loop", NULL};

static uint32_t child(struct pf_tree *tree, uint32_t parent, uint32_t key)
{
    struct pf_error error;
    return pf_tree_child(tree, parent, key, key, 0, PF_FRAME, &error);
}

/* True if the lists of children agree with the parents, in index order. */
static bool is_consistent(const struct pf_tree *tree)
{
    uint32_t listed = 0;
    for (uint32_t c = 0; c < tree->count; c++)
        for (uint32_t i = tree->first[c]; i < tree->first[c + 1]; i++, listed++) {
            bool ordered = i == tree->first[c] || tree->child[i] > tree->child[i - 1];
            if (tree->parent[tree->child[i]] != c || tree->depth[tree->child[i]] != tree->depth[c] + 1 ||
                !ordered)
                return false;
        }
    for (uint32_t r = 0; r < tree->roots; r++)
        if (tree->parent[tree->root[r]] != PF_NO_CONTEXT || tree->depth[tree->root[r]] != 0)
            return false;
    return listed + tree->roots == tree->count;
}

static void test_small(void)
{
    struct pf_error error;
    struct pf_tree *tree = pf_tree_new(kinds);
    uint32_t main_ = child(tree, PF_NO_CONTEXT, 1), f = child(tree, main_, 2),
             other = child(tree, PF_NO_CONTEXT, 2);
    ok(main_ == 0 && f == 1 && other == 2, "contexts are numbered in order of first appearance");
    ok(child(tree, main_, 2) == f && child(tree, PF_NO_CONTEXT, 1) == main_,
       "a context that exists is found again");
    ok(child(tree, f, 2) == 3 && child(tree, other, 2) == 4,
       "the same function called by another is another context");
    uint32_t loop = pf_tree_add(tree, f, 2, 9, 1, 0, &error);
    ok(loop == 5 && child(tree, f, 2) == 3,
       "a context that is added without a search does not hide the one that was found");
    ok(tree->depth[loop] == 2 && tree->kind[loop] == 1 && tree->name[loop] == 9 && tree->flags[f] == PF_FRAME,
       "a context has its depth, kind, name and flags");
    ok(!pf_tree_finish(tree, &error) && tree->roots == 2 && is_consistent(tree),
       "finishing the tree lists all children");
    ok(tree->first[f + 1] - tree->first[f] == 2 && tree->child[tree->first[f]] == 3,
       "children are in the order of their numbers");
    ok(pf_tree_id(tree, 4) == 4, "without ids of the format, a context's id is its number");
    tree->id = calloc(tree->count, sizeof *tree->id);
    tree->id[4] = 1234567890123;
    ok(pf_tree_id(tree, 4) == 1234567890123, "with ids of the format, a context has the format's id");
    pf_tree_free(tree);
    pf_tree_free(NULL);
}

static void test_large(void)
{
    struct pf_error error;
    struct pf_tree *tree = pf_tree_new(kinds);
    uint32_t at = PF_NO_CONTEXT, deep = 0;
    for (; deep < 200000; deep++)
        at = child(tree, at, deep % 3);
    ok(tree->count == 200000 && tree->depth[at] == 199999, "a chain of 200000 calls is kept");
    for (uint32_t i = 0; i < 200000; i++)
        child(tree, i % 1000, 10 + i / 1000);
    uint32_t count = tree->count;
    for (uint32_t i = 0; i < 200000; i++)
        child(tree, i % 1000, 10 + i / 1000);
    ok(count == 400000 && tree->count == count,
       "hundreds of thousands of contexts are distinguished and found again");
    ok(!pf_tree_finish(tree, &error) && is_consistent(tree),
       "hundreds of thousands of contexts are listed as children");
    ok(tree->room == tree->count, "a finished tree has no room for more contexts");
    pf_tree_free(tree);

    tree = pf_tree_new(kinds);
    ok(!pf_tree_finish(tree, &error) && tree->roots == 0 && tree->first[0] == 0,
       "an empty tree has no roots");
    pf_tree_free(tree);
}

int main(void)
{
    test_small();
    test_large();
    return done();
}
