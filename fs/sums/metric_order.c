/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"

/* Makes, caches and evicts arrangements. Functions and calls are arranged in metric_functions.c, places in places.c. */

/* ---- by stack ----------------------------------------------------------------------------------- */

int pf_find_outer(const struct pf_tree *tree, uint32_t **outer, struct pf_error *error)
{
    uint32_t deepest = 0;
    *outer = NULL;
    for (uint32_t i = 0; i < tree->count; i++)
        deepest = tree->depth[i] > deepest ? tree->depth[i] : deepest;
    if (deepest < 2 * PF_STACK_HALF)
        return 0;
    if (!(*outer = malloc((size_t)tree->count * sizeof **outer)))
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++)
        (*outer)[i] = tree->depth[i] < PF_STACK_HALF ? i : (*outer)[tree->parent[i]];
    return 0;
}

/* Orders the contexts that have a folded line in preorder: callers first, callees by index. next[] first holds the
 * number of lines in each subtree, then the position of the next line in it. */
static int order_by_stack(const struct pf_values *values, const struct pf_folding *folding,
                          struct pf_arranged *arranged, struct pf_error *error)
{
    const struct pf_tree *tree = values->tree;
    uint32_t *next = values->scratch, all = 0, next_root = 0;
    memset(next, 0, values->n * sizeof *next);
    for (uint32_t i = values->n; i-- > 0;) {
        next[i] += values->present[i];
        *(tree->parent[i] == PF_NO_CONTEXT ? &all : &next[tree->parent[i]]) += next[i];
    }
    if (!(arranged->folded = malloc(((size_t)all + 1) * sizeof *arranged->folded)))
        return pf_fail_memory(error);
    pf_array_fills(arranged->folded, all * sizeof *arranged->folded);
    arranged->n_order = all;
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t parent = tree->parent[i];
        uint32_t *above = parent == PF_NO_CONTEXT ? &next_root : &next[parent];
        uint32_t first = *above;
        *above += next[i];
        next[i] = first;
        if (!values->present[i])
            continue;
        bool follows = parent == PF_NO_CONTEXT || values->present[parent];
        arranged->folded[next[i]++] = (struct pf_folded_line){
            .context = i,
            .name = tree->name[i],
            .depth = follows ? tree->depth[i] : PF_NO_DEPTH,
            .value = pf_folded_value(folding, &values->exclusive[i], values->exclusive_real)};
    }
    return 0;
}

/* Takes ownership of the values. */
static int arrange_by_stack(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error)
{
    struct pf_folding folding = pf_folding(values->aggregate->model, values->metric);
    bool real = values->exclusive_real;
    for (uint32_t i = 0; i < values->n; i++) {
        values->present[i] = pf_is_folded(&folding, &values->exclusive[i], real);
        arranged->left_out += !values->present[i] && pf_number_double(&values->exclusive[i], real) > 0;
    }
    if (pf_find_outer(values->tree, &arranged->outer, error) ||
        order_by_stack(values, &folding, arranged, error))
        return -1;
    arranged->exclusive = values->exclusive;
    values->exclusive = NULL;
    arranged->bytes = (uint64_t)values->n * (sizeof(union pf_number) + sizeof(uint32_t)) +
                      arranged->n_order * sizeof *arranged->folded;
    return 0;
}

/* ---- making and keeping ------------------------------------------------------------------------- */

static void free_arranged(struct pf_arranged *arranged)
{
    pf_sums_uncount(arranged->counted);
    free(arranged->exclusive);
    free(arranged->folded);
    free(arranged->outer);
    free(arranged->functions);
    free(arranged->places);
    pf_strings_free(arranged->strings);
    free(arranged);
}

static int arrange(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error)
{
    pf_values_fill(values);
    arranged->exclusive_real = values->exclusive_real;
    arranged->inclusive_real = values->inclusive_real;
    arranged->totals = values->totals;
    switch (arranged->kind) {
    case PF_BY_FUNCTION:
    case PF_BY_CALLER:
    case PF_BY_NAME:
    case PF_BY_EDGE:
        return pf_arrange_functions(values, arranged, error);
    case PF_BY_MODULE:
    case PF_BY_FILE:
    case PF_BY_LINE:
        return pf_arrange_places(values, arranged, error);
    case PF_BY_STACK:
        break;
    }
    return arrange_by_stack(values, arranged, error);
}

/* Makes an arrangement without listing it. Returns NULL with *error filled. */
static struct pf_arranged *new_arranged(struct pf_aggregate *aggregate, unsigned metric,
                                        enum pf_arrangement kind, struct pf_error *error)
{
    struct pf_values values;
    struct pf_arranged *arranged = calloc(1, sizeof *arranged);
    if (!arranged) {
        pf_fail_memory(error);
        return NULL;
    }
    if (pf_values_new(&values, aggregate, metric, kind == PF_BY_STACK, error)) {
        free(arranged);
        return NULL;
    }
    arranged->kind = kind;
    arranged->metric = metric;
    int result = arrange(&values, arranged, error);
    pf_values_free(&values);
    if (!result) {
        arranged->counted = arranged->bytes;
        pf_sums_count(arranged->counted);
        return arranged;
    }
    free_arranged(arranged);
    return NULL;
}

static void unlist_arranged(struct pf_aggregate *aggregate, struct pf_arranged *arranged)
{
    struct pf_arranged **link = &aggregate->arranged;
    while (*link != arranged)
        link = &(*link)->next;
    *link = arranged->next;
}

/* Evicts unused arrangements, least recently used first, while the process's memory exceeds the cache limit; keeps the
 * most recent one. */
static void trim_arranged(struct pf_aggregate *aggregate)
{
    pf_assert_held(&aggregate->lock);
    while (pf_sums_exceed(aggregate->arena.limit)) {
        struct pf_arranged *oldest = NULL;
        for (struct pf_arranged *at = aggregate->arranged; at; at = at->next)
            if (!at->users && at != aggregate->arranged)
                oldest = at;
        if (!oldest)
            break;
        unlist_arranged(aggregate, oldest);
        free_arranged(oldest);
    }
}

/* Returns a reference to the listed arrangement, adding an empty one if there is none; moves it to the front. NULL: out
 * of memory. *made: it is not empty. */
static struct pf_arranged *hold_arranged(struct pf_aggregate *aggregate, unsigned metric,
                                         enum pf_arrangement kind, bool *made)
{
    pf_lock_take(&aggregate->lock);
    struct pf_arranged *arranged = aggregate->arranged;
    while (arranged && (arranged->metric != metric || arranged->kind != kind))
        arranged = arranged->next;
    if (arranged)
        unlist_arranged(aggregate, arranged);
    else if ((arranged = calloc(1, sizeof *arranged)))
        *arranged = (struct pf_arranged){.kind = kind, .metric = metric};
    if (arranged) {
        arranged->users++;
        arranged->next = aggregate->arranged;
        aggregate->arranged = arranged;
    }
    *made = arranged && arranged->made;
    pf_lock_drop(&aggregate->lock);
    return arranged;
}

/* Moves a new arrangement's content into the listed one, unless another thread has already filled it. */
static void fill_arranged(struct pf_aggregate *aggregate, struct pf_arranged *arranged,
                          struct pf_arranged *made)
{
    pf_lock_take(&aggregate->lock);
    if (!arranged->made) {
        made->made = true;
        made->users = arranged->users;
        made->next = arranged->next;
        *arranged = *made;
        *made = (struct pf_arranged){0};
        trim_arranged(aggregate);
    }
    pf_lock_drop(&aggregate->lock);
    free_arranged(made);
}

int pf_arranged_make(struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                     struct pf_error *error)
{
    bool made;
    struct pf_arranged *arranged = hold_arranged(aggregate, metric, kind, &made);
    if (!arranged)
        return pf_fail_memory(error);
    struct pf_arranged *contents = made ? NULL : new_arranged(aggregate, metric, kind, error);
    if (contents)
        fill_arranged(aggregate, arranged, contents);
    pf_arranged_put(aggregate, arranged);
    return made || contents ? 0 : -1;
}

struct pf_arranged *pf_arranged_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                                    struct pf_error *error)
{
    bool made;
    struct pf_arranged *arranged = hold_arranged(aggregate, metric, kind, &made);
    if (!arranged) {
        pf_fail_memory(error);
        return NULL;
    }
    if (made)
        return arranged;
    if (aggregate->need ? !aggregate->need(aggregate->owner, aggregate, metric, kind, error)
                        : !pf_arranged_make(aggregate, metric, kind, error))
        return arranged;
    pf_arranged_put(aggregate, arranged);
    return NULL;
}

void pf_arranged_put(struct pf_aggregate *aggregate, struct pf_arranged *arranged)
{
    pf_lock_take(&aggregate->lock);
    if (--arranged->users == 0 && !arranged->made) {
        unlist_arranged(aggregate, arranged);
        free_arranged(arranged);
    }
    trim_arranged(aggregate);
    pf_lock_drop(&aggregate->lock);
}

void pf_aggregate_share(struct pf_aggregate *aggregate, pf_need_arranged *need, void *owner)
{
    aggregate->need = need;
    aggregate->owner = owner;
}

void pf_arranged_free_all(struct pf_aggregate *aggregate)
{
    for (struct pf_arranged *arranged = aggregate->arranged, *next; arranged; arranged = next) {
        next = arranged->next;
        free_arranged(arranged);
    }
}
