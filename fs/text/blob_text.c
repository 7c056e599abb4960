/* SPDX-License-Identifier: MIT */
#include "fs/text/blob_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 * 1024 };

struct blob_lines {
    struct pf_lines lines;
    struct pf_profile *profile;
    size_t blob;
    uint64_t offset; /* of the next chunk: the walk's position */
    char *scratch;   /* CHUNK bytes, for measuring; made when needed */
};

/* The next chunk into `bytes`. Returns its size, 0 at the end, -1 with *error filled. */
static ssize_t read_chunk(struct blob_lines *view, char *bytes, struct pf_error *error)
{
    ssize_t n =
        view->profile->driver->blob_read(view->profile, view->blob, bytes, CHUNK, view->offset, error);
    if (n > 0)
        view->offset += (uint64_t)n;
    return n;
}

static int next_chunk(struct pf_lines *lines, struct pf_buf *out, struct pf_error *error)
{
    struct blob_lines *view = (struct blob_lines *)lines;
    char *at = pf_buf_reserve(out, CHUNK);
    if (!at)
        return pf_fail_memory(error);
    ssize_t n = read_chunk(view, at, error);
    if (n > 0)
        out->size += (size_t)n;
    return n < 0 ? -1 : n > 0;
}

static int measure_chunk(struct pf_lines *lines, uint64_t *size, struct pf_error *error)
{
    struct blob_lines *view = (struct blob_lines *)lines;
    if (!view->scratch && !(view->scratch = malloc(CHUNK)))
        return pf_fail_memory(error);
    ssize_t n = read_chunk(view, view->scratch, error);
    if (n > 0)
        *size += (uint64_t)n;
    return n < 0 ? -1 : n > 0;
}

static size_t save_offset(const struct pf_lines *lines, void *blob, size_t room)
{
    const struct blob_lines *view = (const struct blob_lines *)lines;
    if (room >= sizeof view->offset)
        memcpy(blob, &view->offset, sizeof view->offset);
    return sizeof view->offset;
}

static int restore_offset(struct pf_lines *lines, const void *blob, size_t size, struct pf_error *error)
{
    struct blob_lines *view = (struct blob_lines *)lines;
    if (size != sizeof view->offset)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(&view->offset, blob, size);
    return 0;
}

static void close_blob(struct pf_lines *lines)
{
    struct blob_lines *view = (struct blob_lines *)lines;
    free(view->scratch);
    free(view);
}

static const struct pf_lines_ops blob_ops = {next_chunk, measure_chunk, save_offset, restore_offset,
                                             close_blob};

struct pf_lines *pf_blob_lines(struct pf_profile *profile, size_t blob, struct pf_error *error)
{
    struct blob_lines *view = calloc(1, sizeof *view);
    if (!view) {
        pf_fail_memory(error);
        return NULL;
    }
    view->lines.ops = &blob_ops;
    view->profile = profile;
    view->blob = blob;
    return &view->lines;
}
