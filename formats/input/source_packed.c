/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver.h"
#include "formats/input/inflate.h"
#include "formats/input/source_private.h"
#include "formats/input/unpacked.h"
#include "formats/kit/pass.h"

/* Inputs that are what a compressed file inflates to. A file has one such view. */

static ssize_t read_packed(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    return pf_input_read_file(arg, buffer, size, offset, error);
}

static struct pf_input *view_of(struct pf_input *packed, enum pf_packing_kind kind)
{
    struct pf_input *view = calloc(1, sizeof *view);
    if (!view)
        return NULL;
    if (kind == PF_UNPACKED || kind == PF_GZIP_PACKED)
        view->inflate = pf_inflate_new(read_packed, packed, packed->stamp.size);
    else
        view->unpacked = pf_unpacked_new(pf_folder_unpackings(packed->source->folder), kind, read_packed,
                                         packed, 0, packed->stamp.size, UINT64_MAX);
    if (!view->inflate && !view->unpacked) {
        free(view);
        return NULL;
    }
    view->source = packed->source;
    view->present = true;
    view->packed = packed;
    return view;
}

/* The one view of a file. */
static int viewed(struct pf_input *packed, enum pf_packing_kind kind, struct pf_input **input,
                  struct pf_error *error)
{
    pf_lock_take(&packed->source->lock);
    if (!packed->view)
        packed->view = view_of(packed, kind);
    *input = packed->view;
    pf_lock_drop(&packed->source->lock);
    return *input ? 0 : pf_fail_memory(error);
}

/* ---- what a driver knows nothing of ------------------------------------------------------------- */

enum { HEAD = 16, STEP = 4 << 20 };

static int sees_through(const struct pf_source *source, const struct pf_input *file, bool *through,
                        struct pf_error *error)
{
    unsigned char head[PF_HEAD_MAX];
    struct pf_probe probe = {.name = source->name,
                             .size = file->stamp.size,
                             .fd = file->file.fd,
                             .start = file->file.start,
                             .unpacked = file->file.unpacked,
                             .bytes = head};
    struct pf_verdict verdict = {0};
    pf_probe_ask(&probe, source->driver, &verdict);
    *through = !verdict.confidence;
    return probe.lack ? pf_fail(error, probe.lack, "%s", strerror(probe.lack)) : 0;
}

/* Finds out, once, whether a file is to be unpacked for its driver. */
static int find_through(struct pf_source *source, const struct pf_input *file, enum pf_packing_kind *kind,
                        struct pf_error *error)
{
    unsigned char head[HEAD];
    ssize_t got = pf_input_read_file(file, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    *kind = pf_packing_kind_of(head, (size_t)got);
    bool through = source->driver && !source->directory && *kind != PF_UNPACKED;
    if (through && sees_through(source, file, &through, error))
        return -1;
    if (!through)
        *kind = PF_UNPACKED;
    return 0;
}

/* Reads a view to its end, so that its size is known. */
static int reach_end(struct pf_input *view, struct pf_error *error)
{
    unsigned char byte;
    uint64_t done, total;
    for (uint64_t at = 0; pf_input_size(view) == UINT64_MAX; at += STEP) {
        pf_input_progress(view, at, &done, &total);
        if (pf_pass_step(done, total, error) || pf_input_read(view, &byte, 1, at, error) < 0)
            return -1;
    }
    return 0;
}

int pf_source_through(struct pf_source *source, struct pf_input **input, bool whole, struct pf_error *error)
{
    enum pf_packing_kind kind;
    struct pf_input *file = *input;
    if (find_through(source, file, &kind, error))
        return -1;
    if (kind == PF_UNPACKED)
        return 0;
    if (viewed(file, kind, input, error))
        return -1;
    /* Who knows nothing of compression wants to know how large it is. */
    return whole ? reach_end(*input, error) : 0;
}

/* Opens a file and its view if it begins as gzip data do, or, where that is asked for, zlib data. */
static int open_either(struct pf_source *source, const char *name, bool zlib_too, struct pf_input **input,
                       struct pf_error *error)
{
    struct pf_input *file;
    unsigned char head[4];
    *input = NULL;
    if (pf_source_open_file(source, name, &file, error) || !file)
        return -1;
    struct pf_input *through = file;
    if (!name && pf_source_through(source, &through, false, error))
        return -1;
    *input = through;
    if (through != file) /* it is the file, as far as the driver knows */
        return zlib_too ? pf_fail_at(error, EINVAL, 0, "neither gzip nor zlib data") : 0;
    ssize_t got = pf_input_read(file, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    bool packed =
        pf_inflate_is_gzip(head, (size_t)got) || (zlib_too && pf_inflate_is_zlib(head, (size_t)got));
    return packed ? viewed(file, PF_GZIP_PACKED, input, error) : 0;
}

int pf_source_open_plain(struct pf_source *source, const char *name, struct pf_input **input,
                         struct pf_error *error)
{
    return open_either(source, name, false, input, error);
}

int pf_source_open_inflated(struct pf_source *source, const char *name, struct pf_input **input,
                            struct pf_error *error)
{
    if (open_either(source, name, true, input, error))
        return -1;
    if ((*input)->inflate)
        return 0;
    *input = NULL;
    return pf_fail_at(error, EINVAL, 0, "neither gzip nor zlib data");
}

bool pf_input_damage(struct pf_input *input, struct pf_error *damage)
{
    return input->inflate    ? pf_inflate_damage(input->inflate, damage)
           : input->unpacked ? pf_unpacked_damage(input->unpacked, damage)
                             : false;
}

bool pf_input_trailing(struct pf_input *input, uint64_t *offset)
{
    return input->inflate && pf_inflate_trailing(input->inflate, offset);
}

void pf_input_progress(struct pf_input *input, uint64_t offset, uint64_t *done, uint64_t *total)
{
    *total = pf_input_stamp(input)->size;
    *done = input->inflate    ? pf_inflate_packed_before(input->inflate, offset)
            : input->unpacked ? pf_unpacked_packed_before(input->unpacked, offset)
                              : offset;
    if (*done > *total)
        *done = *total;
}
