/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/cube/cube.h"
#include "formats/kit/array.h"

enum {
    PIECE = 4 * 1024,    /* read at once where rows may follow one another */
    SMALL = 1024 * 1024, /* smaller data are read whole: the rows of call paths lie in another order */
    RATIO_MAX = 1032,    /* no zlib stream inflates to more than this many times its size */
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead)
{
    *reader = (struct pf_cube_reader){.cube = cube, .ahead = ahead};
    reader->window = (struct pf_window){.input = cube->input, .room = ahead ? PIECE : 1};
}

void pf_cube_reader_end(struct pf_cube_reader *reader)
{
    if (reader->stream_ready)
        inflateEnd(&reader->stream);
    pf_window_close(&reader->window);
    free(reader->row);
}

/* Some of a metric's data, valid until the next call. */
static const unsigned char *data_at(struct pf_cube_reader *reader, const struct pf_cube_metric *metric,
                                    uint64_t offset, size_t size, struct pf_error *error)
{
    uint64_t all = metric->end - metric->base;
    if (!reader->ahead || all > SMALL)
        return pf_window_at(&reader->window, offset, size, error);
    const unsigned char *bytes = pf_window_at(&reader->window, metric->base, (size_t)all, error);
    return bytes ? bytes + (offset - metric->base) : NULL;
}

static int start_stream(struct pf_cube_reader *reader, size_t row_size, struct pf_error *error)
{
    z_stream *stream = &reader->stream;
    if (reader->row_room < row_size) {
        if (pf_array_resize(&reader->row, row_size, 1, error))
            return -1;
        reader->row_room = row_size;
    }
    if ((reader->stream_ready ? inflateReset(stream) : inflateInit(stream)) != Z_OK)
        return pf_fail_memory(error);
    reader->stream_ready = true;
    return 0;
}

/* Makes the reader's row of its stream. 1: it came out exactly; 0: there is none, or it is damaged. */
static int inflate_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                       struct pf_error *error)
{
    z_stream *stream = &reader->stream;
    const struct pf_cube_range *range = &metric->streams[row];
    uint64_t size = pf_cube_row_size(reader->cube, metric);
    if (!range->size || size / RATIO_MAX > range->size || size > UINT32_MAX / 2 ||
        range->size > compressBound((uLong)size))
        return 0;
    const unsigned char *bytes = data_at(reader, metric, range->offset, (size_t)range->size, error);
    if (!bytes || start_stream(reader, (size_t)size, error))
        return -1;
    stream->next_in = (z_const Bytef *)bytes;
    stream->avail_in = (uInt)range->size;
    stream->next_out = reader->row;
    stream->avail_out = (uInt)size;
    int status = inflate(stream, Z_FINISH);
    if (status == Z_MEM_ERROR)
        return pf_fail_memory(error);
    return status == Z_STREAM_END && !stream->avail_out;
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
    *raw = data_at(reader, metric, offset, size, error);
    return *raw ? 1 : -1;
}
