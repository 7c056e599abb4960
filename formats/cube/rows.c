/* SPDX-License-Identifier: MIT */
#include "formats/cube/rows.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/note.h"
#include "formats/kit/array.h"

enum {
    WINDOW = 64 * 1024,
    RATIO_MAX = 1032, /* no zlib stream inflates to more than this many times its size */
    CHECKED_MAX = 64 * 1024 * 1024,
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

/* Elements first .. first + n - 1 of a row, as they stand in the file. */
static int raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                   uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error)
{
    uint64_t skip = (uint64_t)first * metric->type.size, size = (uint64_t)n * metric->type.size;
    if (metric->compressed) {
        int got = inflate_row(reader, metric, row, error);
        if (got > 0)
            *raw = reader->row + skip;
        return got;
    }
    uint64_t offset = metric->base + row * pf_cube_row_size(reader->cube, metric) + skip;
    return fetch(reader, offset, (size_t)size, raw, error);
}

static int read_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, union pf_cube_number *out, struct pf_error *error)
{
    const unsigned char *raw;
    int got = raw_row(reader, metric, row, first, n, &raw, error);
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

int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint32_t path,
                    const unsigned char **raw, struct pf_error *error)
{
    int64_t row = pf_cube_row_of(reader->cube, metric, path);
    return row < 0 ? 0 : raw_row(reader, metric, (uint64_t)row, 0, reader->cube->n_locations, raw, error);
}

/* ---- checking ----------------------------------------------------------------------------------- */

static int mark_damaged(struct pf_cube_metric *metric, uint64_t row, struct pf_error *error)
{
    if (!metric->damaged)
        metric->damaged = calloc((size_t)(metric->rows / 64 + 1), sizeof *metric->damaged);
    if (!metric->damaged)
        return pf_fail_memory(error);
    metric->damaged[row / 64] |= UINT64_C(1) << row % 64;
    return 0;
}

static int note_damaged(struct pf_cube *cube, const struct pf_cube_metric *metric, uint64_t row,
                        struct pf_error *error)
{
    return pf_cube_note(cube->data_notes, 0, (int64_t)metric->base, "error", "bad-stream", error,
                        "metric " PF_CUBE_NAME ": row %llu of its data cannot be inflated; it has no values",
                        metric->name, (unsigned long long)row);
}

/* A row without data has no values, which is nothing wrong. 0, or -1 with *error filled. */
static int note_bad_row(struct pf_cube *cube, struct pf_cube_metric *metric, uint64_t row,
                        struct pf_error *error)
{
    struct pf_cube_range range;
    int found = pf_cube_stream(cube, metric, row, &range, error);
    if (found < 0 || mark_damaged(metric, row, error))
        return -1;
    return found && !range.size ? 0 : note_damaged(cube, metric, row, error);
}

/* Counters below zero that are stored as unsigned: no count gets that far by counting. */
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

static int note_wrapped(struct pf_cube *cube, const struct pf_cube_metric *metric, uint64_t wrapped,
                        struct pf_error *error)
{
    return pf_cube_note(cube->data_notes, 0, (int64_t)metric->base, "warning", "wrapped", error,
                        "metric " PF_CUBE_NAME
                        ": %llu values are 2^63 or more, as of a counter that went below "
                        "zero; they are shown as they are stored, and so are sums of them",
                        metric->name, (unsigned long long)wrapped);
}

static int check_rows(struct pf_cube_reader *reader, struct pf_cube *cube, struct pf_cube_metric *metric,
                      struct pf_pass *pass, struct pf_error *error)
{
    uint64_t wrapped = 0;
    for (uint64_t row = 0; row < metric->rows; row++) {
        const unsigned char *raw;
        int good = raw_row(reader, metric, row, 0, cube->n_locations, &raw, error);
        if (good < 0 || pf_pass_step(pass, row, metric->rows, error))
            return -1;
        if (!good && metric->compressed && note_bad_row(cube, metric, row, error))
            return -1;
        if (good && may_wrap(metric))
            wrapped += count_wrapped(metric, raw, cube->n_locations);
    }
    return wrapped ? note_wrapped(cube, metric, wrapped, error) : 0;
}

int pf_cube_check(struct pf_cube *cube, struct pf_cube_metric *metric, struct pf_pass *pass,
                  struct pf_error *error)
{
    struct pf_cube_reader reader;
    if (!may_wrap(metric) && (!metric->compressed || metric->end - metric->base > CHECKED_MAX))
        return 0;
    pf_cube_reader_init(&reader, cube, true);
    int result = check_rows(&reader, cube, metric, pass, error);
    pf_cube_reader_end(&reader);
    return result;
}
