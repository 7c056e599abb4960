/* SPDX-License-Identifier: MIT */
#include "formats/cube/columns.h"

#include <stdlib.h>
#include <string.h>

#include "formats/cube/rows.h"

/* A block takes up to so many bytes, unless it would have fewer rows than are worth a read. */
enum { BLOCK_BYTES = 8 * 1024 * 1024, ROWS_MIN = 16 };

/* ---- numbers ------------------------------------------------------------------------------------ */

static size_t width_of(enum pf_cube_kind kind)
{
    return kind == PF_CUBE_RATE || kind == PF_CUBE_COMPLEX || kind == PF_CUBE_AVERAGE ? 16 : 8;
}

/* Stored integers have at most 64 bits; whether these are signed, the kind tells. */
static inline void pack(enum pf_cube_kind kind, const union pf_cube_number *number, unsigned char *out)
{
    uint64_t low = (uint64_t)number->i;
    if (pf_cube_is_int(kind))
        memcpy(out, &low, sizeof low);
    else
        memcpy(out, &number->a, sizeof number->a);
    if (width_of(kind) == 16)
        memcpy(out + 8, &number->b, sizeof number->b);
}

static union pf_cube_number unpack(enum pf_cube_kind kind, const unsigned char *raw)
{
    union pf_cube_number number = {.a = 0, .b = 0};
    uint64_t low;
    memcpy(&low, raw, sizeof low);
    if (kind == PF_CUBE_SIGNED) {
        number.i = (int64_t)low;
    } else if (kind == PF_CUBE_UNSIGNED) {
        number.i = low;
    } else {
        memcpy(&number.a, raw, sizeof number.a);
        if (width_of(kind) == 16)
            memcpy(&number.b, raw + 8, sizeof number.b);
    }
    return number;
}

/* ---- making ------------------------------------------------------------------------------------- */

struct making {
    const struct pf_cube *cube;
    struct pf_store *store;
    struct pf_cube_reader reader;
    union pf_cube_number *row;
    unsigned char *block;
    size_t block_size;
    uint64_t done, total; /* bytes of matrices */
    struct pf_pass *pass;
};

static uint32_t rows_a_block(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    uint64_t row = cube->n_locations * width_of(metric->type.kind), rows = BLOCK_BYTES / (row ? row : 1);
    if (rows < ROWS_MIN)
        rows = ROWS_MIN;
    if (rows > metric->rows)
        rows = metric->rows;
    return rows ? (uint32_t)rows : 1;
}

static void put_row(const struct making *making, enum pf_cube_kind kind, size_t row, size_t rows)
{
    size_t width = width_of(kind), n = making->cube->n_locations;
    for (size_t l = 0; l < n; l++)
        pack(kind, &making->row[l], making->block + (l * rows + row) * width);
}

static int copy_block(struct making *making, const struct pf_cube_metric *metric, uint64_t first,
                      uint32_t rows, struct pf_error *error)
{
    enum pf_cube_kind kind = metric->type.kind;
    union pf_cube_number neutral = pf_cube_neutral(kind);
    for (uint32_t r = 0; r < rows; r++) {
        int got = pf_cube_matrix_row(&making->reader, metric, first + r, making->row, error);
        making->done += pf_cube_row_size(making->cube, metric);
        if (got < 0 || pf_pass_step(making->pass, making->done, making->total, error))
            return -1;
        for (uint32_t l = 0; !got && l < making->cube->n_locations; l++)
            making->row[l] = neutral;
        put_row(making, kind, r, rows);
    }
    return pf_store_append(making->store, making->block,
                           (size_t)rows * making->cube->n_locations * width_of(kind), error);
}

static int copy_metric(struct making *making, const struct pf_cube_metric *metric,
                       struct pf_cube_column_place *place, struct pf_error *error)
{
    uint32_t rows = rows_a_block(making->cube, metric);
    size_t size = (size_t)rows * making->cube->n_locations * width_of(metric->type.kind);
    *place = (struct pf_cube_column_place){pf_store_size(making->store), rows};
    if (size > making->block_size) {
        free(making->block);
        making->block_size = 0;
        making->block = malloc(size);
        if (!making->block)
            return pf_fail_memory(error);
        making->block_size = size;
    }
    for (uint64_t first = 0; first < metric->rows; first += rows) {
        uint64_t left = metric->rows - first;
        if (copy_block(making, metric, first, left < rows ? (uint32_t)left : rows, error))
            return -1;
    }
    return 0;
}

/* What is no number stands in no thread's values. */
static bool is_copied(const struct pf_cube_metric *metric)
{
    return metric->has_data && pf_cube_is_number(metric->type.kind);
}

static int copy_all(struct making *making, struct pf_cube_column_place *places, struct pf_error *error)
{
    const struct pf_cube *cube = making->cube;
    for (size_t m = 0; m < cube->n_metrics; m++)
        if (is_copied(&cube->metrics[m]))
            making->total += cube->metrics[m].rows * pf_cube_row_size(cube, &cube->metrics[m]);
    for (size_t m = 0; m < cube->n_metrics; m++)
        if (is_copied(&cube->metrics[m]) && copy_metric(making, &cube->metrics[m], &places[m], error))
            return -1;
    return 0;
}

int pf_cube_columns_make(struct pf_cube_columns *columns, const struct pf_cube *cube, uint64_t limit,
                         struct pf_pass *pass, struct pf_error *error)
{
    struct making making = {.cube = cube, .pass = pass, .store = pf_store_new(limit)};
    struct pf_cube_column_place *places = calloc(cube->n_metrics + 1, sizeof *places);
    pf_cube_reader_init(&making.reader, cube, true);
    making.row = malloc(((size_t)cube->n_locations + 1) * sizeof *making.row);
    int result = making.store && places && making.row ? 0 : pf_fail_memory(error);
    if (!result)
        result = copy_all(&making, places, error);
    free(making.row);
    free(making.block);
    pf_cube_reader_end(&making.reader);
    *columns = (struct pf_cube_columns){making.store, places};
    if (result)
        pf_cube_columns_free(columns);
    return result;
}

void pf_cube_columns_free(struct pf_cube_columns *columns)
{
    pf_store_free(columns->store);
    free(columns->places);
    *columns = (struct pf_cube_columns){0};
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* The column as it stands, row by row. */
static int read_column(const struct pf_cube_columns *columns, const struct pf_cube *cube, size_t m,
                       uint32_t location, unsigned char *raw, struct pf_error *error)
{
    const struct pf_cube_metric *metric = &cube->metrics[m];
    const struct pf_cube_column_place *place = &columns->places[m];
    size_t width = width_of(metric->type.kind);
    for (uint64_t first = 0; first < metric->rows; first += place->block_rows) {
        uint64_t left = metric->rows - first, rows = left < place->block_rows ? left : place->block_rows;
        uint64_t offset = place->base + (first * cube->n_locations + location * rows) * width;
        if (pf_store_read(columns->store, offset, raw + first * width, (size_t)rows * width, error))
            return -1;
    }
    return 0;
}

int pf_cube_columns_read(const struct pf_cube_columns *columns, const struct pf_cube *cube, size_t m,
                         uint32_t location, union pf_cube_number *values, struct pf_error *error)
{
    const struct pf_cube_metric *metric = &cube->metrics[m];
    enum pf_cube_kind kind = metric->type.kind;
    size_t width = width_of(kind);
    unsigned char *raw = malloc(((size_t)metric->rows + 1) * width);
    if (!raw)
        return pf_fail_memory(error);
    int result = read_column(columns, cube, m, location, raw, error);
    for (uint32_t p = 0; p < cube->tree->count && !result; p++) {
        int64_t row = pf_cube_row_of(cube, metric, p);
        values[p] = row < 0 ? pf_cube_neutral(kind) : unpack(kind, raw + (size_t)row * width);
    }
    free(raw);
    return result;
}
