/* SPDX-License-Identifier: MIT */
#include "formats/cube/sums.h"

#include <stdlib.h>
#include <string.h>

/* Numbers in a slab: 2 MiB of them. Each walk has one, and a mount some walks at a time. */
#define SLAB_MAX ((size_t)128 * 1024)

int pf_cube_sums_init(struct pf_cube_sums *sums, const struct pf_cube *cube, bool ahead,
                      struct pf_error *error)
{
    size_t n = (size_t)cube->n_locations + 1;
    *sums = (struct pf_cube_sums){0};
    pf_cube_reader_init(&sums->own, cube, ahead);
    pf_cube_reader_init(&sums->others, cube, ahead);
    sums->values = malloc(n * sizeof *sums->values);
    sums->term = malloc(n * sizeof *sums->term);
    return sums->values && sums->term ? 0 : pf_fail_memory(error);
}

void pf_cube_sums_end(struct pf_cube_sums *sums)
{
    pf_cube_reader_end(&sums->own);
    pf_cube_reader_end(&sums->others);
    free(sums->values);
    free(sums->term);
    free(sums->slab);
}

static void fill_neutral(enum pf_cube_kind kind, union pf_cube_number *values, size_t n)
{
    union pf_cube_number neutral = pf_cube_neutral(kind);
    for (size_t i = 0; i < n; i++)
        values[i] = neutral;
}

/* ---- exclusive of what is stored inclusive ------------------------------------------------------ */

static int subtract_children(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                             struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    const struct pf_tree *tree = cube->tree;
    uint32_t n = cube->n_locations;
    int any = pf_cube_row(&sums->own, metric, path, 0, n, sums->values, error);
    if (!any)
        fill_neutral(metric->type.kind, sums->values, n);
    for (uint32_t c = tree->first[path]; c < tree->first[path + 1] && any >= 0; c++) {
        int got = pf_cube_row(&sums->others, metric, tree->child[c], 0, n, sums->term, error);
        if (got > 0)
            pf_cube_subtract(metric->type.kind, sums->values, sums->term, n);
        any = got < 0 ? -1 : any | got;
    }
    return any;
}

/* ---- inclusive of what is stored exclusive ------------------------------------------------------ */

static int make_slab(struct pf_cube_sums *sums, size_t numbers, struct pf_error *error)
{
    sums->slab_metric = NULL;
    if (numbers <= sums->slab_room)
        return 0;
    free(sums->slab);
    sums->slab_room = 0;
    sums->slab = malloc(numbers * sizeof *sums->slab);
    if (!sums->slab)
        return pf_fail_memory(error);
    sums->slab_room = numbers;
    return 0;
}

/* The inclusive values of all call paths of a subtree, a row each. */
static int fill_slab(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                     struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    uint32_t n = cube->n_locations, end = cube->paths[path].end;
    enum pf_cube_kind kind = metric->type.kind;
    fill_neutral(kind, sums->slab, (size_t)(end - path) * n);
    for (uint32_t p = end; p-- > path;) {
        union pf_cube_number *row = sums->slab + (size_t)(p - path) * n;
        int got = pf_cube_row(&sums->others, metric, p, 0, n, sums->term, error);
        if (got < 0)
            return -1;
        if (got)
            pf_cube_add(kind, row, sums->term, n);
        if (p > path)
            pf_cube_add(kind, sums->slab + (size_t)(cube->tree->parent[p] - path) * n, row, n);
    }
    return 0;
}

/* How many levels a subtree has. */
static uint32_t levels_of(const struct pf_cube *cube, uint32_t path)
{
    uint32_t deepest = cube->tree->depth[path];
    for (uint32_t p = path; p < cube->paths[path].end; p++)
        if (cube->tree->depth[p] > deepest)
            deepest = cube->tree->depth[p];
    return deepest - cube->tree->depth[path] + 1;
}

/*
 * The inclusive values of one call path in some locations: like fill_slab, but of each level only the sum of those that are
 * still to be added to the call path above them. That is complete when, going backwards, that call path comes.
 */
static int sum_levels(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                      uint32_t first, uint32_t n, struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    enum pf_cube_kind kind = metric->type.kind;
    for (uint32_t p = cube->paths[path].end; p-- > path;) {
        uint32_t level = cube->tree->depth[p] - cube->tree->depth[path];
        union pf_cube_number *row = sums->slab + ((size_t)level + 1) * n;
        int got = pf_cube_row(&sums->others, metric, p, first, n, sums->term, error);
        if (got < 0)
            return -1;
        if (got)
            pf_cube_add(kind, row, sums->term, n);
        pf_cube_add(kind, row - n, row, n);
        fill_neutral(kind, row, n);
    }
    return 0;
}

/* A subtree too large for a slab: if it is deep, too, some locations after the others. */
static int sum_large(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                     struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    size_t rows = (size_t)levels_of(cube, path) + 1;
    uint32_t all = cube->n_locations, width = rows < SLAB_MAX ? (uint32_t)(SLAB_MAX / rows) : 1, n;
    if (width > all)
        width = all;
    if (make_slab(sums, rows * width, error))
        return -1;
    for (uint32_t first = 0; first < all; first += n) {
        n = all - first < width ? all - first : width;
        fill_neutral(metric->type.kind, sums->slab, rows * n);
        if (sum_levels(sums, metric, path, first, n, error))
            return -1;
        memcpy(sums->values + first, sums->slab, n * sizeof *sums->values);
    }
    return 0;
}

static bool in_slab(const struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path)
{
    return sums->slab_metric == metric && path >= sums->slab_path && path < sums->slab_end;
}

static int sum_subtree(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                       const union pf_cube_number **values, struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    uint32_t n = cube->n_locations, end = cube->paths[path].end;
    bool there = in_slab(sums, metric, path);
    if (!there && (uint64_t)(end - path) * n > SLAB_MAX)
        return sum_large(sums, metric, path, error) ? -1 : 1;
    if (!there) {
        if (make_slab(sums, (size_t)(end - path) * n, error) || fill_slab(sums, metric, path, error))
            return -1;
        sums->slab_metric = metric;
        sums->slab_path = path;
        sums->slab_end = end;
    }
    *values = sums->slab + (size_t)(path - sums->slab_path) * n;
    return 1;
}

/* ---- either ------------------------------------------------------------------------------------- */

/* Values that the file does not have: from its rows of other call paths. */
static int compute(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                   bool inclusive, const union pf_cube_number **values, struct pf_error *error)
{
    if (!inclusive)
        return subtract_children(sums, metric, path, error);
    if (!pf_cube_has_rows(metric, path, sums->own.cube->paths[path].end))
        return 0;
    return sum_subtree(sums, metric, path, values, error);
}

int pf_cube_sums_at(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                    bool inclusive, const union pf_cube_number **values, struct pf_error *error)
{
    const struct pf_cube *cube = sums->own.cube;
    bool leaf = cube->paths[path].end == path + 1;
    *values = sums->values;
    if (!metric->has_data)
        return 0;
    if (leaf || inclusive == (metric->stored == PF_CUBE_INCLUSIVE))
        return pf_cube_row(&sums->own, metric, path, 0, cube->n_locations, sums->values, error);
    return compute(sums, metric, path, inclusive, values, error);
}

/* ---- columns ------------------------------------------------------------------------------------ */

void pf_cube_sum_column(const struct pf_cube *cube, enum pf_cube_kind kind,
                        const union pf_cube_number *exclusive, union pf_cube_number *inclusive)
{
    const struct pf_tree *tree = cube->tree;
    fill_neutral(kind, inclusive, tree->count);
    for (uint32_t p = tree->count; p-- > 0;) {
        if (cube->paths[p].end == p + 1)
            inclusive[p] = exclusive
                [p]; /* as rows have it: an extreme may be nan, which is not less than a neutral one */
        else
            pf_cube_add(kind, &inclusive[p], &exclusive[p], 1);
        if (tree->parent[p] != PF_NO_CONTEXT)
            pf_cube_add(kind, &inclusive[tree->parent[p]], &inclusive[p], 1);
    }
}

void pf_cube_split_column(const struct pf_cube *cube, enum pf_cube_kind kind,
                          const union pf_cube_number *inclusive, union pf_cube_number *exclusive)
{
    const struct pf_tree *tree = cube->tree;
    for (uint32_t p = 0; p < tree->count; p++) {
        exclusive[p] = inclusive[p];
        if (tree->parent[p] != PF_NO_CONTEXT)
            pf_cube_subtract(kind, &exclusive[tree->parent[p]], &inclusive[p], 1);
    }
}
