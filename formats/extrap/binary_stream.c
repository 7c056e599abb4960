/* SPDX-License-Identifier: MIT */
#include "formats/extrap/binary_stream.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 64 * 1024 };

int pf_stream_open(struct pf_stream *stream, struct pf_input *input, uint64_t end, struct pf_error *error)
{
    uint64_t size = pf_input_size(input);
    *stream = (struct pf_stream){.input = input, .end = end < size ? end : size, .bytes = malloc(BUFFER)};
    return stream->bytes ? 0 : pf_fail_memory(error);
}

void pf_stream_close(struct pf_stream *stream)
{
    free(stream->bytes);
}

uint64_t pf_stream_left(const struct pf_stream *stream)
{
    return stream->end - stream->at;
}

/* The next bytes, at most BUFFER of them; NULL with *error filled. */
static const unsigned char *take(struct pf_stream *stream, size_t size, struct pf_error *error)
{
    if (size > pf_stream_left(stream)) {
        pf_fail_at(error, ENODATA, (int64_t)stream->at, "the file ends inside a record");
        return NULL;
    }
    if (stream->at < stream->base || stream->at - stream->base + size > stream->have) {
        uint64_t left = pf_stream_left(stream);
        ssize_t got = pf_input_read(stream->input, stream->bytes, left < BUFFER ? (size_t)left : BUFFER,
                                    stream->at, error);
        if (got < 0)
            return NULL;
        stream->base = stream->at;
        stream->have = (size_t)got;
        if (stream->have < size) {
            pf_fail_at(error, ENODATA, (int64_t)stream->at, "the file ends inside a record");
            return NULL;
        }
    }
    const unsigned char *bytes = stream->bytes + (stream->at - stream->base);
    stream->at += size;
    return bytes;
}

int pf_stream_u16(struct pf_stream *stream, uint16_t *value, struct pf_error *error)
{
    const unsigned char *bytes = take(stream, sizeof *value, error);
    if (!bytes)
        return -1;
    memcpy(value, bytes, sizeof *value);
    *value = stream->big_endian ? be16toh(*value) : le16toh(*value);
    return 0;
}

static int read_u64(struct pf_stream *stream, uint64_t *value, struct pf_error *error)
{
    const unsigned char *bytes = take(stream, sizeof *value, error);
    if (!bytes)
        return -1;
    memcpy(value, bytes, sizeof *value);
    *value = stream->big_endian ? be64toh(*value) : le64toh(*value);
    return 0;
}

int pf_stream_int(struct pf_stream *stream, int64_t *value, struct pf_error *error)
{
    uint64_t word;
    if (read_u64(stream, &word, error) < 0)
        return -1;
    memcpy(value, &word, sizeof *value);
    return 0;
}

int pf_stream_real(struct pf_stream *stream, double *value, struct pf_error *error)
{
    uint64_t word;
    if (read_u64(stream, &word, error) < 0)
        return -1;
    memcpy(value, &word, sizeof *value);
    return 0;
}

int pf_stream_string(struct pf_stream *stream, const char **text, size_t *size, struct pf_error *error)
{
    uint32_t length;
    uint64_t start = stream->at;
    const unsigned char *bytes = take(stream, sizeof length, error);
    if (!bytes)
        return -1;
    memcpy(&length, bytes, sizeof length);
    length = stream->big_endian ? be32toh(length) : le32toh(length);
    if (length > PF_STREAM_STRING) {
        stream->at = start;
        return pf_fail_at(error, length > pf_stream_left(stream) ? ENODATA : EBADMSG, (int64_t)start,
                          "a string of %u bytes, which is too long", length);
    }
    bytes = take(stream, length, error);
    if (!bytes)
        return -1;
    *text = (const char *)bytes;
    *size = length;
    return 0;
}

int pf_stream_skip(struct pf_stream *stream, uint64_t size, struct pf_error *error)
{
    if (size > pf_stream_left(stream))
        return pf_fail_at(error, ENODATA, (int64_t)stream->at, "the file ends inside a record");
    stream->at += size;
    return 0;
}
