/* SPDX-License-Identifier: MIT */
#include "formats/input/unpacker.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/inflater.h"

enum { PIECE = 64 * 1024 };

struct pf_unpacker {
    pf_inflate_source *source;
    void *arg;
    uint64_t start, end;
    struct pf_inflater *inflater; /* for gzip and raw deflate data; NULL: `reader` is used */
    struct archive *reader;
    uint64_t at;           /* offset of the next read, relative to `start` */
    struct pf_error error; /* error of the read callback; code 0: none */
    bool ended;
    const void *block; /* last data block that libarchive returned, not yet passed on */
    size_t left;
    la_int64_t offset; /* offset of the block; if beyond `given`, a hole (zeros) precedes the block */
    la_int64_t given;  /* number of bytes passed on, holes included */
    unsigned char in[PIECE];
};

/* ---- compressed bytes --------------------------------------------------------------------------- */

static ssize_t unpacker_read_packed(void *arg, void *buffer, size_t size, uint64_t offset,
                                    struct pf_error *error)
{
    const struct pf_unpacker *run = arg;
    uint64_t room = run->end - run->start, left = offset < room ? room - offset : 0;
    return run->source(run->arg, buffer, size < left ? size : (size_t)left, run->start + offset, error);
}

static la_ssize_t read_for_archive(struct archive *reader, void *arg, const void **bytes)
{
    struct pf_unpacker *run = arg;
    ssize_t got = unpacker_read_packed(run, run->in, PIECE, run->at, &run->error);
    if (got < 0)
        archive_set_error(reader, EIO, "it cannot be read");
    else
        run->at += (uint64_t)got;
    *bytes = run->in;
    return got;
}

/* ---- starting ----------------------------------------------------------------------------------- */

/*
 * Starts libarchive. Only one filter is used, so a file that was compressed twice is unpacked once. A sparse file is
 * read as the first member of a tar.
 */
static int start_archive(struct pf_unpacker *run, enum pf_packing_kind kind, struct pf_error *error)
{
    static const int filters[] = {[PF_ZSTD_PACKED] = ARCHIVE_FILTER_ZSTD,
                                  [PF_XZ_PACKED] = ARCHIVE_FILTER_XZ,
                                  [PF_BZIP2_PACKED] = ARCHIVE_FILTER_BZIP2};
    struct archive_entry *entry;
    struct archive *reader = run->reader = archive_read_new();
    if (!reader)
        return pf_fail_memory(error);
    if (kind == PF_SPARSE
            ? archive_read_support_format_tar(reader)
            : archive_read_support_format_raw(reader) || archive_read_append_filter(reader, filters[kind]))
        return pf_fail(error, ENOTSUP, "%.150s", archive_error_string(reader));
    int got = archive_read_open(reader, run, NULL, read_for_archive, NULL);
    if (got == ARCHIVE_OK)
        got = archive_read_next_header(reader, &entry);
    run->ended = got == ARCHIVE_EOF; /* empty content */
    if (run->error.code) {
        *error = run->error;
        return -1;
    }
    return 0;
}

static int start_inflater(struct pf_unpacker *run, enum pf_packing_kind kind, struct pf_error *error)
{
    const struct pf_seek_point bare = {.wrapping = PF_BARE, .inside = true};
    run->inflater = pf_inflater_new(unpacker_read_packed, run);
    return run->inflater ? pf_inflater_start(run->inflater, kind == PF_DEFLATED ? &bare : NULL, NULL, error)
                         : pf_fail_memory(error);
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
    run->start = start;
    run->end = end < start ? start : end;
    bool inflates = kind == PF_DEFLATED || kind == PF_GZIP_PACKED;
    if (!(inflates ? start_inflater(run, kind, error) : start_archive(run, kind, error)))
        return run;
    pf_unpacker_free(run);
    return NULL;
}

void pf_unpacker_free(struct pf_unpacker *run)
{
    if (!run)
        return;
    archive_read_free(run->reader);
    pf_inflater_free(run->inflater);
    free(run);
}

/* ---- going on ----------------------------------------------------------------------------------- */

static int next_of_archive(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage,
                           struct pf_error *error)
{
    static const char zeros[PIECE];
    int got = run->ended || run->left
                  ? ARCHIVE_OK
                  : archive_read_data_block(run->reader, &run->block, &run->left, &run->offset);
    if (run->error.code) {
        *error = run->error;
        return -1;
    }
    run->ended |= got == ARCHIVE_EOF;
    if (got == ARCHIVE_OK || got == ARCHIVE_EOF) {
        bool hole = run->offset > run->given;
        la_int64_t missing = run->offset - run->given;
        *bytes = hole ? zeros : run->block;
        *size = !hole ? run->left : missing < PIECE ? (size_t)missing : PIECE;
        run->left = hole ? run->left : 0;
        run->given += (la_int64_t)*size;
        return *size || !run->ended;
    }
    const char *why = archive_error_string(run->reader);
    pf_fail_at(damage, EBADMSG, (int64_t)(run->start + run->at), "the unpacked text ends here: %.150s",
               why ? why : "damaged");
    return 0;
}

static int next_of_inflater(struct pf_inflater *run, const void **bytes, size_t *size,
                            struct pf_error *damage, struct pf_error *error)
{
    if (pf_inflater_next(run, UINT64_MAX, error))
        return -1;
    *bytes = run->block;
    *size = run->have;
    if (run->have)
        return 1;
    if (run->damaged)
        *damage = run->damage;
    return 0;
}

int pf_unpacker_next(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage,
                     struct pf_error *error)
{
    return run->inflater ? next_of_inflater(run->inflater, bytes, size, damage, error)
                         : next_of_archive(run, bytes, size, damage, error);
}

uint64_t pf_unpacker_packed(const struct pf_unpacker *run)
{
    return run->start + (run->inflater ? pf_inflater_packed(run->inflater) : run->at);
}
