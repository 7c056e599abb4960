/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/kit/pass.h"

/* Target size, in values (2 MiB), of each of the buffers `stored`, `derived` and `levels`. Each cursor has its own buffers. */
#define NUMBERS_MAX ((size_t)128 * 1024)
/* Size of the first range of a cursor that starts inside the tree, in values. A cursor often reads no more than a stretch of the table. */
#define NUMBERS_FIRST ((size_t)16 * 1024)

static void fill_neutral(enum pf_cube_kind kind, union pf_cube_number *values, size_t n)
{
    union pf_cube_number neutral = pf_cube_neutral(kind);
    for (size_t i = 0; i < n; i++)
        values[i] = neutral;
}

int pf_cube_sums_init(struct pf_cube_sums *sums, const struct pf_cube *cube, bool ahead, int64_t location,
                      const struct pf_cube_columns *columns, struct pf_error *error)
{
    bool one = location >= 0 && location < cube->n_locations;
    size_t width = one ? 1 : (size_t)cube->n_locations + 1, rows = ahead ? NUMBERS_MAX / width : 1;
    *sums = (struct pf_cube_sums){.location = one ? (uint32_t)location : 0,
                                  .width = one ? 1 : cube->n_locations,
                                  .columns = one ? columns : NULL,
                                  .rows_max = rows > cube->tree->count ? cube->tree->count : (uint32_t)rows};
    pf_cube_reader_init(&sums->reader, cube, ahead);
    sums->rows_max += !sums->rows_max;
    sums->stored = malloc(sums->rows_max * width * sizeof *sums->stored);
    sums->derived = malloc(sums->rows_max * width * sizeof *sums->derived);
    sums->there = malloc(sums->rows_max * sizeof *sums->there);
    sums->term = malloc(width * sizeof *sums->term);
    return sums->stored && sums->derived && sums->there && sums->term ? 0 : pf_fail_memory(error);
}

void pf_cube_sums_end(struct pf_cube_sums *sums)
{
    pf_cube_reader_end(&sums->reader);
    free(sums->column);
    free(sums->stored);
    free(sums->derived);
    free(sums->there);
    free(sums->term);
}

/* ---- ranges of call paths ------------------------------------------------------------------------- */

/*
 * Returns the end of a range of at most sums->rows call paths from `first` on. Splits a subtree only if it has more than
 * sums->rows call paths, because the part after the range is read twice: for this range and for the next one.
 */
static uint32_t end_range(const struct pf_cube_sums *sums, uint32_t first)
{
    const struct pf_cube *cube = sums->reader.cube;
    uint32_t end = first;
    while (end < cube->tree->count && end - first < sums->rows) {
        uint32_t size = cube->paths[end].end - end;
        if (size <= sums->rows - (end - first))
            end += size;
        else if (size > sums->rows)
            end++;
        else
            break;
    }
    return end;
}

static int read_location_column(struct pf_cube_sums *sums, struct pf_error *error)
{
    const struct pf_cube_metric *metric = sums->metric;
    sums->column_metric = NULL;
    free(sums->column);
    sums->column = malloc((size_t)(metric->rows + 1) * metric->type.size);
    if (!sums->column)
        return pf_fail_memory(error);
    if (pf_cube_columns_read(sums->columns, sums->reader.cube, metric, sums->location, sums->column, error))
        return -1;
    sums->column_metric = metric;
    return 0;
}

/*
 * Reads n numbers of a call path's row, from location sums->location + first on. Returns 1; 0 if the call path has no row;
 * -1 with *error filled.
 */
static int read_path_row(struct pf_cube_sums *sums, uint32_t path, uint32_t first, uint32_t n,
                         union pf_cube_number *out, struct pf_error *error)
{
    const struct pf_cube_metric *metric = sums->metric;
    const unsigned char *raw;
    int64_t row = pf_cube_row_of(&sums->reader, metric, path);
    if (row < 0)
        return 0;
    if (sums->columns && sums->column_metric != metric && read_location_column(sums, error))
        return -1;
    int got = 1;
    if (sums->columns)
        raw = sums->column + (size_t)row * metric->type.size;
    else
        got = pf_cube_raw_row(&sums->reader, metric, (uint64_t)row, sums->location + first, n, &raw, error);
    if (got > 0)
        pf_cube_decode(metric, raw, n, out);
    return got;
}

/*
 * Sets the maximum size of the next range, which begins at `path`: it doubles with each range. A scan of all call paths starts with the
 * largest. If values are stored exclusive, inclusive values of `path` need its whole subtree: a shorter range would read most of it twice.
 */
static void set_range_size(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path)
{
    uint32_t rows = sums->rows ? 2 * sums->rows : (uint32_t)(NUMBERS_FIRST / (sums->width + 1)) + 1;
    uint32_t subtree = sums->reader.cube->paths[path].end - path;
    if (metric->stored != PF_CUBE_INCLUSIVE && rows < subtree)
        rows = subtree;
    sums->rows = !path || rows > sums->rows_max ? sums->rows_max : rows;
}

static int read_path_range(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                           struct pf_error *error)
{
    set_range_size(sums, metric, path);
    uint32_t n = sums->width, end = end_range(sums, path);
    sums->metric = metric;
    sums->first = sums->end = path;
    sums->is_derived = false;
    if (pf_pass_check(error))
        return -1;
    for (uint32_t p = path; p < end; p++) {
        union pf_cube_number *row = sums->stored + (size_t)(p - path) * n;
        int got = read_path_row(sums, p, 0, n, row, error);
        if (got < 0)
            return -1;
        if (!got)
            fill_neutral(metric->type.kind, row, n);
        sums->there[p - path] = got;
    }
    sums->end = end;
    return 0;
}

/*
 * Sets *row to n numbers of a call path in or after the range, from location sums->location + first on. Returns 1; 0 if the
 * call path has no row; -1 with *error filled.
 */
static int path_row_at(struct pf_cube_sums *sums, uint32_t path, uint32_t first, uint32_t n,
                       const union pf_cube_number **row, struct pf_error *error)
{
    *row = sums->term;
    if (path >= sums->end)
        return read_path_row(sums, path, first, n, sums->term, error);
    *row = sums->stored + (size_t)(path - sums->first) * sums->width + first;
    return sums->there[path - sums->first];
}

/* ---- values that are not stored --------------------------------------------------------------------- */

/* The loops below may visit many call paths without rows, which need no reads. So the loops check for cancellation themselves. */

/* Derives exclusive values by subtracting the values of the children, in order. */
static int subtract_children(struct pf_cube_sums *sums, struct pf_error *error)
{
    const struct pf_tree *tree = sums->reader.cube->tree;
    const union pf_cube_number *child;
    uint32_t n = sums->width;
    memcpy(sums->derived, sums->stored, (size_t)(sums->end - sums->first) * n * sizeof *sums->derived);
    for (uint32_t p = sums->first; p < sums->end; p++)
        for (uint32_t c = tree->first[p]; c < tree->first[p + 1]; c++) {
            int got = pf_pass_check(error) ? -1 : path_row_at(sums, tree->child[c], 0, n, &child, error);
            if (got < 0)
                return -1;
            if (got)
                pf_cube_subtract(sums->metric->type.kind, sums->derived + (size_t)(p - sums->first) * n,
                                 child, n);
        }
    return 0;
}

/* Sets *top to the least depth of the call paths [sums->first, end). Returns the number of levels from there to the deepest. */
static uint32_t levels_of(const struct pf_cube_sums *sums, uint32_t end, uint32_t *top)
{
    const uint32_t *depth = sums->reader.cube->tree->depth;
    uint32_t deepest = *top = depth[sums->first];
    for (uint32_t p = sums->first; p < end; p++) {
        deepest = depth[p] > deepest ? depth[p] : deepest;
        *top = depth[p] < *top ? depth[p] : *top;
    }
    return deepest - *top + 1;
}

/*
 * Derives inclusive values for the n locations from sums->location + first on. Walks the call paths from `end` back to sums->first, so that
 * descendants come before their ancestors. For each depth from top - 1 on, `levels` has n sums: the values, added up so far, of the
 * descendants of the next call path of this depth that the walk reaches. The sums at depth top - 1 are for call paths before the range.
 */
static int add_levels(struct pf_cube_sums *sums, uint32_t end, uint32_t top, union pf_cube_number *levels,
                      uint32_t first, uint32_t n, struct pf_error *error)
{
    const struct pf_cube *cube = sums->reader.cube;
    enum pf_cube_kind kind = sums->metric->type.kind;
    for (uint32_t p = end; p-- > sums->first;) {
        const union pf_cube_number *own;
        union pf_cube_number *sum = levels + ((size_t)(cube->tree->depth[p] - top) + 1) * n;
        int got = pf_pass_check(error) ? -1 : path_row_at(sums, p, first, n, &own, error);
        if (got < 0)
            return -1;
        if (got && cube->paths[p].end == p + 1)
            memcpy(sum, own, n * sizeof *sum); /* adding to an identity of minima or maxima loses a NaN */
        else if (got)
            pf_cube_add(kind, sum, own, n);
        if (p < sums->end)
            memcpy(sums->derived + (size_t)(p - sums->first) * sums->width + first, sum, n * sizeof *sum);
        pf_cube_add(kind, sum - n, sum, n);
        fill_neutral(kind, sum, n);
    }
    return 0;
}

/* Derives inclusive values of all locations. If the tree is deep, works on slices of locations to bound the size of the buffer. */
static int add_subtrees(struct pf_cube_sums *sums, struct pf_error *error)
{
    const struct pf_cube *cube = sums->reader.cube;
    uint32_t end = sums->end, top, all = sums->width, n;
    for (uint32_t p = sums->first; p < sums->end; p++)
        end = cube->paths[p].end > end ? cube->paths[p].end : end;
    size_t levels = (size_t)levels_of(sums, end, &top) + 1, width = NUMBERS_MAX / levels;
    width = width > all ? all : width ? width : 1;
    union pf_cube_number *sum = malloc(levels * width * sizeof *sum);
    int failed = 0;
    if (!sum)
        return pf_fail_memory(error);
    for (uint32_t first = 0; first < all && !failed; first += n) {
        n = all - first < width ? all - first : (uint32_t)width;
        fill_neutral(sums->metric->type.kind, sum, levels * n);
        failed = add_levels(sums, end, top, sum, first, n, error);
    }
    free(sum);
    return failed;
}

int pf_cube_sums_at(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                    bool inclusive, const union pf_cube_number **values, struct pf_error *error)
{
    bool stored_inclusive = metric->stored == PF_CUBE_INCLUSIVE, as_stored = inclusive == stored_inclusive;
    bool in_range = sums->metric == metric && path >= sums->first && path < sums->end;
    if (!metric->has_data)
        return 0;
    if (!in_range && read_path_range(sums, metric, path, error))
        return -1;
    if (!as_stored && !sums->is_derived &&
        (stored_inclusive ? subtract_children(sums, error) : add_subtrees(sums, error)))
        return -1;
    sums->is_derived |= !as_stored;
    *values = (as_stored ? sums->stored : sums->derived) + (size_t)(path - sums->first) * sums->width;
    return !as_stored || sums->there[path - sums->first];
}
