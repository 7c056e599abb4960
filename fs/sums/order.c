/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"

/* Makes, caches and evicts orders. The orders of functions and calls are made in metric_functions.c, those of
 * source locations in locations.c. */

/* ---- by stack ----------------------------------------------------------------------------------- */

/* Orders the contexts that have a folded line in preorder: callers first, callees by index. next[i] is first the number
 * of lines in the subtree of context i, then the position of the subtree's next line. */
static int sort_by_stack(const struct pf_values *values, const struct pf_folded_unit *unit,
                         struct pf_order *order, struct pf_error *error)
{
    const struct pf_tree *tree = values->tree;
    uint32_t *next = values->scratch, all = 0, next_root = 0;
    memset(next, 0, values->n * sizeof *next);
    for (uint32_t i = values->n; i-- > 0;) {
        next[i] += values->present[i];
        *(tree->parent[i] == PF_NO_CONTEXT ? &all : &next[tree->parent[i]]) += next[i];
    }
    if (!(order->folded = malloc(((size_t)all + 1) * sizeof *order->folded)))
        return pf_fail_memory(error);
    pf_array_fills(order->folded, all * sizeof *order->folded);
    order->n_folded = all;
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t parent = tree->parent[i];
        uint32_t *above = parent == PF_NO_CONTEXT ? &next_root : &next[parent];
        uint32_t first = *above;
        *above += next[i];
        next[i] = first;
        if (!values->present[i])
            continue;
        bool follows = parent == PF_NO_CONTEXT || values->present[parent];
        order->folded[next[i]++] = (struct pf_folded_line){
            .context = i,
            .name = tree->name[i],
            .depth = follows ? tree->depth[i] : PF_NO_DEPTH,
            .value = pf_folded_value(unit, &values->exclusive[i], values->exclusive_real)};
    }
    return 0;
}

/* Moves values->exclusive to the order. Overwrites values->present and values->scratch. */
static int fill_stack_order(struct pf_values *values, struct pf_order *order, struct pf_error *error)
{
    struct pf_folded_unit unit = pf_folded_unit_of(values->aggregate->model, values->metric);
    bool real = values->exclusive_real;
    for (uint32_t i = 0; i < values->n; i++) {
        values->present[i] = pf_is_folded(&unit, &values->exclusive[i], real);
        order->left_out += !values->present[i] && pf_number_double(&values->exclusive[i], real) > 0;
    }
    if (pf_find_outer(values->tree, &order->outer, error) || sort_by_stack(values, &unit, order, error))
        return -1;
    order->exclusive = values->exclusive;
    values->exclusive = NULL;
    order->bytes = (uint64_t)values->n * (sizeof(union pf_number) + sizeof(uint32_t)) +
                   order->n_folded * sizeof *order->folded;
    return 0;
}

/* ---- making and keeping ------------------------------------------------------------------------- */

static void free_order(struct pf_order *order)
{
    pf_budget_subtract(order->counted);
    free(order->exclusive);
    free(order->folded);
    free(order->outer);
    free(order->functions);
    free(order->locations);
    pf_strings_free(order->strings);
    free(order);
}

static int fill_order(struct pf_values *values, struct pf_order *order, struct pf_error *error)
{
    pf_values_fill(values);
    order->exclusive_real = values->exclusive_real;
    order->inclusive_real = values->inclusive_real;
    order->totals = values->totals;
    switch (order->kind) {
    case PF_BY_FUNCTION:
    case PF_BY_CALLER:
    case PF_BY_NAME:
    case PF_BY_EDGE:
        return pf_order_functions(values, order, error);
    case PF_BY_MODULE:
    case PF_BY_FILE:
    case PF_BY_LINE:
        return pf_order_locations(values, order, error);
    case PF_BY_STACK:
        break;
    }
    return fill_stack_order(values, order, error);
}

/* Makes an order that is not in the aggregate's list yet. Returns NULL with *error filled. */
static struct pf_order *new_order(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                                  struct pf_error *error)
{
    struct pf_values values;
    struct pf_order *order = calloc(1, sizeof *order);
    if (!order) {
        pf_fail_memory(error);
        return NULL;
    }
    if (pf_values_new(&values, aggregate, metric, kind == PF_BY_STACK, error)) {
        free(order);
        return NULL;
    }
    order->kind = kind;
    order->metric = metric;
    int result = fill_order(&values, order, error);
    pf_values_free(&values);
    if (!result) {
        order->counted = order->bytes;
        pf_budget_add(order->counted);
        return order;
    }
    free_order(order);
    return NULL;
}

static void unlist_order(struct pf_aggregate *aggregate, struct pf_order *order)
{
    struct pf_order **link = &aggregate->orders;
    while (*link != order)
        link = &(*link)->next;
    *link = order->next;
}

/* Evicts unused orders of the aggregate, least recently used first, while the budget of the process is exceeded. Keeps the
 * most recently used order. */
static void trim_orders(struct pf_aggregate *aggregate)
{
    pf_assert_held(&aggregate->lock);
    while (pf_budget_exceeded(aggregate->arena.limit)) {
        struct pf_order *oldest = NULL;
        for (struct pf_order *at = aggregate->orders; at; at = at->next)
            if (!at->users && at != aggregate->orders)
                oldest = at;
        if (!oldest)
            break;
        unlist_order(aggregate, oldest);
        free_order(oldest);
    }
}

/* Returns a reference to an order in the aggregate's list, and moves the order to the front. Adds an empty order if the list
 * has none. Sets *made to false if the order is empty. Returns NULL if out of memory. */
static struct pf_order *hold_order(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                                   bool *made)
{
    pf_lock_take(&aggregate->lock);
    struct pf_order *order = aggregate->orders;
    while (order && (order->metric != metric || order->kind != kind))
        order = order->next;
    if (order)
        unlist_order(aggregate, order);
    else if ((order = calloc(1, sizeof *order)))
        *order = (struct pf_order){.kind = kind, .metric = metric};
    if (order) {
        order->users++;
        order->next = aggregate->orders;
        aggregate->orders = order;
    }
    *made = order && order->made;
    pf_lock_drop(&aggregate->lock);
    return order;
}

/* Moves the contents of `made` to the listed `order`, unless another thread has filled `order` already. Frees `made`. */
static void publish_order(struct pf_aggregate *aggregate, struct pf_order *order, struct pf_order *made)
{
    pf_lock_take(&aggregate->lock);
    if (!order->made) {
        made->made = true;
        made->users = order->users;
        made->next = order->next;
        *order = *made;
        *made = (struct pf_order){0};
        trim_orders(aggregate);
    }
    pf_lock_drop(&aggregate->lock);
    free_order(made);
}

int pf_order_make(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                  struct pf_error *error)
{
    bool made;
    struct pf_order *order = hold_order(aggregate, metric, kind, &made);
    if (!order)
        return pf_fail_memory(error);
    struct pf_order *contents = made ? NULL : new_order(aggregate, metric, kind, error);
    if (contents)
        publish_order(aggregate, order, contents);
    pf_order_release(aggregate, order);
    return made || contents ? 0 : -1;
}

struct pf_order *pf_order_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                              struct pf_error *error)
{
    bool made;
    struct pf_order *order = hold_order(aggregate, metric, kind, &made);
    if (!order) {
        pf_fail_memory(error);
        return NULL;
    }
    if (made)
        return order;
    if (aggregate->need ? !aggregate->need(aggregate->owner, aggregate, metric, kind, error)
                        : !pf_order_make(aggregate, metric, kind, error))
        return order;
    pf_order_release(aggregate, order);
    return NULL;
}

void pf_order_release(struct pf_aggregate *aggregate, struct pf_order *order)
{
    pf_lock_take(&aggregate->lock);
    if (--order->users == 0 && !order->made) {
        unlist_order(aggregate, order);
        free_order(order);
    }
    trim_orders(aggregate);
    pf_lock_drop(&aggregate->lock);
}

int pf_folded_left_out(struct pf_aggregate *aggregate, unsigned metric, uint64_t *left_out,
                       struct pf_error *error)
{
    struct pf_order *order = pf_order_get(aggregate, metric, PF_BY_STACK, error);
    if (!order)
        return -1;
    *left_out = order->left_out;
    pf_order_release(aggregate, order);
    return 0;
}

void pf_aggregate_share(struct pf_aggregate *aggregate, pf_need_order *need, void *owner)
{
    aggregate->need = need;
    aggregate->owner = owner;
}

void pf_orders_free(struct pf_aggregate *aggregate)
{
    for (struct pf_order *order = aggregate->orders, *next; order; order = next) {
        next = order->next;
        free_order(order);
    }
}
