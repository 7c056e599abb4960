/* SPDX-License-Identifier: MIT */
#include "formats/input/unpacker.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 64 * 1024 };

struct pf_unpacker {
    pf_inflate_source *source;
    void *arg;
    uint64_t at, end;
    struct pf_error error;  /* why compressed bytes could not be read; code 0: they could */
    struct archive *reader; /* NULL: bare deflate data */
    z_stream z;
    bool ended;
    unsigned char in[PIECE], out[PIECE];
};

enum pf_packing_kind pf_packing_kind_of(const unsigned char *head, size_t size)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum pf_packing_kind kind;
    } magics[] = {{"\x1f\x8b\x08", 3, PF_GZIP_PACKED},
                  {"\x28\xb5\x2f\xfd", 4, PF_ZSTD_PACKED},
                  {"\xfd"
                   "7zXZ",
                   6, PF_XZ_PACKED}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= magics[i].size && !memcmp(head, magics[i].bytes, magics[i].size))
            return magics[i].kind;
    bool bzip2 = size >= 10 && !memcmp(head, "BZh", 3) && head[3] >= '1' && head[3] <= '9' &&
                 !memcmp(head + 4, "1AY&SY", 6);
    return bzip2 ? PF_BZIP2_PACKED : PF_UNPACKED;
}

/* ---- compressed bytes --------------------------------------------------------------------------- */

static ssize_t read_packed(struct pf_unpacker *run)
{
    uint64_t left = run->end - run->at;
    ssize_t got = run->source(run->arg, run->in, left < PIECE ? (size_t)left : PIECE, run->at, &run->error);
    if (got > 0)
        run->at += (uint64_t)got;
    return got;
}

static la_ssize_t read_for_archive(struct archive *reader, void *arg, const void **bytes)
{
    struct pf_unpacker *run = arg;
    ssize_t got = read_packed(run);
    if (got < 0)
        archive_set_error(reader, EIO, "it cannot be read");
    *bytes = run->in;
    return got;
}

/* ---- starting ----------------------------------------------------------------------------------- */

/* One filter, whatever is beneath it: what has been packed twice is unpacked once. */
static int start_archive(struct pf_unpacker *run, enum pf_packing_kind kind, struct pf_error *error)
{
    static const int filters[] = {[PF_GZIP_PACKED] = ARCHIVE_FILTER_GZIP,
                                  [PF_ZSTD_PACKED] = ARCHIVE_FILTER_ZSTD,
                                  [PF_XZ_PACKED] = ARCHIVE_FILTER_XZ,
                                  [PF_BZIP2_PACKED] = ARCHIVE_FILTER_BZIP2};
    struct archive_entry *entry;
    struct archive *reader = run->reader = archive_read_new();
    if (!reader)
        return pf_fail_memory(error);
    if (archive_read_support_format_raw(reader) || archive_read_append_filter(reader, filters[kind]))
        return pf_fail(error, ENOTSUP, "%.150s", archive_error_string(reader));
    int got = archive_read_open(reader, run, NULL, read_for_archive, NULL);
    if (got == ARCHIVE_OK)
        got = archive_read_next_header(reader, &entry);
    run->ended = got == ARCHIVE_EOF; /* it unpacks to nothing */
    if (run->error.code) {
        *error = run->error;
        return -1;
    }
    return got == ARCHIVE_OK || run->ended ? 0 : 1;
}

struct pf_unpacker *pf_unpacker_new(enum pf_packing_kind kind, pf_inflate_source *source, void *arg,
                                    uint64_t start, uint64_t end, struct pf_error *error)
{
    struct pf_unpacker *run = calloc(1, sizeof *run);
    if (!run) {
        pf_fail_memory(error);
        return NULL;
    }
    run->source = source;
    run->arg = arg;
    run->at = start;
    run->end = end < start ? start : end;
    int failed = kind == PF_DEFLATED ? (inflateInit2(&run->z, -MAX_WBITS) == Z_OK ? 0 : pf_fail_memory(error))
                                     : start_archive(run, kind, error);
    if (failed >= 0)
        return run;
    pf_unpacker_free(run);
    return NULL;
}

void pf_unpacker_free(struct pf_unpacker *run)
{
    if (!run)
        return;
    if (run->reader)
        archive_read_free(run->reader);
    else
        inflateEnd(&run->z);
    free(run);
}

/* ---- going on ----------------------------------------------------------------------------------- */

static int next_of_archive(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage)
{
    la_int64_t offset;
    int got = archive_read_data_block(run->reader, bytes, size, &offset);
    if (got == ARCHIVE_OK)
        return 1;
    if (got != ARCHIVE_EOF && !run->error.code) {
        const char *why = archive_error_string(run->reader);
        pf_fail_at(damage, EBADMSG, (int64_t)run->at, "what is compressed ends here: %.150s",
                   why ? why : "damaged");
    }
    return 0;
}

static int next_of_deflate(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage)
{
    run->z.next_out = run->out;
    run->z.avail_out = PIECE;
    int state = Z_OK;
    while (state == Z_OK && run->z.avail_out == PIECE) {
        ssize_t got = run->z.avail_in ? 0 : read_packed(run);
        if (got < 0)
            return 0;
        if (got > 0) {
            run->z.next_in = run->in;
            run->z.avail_in = (uInt)got;
        }
        state = inflate(&run->z, Z_NO_FLUSH);
    }
    run->ended = state != Z_OK;
    if (state != Z_OK && state != Z_STREAM_END)
        pf_fail_at(damage, EBADMSG, (int64_t)run->at, "what is compressed ends here: %.100s",
                   run->z.msg ? run->z.msg : "cut off");
    *bytes = run->out;
    *size = PIECE - run->z.avail_out;
    return *size > 0;
}

int pf_unpacker_next(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage,
                     struct pf_error *error)
{
    if (run->ended)
        return 0;
    int more =
        run->reader ? next_of_archive(run, bytes, size, damage) : next_of_deflate(run, bytes, size, damage);
    if (run->error.code) {
        *error = run->error;
        return -1;
    }
    return more;
}

uint64_t pf_unpacker_packed(const struct pf_unpacker *run)
{
    return run->at;
}
