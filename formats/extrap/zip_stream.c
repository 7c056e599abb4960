/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/extrap/zip.h"
#include "formats/extrap/zip_header.h"

/* Packed bytes that are read at once. */
enum { PACKED = 64 * 1024 };

struct pf_zip_stream {
    struct pf_input *input;
    struct pf_zip_member member;
    uint64_t data;  /* offset of its first byte in the archive */
    uint64_t most;  /* bytes that are served */
    z_stream z;     /* method 8 only */
    bool started;   /* z is initialised */
    uint64_t taken; /* packed bytes that were read */
    uint64_t made;  /* bytes that were served */
    bool ended;
    const char *damage;
    uint64_t damage_offset;
    unsigned char packed[PACKED];
};

/* ---- starting ----------------------------------------------------------------------------------- */

/* Where the member's bytes are; how many there can be, whatever the archive says. */
static int locate(struct pf_zip_stream *stream, struct pf_error *error)
{
    struct pf_zip_member *member = &stream->member;
    uint64_t size = pf_input_size(stream->input);
    int got = pf_zip_data(stream->input, member->header, &stream->data, error);
    if (got < 0)
        return -1;
    if (!got || stream->data > size)
        return pf_fail_at(error, EINVAL, (int64_t)member->header, "a member's header is missing");
    if (member->packed > size - stream->data)
        member->packed = size - stream->data;
    uint64_t limit = member->packed < UINT64_MAX / PF_ZIP_RATIO / 2
                         ? PF_ZIP_FREE + member->packed * PF_ZIP_RATIO
                         : UINT64_MAX;
    stream->most = member->method ? limit : member->packed;
    return 0;
}

/* Back to the member's start. */
static int restart(struct pf_zip_stream *stream, struct pf_error *error)
{
    stream->taken = stream->made = 0;
    stream->ended = false;
    stream->z.avail_in = 0;
    if (!stream->member.method)
        return 0;
    /* Negative: no header of zlib's before the data. */
    int result = stream->started ? inflateReset(&stream->z) : inflateInit2(&stream->z, -MAX_WBITS);
    stream->started |= result == Z_OK;
    return result == Z_OK ? 0 : pf_fail_memory(error);
}

struct pf_zip_stream *pf_zip_open(struct pf_input *input, const struct pf_zip_member *member,
                                  struct pf_error *error)
{
    if (member->encrypted || (member->method != 0 && member->method != 8)) {
        pf_fail_at(error, EINVAL, (int64_t)member->header,
                   member->encrypted ? "a member is encrypted" : "a member is packed in an unknown way");
        return NULL;
    }
    struct pf_zip_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        pf_fail_memory(error);
        return NULL;
    }
    stream->input = input;
    stream->member = *member;
    if (locate(stream, error) == 0 && restart(stream, error) == 0)
        return stream;
    pf_zip_close(stream);
    return NULL;
}

void pf_zip_close(struct pf_zip_stream *stream)
{
    if (!stream)
        return;
    if (stream->started)
        inflateEnd(&stream->z);
    free(stream);
}

const char *pf_zip_damage(const struct pf_zip_stream *stream, uint64_t *offset)
{
    *offset = stream->damage_offset;
    return stream->damage;
}

uint64_t pf_zip_progress(const struct pf_zip_stream *stream)
{
    return stream->data + stream->taken;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void end_early(struct pf_zip_stream *stream, const char *what)
{
    stream->ended = true;
    stream->damage = what;
    stream->damage_offset = stream->data + stream->taken - stream->z.avail_in;
}

/* More packed bytes for zlib. */
static int take_packed(struct pf_zip_stream *stream, struct pf_error *error)
{
    uint64_t left = stream->member.packed - stream->taken;
    size_t want = left < PACKED ? (size_t)left : PACKED;
    ssize_t got = pf_input_read(stream->input, stream->packed, want, stream->data + stream->taken, error);
    if (got < 0)
        return -1;
    stream->taken += (uint64_t)got;
    stream->z.next_in = stream->packed;
    stream->z.avail_in = (uInt)got;
    return 0;
}

/* Inflates until the buffer is full or the member ends. Returns how many bytes; -1: *error filled. */
static ssize_t inflate_more(struct pf_zip_stream *stream, void *buffer, size_t size, struct pf_error *error)
{
    z_stream *z = &stream->z;
    z->next_out = buffer;
    z->avail_out = (uInt)size;
    while (z->avail_out && !stream->ended) {
        if (!z->avail_in && take_packed(stream, error) < 0)
            return -1;
        int result = inflate(z, Z_NO_FLUSH);
        if (result == Z_STREAM_END)
            stream->ended = true;
        else if (result == Z_MEM_ERROR)
            return pf_fail_memory(error);
        else if (result == Z_BUF_ERROR && !z->avail_in && stream->taken == stream->member.packed)
            end_early(stream, "the archive is cut off inside a member");
        else if (result != Z_OK && result != Z_BUF_ERROR)
            end_early(stream, "the packed bytes of a member are damaged");
    }
    return (ssize_t)(size - z->avail_out);
}

static ssize_t copy_stored(struct pf_zip_stream *stream, void *buffer, size_t size, struct pf_error *error)
{
    ssize_t got = pf_input_read(stream->input, buffer, size, stream->data + stream->made, error);
    if (got < 0)
        return -1;
    stream->taken = stream->made + (uint64_t)got;
    return got;
}

/* The next bytes: no more than the member says, or than may be. */
static ssize_t read_on(struct pf_zip_stream *stream, unsigned char *buffer, size_t size,
                       struct pf_error *error)
{
    uint64_t said = stream->member.size < stream->most ? stream->member.size : stream->most;
    uint64_t left = said > stream->made ? said - stream->made : 0;
    size_t want = left < size ? (size_t)left : size;
    ssize_t got = !want                   ? 0
                  : stream->member.method ? inflate_more(stream, buffer, want, error)
                                          : copy_stored(stream, buffer, want, error);
    if (got < 0)
        return -1;
    stream->made += (uint64_t)got;
    if (want < size && !stream->ended && stream->made >= said) {
        unsigned char beyond;
        ssize_t more = stream->member.method ? inflate_more(stream, &beyond, 1, error) : 0;
        if (more < 0)
            return -1;
        if (more)
            end_early(stream, stream->most < stream->member.size
                                  ? "a member inflates to more than 200 times its packed size"
                                  : "a member is longer than the archive says");
        stream->ended = true;
    }
    if (stream->ended && !stream->damage && stream->member.size != UINT64_MAX &&
        stream->made < stream->member.size)
        end_early(stream, "a member is shorter than the archive says");
    return got;
}

/* Passes over bytes up to an offset. */
static int skip_to(struct pf_zip_stream *stream, uint64_t offset, struct pf_error *error)
{
    unsigned char passed[16 * 1024];
    while (stream->made < offset && !stream->ended) {
        uint64_t left = offset - stream->made;
        if (read_on(stream, passed, left < sizeof passed ? (size_t)left : sizeof passed, error) < 0)
            return -1;
    }
    return 0;
}

ssize_t pf_zip_read(struct pf_zip_stream *stream, void *buffer, size_t size, uint64_t offset,
                    struct pf_error *error)
{
    if (offset < stream->made && restart(stream, error) < 0)
        return -1;
    if (!stream->member.method && offset <= stream->most)
        stream->made = offset; /* stored bytes need not be passed over */
    if (skip_to(stream, offset, error) < 0)
        return -1;
    return stream->ended || stream->made != offset ? 0 : read_on(stream, buffer, size, error);
}
