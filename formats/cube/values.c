/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/cube/cubex.h"
#include "formats/driver_extra.h"

/* ---- numbers of rows ---------------------------------------------------------------------------- */

/* Sets the range of items on an axis of `count` items: all if `only` is negative, otherwise item `only`, if it exists. */
static void restrict_axis(int64_t only, uint32_t count, uint32_t *first, uint32_t *n)
{
    bool inside = only >= 0 && only < count;
    *first = inside ? (uint32_t)only : 0;
    *n = only < 0 ? count : inside;
}

int pf_cubex_numbers_init(struct pf_cubex_numbers *numbers, const struct pf_cursor *cursor,
                          uint64_t (*each)(const struct pf_cursor *cursor, uint32_t metric),
                          struct pf_error *error)
{
    const struct pf_cubex *cubex = cursor->model->state;
    const struct pf_cube *cube = &cubex->cube;
    uint64_t *first = calloc(cube->n_metrics + 1, sizeof *first);
    *numbers = (struct pf_cubex_numbers){.cubex = cubex, .first = first};
    if (!first)
        return pf_fail_memory(error);
    restrict_axis(cursor->only.context, cube->tree->count, &numbers->path_first, &numbers->paths);
    restrict_axis(cursor->only.partition, cube->n_locations, &numbers->location_first, &numbers->locations);
    for (uint32_t m = 0; m < cube->n_metrics; m++) {
        uint64_t n = cube->metrics[m].has_data ? each(cursor, m) : 0;
        first[m + 1] = first[m] + n * numbers->paths * numbers->locations;
    }
    return 0;
}

void pf_cubex_find_number(struct pf_cubex_numbers *numbers, uint64_t number)
{
    if (number < numbers->first[numbers->metric])
        numbers->metric = 0;
    while (number >= numbers->first[numbers->metric + 1])
        numbers->metric++;
    uint64_t first = numbers->first[numbers->metric],
             a_path = (numbers->first[numbers->metric + 1] - first) / numbers->paths;
    numbers->each = a_path / numbers->locations;
    numbers->path = numbers->path_first + (uint32_t)((number - first) / a_path);
    numbers->rest = (number - first) % a_path;
}

/* ---- values ------------------------------------------------------------------------------------- */

/*
 * The table "values" is sorted by metric of the file, then call path. The exclusive values of a call path precede its
 * inclusive ones; both are sorted by location. Zeros are left out.
 */
struct values {
    struct pf_cubex_numbers numbers;
    struct pf_cube_sums sums;
    uint64_t first;                  /* number of the first value of the loaded row */
    const union pf_cube_number *row; /* the loaded row, one value per location; NULL: no values */
    enum pf_cube_kind kind;
    int64_t metric;        /* index of the profile's metric */
    uint64_t next;         /* next number that may have a value */
    struct pf_cell *cells; /* buffer of next_values, one cell per location */
};

static uint64_t sides_wanted(const struct pf_cursor *cursor, uint32_t metric)
{
    const struct pf_cubex *cubex = cursor->model->state;
    const int *side = cubex->sides[metric].side;
    bool wanted = pf_wanted(cursor->only.metric, (uint64_t)side[PF_CUBEX_EXCLUSIVE]) ||
                  pf_wanted(cursor->only.metric, (uint64_t)side[PF_CUBEX_INCLUSIVE]);
    return wanted && pf_cube_is_number(cubex->cube.metrics[metric].type.kind) ? PF_CUBEX_SIDES : 0;
}

static int begin_cube_values(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                             struct pf_error *error)
{
    const struct pf_cubex *cubex = cursor->model->state;
    struct values *values = numbers->own = calloc(1, sizeof *values);
    bool all = cursor->only.context < 0;
    if (!values)
        return pf_fail_memory(error);
    if (pf_cubex_numbers_init(&values->numbers, cursor, sides_wanted, error))
        return -1;
    numbers->end = values->numbers.first[cubex->cube.n_metrics];
    values->first = PF_NO_NUMBER;
    /* columns.store is valid, since the table has the flag PF_DERIVED_BY_PARTITION. NULL: no copy was made. */
    bool by_column = all && cursor->only.partition >= 0 && cubex->columns.store;
    return pf_cube_sums_init(&values->sums, &cubex->cube, all, cursor->only.partition,
                             by_column ? &cubex->columns : NULL, error);
}

static void free_cube_values(void *own)
{
    struct values *values = own;
    if (!values)
        return;
    pf_cube_sums_end(&values->sums);
    free(values->numbers.first);
    free(values->cells);
    free(values);
}

/*
 * Loads the row that contains a number: the exclusive or inclusive values of a call path. Returns 1; 0 if the row is empty
 * or outside the cursor's restriction; -1 with *error filled.
 */
static int load_value_row(const struct pf_cursor *cursor, struct values *values, uint64_t number,
                          struct pf_error *error)
{
    struct pf_cubex_numbers *at = &values->numbers;
    pf_cubex_find_number(at, number);
    int side = at->rest >= at->locations;
    const struct pf_cube_metric *metric = &at->cubex->cube.metrics[at->metric];
    values->first = number - at->rest + (side ? at->locations : 0);
    values->kind = metric->type.kind;
    values->metric = at->cubex->sides[at->metric].side[side];
    values->row = NULL;
    if (!cursor->partner && !pf_wanted(cursor->only.metric, (uint64_t)values->metric))
        return 0;
    int got = pf_cube_sums_at(&values->sums, metric, at->path, side, &values->row, error);
    if (got <= 0)
        values->row = NULL;
    return got;
}

static int cube_value_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                          struct pf_error *error)
{
    struct values *values = own;
    uint32_t n = values->numbers.locations;
    int got = values->row != NULL;
    if (number < values->first || number - values->first >= n)
        got = load_value_row(cursor, values, number, error);
    values->next = values->first + n;
    if (got <= 0)
        return got;
    uint32_t at = (uint32_t)(number - values->first);
    while (at < n && !pf_cube_shown(values->kind, &values->row[at], &cells[PF_CUBEX_VALUE]))
        at++;
    if (at == n)
        return 0;
    values->next = values->first + at + 1;
    cells[PF_CUBEX_THREAD] = pf_int(values->numbers.location_first + at);
    cells[PF_CUBEX_CONTEXT] = pf_int(values->numbers.path);
    cells[PF_CUBEX_METRIC] = pf_int(values->metric);
    return 1;
}

static uint64_t after_cube_value(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor, (void)number;
    return ((const struct values *)own)->next;
}

static int next_values(struct pf_cursor *cursor, struct pf_value_row *row, struct pf_error *error)
{
    struct pf_numbers *numbers = pf_numbers_of(cursor);
    struct values *values = numbers->own;
    uint32_t n = values->numbers.locations;
    int got = 0;
    if (!values->cells && !(values->cells = malloc(((size_t)n + 1) * sizeof *values->cells)))
        return pf_fail_memory(error);
    while (!got && numbers->next < numbers->end) {
        got = load_value_row(cursor, values, numbers->next, error);
        numbers->next = values->first + n;
    }
    if (got <= 0)
        return got;
    for (uint32_t l = 0; l < n; l++)
        if (!pf_cube_shown(values->kind, &values->row[l], &values->cells[l]))
            values->cells[l] = pf_absent();
    *row = (struct pf_value_row){(uint32_t)values->metric, values->numbers.path, values->cells};
    return 1;
}

const struct pf_numbered pf_cubex_values = {
    PF_NUMBERED,           .ops.next_values = next_values, .begin = begin_cube_values,
    .row = cube_value_row, .after = after_cube_value,      .free = free_cube_values};
