/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/readable.h"

/*
 * bottom_up.txt lists functions by exclusive value. Below each function, it lists the function's callers, each with the part
 * of the function's value that comes from calls by this caller.
 *
 * The tree of reversed call paths can be much larger than the call tree, so it is never built. The walk keeps one path
 * per frame with a value, and splits a function's paths by caller only if the function is printed.
 */

enum { LEVELS_MAX = 8, INDENT = 2, LINES_MAX = 500, HEAD_LINES = 2, ROWS_MAX = LINES_MAX - HEAD_LINES };

/* A function or caller is left out if its value is less than total / PARTS. */
enum { PARTS = 200 };

/* A path leads from a frame with an exclusive value upwards to `at`, the frame that the walk has reached. */
struct path {
    uint32_t from, at;
};

/* The paths that have reached frames of one name. */
struct callers {
    union pf_number sum; /* sum of the exclusive values at the paths' starts */
    uint32_t name;       /* index into number_of[] */
    uint32_t paths;      /* number of paths */
    uint32_t next;       /* while paths are sorted by name: the next free position for this name */
};

struct bottom_up_row {
    union pf_number sum;
    uint32_t name, depth;
    uint32_t more; /* number of left-out siblings that this row sums up; 0: a function or caller */
};

struct bottom_up_walk {
    struct pf_values values; /* exclusive[] of a frame includes the loops and lines of its function */
    uint32_t *head;          /* by context: the frame of its function */
    struct path *paths;
    uint32_t n_paths;
    uint32_t *
        number_of; /* by string; last item: no name. While callers are counted: 1 + index of the caller with this name; 0: none */
    uint32_t empty; /* the empty string, which counts as no name */
    struct pf_lower_bound lower_bound;
    struct bottom_up_row *rows; /* room for ROWS_MAX + 1: the extra row shows that the text must be cut */
    size_t n_rows;
};

/* ---- paths -------------------------------------------------------------------------------------- */

static bool is_zero_number(const union pf_number *number, bool real)
{
    return real ? pf_number_double(number, true) == 0 : number->i == 0;
}

/* Adds the values of loops and lines to their functions' frames, and starts a path at each frame that then has a value. */
static int begin_paths(struct bottom_up_walk *walk, struct pf_error *error)
{
    struct pf_values *values = &walk->values;
    const struct pf_tree *tree = values->tree;
    bool *contributes = values->present; /* exclusive_only leaves present[] free for this */
    pf_find_heads(tree, walk->head);
    for (uint32_t i = values->n; i-- > 0;) {
        uint32_t head = walk->head[i];
        if (!is_zero_number(&values->exclusive[i], values->exclusive_real))
            contributes[head] = true;
        if (head != i)
            pf_number_add(&values->exclusive[head], &values->exclusive[i], values->exclusive_real);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < values->n; i++)
        n += contributes[i];
    if (!(walk->paths = calloc((size_t)n + 1, sizeof *walk->paths)))
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < values->n; i++)
        if (contributes[i])
            walk->paths[walk->n_paths++] = (struct path){i, i};
    return 0;
}

/* Advances each path to the caller of its frame. Drops paths whose frame has no caller. Returns the number of paths left. */
static uint32_t go_to_callers(const struct bottom_up_walk *walk, struct path *paths, uint32_t n)
{
    const struct pf_tree *tree = walk->values.tree;
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = tree->parent[paths[i].at];
        if (parent != PF_NO_CONTEXT)
            paths[left++] = (struct path){paths[i].from, walk->head[parent]};
    }
    return left;
}

/* ---- siblings ----------------------------------------------------------------------------------- */

/* The name that a path has reached, as an index into number_of[]. */
static uint32_t reached(const struct bottom_up_walk *walk, const struct path *path)
{
    uint32_t name = walk->values.tree->name[path->at];
    return name == PF_NO_STRING || name == walk->empty ? pf_strings_count(walk->values.tree->strings) : name;
}

/* Resets number_of[] for these callers' names. */
static void forget_numbers(const struct bottom_up_walk *walk, const struct callers *callers, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        walk->number_of[callers[c].name] = 0;
}

/* Groups the paths by the name that they have reached. Returns *n groups in order of first appearance, which the caller frees;
 * NULL with *error filled. */
static struct callers *sum_callers(const struct bottom_up_walk *walk, const struct path *paths,
                                   uint32_t n_paths, uint32_t *n, struct pf_error *error)
{
    const struct pf_values *values = &walk->values;
    struct callers *callers = NULL;
    size_t room = 0;
    *n = 0;
    bool failed = pf_array_room(&callers, &room, 0, sizeof *callers, error);
    for (uint32_t i = 0; i < n_paths && !failed; i++) {
        uint32_t name = reached(walk, &paths[i]), *number = &walk->number_of[name];
        if (!*number) {
            failed = pf_array_room(&callers, &room, *n, sizeof *callers, error);
            if (failed)
                break;
            callers[*n] = (struct callers){.name = name};
            *number = ++*n;
        }
        callers[*number - 1].paths++;
        pf_number_add(&callers[*number - 1].sum, &values->exclusive[paths[i].from], values->exclusive_real);
    }
    forget_numbers(walk, callers, *n);
    if (!failed)
        return callers;
    free(callers);
    return NULL;
}

static int largest_first(const void *a, const void *b, void *context)
{
    const struct pf_values *values = context;
    const struct callers *x = a, *y = b;
    int order = pf_number_compare(&y->sum, &x->sum, values->exclusive_real);
    return order ? order : pf_compare_strings(values->tree->strings, x->name, y->name); /* "" if nameless */
}

/* Moves the callers that get a line to the front, largest first, and adds up the others in *left. Returns the number of
 * callers with a line. */
static uint32_t keep_largest(const struct bottom_up_walk *walk, struct callers *callers, uint32_t n,
                             union pf_number *left)
{
    const struct pf_values *values = &walk->values;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pf_is_below(&callers[i].sum, values->exclusive_real, &walk->lower_bound))
            pf_number_add(left, &callers[i].sum, values->exclusive_real);
        else
            callers[kept++] = callers[i];
    }
    if (kept > 1)
        qsort_r(callers, kept, sizeof *callers, largest_first, (void *)values);
    return kept;
}

/* Sorts paths in place by the callers that they have reached; paths that have reached none of these callers come last. */
static void sort_paths(const struct bottom_up_walk *walk, struct path *paths, struct callers *callers,
                       uint32_t n)
{
    uint32_t rest = 0; /* next position for a path that has reached none of these callers */
    for (uint32_t c = 0; c < n; c++) {
        callers[c].next = rest;
        walk->number_of[callers[c].name] = c + 1;
        rest += callers[c].paths;
    }
    uint32_t end = 0;
    for (uint32_t c = 0; c < n; c++) {
        end += callers[c].paths;
        while (callers[c].next < end) {
            struct path *path = &paths[callers[c].next], moved = *path;
            uint32_t number = walk->number_of[reached(walk, path)];
            uint32_t *to = number ? &callers[number - 1].next : &rest;
            *path = paths[*to];
            paths[*to] = moved;
            ++*to;
        }
    }
    forget_numbers(walk, callers, n);
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* Adds a row for each name that the paths have reached, followed by the rows of its callers. Returns 0, or -1 with *error
 * filled. */
static int add_caller_rows(struct bottom_up_walk *walk, struct path *paths, uint32_t n_paths, uint32_t depth,
                           struct pf_error *error)
{
    uint32_t n;
    union pf_number left = {0};
    struct callers *callers = sum_callers(walk, paths, n_paths, &n, error);
    if (!callers)
        return -1;
    uint32_t kept = keep_largest(walk, callers, n, &left);
    int result = 0;
    sort_paths(walk, paths, callers, kept);
    for (uint32_t c = 0; c < kept && walk->n_rows <= ROWS_MAX && !result; paths += callers[c++].paths) {
        walk->rows[walk->n_rows++] = (struct bottom_up_row){callers[c].sum, callers[c].name, depth, 0};
        if (depth < LEVELS_MAX)
            result =
                add_caller_rows(walk, paths, go_to_callers(walk, paths, callers[c].paths), depth + 1, error);
    }
    if (kept < n && walk->n_rows <= ROWS_MAX)
        walk->rows[walk->n_rows++] = (struct bottom_up_row){left, 0, depth, n - kept};
    free(callers);
    return result;
}

static int collect_bottom_up_rows(struct bottom_up_walk *walk, struct pf_error *error)
{
    struct pf_values *values = &walk->values;
    const struct pf_metric_sums *sums = &values->aggregate->metrics[values->totals.metric];
    if (!(values->totals.exclusive > 0 && isfinite(values->totals.exclusive)))
        return 0;
    walk->head = values->scratch;
    walk->empty = pf_string_of(values->tree->strings, "", 0);
    walk->number_of = calloc((size_t)pf_strings_count(values->tree->strings) + 1, sizeof *walk->number_of);
    walk->rows = calloc(ROWS_MAX + 1, sizeof *walk->rows);
    if (!walk->number_of || !walk->rows)
        return pf_fail_memory(error);
    walk->lower_bound = pf_lower_bound_of(&sums->total, sums->real, values->exclusive_real, PARTS);
    return begin_paths(walk, error) || add_caller_rows(walk, walk->paths, walk->n_paths, 0, error) ? -1 : 0;
}

static void add_bottom_up_row(const struct bottom_up_walk *walk, const struct bottom_up_row *row,
                              size_t width, struct pf_buf *out)
{
    const struct pf_values *values = &walk->values;
    pf_add_number(out, &row->sum, values->exclusive_real, width);
    pf_buf_str(out, "  ");
    pf_add_percent(out, pf_number_double(&row->sum, values->exclusive_real), values->totals.exclusive,
                   PF_PERCENT_WIDTH);
    pf_add_right(out, "", 0, 2 + (size_t)row->depth * INDENT);
    if (row->more) {
        pf_buf_printf(out, "(%u more %s%s)\n", row->more, row->depth ? "caller" : "function",
                      row->more == 1 ? "" : "s");
        return;
    }
    struct pf_cell name = pf_interned(values->tree->strings, row->name);
    pf_add_name(out, &name);
    pf_buf_char(out, '\n');
}

static void add_bottom_up_text(const struct bottom_up_walk *walk, struct pf_buf *out)
{
    const struct pf_values *values = &walk->values;
    bool cut = walk->n_rows > ROWS_MAX;
    size_t n = cut ? ROWS_MAX - 1 : walk->n_rows, width = 10;
    for (size_t i = 0; i < n; i++)
        width = pf_wider(width, &walk->rows[i].sum, values->exclusive_real);
    pf_add_total_line(out, values->aggregate, values->metric, values->totals.metric);
    pf_add_right(out, "exclusive", 9, width);
    pf_buf_str(out, "    excl%  function\n");
    for (size_t i = 0; i < n; i++)
        add_bottom_up_row(walk, &walk->rows[i], width, out);
    if (cut)
        pf_buf_printf(out, "(cut at %d lines)\n", LINES_MAX);
}

int pf_bottom_up_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                      struct pf_error *error)
{
    struct bottom_up_walk walk = {0};
    if (pf_add_sums_missing(out, aggregate->model, metric))
        return 0;
    if (pf_values_new(&walk.values, aggregate, metric, true, error))
        return -1;
    pf_values_fill(&walk.values);
    int result = collect_bottom_up_rows(&walk, error);
    if (!result)
        add_bottom_up_text(&walk, out);
    free(walk.rows);
    free(walk.number_of);
    free(walk.paths);
    pf_values_free(&walk.values);
    return result;
}
