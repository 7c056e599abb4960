/* SPDX-License-Identifier: MIT */
#include "fs/text/lines.h"

#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/runtime/numbered.h"

size_t pf_lines_save(const struct pf_lines *lines, void *blob, size_t room)
{
    if (lines->ops->save)
        return lines->ops->save(lines, blob, room);
    return pf_position_save(&lines->position, sizeof lines->position, blob, room);
}

double pf_lines_progress(const struct pf_lines *lines)
{
    return lines->ops->progress ? lines->ops->progress(lines) : 0;
}

int pf_lines_restore(struct pf_lines *lines, const void *blob, size_t size, struct pf_error *error)
{
    if (lines->ops->restore)
        return lines->ops->restore(lines, blob, size, error);
    return pf_position_restore(&lines->position, sizeof lines->position, blob, size, error);
}

/* ---- ready-made texts: position 1 is after the only record --------------------------------------- */

struct text_lines {
    struct pf_lines lines;
    struct pf_buf text;
};

static int text_next(struct pf_lines *lines, struct pf_buf *out, struct pf_error *error)
{
    const struct pf_buf *text = &((struct text_lines *)lines)->text;
    (void)error;
    if (lines->position)
        return 0;
    lines->position = 1;
    pf_buf_add(out, text->data, text->size);
    return 1;
}

static void text_close(struct pf_lines *lines)
{
    pf_buf_free(&((struct text_lines *)lines)->text);
    free(lines);
}

static const struct pf_lines_ops text_ops = {.next = text_next, .close = text_close};

struct pf_lines *pf_lines_of_text(struct pf_buf *buf, struct pf_error *error)
{
    struct text_lines *view = buf->failed ? NULL : calloc(1, sizeof *view);
    if (!view) {
        pf_buf_free(buf);
        pf_fail_memory(error);
        return NULL;
    }
    *view = (struct text_lines){.lines = {.ops = &text_ops}, .text = *buf};
    *buf = (struct pf_buf){0};
    return &view->lines;
}

/* ---- files embedded in a profile: the position is the offset of the next chunk ------------------- */

enum { CHUNK = 64 * 1024 };

struct blob_lines {
    struct pf_lines lines;
    struct pf_model *model;
    size_t blob;
};

static int blob_next(struct pf_lines *lines, struct pf_buf *out, struct pf_error *error)
{
    struct pf_model *model = ((struct blob_lines *)lines)->model;
    size_t blob = ((struct blob_lines *)lines)->blob;
    char *at = pf_buf_reserve(out, CHUNK);
    if (!at)
        return pf_fail_memory(error);
    ssize_t n = pf_driver_extra_of(model->driver)->blob_read(model, blob, at, CHUNK, lines->position, error);
    if (n <= 0)
        return n < 0 ? -1 : 0;
    out->size += (size_t)n;
    lines->position += (uint64_t)n;
    return 1;
}

static void blob_close(struct pf_lines *lines)
{
    free(lines);
}

static const struct pf_lines_ops blob_ops = {.next = blob_next, .close = blob_close};

struct pf_lines *pf_blob_lines(struct pf_model *model, size_t blob, struct pf_error *error)
{
    struct blob_lines *view = calloc(1, sizeof *view);
    if (!view) {
        pf_fail_memory(error);
        return NULL;
    }
    *view = (struct blob_lines){.lines = {.ops = &blob_ops}, .model = model, .blob = blob};
    return &view->lines;
}
