/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"

/* Target size of a block in bytes, and minimum number of its rows. Reading one location takes one read per block. */
enum { BLOCK_BYTES = 8 * 1024 * 1024, ROWS_MIN = 16 };

struct copying {
    struct pf_run *run;
    const struct pf_cube *cube;
    struct pf_store *store;
    struct pf_cube_reader reader;
    PF_LIST(unsigned char) block;
};

static uint32_t rows_a_block(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    uint64_t rows = BLOCK_BYTES / pf_cube_row_size(cube, metric);
    if (rows < ROWS_MIN)
        rows = ROWS_MIN;
    return (uint32_t)(rows < metric->rows ? rows : metric->rows);
}

/* Copies rows to an offset of the store. Writes nothing if all rows are missing and stand for zeros: gaps in a store are zeros. */
static void copy_block(struct copying *copying, const struct pf_cube_metric *metric, uint64_t first,
                       uint32_t rows, uint64_t offset)
{
    struct pf_run *run = copying->run;
    size_t size = metric->type.size, n = copying->cube->n_locations;
    /* Elements of a missing row are the neutral double for minima and maxima, and zero bytes otherwise. */
    double neutral = pf_cube_is_extreme(metric->type.kind) ? pf_cube_neutral(metric->type.kind).a : 0;
    uint64_t bits;
    memcpy(&bits, &neutral, sizeof bits);
    bits = metric->big ? htobe64(bits) : htole64(bits);
    bool is_empty = !bits;
    for (uint32_t r = 0; r < rows; r++) {
        const unsigned char *raw;
        int got = pf_cube_raw_row(&copying->reader, metric, first + r, 0, (uint32_t)n, &raw, run->error);
        pf_run_check(run, got);
        pf_run_step(run, (uint64_t)(metric - copying->cube->metrics), copying->cube->n_metrics);
        is_empty &= !got;
        for (size_t l = 0; l < n; l++) {
            unsigned char *to = copying->block.at + (l * rows + r) * size;
            if (got)
                memcpy(to, raw + l * size, size);
            else
                memcpy(memset(to, 0, size), &bits, size < sizeof bits ? size : sizeof bits);
        }
    }
    if (!is_empty)
        pf_run_check(run,
                     pf_store_write(copying->store, offset, copying->block.at, rows * n * size, run->error));
}

static void copy_metric(struct copying *copying, const struct pf_cube_metric *metric)
{
    uint32_t rows = rows_a_block(copying->cube, metric);
    uint64_t row_size = pf_cube_row_size(copying->cube, metric), base = pf_store_size(copying->store);
    pf_run_room(copying->run, &copying->block.at, &copying->block.room, (size_t)(rows * row_size), 1);
    for (uint64_t first = 0; first < metric->rows; first += rows) {
        uint64_t left = metric->rows - first;
        copy_block(copying, metric, first, left < rows ? (uint32_t)left : rows, base + first * row_size);
    }
    uint64_t end = base + metric->rows * row_size;
    pf_run_check(copying->run, pf_store_write(copying->store, end, "", 0, copying->run->error));
}

/*
 * Returns false if the copy would be more than PF_CUBE_RATIO_MAX times as large as the file. A small file can declare such a size, because
 * many rows may share a stream or have none.
 */
static bool is_size_plausible(const struct pf_cube *cube)
{
    uint64_t left = pf_input_size(cube->input) * PF_CUBE_RATIO_MAX;
    for (size_t m = 0; m < cube->n_metrics; m++) {
        const struct pf_cube_metric *metric = &cube->metrics[m];
        uint64_t row = pf_cube_row_size(cube, metric);
        if (!metric->has_data || !row)
            continue;
        if (metric->rows > left / row)
            return false;
        left -= metric->rows * row;
    }
    return true;
}

void pf_cube_columns_make(struct pf_run *run, struct pf_cube_columns *columns, const struct pf_cube *cube,
                          uint64_t limit)
{
    struct copying *copying = PF_OWN(run, calloc(1, sizeof *copying), free);
    if (!is_size_plausible(cube))
        return;
    PF_OWN(run, columns, pf_cube_columns_free);
    columns->store = pf_run_memory(run, pf_store_new(limit));
    columns->base = pf_run_memory(run, calloc(cube->n_metrics + 1, sizeof *columns->base));
    copying->run = run;
    copying->cube = cube;
    copying->store = columns->store;
    pf_cube_reader_init(&copying->reader, cube, true);
    PF_OWN(run, &copying->reader, pf_cube_reader_end);
    for (size_t m = 0; m < cube->n_metrics; m++) {
        const struct pf_cube_metric *metric = &cube->metrics[m];
        columns->base[m] = pf_store_size(copying->store);
        if (metric->has_data && pf_cube_is_number(metric->type.kind))
            copy_metric(copying, metric);
    }
    pf_disown(run, columns);
}

void pf_cube_columns_free(struct pf_cube_columns *columns)
{
    pf_store_free(columns->store);
    free(columns->base);
    *columns = (struct pf_cube_columns){0};
}

/* ---- reading ------------------------------------------------------------------------------------ */

int pf_cube_columns_read(const struct pf_cube_columns *columns, const struct pf_cube *cube,
                         const struct pf_cube_metric *metric, uint32_t location, unsigned char *raw,
                         struct pf_error *error)
{
    uint64_t base = columns->base[metric - cube->metrics];
    uint32_t block = rows_a_block(cube, metric);
    size_t size = metric->type.size;
    for (uint64_t first = 0; first < metric->rows; first += block) {
        uint64_t left = metric->rows - first, rows = left < block ? left : block;
        uint64_t offset = base + (first * cube->n_locations + location * rows) * size;
        if (pf_store_read(columns->store, offset, raw + first * size, (size_t)rows * size, error))
            return -1;
    }
    return 0;
}
