/* SPDX-License-Identifier: MIT */
#include "formats/cube/rows.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

enum {
    WINDOW = 64 * 1024,
    SMALL =
        1024 *
        1024, /* who goes through everything reads smaller matrices whole: the rows of call paths lie in another order */
    RATIO_MAX = 1032, /* no zlib stream inflates to more than this many times its size */
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead)
{
    *reader = (struct pf_cube_reader){.cube = cube, .ahead = ahead};
}

void pf_cube_reader_end(struct pf_cube_reader *reader)
{
    if (reader->stream_ready)
        inflateEnd(&reader->stream);
    free(reader->window);
    free(reader->row);
}

/* ---- bytes of the file -------------------------------------------------------------------------- */

static int make_room(unsigned char **buffer, size_t *room, size_t size, struct pf_error *error)
{
    if (size <= *room)
        return 0;
    if (pf_array_resize(buffer, size, 1, error))
        return -1;
    *room = size;
    return 0;
}

/*
 * Bytes of the input, which are valid until the next call. 1: *bytes is set; 0: the input has no such bytes. Reads
 * ahead only where reads follow one another, so that whoever wants one row reads that row.
 */
static int fetch(struct pf_cube_reader *reader, uint64_t offset, size_t size, const unsigned char **bytes,
                 struct pf_error *error)
{
    bool inside = offset >= reader->window_offset && offset - reader->window_offset <= reader->window_size &&
                  size <= reader->window_size - (size_t)(offset - reader->window_offset);
    if (!inside) {
        size_t want = reader->ahead && offset == reader->next && size < WINDOW ? WINDOW : size;
        reader->window_size = 0;
        if (make_room(&reader->window, &reader->window_room, want, error))
            return -1;
        ssize_t have = pf_input_read(reader->cube->input, reader->window, want, offset, error);
        if (have < 0)
            return -1;
        reader->window_offset = offset;
        reader->window_size = (size_t)have;
        if ((size_t)have < size)
            return 0;
    }
    reader->next = offset + size;
    *bytes = reader->window + (offset - reader->window_offset);
    return 1;
}

/* ---- compressed rows ---------------------------------------------------------------------------- */

static int start_stream(struct pf_cube_reader *reader, struct pf_error *error)
{
    if (reader->stream_ready)
        return inflateReset(&reader->stream) == Z_OK ? 0 : pf_fail_memory(error);
    reader->stream = (z_stream){0};
    if (inflateInit(&reader->stream) != Z_OK)
        return pf_fail_memory(error);
    reader->stream_ready = true;
    return 0;
}

/* 1: exactly `size` bytes came out; 0: the stream is damaged. */
static int inflate_range(struct pf_cube_reader *reader, struct pf_cube_range range, size_t size,
                         struct pf_error *error)
{
    z_stream *stream = &reader->stream;
    int status = Z_OK;
    if (start_stream(reader, error))
        return -1;
    stream->next_out = reader->row;
    stream->avail_out = (uInt)size;
    while (status == Z_OK && range.size) {
        size_t n = range.size < WINDOW ? (size_t)range.size : WINDOW;
        const unsigned char *bytes;
        int got = fetch(reader, range.offset, n, &bytes, error);
        if (got <= 0)
            return got;
        stream->next_in = (z_const Bytef *)bytes;
        stream->avail_in = (uInt)n;
        status = inflate(stream, Z_NO_FLUSH);
        range.offset += n;
        range.size -= n;
    }
    if (status == Z_MEM_ERROR)
        return pf_fail_memory(error);
    return status == Z_STREAM_END && !stream->avail_out;
}

/* Makes the row the reader's. 1; 0: it can't be inflated, or has no data. */
static int inflate_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                       struct pf_error *error)
{
    struct pf_cube_range range;
    uint64_t size = pf_cube_row_size(reader->cube, metric);
    if (reader->row_metric == metric && reader->row_number == row)
        return 1;
    reader->row_metric = NULL;
    int result = pf_cube_stream(reader->cube, metric, row, &range, error);
    if (result <= 0)
        return result;
    if (!size || size / RATIO_MAX > range.size || size > UINT32_MAX)
        return 0;
    if (make_room(&reader->row, &reader->row_room, (size_t)size, error))
        return -1;
    result = inflate_range(reader, range, (size_t)size, error);
    if (result > 0) {
        reader->row_metric = metric;
        reader->row_number = row;
    }
    return result;
}

/* ---- rows --------------------------------------------------------------------------------------- */

int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error)
{
    uint64_t skip = (uint64_t)first * metric->type.size, size = (uint64_t)n * metric->type.size;
    if (metric->compressed) {
        int got = inflate_row(reader, metric, row, error);
        if (got > 0)
            *raw = reader->row + skip;
        return got;
    }
    uint64_t row_size = pf_cube_row_size(reader->cube, metric);
    bool whole = reader->ahead && row_size && metric->rows <= SMALL / row_size;
    int got = whole ? fetch(reader, metric->base, (size_t)(metric->rows * row_size), raw, error) : 0;
    if (got > 0)
        *raw += row * row_size + skip;
    return got ? got : fetch(reader, metric->base + row * row_size + skip, (size_t)size, raw, error);
}

static int read_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, union pf_cube_number *out, struct pf_error *error)
{
    const unsigned char *raw;
    int got = pf_cube_raw_row(reader, metric, row, first, n, &raw, error);
    if (got > 0)
        pf_cube_decode(metric, raw, n, out);
    return got;
}

int pf_cube_matrix_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                       union pf_cube_number *out, struct pf_error *error)
{
    if (metric->damaged && metric->damaged[row / 64] >> row % 64 & 1)
        return 0;
    return read_row(reader, metric, row, 0, reader->cube->n_locations, out, error);
}

int pf_cube_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint32_t path,
                uint32_t first, uint32_t n, union pf_cube_number *out, struct pf_error *error)
{
    int64_t row = pf_cube_row_of(reader->cube, metric, path);
    return row < 0 ? 0 : read_row(reader, metric, (uint64_t)row, first, n, out, error);
}
