/* SPDX-License-Identifier: MIT */
#include "fs/text/walk.h"

#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/runtime/numbered.h"

size_t pf_walk_save(const struct pf_walk *base, void *saved, size_t room)
{
    if (base->ops->save)
        return base->ops->save(base, saved, room);
    return pf_position_save(&base->position, sizeof base->position, saved, room);
}

double pf_walk_progress(const struct pf_walk *base)
{
    return base->ops->progress ? base->ops->progress(base) : 0;
}

int pf_walk_restore(struct pf_walk *base, const void *saved, size_t size, struct pf_error *error)
{
    if (base->ops->restore)
        return base->ops->restore(base, saved, size, error);
    return pf_position_restore(&base->position, sizeof base->position, saved, size, error);
}

/* ---- ready-made texts: position 1 is after the only record --------------------------------------- */

struct text_walk {
    struct pf_walk base;
    struct pf_buf text;
};

static int text_next(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    const struct pf_buf *text = &((struct text_walk *)base)->text;
    (void)error;
    if (base->position)
        return 0;
    base->position = 1;
    pf_buf_add(out, text->data, text->size);
    return 1;
}

static void text_close(struct pf_walk *base)
{
    pf_buf_free(&((struct text_walk *)base)->text);
    free(base);
}

static const struct pf_walk_ops text_ops = {.next = text_next, .close = text_close};

struct pf_walk *pf_walk_of_text(struct pf_buf *buf, struct pf_error *error)
{
    struct text_walk *view = buf->failed ? NULL : calloc(1, sizeof *view);
    if (!view) {
        pf_buf_free(buf);
        pf_fail_memory(error);
        return NULL;
    }
    *view = (struct text_walk){.base = {.ops = &text_ops}, .text = *buf};
    *buf = (struct pf_buf){0};
    return &view->base;
}

/* ---- files embedded in a profile: the position is the offset of the next chunk ------------------- */

enum { CHUNK = 64 * 1024 };

struct blob_walk {
    struct pf_walk base;
    struct pf_model *model;
    size_t blob;
};

static int blob_next(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct pf_model *model = ((struct blob_walk *)base)->model;
    size_t blob = ((struct blob_walk *)base)->blob;
    char *at = pf_buf_reserve(out, CHUNK);
    if (!at)
        return pf_fail_memory(error);
    ssize_t n = pf_driver_extra_of(model->driver)->blob_read(model, blob, at, CHUNK, base->position, error);
    if (n <= 0)
        return n < 0 ? -1 : 0;
    out->size += (size_t)n;
    base->position += (uint64_t)n;
    return 1;
}

static void blob_close(struct pf_walk *base)
{
    free(base);
}

static const struct pf_walk_ops blob_ops = {.next = blob_next, .close = blob_close};

struct pf_walk *pf_blob_walk(struct pf_model *model, size_t blob, struct pf_error *error)
{
    struct blob_walk *view = calloc(1, sizeof *view);
    if (!view) {
        pf_fail_memory(error);
        return NULL;
    }
    *view = (struct blob_walk){.base = {.ops = &blob_ops}, .model = model, .blob = blob};
    return &view->base;
}
