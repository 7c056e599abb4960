/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/readable.h"

/*
 * tree.txt lists contexts, heaviest first, with their callees indented below them. A context below 0.1 % of the total is left
 * out with its subtree, and the text has at most LINES_MAX lines. Only siblings that are printed are sorted.
 */

enum { INDENT = 2, LEVELS_MAX = 64, LINES_MAX = 2000, HEAD_LINES = 2, ROWS_MAX = LINES_MAX - HEAD_LINES };

/* A context is left out if its inclusive value is less than total / PARTS. */
enum { PARTS = 1000 };

/* A line: a context, or a summary of siblings left out. */
struct tree_row {
    union pf_number inclusive; /* of the context, or of all siblings left out */
    uint32_t context, depth;
    uint32_t more; /* number of siblings left out; 0: a context */
};

/* Siblings at one depth of the walk: pending[begin .. end). Those before pending[next] already have a row. */
struct tree_level {
    size_t begin, next, end;
    union pf_number left; /* sum of the inclusive values of siblings left out */
    uint32_t more;        /* number of siblings left out */
};

struct tree_walk {
    struct pf_values values;
    struct pf_lower_bound lower_bound; /* contexts below this value are left out */
    bool prunes;                       /* false: no context is left out */
    uint32_t *pending;                 /* stack: for each level, the siblings that get a line, heaviest first */
    size_t n_pending, pending_room;
    struct tree_level *levels;
    size_t n_levels, levels_room;
    struct tree_row *rows; /* room for ROWS_MAX + 1: the extra row shows that the text must be cut */
    size_t n_rows;
};

/* ---- what is left out --------------------------------------------------------------------------- */

/* Sets the least inclusive value that gets a line. Nothing is left out if the total is not positive and finite, or if some
 * inclusive value is negative, since the value of a context may then exceed that of its caller. */
static void find_lower_bound(struct tree_walk *walk)
{
    const struct pf_values *values = &walk->values;
    const struct pf_metric_sums *sums = &values->aggregate->metrics[values->totals.metric];
    double whole = pf_number_double(&sums->total, sums->real);
    walk->prunes = whole > 0 && isfinite(whole);
    walk->lower_bound = pf_lower_bound_of(&sums->total, sums->real, values->inclusive_real, PARTS);
    for (uint32_t i = 0; i < values->n && walk->prunes; i++) {
        double held = pf_number_double(&values->inclusive[i], values->inclusive_real);
        walk->prunes = !(held < 0) || isinf(held);
    }
}

static bool has_line(const struct tree_walk *walk, uint32_t context)
{
    const struct pf_values *values = &walk->values;
    return !walk->prunes || (values->unknown && values->unknown[context]) ||
           !pf_is_below(&values->inclusive[context], values->inclusive_real, &walk->lower_bound);
}

/* ---- rows --------------------------------------------------------------------------------------- */

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

/* Pushes siblings onto the stack of levels. Returns 0, or -1 with *error filled. */
static int push_siblings(struct tree_walk *walk, const uint32_t *siblings, uint32_t n, struct pf_error *error)
{
    struct pf_values *values = &walk->values;
    struct tree_level level = {.begin = walk->n_pending, .next = walk->n_pending};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t context = siblings[i];
        if (!values->present[context])
            continue;
        if (!has_line(walk, context)) {
            pf_number_add(&level.left, &values->inclusive[context], values->inclusive_real);
            level.more++;
            continue;
        }
        if (pf_array_room(&walk->pending, &walk->pending_room, walk->n_pending, sizeof *walk->pending, error))
            return -1;
        walk->pending[walk->n_pending++] = context;
    }
    level.end = walk->n_pending;
    if (level.end - level.begin > 1)
        qsort_r(walk->pending + level.begin, level.end - level.begin, sizeof *walk->pending, heaviest_first,
                values);
    if (pf_array_room(&walk->levels, &walk->levels_room, walk->n_levels, sizeof level, error))
        return -1;
    walk->levels[walk->n_levels++] = level;
    return 0;
}

/* Walks the tree and collects the rows, at most ROWS_MAX + 1. Returns 0, or -1 with *error filled. */
static int collect_tree_rows(struct tree_walk *walk, struct pf_error *error)
{
    const struct pf_tree *tree = walk->values.tree;
    if (!walk->values.n)
        return 0;
    if (push_siblings(walk, tree->root, tree->roots, error))
        return -1;
    while (walk->n_levels && walk->n_rows <= ROWS_MAX) {
        struct tree_level *level = &walk->levels[walk->n_levels - 1];
        uint32_t depth = (uint32_t)walk->n_levels - 1;
        if (level->next < level->end) {
            uint32_t context = walk->pending[level->next++], first = tree->first[context];
            walk->rows[walk->n_rows++] =
                (struct tree_row){walk->values.inclusive[context], context, depth, 0};
            if (push_siblings(walk, tree->child + first, tree->first[context + 1] - first, error))
                return -1;
            continue;
        }
        if (level->more)
            walk->rows[walk->n_rows++] = (struct tree_row){level->left, PF_NO_CONTEXT, depth, level->more};
        walk->n_pending = level->begin;
        walk->n_levels--;
    }
    return 0;
}

/* ---- text --------------------------------------------------------------------------------------- */

static void add_indentation(struct pf_buf *out, uint32_t depth)
{
    size_t levels = depth < LEVELS_MAX ? depth : LEVELS_MAX;
    pf_add_right(out, "", 0, levels * INDENT);
    if (depth > LEVELS_MAX)
        pf_buf_printf(out, "[depth %u] ", depth);
}

static void add_tree_row(const struct tree_walk *walk, const struct tree_row *row, size_t width,
                         struct pf_buf *out)
{
    const struct pf_values *values = &walk->values;
    bool unknown = !row->more && values->unknown && values->unknown[row->context];
    pf_add_inclusive(out, &row->inclusive, values->inclusive_real, unknown, values->totals.inclusive, width,
                     2);
    pf_buf_char(out, ' ');
    if (row->more)
        pf_add_right(out, "", 0, width);
    else
        pf_add_number(out, &values->exclusive[row->context], values->exclusive_real, width);
    pf_buf_str(out, "  ");
    add_indentation(out, row->depth);
    if (row->more) {
        pf_buf_printf(out, "(%u more)\n", row->more);
        return;
    }
    struct pf_cell name = pf_interned(values->tree->strings, values->tree->name[row->context]);
    pf_add_name(out, &name);
    pf_buf_char(out, '\n');
}

static void add_tree_rows(const struct tree_walk *walk, struct pf_buf *out)
{
    const struct pf_values *values = &walk->values;
    bool cut = walk->n_rows > ROWS_MAX;
    size_t n = cut ? ROWS_MAX - 1 : walk->n_rows, width = 10;
    for (size_t i = 0; i < n; i++) {
        const struct tree_row *row = &walk->rows[i];
        width = pf_wider(width, &row->inclusive, values->inclusive_real);
        if (!row->more)
            width = pf_wider(width, &values->exclusive[row->context], values->exclusive_real);
    }
    pf_add_total_line(out, values->aggregate, values->metric, values->totals.metric);
    pf_add_right(out, "inclusive", 9, width);
    pf_buf_str(out, "    incl% ");
    pf_add_right(out, "exclusive", 9, width);
    pf_buf_str(out, "  context\n");
    for (size_t i = 0; i < n; i++)
        add_tree_row(walk, &walk->rows[i], width, out);
    if (cut)
        pf_buf_printf(out, "(cut at %d lines)\n", LINES_MAX);
}

int pf_tree_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out, struct pf_error *error)
{
    struct tree_walk walk = {0};
    if (pf_add_sums_missing(out, aggregate->model, metric))
        return 0;
    if (pf_values_new(&walk.values, aggregate, metric, false, error))
        return -1;
    pf_values_fill(&walk.values);
    find_lower_bound(&walk);
    walk.rows = calloc(ROWS_MAX + 1, sizeof *walk.rows);
    int result = -1;
    if (!walk.rows)
        pf_fail_memory(error);
    else if (!(result = collect_tree_rows(&walk, error)))
        add_tree_rows(&walk, out);
    free(walk.rows);
    free(walk.levels);
    free(walk.pending);
    pf_values_free(&walk.values);
    return result;
}
