/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"

/*
 * What functions.csv, hot.txt and callers.csv are walked by: contexts of one key added up. A function's key is its
 * kind, name and file; that of a pair of caller and callee is the two names.
 */

/* Numbers for the functions or pairs as they are met. */
struct numbering {
    bool callers;    /* pairs, else functions */
    uint32_t *slots; /* open addressing: number + 1, 0 is free */
    uint32_t mask;
    uint32_t *number;              /* by context */
    struct pf_function *functions; /* by number */
    uint32_t n, room;
};

/* A name that is empty is as good as none. */
static uint32_t named(const struct pf_strings *strings, uint32_t name)
{
    return name == PF_NO_STRING || pf_interned(strings, name).size ? name : PF_NO_STRING;
}

static struct pf_function key_of(const struct numbering *numbering, const struct pf_tree *tree,
                                 uint32_t context)
{
    uint32_t parent = tree->parent[context];
    if (numbering->callers)
        return (struct pf_function){
            .name = tree->name[context],
            .file = parent == PF_NO_CONTEXT ? PF_NO_STRING : named(tree->strings, tree->name[parent])};
    return (struct pf_function){.name = tree->name[context],
                                .file = tree->file ? named(tree->strings, tree->file[context]) : PF_NO_STRING,
                                .kind = tree->kind[context]};
}

static uint32_t *slot_of(const struct numbering *numbering, const struct pf_function *key)
{
    uint64_t hash =
        (((uint64_t)key->name << 32 | key->file) ^ (uint64_t)key->kind << 24) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        uint32_t *slot = &numbering->slots[i & numbering->mask];
        const struct pf_function *function = *slot ? &numbering->functions[*slot - 1] : NULL;
        if (!function ||
            (function->name == key->name && function->file == key->file && function->kind == key->kind))
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
        *slot_of(numbering, &numbering->functions[i]) = i + 1;
    return 0;
}

/* The number of a key, which is new or known; PF_NO_CONTEXT: out of memory. */
static uint32_t number_of(struct numbering *numbering, const struct pf_function *key)
{
    if (numbering->n == numbering->room && grow_numbering(numbering))
        return PF_NO_CONTEXT;
    uint32_t *slot = slot_of(numbering, key);
    if (!*slot) {
        numbering->functions[numbering->n] = *key;
        *slot = ++numbering->n;
    }
    return *slot - 1;
}

static int number_contexts(struct numbering *numbering, const struct pf_values *values)
{
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        struct pf_function key = key_of(numbering, values->tree, i);
        numbering->number[i] = number_of(numbering, &key);
        if (numbering->number[i] == PF_NO_CONTEXT)
            return -1;
        numbering->functions[numbering->number[i]].contexts++;
    }
    return 0;
}

/*
 * Marks (in `outermost`) the contexts that no other of the same key calls, be it by way of others: `inside` says
 * in how many contexts of each key the walk stands.
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
static bool add_up(const struct pf_values *values, const struct numbering *numbering, const bool *outermost)
{
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        struct pf_function *function = &numbering->functions[numbering->number[i]];
        if (!pf_number_add(&function->exclusive, &values->exclusive[i], values->exclusive_real))
            return false;
        if (outermost[i] &&
            !pf_number_add(&function->inclusive, &values->inclusive[i], values->inclusive_real))
            return false;
        /* Without a tree nobody knows what of one context's value is in another's. */
        if (values->lacking)
            function->lacking |= values->lacking[i] || function->contexts > 1;
    }
    return true;
}

/* ---- order -------------------------------------------------------------------------------------- */

struct order {
    const struct pf_values *values;
    const struct pf_strings *strings;
    bool callers;
};

static int compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b)
{
    struct pf_cell x = pf_interned(strings, a), y = pf_interned(strings, b);
    size_t common = x.size < y.size ? x.size : y.size;
    int order = common ? memcmp(x.text, y.text, common) : 0;
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Functions by what they hold themselves, pairs by what goes along. */
static int hottest_first(const void *a, const void *b, void *context)
{
    const struct order *by = context;
    const struct pf_function *x = a, *y = b;
    int exclusive = pf_number_compare(&y->exclusive, &x->exclusive, by->values->exclusive_real);
    int inclusive = pf_number_compare(&y->inclusive, &x->inclusive, by->values->inclusive_real);
    int order = by->callers ? inclusive : exclusive;
    if (!order)
        order = by->callers ? exclusive : inclusive;
    if (!order)
        order = compare_strings(by->strings, x->name, y->name);
    if (!order)
        order = compare_strings(by->strings, x->file, y->file);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

/* Takes the numbering's functions over. */
static enum pf_outcome sort_functions(struct pf_values *values, struct numbering *numbering,
                                      struct pf_arranged *arranged)
{
    struct pf_function *functions = numbering->functions;
    struct order order = {values, arranged->strings ? arranged->strings : values->tree->strings,
                          numbering->callers};
    union pf_number running = {0};
    if (numbering->n > 1)
        qsort_r(functions, numbering->n, sizeof *functions, hottest_first, &order);
    for (uint32_t i = 0; i < numbering->n; i++) {
        if (!pf_number_add(&running, &functions[i].exclusive, values->exclusive_real))
            return PF_OVERFLOW;
        functions[i].running = running;
        pf_widen(arranged, &functions[i].exclusive, &functions[i].inclusive);
    }
    arranged->functions = functions;
    arranged->n_functions = numbering->n;
    arranged->bytes = (uint64_t)numbering->room * sizeof *functions;
    numbering->functions = NULL;
    return PF_DONE;
}

/* ---- from the tree ------------------------------------------------------------------------------ */

static enum pf_outcome arrange_contexts(struct pf_values *values, struct numbering *numbering,
                                        struct pf_arranged *arranged, struct pf_error *error)
{
    enum pf_outcome outcome = PF_FAILED;
    size_t n = (size_t)values->n + 1;
    uint32_t *inside = NULL;
    bool *outermost = calloc(n, sizeof *outermost);
    numbering->number = calloc(n, sizeof *numbering->number);
    if (numbering->number && outermost && !number_contexts(numbering, values))
        inside = calloc((size_t)numbering->n + 1, sizeof *inside);
    if (inside) {
        if (values->n)
            find_outermost(values, numbering, inside, outermost);
        outcome = PF_OVERFLOW;
        if (add_up(values, numbering, outermost))
            outcome = sort_functions(values, numbering, arranged);
    } else {
        pf_fail_memory(error);
    }
    free(inside);
    free(outermost);
    free(numbering->number);
    return outcome;
}

/* ---- from a table of edges ---------------------------------------------------------------------- */

/* Which columns of the table say what. */
struct edges {
    const struct pf_rows *rows;
    size_t metric, caller, callee, inclusive;
};

static struct edges find_edges(const struct pf_table *table)
{
    struct edges edges = {.rows = *table->rows};
    for (size_t c = 0; c < table->n_columns; c++) {
        const struct pf_column *column = &table->columns[c];
        size_t *at = column->role == PF_METRIC            ? &edges.metric
                     : !strcmp(column->name, "caller")    ? &edges.caller
                     : !strcmp(column->name, "callee")    ? &edges.callee
                     : !strcmp(column->name, "inclusive") ? &edges.inclusive
                                                          : NULL;
        if (at)
            *at = c;
    }
    return edges;
}

static uint32_t intern_name(struct pf_strings *strings, const struct pf_cell *cell, struct pf_error *error)
{
    return pf_intern(strings, cell->type == PF_TEXT ? cell->text : "", cell->type == PF_TEXT ? cell->size : 0,
                     error);
}

/* PF_OVERFLOW: integers do not suffice. */
static enum pf_outcome read_number(const struct pf_cell *cell, bool real, union pf_number *number)
{
    *number = (union pf_number){0};
    if (cell->type == PF_DOUBLE && !real)
        return PF_OVERFLOW;
    if (cell->type == PF_DOUBLE)
        number->d.sum = cell->d;
    else if (cell->type == PF_INT)
        number->i = cell->i;
    else if (cell->type == PF_UINT)
        number->i = cell->u;
    else if (cell->type == PF_WIDE)
        number->i = *cell->wide;
    if (real && cell->type != PF_DOUBLE)
        *number = pf_number_real(*number);
    return PF_DONE;
}

/* Adds a call edge to its pair. */
static enum pf_outcome add_edge(struct pf_values *values, struct numbering *numbering,
                                struct pf_strings *strings, const struct edges *edges,
                                const struct pf_cell *row, struct pf_error *error)
{
    union pf_number number;
    struct pf_function key = {.name = intern_name(strings, &row[edges->callee], error),
                              .file = intern_name(strings, &row[edges->caller], error)};
    if (key.name == PF_NO_STRING || key.file == PF_NO_STRING)
        return PF_FAILED;
    uint32_t pair = number_of(numbering, &key);
    if (pair == PF_NO_CONTEXT) {
        pf_fail_memory(error);
        return PF_FAILED;
    }
    if (read_number(&row[edges->inclusive], values->inclusive_real, &number) == PF_OVERFLOW)
        return PF_OVERFLOW;
    bool fits = pf_number_add(&numbering->functions[pair].inclusive, &number, values->inclusive_real);
    return fits ? PF_DONE : PF_OVERFLOW;
}

static enum pf_outcome arrange_edges(struct pf_values *values, struct numbering *numbering,
                                     struct pf_arranged *arranged, struct pf_error *error)
{
    struct edges edges = find_edges(values->aggregate->profile->edges);
    enum pf_outcome outcome = PF_DONE;
    if (!arranged->strings && !(arranged->strings = pf_strings_new())) {
        pf_fail_memory(error);
        return PF_FAILED;
    }
    for (size_t i = 0; outcome == PF_DONE && i < pf_rows_count(edges.rows); i++) {
        const struct pf_cell *row = pf_rows_at(edges.rows, i);
        if (row[edges.metric].type == PF_INT && row[edges.metric].i == values->metric)
            outcome = add_edge(values, numbering, arranged->strings, &edges, row, error);
    }
    return outcome == PF_DONE ? sort_functions(values, numbering, arranged) : outcome;
}

enum pf_outcome pf_arrange_functions(struct pf_values *values, struct pf_arranged *arranged,
                                     struct pf_error *error)
{
    struct numbering numbering = {.callers = arranged->kind == PF_BY_CALLER};
    bool edges = numbering.callers && values->aggregate->profile->edges;
    enum pf_outcome outcome = edges ? arrange_edges(values, &numbering, arranged, error)
                                    : arrange_contexts(values, &numbering, arranged, error);
    free(numbering.slots);
    free(numbering.functions);
    return outcome;
}
