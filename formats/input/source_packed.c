/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/inflate.h"
#include "formats/input/source_private.h"

/* Inputs that are what a compressed file inflates to. A file has one such view. */

static ssize_t read_packed(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    return pf_input_read_file(arg, buffer, size, offset, error);
}

static struct pf_input *view_of(struct pf_input *packed)
{
    struct pf_input *view = calloc(1, sizeof *view);
    if (!view || !(view->inflate = pf_inflate_new(read_packed, packed, packed->stamp.size))) {
        free(view);
        return NULL;
    }
    view->source = packed->source;
    view->present = true;
    view->fd = -1;
    view->packed = packed;
    return view;
}

/* The one view of a file. */
static int inflated(struct pf_input *packed, struct pf_input **input, struct pf_error *error)
{
    pthread_mutex_lock(&packed->source->lock);
    if (!packed->view)
        packed->view = view_of(packed);
    *input = packed->view;
    pthread_mutex_unlock(&packed->source->lock);
    return *input ? 0 : pf_fail_memory(error);
}

/* Opens a file and its view if it begins as gzip data do, or, where that is asked for, zlib data. */
static int open_either(struct pf_source *source, const char *name, bool zlib_too, struct pf_input **input,
                       struct pf_error *error)
{
    struct pf_input *file;
    unsigned char head[4];
    *input = NULL;
    if (pf_source_open(source, name, &file, error) || !file)
        return -1;
    ssize_t got = pf_input_read(file, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    if (pf_inflate_is_gzip(head, (size_t)got) || (zlib_too && pf_inflate_is_zlib(head, (size_t)got)))
        return inflated(file, input, error);
    *input = file;
    return 0;
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
    return input->inflate && pf_inflate_damage(input->inflate, damage);
}

bool pf_input_trailing(struct pf_input *input, uint64_t *offset)
{
    return input->inflate && pf_inflate_trailing(input->inflate, offset);
}

void pf_input_progress(struct pf_input *input, uint64_t offset, uint64_t *done, uint64_t *total)
{
    *total = pf_input_stamp(input)->size;
    *done = input->inflate ? pf_inflate_packed_before(input->inflate, offset) : offset;
    if (*done > *total)
        *done = *total;
}
