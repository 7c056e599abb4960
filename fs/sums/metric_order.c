/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"

/* The orders that functions.csv, hot.txt, tree.txt and stacks.folded are walked in. */

enum outcome { DONE, FAILED, OVERFLOW };

static unsigned length_of(const union pf_number *number, bool real)
{
    char text[PF_NUMBER_MAX];
    return (unsigned)(pf_print_rounded(text, number, real) - text);
}

static void widen(struct pf_arranged *arranged, const union pf_number *exclusive,
                  const union pf_number *inclusive)
{
    unsigned a = length_of(exclusive, arranged->exclusive_real);
    unsigned b = length_of(inclusive, arranged->inclusive_real);
    unsigned longest = a > b ? a : b;
    if (longest > arranged->width)
        arranged->width = longest;
}

/* ---- by calls ----------------------------------------------------------------------------------- */

static int heaviest_first(const void *a, const void *b, void *context)
{
    const struct pf_values *values = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = pf_number_compare(&values->inclusive[y], &values->inclusive[x], values->inclusive_real);
    if (order)
        return order;
    uint64_t id_x = pf_tree_id(values->tree, x), id_y = pf_tree_id(values->tree, y);
    if (id_x != id_y)
        return id_x < id_y ? -1 : 1;
    return (x > y) - (x < y);
}

/*
 * Gives the siblings their places in the walk, heaviest first: each begins where the subtrees of those before
 * it end. Returns the place after the last one. `sorted` has room for all of them.
 */
static uint32_t place_siblings(struct pf_values *values, const uint32_t *siblings, uint32_t n,
                               uint32_t *sorted, const uint32_t *size, uint32_t *place, uint32_t next)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < n; i++)
        if (values->present[siblings[i]])
            sorted[present++] = siblings[i];
    if (present > 1)
        qsort_r(sorted, present, sizeof *sorted, heaviest_first, values);
    for (uint32_t i = 0; i < present; i++) {
        place[sorted[i]] = next;
        next += size[sorted[i]];
    }
    return next;
}

/* Fills order[] and returns its length; the others are scratch of n items each. */
static uint32_t place_all(struct pf_values *values, uint32_t *order, uint32_t *sorted, uint32_t *size,
                          uint32_t *place)
{
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = values->n; i-- > 0;) {
        size[i] += values->present[i];
        if (tree->parent[i] != PF_NO_CONTEXT)
            size[tree->parent[i]] += size[i];
    }
    uint32_t end = place_siblings(values, tree->root, tree->roots, sorted, size, place, 0);
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        uint32_t first = tree->first[i];
        order[place[i]] = i;
        place_siblings(values, tree->child + first, tree->first[i + 1] - first, sorted, size, place,
                       place[i] + 1);
    }
    return end;
}

static int order_by_calls(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error)
{
    size_t n = (size_t)values->n + 1;
    uint32_t *size = calloc(n, sizeof *size);
    uint32_t *place = calloc(n, sizeof *place);
    arranged->order = calloc(n, sizeof *arranged->order);
    bool enough = size && place && arranged->order;
    if (enough && values->n)
        arranged->n_order = place_all(values, arranged->order, values->scratch, size, place);
    free(size);
    free(place);
    return enough ? 0 : pf_fail_memory(error);
}

/* Where some stack is cut: the last of its outermost frames, for every context. */
static int find_outer(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error)
{
    const struct pf_tree *tree = values->tree;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < values->n; i++)
        deepest = tree->depth[i] > deepest ? tree->depth[i] : deepest;
    if (deepest < 2 * PF_STACK_HALF)
        return 0;
    arranged->outer = malloc((size_t)values->n * sizeof *arranged->outer);
    if (!arranged->outer)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < values->n; i++)
        arranged->outer[i] = tree->depth[i] < PF_STACK_HALF ? i : arranged->outer[tree->parent[i]];
    return 0;
}

/* Takes the values over. Stacks are walked in the order of the tree, which is there already. */
static enum outcome arrange_by_stack(struct pf_values *values, struct pf_arranged *arranged,
                                     struct pf_error *error)
{
    if (find_outer(values, arranged, error))
        return FAILED;
    arranged->exclusive = values->exclusive;
    values->exclusive = NULL;
    arranged->bytes = (uint64_t)values->n * (sizeof(union pf_number) + sizeof(uint32_t));
    return DONE;
}

/* Takes the values over. */
static enum outcome arrange_by_calls(struct pf_values *values, struct pf_arranged *arranged,
                                     struct pf_error *error)
{
    if (order_by_calls(values, arranged, error))
        return FAILED;
    arranged->exclusive = values->exclusive;
    arranged->inclusive = values->inclusive;
    values->exclusive = values->inclusive = NULL;
    for (uint32_t i = 0; i < arranged->n_order; i++) {
        uint32_t context = arranged->order[i];
        widen(arranged, &arranged->exclusive[context], &arranged->inclusive[context]);
    }
    arranged->bytes = (uint64_t)values->n * (2 * sizeof(union pf_number) + sizeof(uint32_t));
    return DONE;
}

/* ---- by function -------------------------------------------------------------------------------- */

/* Numbers for the functions, which are pairs of name and file, as they are met. */
struct numbering {
    uint32_t *slots; /* open addressing: number + 1, 0 is free */
    uint32_t mask;
    uint32_t *number;              /* by context */
    struct pf_function *functions; /* by number */
    uint32_t n, room;
};

static uint32_t file_of(const struct pf_tree *tree, uint32_t context)
{
    return tree->file ? tree->file[context] : PF_NO_STRING;
}

static uint32_t *slot_of(const struct numbering *numbering, uint32_t name, uint32_t file)
{
    uint64_t hash = ((uint64_t)name << 32 | file) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        uint32_t *slot = &numbering->slots[i & numbering->mask];
        const struct pf_function *function = *slot ? &numbering->functions[*slot - 1] : NULL;
        if (!function || (function->name == name && function->file == file))
            return slot;
    }
}

/* Twice the room for functions, and slots for twice as many, so that at most half are taken. */
static int grow_numbering(struct numbering *numbering)
{
    uint32_t room = numbering->room ? numbering->room * 2 : 256;
    struct pf_error lack;
    if (pf_array_resize(&numbering->functions, room, sizeof *numbering->functions, &lack))
        return -1;
    uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
    if (!slots)
        return -1;
    free(numbering->slots);
    numbering->slots = slots;
    numbering->mask = room * 2 - 1;
    numbering->room = room;
    for (uint32_t i = 0; i < numbering->n; i++)
        *slot_of(numbering, numbering->functions[i].name, numbering->functions[i].file) = i + 1;
    return 0;
}

static int number_functions(struct numbering *numbering, const struct pf_values *values)
{
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        if (numbering->n == numbering->room && grow_numbering(numbering))
            return -1;
        uint32_t *slot = slot_of(numbering, tree->name[i], file_of(tree, i));
        if (!*slot) {
            numbering->functions[numbering->n] =
                (struct pf_function){.name = tree->name[i], .file = file_of(tree, i)};
            *slot = ++numbering->n;
        }
        numbering->number[i] = *slot - 1;
        numbering->functions[*slot - 1].contexts++;
    }
    return 0;
}

/* The next child of its caller (or the next root) in the order of indexes, which they stand in; or NULL. */
static const uint32_t *sibling_after(const struct pf_tree *tree, uint32_t context)
{
    uint32_t parent = tree->parent[context];
    const uint32_t *low = parent == PF_NO_CONTEXT ? tree->root : tree->child + tree->first[parent];
    const uint32_t *end =
        parent == PF_NO_CONTEXT ? tree->root + tree->roots : tree->child + tree->first[parent + 1];
    const uint32_t *high = end;
    while (low < high) {
        const uint32_t *middle = low + (high - low) / 2;
        if (*middle <= context)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? low : NULL;
}

uint32_t pf_walk_leave(const struct pf_tree *tree, uint32_t *context)
{
    const uint32_t *sibling = sibling_after(tree, *context);
    *context = tree->parent[*context];
    return sibling ? *sibling : PF_NO_CONTEXT;
}

/*
 * Marks (in `outermost`) the contexts that no other of the same function calls, be it by way of others:
 * `inside` says in how many contexts of each function the walk stands.
 */
static void find_outermost(const struct pf_values *values, const struct numbering *numbering,
                           uint32_t *inside, bool *outermost)
{
    const struct pf_tree *tree = values->tree;
    uint32_t context = tree->roots ? tree->root[0] : PF_NO_CONTEXT;
    while (context != PF_NO_CONTEXT) {
        if (values->present[context]) {
            outermost[context] = !inside[numbering->number[context]]++;
            if (tree->first[context] < tree->first[context + 1]) {
                context = tree->child[tree->first[context]];
                continue;
            }
        }
        uint32_t next = PF_NO_CONTEXT;
        while (next == PF_NO_CONTEXT && context != PF_NO_CONTEXT) {
            if (values->present[context])
                inside[numbering->number[context]]--;
            next = pf_walk_leave(tree, &context);
        }
        context = next;
    }
}

/* False if some integer needs more than 128 bits. */
static bool sum_functions(const struct pf_values *values, const struct numbering *numbering,
                          const bool *outermost)
{
    for (uint32_t i = 0; i < numbering->n; i++)
        numbering->functions[i].exclusive = numbering->functions[i].inclusive = (union pf_number){0};
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        struct pf_function *function = &numbering->functions[numbering->number[i]];
        if (!pf_number_add(&function->exclusive, &values->exclusive[i], values->exclusive_real))
            return false;
        if (outermost[i] &&
            !pf_number_add(&function->inclusive, &values->inclusive[i], values->inclusive_real))
            return false;
    }
    return true;
}

static int compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b)
{
    struct pf_cell x = pf_interned(strings, a), y = pf_interned(strings, b);
    size_t common = x.size < y.size ? x.size : y.size;
    int order = common ? memcmp(x.text, y.text, common) : 0;
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

static int hottest_first(const void *a, const void *b, void *context)
{
    const struct pf_values *values = context;
    const struct pf_function *x = a, *y = b;
    int order = pf_number_compare(&y->exclusive, &x->exclusive, values->exclusive_real);
    if (!order)
        order = pf_number_compare(&y->inclusive, &x->inclusive, values->inclusive_real);
    if (!order)
        order = compare_strings(values->tree->strings, x->name, y->name);
    if (!order)
        order = compare_strings(values->tree->strings, x->file, y->file);
    return order;
}

/* Takes the numbering's functions over. */
static enum outcome sort_functions(struct pf_values *values, struct numbering *numbering,
                                   struct pf_arranged *arranged)
{
    struct pf_function *functions = numbering->functions;
    union pf_number running = {0};
    if (numbering->n > 1)
        qsort_r(functions, numbering->n, sizeof *functions, hottest_first, values);
    for (uint32_t i = 0; i < numbering->n; i++) {
        if (!pf_number_add(&running, &functions[i].exclusive, values->exclusive_real))
            return OVERFLOW;
        functions[i].running = running;
        widen(arranged, &functions[i].exclusive, &functions[i].inclusive);
    }
    arranged->functions = functions;
    arranged->n_functions = numbering->n;
    arranged->bytes = (uint64_t)numbering->room * sizeof *functions;
    numbering->functions = NULL;
    return DONE;
}

static enum outcome arrange_by_function(struct pf_values *values, struct pf_arranged *arranged,
                                        struct pf_error *error)
{
    enum outcome outcome = FAILED;
    size_t n = (size_t)values->n + 1;
    struct numbering numbering = {.number = calloc(n, sizeof *numbering.number)};
    bool *outermost = calloc(n, sizeof *outermost);
    uint32_t *inside = NULL;
    if (numbering.number && outermost && !number_functions(&numbering, values))
        inside = calloc((size_t)numbering.n + 1, sizeof *inside);
    if (inside) {
        if (values->n)
            find_outermost(values, &numbering, inside, outermost);
        outcome = OVERFLOW;
        if (sum_functions(values, &numbering, outermost))
            outcome = sort_functions(values, &numbering, arranged);
    } else {
        pf_fail_memory(error);
    }
    free(inside);
    free(outermost);
    free(numbering.number);
    free(numbering.slots);
    free(numbering.functions);
    return outcome;
}

/* ---- making and keeping ------------------------------------------------------------------------- */

static void free_arranged(struct pf_arranged *arranged)
{
    free(arranged->exclusive);
    free(arranged->inclusive);
    free(arranged->order);
    free(arranged->outer);
    free(arranged->functions);
    free(arranged);
}

static enum outcome arrange(struct pf_values *values, struct pf_arranged *arranged, bool real,
                            struct pf_error *error)
{
    if (!pf_values_fill(values, real))
        return OVERFLOW;
    arranged->exclusive_real = values->exclusive_real;
    arranged->inclusive_real = values->inclusive_real;
    arranged->width = 0;
    switch (arranged->kind) {
    case PF_BY_CALLS:
        return arrange_by_calls(values, arranged, error);
    case PF_BY_FUNCTION:
        return arrange_by_function(values, arranged, error);
    case PF_BY_STACK:
        break;
    }
    return arrange_by_stack(values, arranged, error);
}

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
    enum outcome outcome = arrange(&values, arranged, false, error);
    if (outcome == OVERFLOW)
        outcome = arrange(&values, arranged, true, error);
    pf_values_free(&values);
    if (outcome == DONE)
        return arranged;
    free_arranged(arranged);
    return NULL;
}

/* Under the lock: the arrangement if there is one, moved to the front. */
static struct pf_arranged *find_arranged(struct pf_aggregate *aggregate, unsigned metric,
                                         enum pf_arrangement kind)
{
    struct pf_arranged **link = &aggregate->arranged;
    while (*link && ((*link)->metric != metric || (*link)->kind != kind))
        link = &(*link)->next;
    struct pf_arranged *found = *link;
    if (!found)
        return NULL;
    *link = found->next;
    found->next = aggregate->arranged;
    aggregate->arranged = found;
    found->users++;
    return found;
}

/* Under the lock: frees those unused longest until the others fit the cache; always keeps the latest. */
static void trim_arranged(struct pf_aggregate *aggregate)
{
    uint64_t bytes = 0;
    struct pf_arranged **link = &aggregate->arranged;
    while (*link) {
        struct pf_arranged *arranged = *link;
        bytes += arranged->bytes;
        if (bytes <= aggregate->arena.limit || arranged->users || arranged == aggregate->arranged) {
            link = &arranged->next;
        } else {
            bytes -= arranged->bytes;
            *link = arranged->next;
            free_arranged(arranged);
        }
    }
}

struct pf_arranged *pf_arranged_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                                    struct pf_error *error)
{
    pthread_mutex_lock(&aggregate->lock);
    struct pf_arranged *found = find_arranged(aggregate, metric, kind);
    pthread_mutex_unlock(&aggregate->lock);
    if (found)
        return found;
    struct pf_arranged *made = new_arranged(aggregate, metric, kind, error);
    if (!made)
        return NULL;
    pthread_mutex_lock(&aggregate->lock);
    found = find_arranged(aggregate, metric, kind); /* another walk may have been quicker */
    if (!found) {
        made->next = aggregate->arranged;
        made->users = 1;
        aggregate->arranged = made;
        trim_arranged(aggregate);
    }
    pthread_mutex_unlock(&aggregate->lock);
    if (found)
        free_arranged(made);
    return found ? found : made;
}

void pf_arranged_put(struct pf_aggregate *aggregate, struct pf_arranged *arranged)
{
    pthread_mutex_lock(&aggregate->lock);
    arranged->users--;
    trim_arranged(aggregate);
    pthread_mutex_unlock(&aggregate->lock);
}

void pf_arranged_free_all(struct pf_aggregate *aggregate)
{
    for (struct pf_arranged *arranged = aggregate->arranged, *next; arranged; arranged = next) {
        next = arranged->next;
        free_arranged(arranged);
    }
}
