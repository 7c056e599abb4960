/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdlib.h>

#include "formats/cube/sums.h"

/*
 * Looks at a metric's data once, when the indexes have been read: which compressed rows are damaged, whether counters have
 * wrapped around, whether call paths come to less than zero. Data of more than CHECKED_MAX bytes are looked at for wrapped
 * counters alone: there a damaged row is found when it is read, and has no values.
 */
#define CHECKED_MAX ((uint64_t)64 << 20)

struct check {
    struct pf_cube *cube;
    struct pf_cube_metric *metric;
    struct pf_cube_reader reader;
    uint32_t *paths;              /* the call path of each row, or PF_CUBE_NONE */
    union pf_cube_number *totals; /* of each call path, over the locations */
    union pf_cube_number *row;
    uint64_t wrapped;
};

/* ---- damage --------------------------------------------------------------------------------------- */

/* A row without data has no values, which is nothing wrong. 0, or -1 with *error filled. */
static int take_bad_row(const struct check *check, uint64_t row, struct pf_error *error)
{
    struct pf_cube_metric *metric = check->metric;
    struct pf_cube_range range;
    int found = pf_cube_stream(check->cube, metric, row, &range, error);
    if (!metric->damaged)
        metric->damaged = calloc((size_t)(metric->rows / 64 + 1), sizeof *metric->damaged);
    if (!metric->damaged)
        return pf_fail_memory(error);
    metric->damaged[row / 64] |= UINT64_C(1) << row % 64;
    if (found < 0 || (found && !range.size))
        return found < 0 ? -1 : 0;
    return pf_cube_note(&check->cube->data_notes, PF_CUBE_NOTE_BAD_STREAM, 0, (int64_t)metric->base,
                        "metric " PF_CUBE_NAME ": row %llu of its data cannot be inflated; it has no values",
                        metric->name, (unsigned long long)row);
}

/* ---- counters that wrapped ------------------------------------------------------------------------ */

/* Below zero, but stored as unsigned: no count gets that far by counting. */
static bool may_wrap(const struct pf_cube_metric *metric)
{
    return metric->type.kind == PF_CUBE_UNSIGNED && metric->type.size == 8;
}

static uint64_t count_wrapped(const struct pf_cube_metric *metric, const unsigned char *raw, size_t n)
{
    size_t top = metric->swapped == (BYTE_ORDER == LITTLE_ENDIAN) ? 0 : 7;
    uint64_t wrapped = 0;
    for (size_t i = 0; i < n; i++)
        wrapped += raw[i * 8 + top] >> 7;
    return wrapped;
}

static int tell_wrapped(const struct check *check)
{
    return check->wrapped
               ? pf_cube_note(&check->cube->data_notes, PF_CUBE_NOTE_WRAPPED, 0, (int64_t)check->metric->base,
                              "metric " PF_CUBE_NAME
                              ": %llu values are 2^63 or more, as of a counter that went "
                              "below zero; they are shown as they are stored, and so are sums of them",
                              check->metric->name, (unsigned long long)check->wrapped)
               : 0;
}

/* ---- less than zero --------------------------------------------------------------------------------- */

static void add_up(const struct check *check, uint32_t path, const unsigned char *raw)
{
    enum pf_cube_kind kind = check->metric->type.kind;
    pf_cube_decode(check->metric, raw, check->cube->n_locations, check->row);
    for (uint32_t l = 0; l < check->cube->n_locations; l++)
        pf_cube_add(kind, &check->totals[path], &check->row[l], 1);
}

/* Differences of doubles are below zero by rounding alone: less than this part of the largest value counts. */
#define ROUNDING 1e-9

static uint64_t count_negative(const struct check *check, const union pf_cube_number *exclusive)
{
    bool integer = pf_cube_is_int(check->metric->type.kind);
    double largest = 0;
    uint64_t negative = 0;
    for (uint32_t p = 0; p < check->cube->tree->count && !integer; p++)
        if (check->totals[p].a > largest)
            largest = check->totals[p].a;
    for (uint32_t p = 0; p < check->cube->tree->count; p++)
        negative += integer ? exclusive[p].i < 0 : exclusive[p].a < -ROUNDING * largest;
    return negative;
}

static int tell_negative(const struct check *check, struct pf_error *error)
{
    struct pf_cube *cube = check->cube;
    union pf_cube_number *exclusive = check->totals;
    if (check->metric->stored == PF_CUBE_INCLUSIVE) {
        exclusive = malloc(((size_t)cube->tree->count + 1) * sizeof *exclusive);
        if (!exclusive)
            return pf_fail_memory(error);
        pf_cube_split_column(cube, check->metric->type.kind, check->totals, exclusive);
    }
    uint64_t negative = count_negative(check, exclusive);
    if (exclusive != check->totals)
        free(exclusive);
    return negative ? pf_cube_note(&cube->data_notes, PF_CUBE_NOTE_NEGATIVE, 0, (int64_t)check->metric->base,
                                   "metric " PF_CUBE_NAME
                                   ": the exclusive values of %llu call paths come to less than "
                                   "zero, so that others may exceed 100 %%",
                                   check->metric->name, (unsigned long long)negative)
                    : 0;
}

/* ---- all --------------------------------------------------------------------------------------------- */

static int check_rows(struct check *check, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cube_metric *metric = check->metric;
    for (uint64_t row = 0; row < metric->rows; row++) {
        const unsigned char *raw;
        int good = pf_cube_raw_row(&check->reader, metric, row, 0, check->cube->n_locations, &raw, error);
        if (good < 0 || pf_pass_step(pass, row, metric->rows, error))
            return -1;
        if (!good && metric->compressed && take_bad_row(check, row, error))
            return -1;
        if (good && may_wrap(metric))
            check->wrapped += count_wrapped(metric, raw, check->cube->n_locations);
        if (good && check->totals && check->paths[row] != PF_CUBE_NONE)
            add_up(check, check->paths[row], raw);
    }
    return tell_wrapped(check) || (check->totals && tell_negative(check, error)) ? -1 : 0;
}

static int make_totals(struct check *check, struct pf_error *error)
{
    const struct pf_cube *cube = check->cube;
    uint64_t rows = check->metric->rows;
    check->paths = malloc((size_t)(rows + 1) * sizeof *check->paths);
    check->totals = calloc((size_t)cube->tree->count + 1, sizeof *check->totals);
    check->row = malloc(((size_t)cube->n_locations + 1) * sizeof *check->row);
    if (!check->paths || !check->totals || !check->row)
        return pf_fail_memory(error);
    for (uint64_t row = 0; row < rows; row++)
        check->paths[row] = PF_CUBE_NONE;
    for (uint32_t p = 0; p < cube->tree->count; p++) {
        int64_t row = pf_cube_row_of(cube, check->metric, p);
        if (row >= 0)
            check->paths[row] = p;
    }
    return 0;
}

int pf_cube_check(struct pf_cube *cube, struct pf_cube_metric *metric, struct pf_pass *pass,
                  struct pf_error *error)
{
    struct check check = {.cube = cube, .metric = metric};
    bool large = metric->end - metric->base > CHECKED_MAX;
    if (large && !may_wrap(metric))
        return 0;
    pf_cube_reader_init(&check.reader, cube, true);
    int failed = (!large && pf_cube_is_sum(metric->type.kind) && make_totals(&check, error)) ||
                 check_rows(&check, pass, error);
    pf_cube_reader_end(&check.reader);
    free(check.paths);
    free(check.totals);
    free(check.row);
    return failed ? -1 : 0;
}
