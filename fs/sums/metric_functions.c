/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/kit/array.h"
#include "formats/kit/table.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/readable.h"

/*
 * Orders for functions.csv, hot.txt, callers.csv and callgraph.dot, with contexts summed by key. The key of a function is its
 * kind, name and file; the key of a pair of caller and callee is their names. In a call graph, the key of a function is
 * its name only, and the values of loops and lines are added to the function that contains them.
 */

#define NO_NUMBER UINT32_MAX

/* The numbers of functions or pairs, in order of first appearance. */
struct numbering {
    enum pf_order_kind kind;
    const uint32_t *head; /* call graph only: by context, the head of its function; otherwise NULL */
    struct pf_hash_table table;
    uint32_t *number;              /* by context; NO_NUMBER: it has no value or no key */
    struct pf_function *functions; /* by number */
    size_t n, room;
};

static uint32_t caller_name(const struct pf_tree *tree, uint32_t context)
{
    return context == PF_NO_CONTEXT ? PF_NO_STRING : pf_string_or_none(tree->strings, tree->name[context]);
}

static struct pf_function function_key(const struct numbering *numbering, const struct pf_tree *tree,
                                       uint32_t context)
{
    uint32_t parent = tree->parent[context];
    switch (numbering->kind) {
    case PF_BY_CALLER:
        return (struct pf_function){.name = tree->name[context], .file = caller_name(tree, parent)};
    case PF_BY_NAME:
        return (struct pf_function){.name = caller_name(tree, context), .file = PF_NO_STRING};
    case PF_BY_EDGE:
        return (struct pf_function){.name = caller_name(tree, context),
                                    .file = caller_name(tree, numbering->head[parent])};
    default:
        return (struct pf_function){.name = tree->name[context],
                                    .file = tree->file ? pf_string_or_none(tree->strings, tree->file[context])
                                                       : PF_NO_STRING,
                                    .kind = tree->kind[context]};
    }
}

/*
 * True if a context of the tree has a key. In a call graph, loops and lines have no key; nor have roots with PF_BY_EDGE, since they
 * have no caller.
 */
static bool has_key(const struct numbering *numbering, const struct pf_tree *tree, uint32_t context)
{
    return !numbering->head || (numbering->head[context] == context &&
                                (numbering->kind != PF_BY_EDGE || tree->parent[context] != PF_NO_CONTEXT));
}

static bool is_same_function(const void *of, uint32_t number, const void *key)
{
    const struct pf_function *function = (const struct pf_function *)of + number, *other = key;
    return function->name == other->name && function->file == other->file && function->kind == other->kind;
}

/* Finds or adds a key. Returns the number of the key, or PF_NO_CONTEXT with *error filled. */
static uint32_t function_number(struct numbering *numbering, const struct pf_function *key,
                                struct pf_error *error)
{
    uint64_t hash = pf_siphash_number(((uint64_t)key->name << 32 | key->file) ^ (uint64_t)key->kind << 24);
    int64_t number = pf_hash_find(&numbering->table, hash, is_same_function, numbering->functions, key);
    if (number != PF_NOT_THERE)
        return (uint32_t)number;
    if (pf_array_room(&numbering->functions, &numbering->room, numbering->n, sizeof *key, error) ||
        pf_hash_add(&numbering->table, hash, (uint32_t)numbering->n, error))
        return PF_NO_CONTEXT;
    numbering->functions[numbering->n] = *key;
    return (uint32_t)numbering->n++;
}

static int number_contexts(struct numbering *numbering, const struct pf_values *values,
                           struct pf_error *error)
{
    for (uint32_t i = 0; i < values->n; i++) {
        numbering->number[i] = NO_NUMBER;
        if (!values->present[i] || !has_key(numbering, values->tree, i))
            continue;
        struct pf_function key = function_key(numbering, values->tree, i);
        numbering->number[i] = function_number(numbering, &key, error);
        if (numbering->number[i] == PF_NO_CONTEXT)
            return -1;
        numbering->functions[numbering->number[i]].contexts++;
    }
    return 0;
}

/* Returns the callee after this context in its caller's list of callees (for a root, the next root), or NULL after the last. */
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

/* Ends the visit of a subtree in a depth-first walk: sets *context to its caller (PF_NO_CONTEXT for a root). Returns the
 * caller's next callee (for a root, the next root), or PF_NO_CONTEXT if there is none. */
static uint32_t leave_subtree(const struct pf_tree *tree, uint32_t *context)
{
    const uint32_t *sibling = sibling_after(tree, *context);
    *context = tree->parent[*context];
    return sibling ? *sibling : PF_NO_CONTEXT;
}

/* Marks in outermost[] the contexts that have no ancestor with the same key. inside[] is scratch: for each key, the number of
 * contexts with this key on the path from the root to the current context. */
static void find_outermost(const struct pf_values *values, const struct numbering *numbering,
                           uint32_t *inside, bool *outermost)
{
    const struct pf_tree *tree = values->tree;
    uint32_t context = tree->roots ? tree->root[0] : PF_NO_CONTEXT;
    while (context != PF_NO_CONTEXT) {
        if (values->present[context]) {
            if (numbering->number[context] != NO_NUMBER)
                outermost[context] = !inside[numbering->number[context]]++;
            if (tree->first[context] < tree->first[context + 1]) {
                context = tree->child[tree->first[context]];
                continue;
            }
        }
        uint32_t next = PF_NO_CONTEXT;
        while (next == PF_NO_CONTEXT && context != PF_NO_CONTEXT) {
            if (values->present[context] && numbering->number[context] != NO_NUMBER)
                inside[numbering->number[context]]--;
            next = leave_subtree(tree, &context);
        }
        context = next;
    }
}

static void sum_functions(const struct pf_values *values, const struct numbering *numbering,
                          const bool *outermost)
{
    for (uint32_t i = 0; i < values->n; i++) {
        if (!values->present[i])
            continue;
        uint32_t number = numbering->number[numbering->head ? numbering->head[i] : i];
        if (number == NO_NUMBER)
            continue;
        struct pf_function *function = &numbering->functions[number];
        pf_number_add(&function->exclusive, &values->exclusive[i], values->exclusive_real);
        if (outermost[i])
            pf_number_add(&function->inclusive, &values->inclusive[i], values->inclusive_real);
        /* Without a tree, the overlap of two contexts' values is unknown. */
        if (values->unknown)
            function->unknown |= values->unknown[i] || function->contexts > 1;
    }
}

/* ---- order -------------------------------------------------------------------------------------- */

struct function_sort {
    const struct pf_values *values;
    const struct pf_strings *strings;
    enum pf_order_kind kind;
};

/* The sort weight of a call graph's function: the inclusive value, or the exclusive one if the inclusive is unknown. */
static const union pf_number *weight_of(const struct pf_function *function)
{
    return function->unknown ? &function->exclusive : &function->inclusive;
}

/* Compares two weights; one may be an integer and the other a double. */
static int compare_weights(const struct pf_function *x, const struct pf_function *y,
                           const struct pf_values *values)
{
    bool real_x = x->unknown ? values->exclusive_real : values->inclusive_real;
    bool real_y = y->unknown ? values->exclusive_real : values->inclusive_real;
    if (real_x == real_y)
        return pf_number_compare(weight_of(x), weight_of(y), real_x);
    double a = pf_number_double(weight_of(x), real_x), b = pf_number_double(weight_of(y), real_y);
    return (a > b) - (a < b);
}

int pf_compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b)
{
    struct pf_cell x = pf_interned(strings, a), y = pf_interned(strings, b);
    size_t common = x.size < y.size ? x.size : y.size;
    int order = common ? memcmp(x.text, y.text, common) : 0;
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Orders functions by exclusive value, functions of a call graph by weight, and pairs by inclusive value. */
static int hottest_first(const void *a, const void *b, void *context)
{
    const struct function_sort *by = context;
    const struct pf_function *x = a, *y = b;
    int exclusive = pf_number_compare(&y->exclusive, &x->exclusive, by->values->exclusive_real);
    int inclusive = pf_number_compare(&y->inclusive, &x->inclusive, by->values->inclusive_real);
    bool calls = by->kind == PF_BY_CALLER || by->kind == PF_BY_EDGE;
    int order = by->kind == PF_BY_NAME ? compare_weights(y, x, by->values) : calls ? inclusive : exclusive;
    if (!order && by->kind != PF_BY_EDGE)
        order = calls || by->kind == PF_BY_NAME ? exclusive : inclusive;
    if (!order)
        order = pf_compare_strings(by->strings, x->name, y->name);
    if (!order)
        order = pf_compare_strings(by->strings, x->file, y->file);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

/* Sorts the functions and moves them from the numbering to the order. */
static void sort_functions(struct pf_values *values, struct numbering *numbering, struct pf_order *order)
{
    struct pf_function *functions = numbering->functions;
    struct function_sort sort = {values, order->strings ? order->strings : values->tree->strings,
                                 numbering->kind};
    union pf_number running = {0};
    if (numbering->n > 1)
        qsort_r(functions, numbering->n, sizeof *functions, hottest_first, &sort);
    for (size_t i = 0; i < numbering->n; i++) {
        pf_number_add(&running, &functions[i].exclusive, values->exclusive_real);
        functions[i].running = running;
        if (i < PF_HOT_FUNCTIONS) {
            order->width = pf_wider(order->width, &functions[i].exclusive, values->exclusive_real);
            order->width = pf_wider(order->width, &functions[i].inclusive, values->inclusive_real);
        }
    }
    order->functions = functions;
    order->n_functions = numbering->n;
    order->bytes = (uint64_t)numbering->room * sizeof *functions;
    numbering->functions = NULL;
}

/* ---- from the tree ------------------------------------------------------------------------------ */

static int sum_numbered(struct pf_values *values, struct numbering *numbering, struct pf_order *order,
                        struct pf_error *error)
{
    if (number_contexts(numbering, values, error))
        return -1;
    bool *outermost = calloc((size_t)values->n + 1, sizeof *outermost);
    uint32_t *inside = calloc(numbering->n + 1, sizeof *inside);
    bool enough = outermost && inside;
    if (enough && values->n)
        find_outermost(values, numbering, inside, outermost);
    if (enough) {
        sum_functions(values, numbering, outermost);
        sort_functions(values, numbering, order);
    }
    free(inside);
    free(outermost);
    return enough ? 0 : pf_fail_memory(error);
}

static int sum_contexts(struct pf_values *values, struct numbering *numbering, struct pf_order *order,
                        struct pf_error *error)
{
    size_t n = (size_t)values->n + 1;
    numbering->number = values->scratch;
    uint32_t *head = NULL;
    if (order->kind == PF_BY_NAME || order->kind == PF_BY_EDGE) {
        if (!(head = malloc(n * sizeof *head)))
            return pf_fail_memory(error);
        pf_find_heads(values->tree, head);
    }
    numbering->head = head;
    int result = sum_numbered(values, numbering, order, error);
    numbering->head = NULL;
    free(head);
    return result;
}
/* ---- from a table of edges ---------------------------------------------------------------------- */

/* The table of edges: rows and column indexes. */
struct edges {
    const struct pf_rows *rows;
    size_t metric, caller, callee, inclusive;
};

static struct edges find_edge_columns(const struct pf_table *table)
{
    struct edges edges = {.rows = pf_table_rows(table)};
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

static uint32_t intern_name_cell(struct pf_strings *strings, const struct pf_cell *cell,
                                 struct pf_error *error)
{
    return pf_intern(strings, cell->type == PF_TEXT ? cell->text : "", cell->type == PF_TEXT ? cell->size : 0,
                     error);
}

static bool is_of(const struct edges *edges, size_t row, unsigned metric)
{
    const struct pf_cell *cell = &pf_rows_at(edges->rows, row)[edges->metric];
    return cell->type == PF_INT && cell->i == metric;
}

/* True if a metric's sums over call edges need doubles. */
static bool are_real(const struct edges *edges, unsigned metric)
{
    union pf_number number;
    double magnitude = 0;
    bool real, any = false;
    for (size_t i = 0; i < pf_rows_count(edges->rows); i++) {
        if (!is_of(edges, i, metric))
            continue;
        pf_number_of_cell(&pf_rows_at(edges->rows, i)[edges->inclusive], &number, &real);
        any |= real;
        magnitude += fabs(pf_number_double(&number, real));
    }
    return any || magnitude > PF_INTEGERS_MAX;
}

/* Adds the values of a call edge to the pair of its caller and callee. */
static int add_edge(struct pf_values *values, struct numbering *numbering, struct pf_strings *strings,
                    const struct edges *edges, const struct pf_cell *row, struct pf_error *error)
{
    union pf_number number;
    bool real;
    struct pf_function key = {.name = intern_name_cell(strings, &row[edges->callee], error),
                              .file = intern_name_cell(strings, &row[edges->caller], error)};
    if (key.name == PF_NO_STRING || key.file == PF_NO_STRING)
        return -1;
    uint32_t pair = function_number(numbering, &key, error);
    if (pair == PF_NO_CONTEXT)
        return -1;
    pf_number_of_cell(&row[edges->inclusive], &number, &real);
    if (values->inclusive_real && !real)
        number = pf_number_real(number);
    pf_number_add(&numbering->functions[pair].inclusive, &number, values->inclusive_real);
    return 0;
}

static int sum_edges(struct pf_values *values, struct numbering *numbering, struct pf_order *order,
                     struct pf_error *error)
{
    struct edges edges = find_edge_columns(pf_extra_of(values->aggregate->model)->edges);
    if (!(order->strings = pf_strings_new()))
        return pf_fail_memory(error);
    values->inclusive_real |= are_real(&edges, values->metric);
    order->inclusive_real = values->inclusive_real;
    for (size_t i = 0; i < pf_rows_count(edges.rows); i++)
        if (is_of(&edges, i, values->metric) &&
            add_edge(values, numbering, order->strings, &edges, pf_rows_at(edges.rows, i), error))
            return -1;
    sort_functions(values, numbering, order);
    return 0;
}

int pf_order_functions(struct pf_values *values, struct pf_order *order, struct pf_error *error)
{
    struct numbering numbering = {.kind = order->kind};
    bool edges = (numbering.kind == PF_BY_CALLER || numbering.kind == PF_BY_EDGE) &&
                 pf_extra_of(values->aggregate->model)->edges;
    int result =
        edges ? sum_edges(values, &numbering, order, error) : sum_contexts(values, &numbering, order, error);
    pf_hash_free(&numbering.table);
    free(numbering.functions);
    return result;
}
