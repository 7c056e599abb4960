/* SPDX-License-Identifier: MIT */
/*
 * Reads zlib streams (RFC 1950) and gzip members (RFC 1952). The zlib library only decodes the raw deflate data inside
 * them. This file reads headers and verifies checksums itself, so that a run that starts inside a member can verify the
 * member's checksum.
 */
#include "formats/input/inflater.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/pass.h"

/* RFC 1952, section 2.3.1: flags of the optional parts after the ten-byte gzip header. */
enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };

/* Maximum length of a name or comment in a gzip header; a longer one is damage. */
#define STRING_MAX ((unsigned)1 << 20)

/* Results of inflater_get() if there is no byte: reading has failed, or the input has ended (which is damage). */
enum { FAILED = -1, NO_MORE = -2 };

struct pf_inflater *pf_inflater_new(pf_inflate_source *source, void *arg)
{
    /* Buffers are left uninitialized, since only bytes that were written are read. */
    struct pf_inflater *run = malloc(sizeof *run);
    if (!run)
        return NULL;
    memset(run, 0, offsetof(struct pf_inflater, input));
    run->source = source;
    run->arg = arg;
    run->lost = true;
    if (inflateInit2(&run->z, -MAX_WBITS) == Z_OK)
        return run;
    free(run);
    return NULL;
}

void pf_inflater_free(struct pf_inflater *run)
{
    if (!run)
        return;
    inflateEnd(&run->z);
    free(run);
}

uint64_t pf_inflater_packed(const struct pf_inflater *run)
{
    return run->filled - run->z.avail_in;
}

/* Ends the text at damage; `what` is the message. */
static void end_damaged(struct pf_inflater *run, const char *what)
{
    run->ended = run->damaged = true;
    pf_fail_at(&run->damage, EBADMSG, (int64_t)pf_inflater_packed(run), "%s", what);
}

/* Reads more compressed bytes. Returns 1, 0 at the end of the input, or -1 with *error filled. */
static int inflater_refill(struct pf_inflater *run, struct pf_error *error)
{
    if (run->z.avail_in)
        return 1;
    ssize_t got = run->source(run->arg, run->input, sizeof run->input, run->filled, error);
    if (got <= 0)
        return (int)got;
    run->z.next_in = run->input;
    run->z.avail_in = (unsigned)got;
    run->filled += (uint64_t)got;
    return 1;
}

/* ---- headers and trailers ----------------------------------------------------------------------- */

/* Returns the next byte, FAILED, or NO_MORE. Before it returns NO_MORE, it ends the text with damage. */
static int inflater_get(struct pf_inflater *run, struct pf_error *error)
{
    int got = inflater_refill(run, error);
    if (got < 0)
        return FAILED;
    if (!got) {
        end_damaged(run, "the compressed data are truncated");
        return NO_MORE;
    }
    run->z.avail_in--;
    return *run->z.next_in++;
}

/* Reads a little-endian number of n bytes. Returns FAILED or NO_MORE as inflater_get does. */
static int64_t get_little(struct pf_inflater *run, unsigned n, struct pf_error *error)
{
    int64_t number = 0;
    for (unsigned i = 0; i < n; i++) {
        int byte = inflater_get(run, error);
        if (byte < 0)
            return byte;
        number |= (int64_t)byte << 8 * i;
    }
    return number;
}

static int64_t inflater_skip(struct pf_inflater *run, int64_t n, struct pf_error *error)
{
    int64_t byte = n < 0 ? n : 0;
    while (byte >= 0 && n-- > 0)
        byte = inflater_get(run, error);
    return byte < 0 ? byte : 0;
}

/* Skips a NUL-terminated string. */
static int64_t skip_string(struct pf_inflater *run, struct pf_error *error)
{
    for (unsigned size = 0; size < STRING_MAX; size++) {
        int byte = inflater_get(run, error);
        if (byte <= 0)
            return byte;
    }
    end_damaged(run, "unterminated name in a gzip header");
    return NO_MORE;
}

/* Reads the rest of a gzip header, after the first two bytes. Returns 0, FAILED or NO_MORE. */
static int64_t read_gzip_header(struct pf_inflater *run, struct pf_error *error)
{
    int64_t method = inflater_get(run, error), flags = method < 0 ? method : inflater_get(run, error);
    if (flags < 0)
        return flags;
    if (method != Z_DEFLATED || flags & RESERVED) {
        end_damaged(run, "unsupported gzip header");
        return NO_MORE;
    }
    int64_t result = inflater_skip(run, 6, error); /* mtime, extra flags, OS */
    if (!result && flags & EXTRA)
        result = inflater_skip(run, get_little(run, 2, error), error);
    if (!result && flags & NAME)
        result = skip_string(run, error);
    if (!result && flags & COMMENT)
        result = skip_string(run, error);
    if (!result && flags & HEADER_CRC)
        result = inflater_skip(run, 2, error);
    return result;
}

static int64_t inflater_read_header(struct pf_inflater *run, struct pf_error *error)
{
    int first = inflater_get(run, error), second = first < 0 ? first : inflater_get(run, error);
    if (second < 0)
        return second;
    unsigned char magic[2] = {(unsigned char)first, (unsigned char)second};
    if (magic[0] == 0x1f && magic[1] == 0x8b) {
        run->wrapping = PF_GZIP;
        return read_gzip_header(run, error);
    }
    if (run->wrapping == PF_NOT_KNOWN && pf_inflate_is_zlib(magic, sizeof magic)) {
        run->wrapping = PF_ZLIB;
        return 0;
    }
    end_damaged(run, run->wrapping == PF_GZIP ? "data other than gzip after the last gzip member"
                                              : "neither gzip nor zlib data");
    return NO_MORE;
}

/* Starts the next member if there is one; otherwise ends the text. */
static int begin_member(struct pf_inflater *run, struct pf_error *error)
{
    if (run->wrapping == PF_GZIP) {
        int got = inflater_refill(run, error);
        /* Tapes and some transfer protocols pad files with zeros. */
        run->ended = !got || (got > 0 && *run->z.next_in == 0);
        if (got < 0 || run->ended)
            return got < 0 ? -1 : 0;
    }
    int64_t result = inflater_read_header(run, error);
    if (result)
        return result == FAILED ? -1 : 0;
    run->inside = true;
    run->member = 0;
    run->check = run->wrapping == PF_GZIP ? (uint32_t)crc32(0, NULL, 0) : (uint32_t)adler32(0, NULL, 0);
    inflateReset(&run->z);
    return 0;
}

static uint32_t swapped(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}

/* Checks the checksum and, for gzip, the size modulo 2^32, and ends the member. */
static int end_member(struct pf_inflater *run, struct pf_error *error)
{
    run->inside = false;
    if (run->wrapping == PF_BARE) {
        run->ended = true;
        return 0;
    }
    int64_t check = get_little(run, 4, error), size = (uint32_t)run->member;
    if (check >= 0 && run->wrapping == PF_GZIP)
        size = get_little(run, 4, error);
    if (check < 0 || size < 0)
        return check == FAILED || size == FAILED ? -1 : 0;
    uint32_t stored = run->wrapping == PF_GZIP ? (uint32_t)check : swapped((uint32_t)check);
    if (stored != run->check || size != (uint32_t)run->member)
        end_damaged(run, "wrong checksum: the text before this may be damaged");
    else if (run->wrapping == PF_ZLIB)
        run->ended = true;
    return 0;
}

/* ---- deflate ------------------------------------------------------------------------------------ */

/* Updates the checksum and the sizes for the bytes that zlib has appended to the block. */
static void inflater_count(struct pf_inflater *run)
{
    size_t have = sizeof run->block - run->z.avail_out;
    const unsigned char *new = run->block + run->have;
    unsigned size = (unsigned)(have - run->have);
    run->check = run->wrapping == PF_GZIP ? (uint32_t)crc32(run->check, new, size)
                                          : (uint32_t)adler32(run->check, new, size);
    run->member += size;
    run->have = have;
}

/* Inflates some more of the member's text into the block. From the text offset `wanted` on, stops after each deflate
 * block. */
static int inflate_some(struct pf_inflater *run, uint64_t wanted, struct pf_error *error)
{
    int got = inflater_refill(run, error);
    if (got <= 0) {
        if (!got)
            end_damaged(run, "the compressed data are truncated");
        return got;
    }
    bool watch = run->base + run->have >= wanted;
    run->z.next_out = run->block + run->have;
    run->z.avail_out = (unsigned)(sizeof run->block - run->have);
    int result = inflate(&run->z, watch ? Z_BLOCK : Z_NO_FLUSH);
    inflater_count(run);
    if (result == Z_STREAM_END)
        return end_member(run, error);
    if (result == Z_MEM_ERROR)
        return pf_fail_memory(error);
    if (result != Z_OK && result != Z_BUF_ERROR)
        end_damaged(run, run->z.msg ? run->z.msg : "the compressed data are damaged");
    /* zlib.h: data_type has 128 set after a block (or a header, which raw deflate lacks), 64 in the last block. */
    run->at_boundary = watch && result == Z_OK && (run->z.data_type & 192) == 128;
    return 0;
}

int pf_inflater_next(struct pf_inflater *run, uint64_t wanted, struct pf_error *error)
{
    if (pf_pass_check(error))
        return -1;
    run->base += run->have;
    run->have = 0;
    run->at_boundary = false;
    while (!run->ended && !run->at_boundary && run->have < sizeof run->block) {
        int failed = run->inside ? inflate_some(run, wanted, error) : begin_member(run, error);
        if (failed < 0) {
            run->lost = true;
            return -1;
        }
        if (!run->ended && !run->inside && run->base + run->have >= wanted)
            run->at_boundary = true;
    }
    return 0;
}

/* ---- seek points -------------------------------------------------------------------------------- */

void pf_inflater_point(struct pf_inflater *run, struct pf_seek_point *point,
                       unsigned char window[PF_INFLATER_WINDOW])
{
    unsigned size = 0;
    if (run->inside)
        inflateGetDictionary(&run->z, window, &size);
    *point = (struct pf_seek_point){.text = run->base + run->have,
                                    .packed = pf_inflater_packed(run),
                                    .member = run->member,
                                    .window_size = size,
                                    .check = run->check,
                                    .bits = run->inside ? run->z.data_type & 7 : 0,
                                    .wrapping = (uint8_t)run->wrapping,
                                    .inside = run->inside};
}

/* Gives zlib the state of a seek point: the unused bits of the byte before point->packed, and the window. */
static int prime(struct pf_inflater *run, const struct pf_seek_point *point, const unsigned char *window,
                 struct pf_error *error)
{
    if (point->bits) {
        run->filled--;
        int byte = inflater_get(run, error);
        if (byte < 0)
            return byte == FAILED ? -1 : pf_fail(error, ESTALE, "the file has been truncated");
        inflatePrime(&run->z, point->bits, byte >> (8 - point->bits));
    }
    if (point->window_size)
        inflateSetDictionary(&run->z, window, point->window_size);
    return 0;
}

int pf_inflater_start(struct pf_inflater *run, const struct pf_seek_point *point, const unsigned char *window,
                      struct pf_error *error)
{
    static const struct pf_seek_point start = {0};
    if (!point)
        point = &start;
    inflateReset(&run->z);
    run->z.avail_in = 0;
    run->base = point->text;
    run->have = 0;
    run->filled = point->packed;
    run->wrapping = point->wrapping;
    run->inside = point->inside;
    run->member = point->member;
    run->check = point->check;
    run->ended = run->damaged = run->at_boundary = false;
    run->lost = prime(run, point, window, error) != 0;
    return run->lost ? -1 : 0;
}
