/* SPDX-License-Identifier: MIT */
#include <libdeflate.h>
#include <stdlib.h>

#include "formats/cube/cube.h"
#include "formats/kit/array.h"

enum {
    PIECE = 4 * 1024,    /* bytes per read if `ahead` is set */
    SMALL = 1024 * 1024, /* matrices of up to this many bytes are read whole if `ahead` is set */
    STREAM_MORE = 64,    /* a stream has at most 5/4 of the row's size plus this many bytes */
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead)
{
    *reader = (struct pf_cube_reader){.cube = cube, .ahead = ahead};
    reader->window = (struct pf_window){.input = cube->input, .room = ahead ? PIECE : 1};
}

void pf_cube_reader_end(struct pf_cube_reader *reader)
{
    libdeflate_free_decompressor(reader->inflater);
    pf_window_close(&reader->window);
    free(reader->row);
}

/* Returns `size` bytes of a metric's data, at `offset` of the input, valid until the next call; NULL with *error filled. */
static const unsigned char *metric_bytes_at(struct pf_cube_reader *reader,
                                            const struct pf_cube_metric *metric, uint64_t offset, size_t size,
                                            struct pf_error *error)
{
    uint64_t all = metric->end - metric->base;
    if (!reader->ahead || all > SMALL)
        return pf_window_at(&reader->window, offset, size, error);
    const unsigned char *bytes = pf_window_at(&reader->window, metric->base, (size_t)all, error);
    return bytes ? bytes + (offset - metric->base) : NULL;
}

static int make_row_room(struct pf_cube_reader *reader, size_t row_size, struct pf_error *error)
{
    if (!reader->inflater && !(reader->inflater = libdeflate_alloc_decompressor()))
        return pf_fail_memory(error);
    if (reader->row_room >= row_size)
        return 0;
    int failed = pf_array_resize(&reader->row, row_size, 1, error);
    reader->row_room = failed ? reader->row_room : row_size;
    return failed;
}

/*
 * Decompresses a row into reader->row. Returns 1; 0 if the stream is missing, damaged or of the wrong size; -1 with
 * *error filled.
 */
static int inflate_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                       struct pf_error *error)
{
    const struct pf_cube_range *range = &metric->streams[row];
    uint64_t size = pf_cube_row_size(reader->cube, metric);
    if (!range->size || size / PF_CUBE_RATIO_MAX > range->size || size > UINT32_MAX / 2 ||
        range->size > size + size / 4 + STREAM_MORE)
        return 0;
    const unsigned char *bytes = metric_bytes_at(reader, metric, range->offset, (size_t)range->size, error);
    if (!bytes || make_row_room(reader, (size_t)size, error))
        return -1;
    return libdeflate_zlib_decompress(reader->inflater, bytes, (size_t)range->size, reader->row, (size_t)size,
                                      NULL) == LIBDEFLATE_SUCCESS;
}

/*
 * Returns the row of `position`; metric->rows if the index does not list the position. Tries the neighbours of the last result before it
 * searches all rows, since most scans follow the order of the positions.
 */
static uint64_t find_listed_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric,
                                uint32_t position)
{
    uint64_t row = 0, end = metric->rows, near = reader->last;
    if (near > 1 && near <= end && metric->after[near - 2] <= position)
        row = near - 1;
    if (near + 1 < end && metric->after[near + 1] > position)
        end = near + 1;
    while (row < end) {
        uint64_t middle = row + (end - row) / 2;
        if (metric->after[middle] <= position)
            row = middle + 1;
        else
            end = middle;
    }
    reader->last = row;
    return row < metric->rows && metric->after[row] == position + 1 ? row : metric->rows;
}

int64_t pf_cube_row_of(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint32_t path)
{
    uint32_t position = metric->stored == PF_CUBE_INCLUSIVE ? reader->cube->paths[path].wide : path;
    if (!metric->has_data)
        return -1;
    uint64_t row = metric->after ? find_listed_row(reader, metric, position) : position;
    return row < metric->rows ? (int64_t)row : -1;
}

int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error)
{
    size_t skip = (size_t)first * metric->type.size, size = (size_t)n * metric->type.size;
    if (metric->streams) {
        int got = inflate_row(reader, metric, row, error);
        *raw = got > 0 ? reader->row + skip : NULL;
        return got;
    }
    uint64_t offset = metric->base + row * pf_cube_row_size(reader->cube, metric) + skip;
    *raw = metric_bytes_at(reader, metric, offset, size, error);
    return *raw ? 1 : -1;
}
