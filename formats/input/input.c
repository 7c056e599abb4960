/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/input/inflate.h"
#include "formats/input/input_private.h"
#include "formats/input/unpacked.h"
#include "formats/kit/pass.h"

/* ---- open files --------------------------------------------------------------------------------- */

struct pf_input_file *pf_input_file_new(struct pf_opened *opened)
{
    struct stat st;
    struct pf_input_file *file = malloc(sizeof *file);
    int failed = !file ? ENOMEM : pf_opened_stat(opened, &st) ? errno : 0;
    if (failed) {
        pf_opened_close(opened);
        free(file);
        errno = failed;
        return NULL;
    }
    atomic_init(&file->references, 1);
    file->opened = *opened;
    file->held = pf_stamp_of(opened->within ? &st : &opened->st);
    file->links = st.st_nlink;
    return file;
}

struct pf_input_file *pf_input_file_hold(struct pf_input_file *file)
{
    atomic_fetch_add(&file->references, 1);
    return file;
}

void pf_input_file_release(struct pf_input_file *file)
{
    if (!file || atomic_fetch_sub(&file->references, 1) != 1)
        return;
    pf_opened_close(&file->opened);
    free(file);
}

bool pf_input_file_intact(const struct pf_input_file *file)
{
    struct stat st;
    if (pf_opened_stat(&file->opened, &st))
        return false;
    struct pf_stamp now = pf_stamp_of(&st);
    if (st.st_nlink != file->links)
        now.ctime_ns = file->held.ctime_ns;
    return pf_stamp_same(&now, &file->held);
}

/* ---- inputs ------------------------------------------------------------------------------------- */

void pf_input_free(struct pf_input *input)
{
    if (!input)
        return;
    pf_input_free(input->view);
    pf_inflate_free(input->inflate);
    pf_unpacked_release(input->unpacked);
    pf_input_file_release(input->file);
    free(input->name);
    free(input);
}

static ssize_t input_read_file(const struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                               struct pf_error *error)
{
    uint64_t end = input->stamp.size;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    if (!input->file)
        return pf_fail_at(error, ESTALE, (int64_t)offset, "the file has changed");
    const struct pf_opened *opened = &input->file->opened;
    ssize_t got = pf_opened_read(opened, buffer, size, offset, error);
    if (got >= 0 && (size_t)got < size)
        return opened->unpacked
                   ? pf_fail_at(error, EBADMSG, (int64_t)offset + got, "the archive is damaged")
                   : pf_fail_at(error, ESTALE, (int64_t)offset + got, "the file has been truncated");
    return got;
}

ssize_t pf_input_read(struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                      struct pf_error *error)
{
    if (pf_pass_check(error))
        return -1;
    return input->inflate    ? pf_inflate_read(input->inflate, buffer, size, offset, error)
           : input->unpacked ? pf_unpacked_read(input->unpacked, buffer, size, offset, error)
                             : input_read_file(input, buffer, size, offset, error);
}

uint64_t pf_input_size(const struct pf_input *input)
{
    return input->inflate    ? pf_inflate_size(input->inflate)
           : input->unpacked ? pf_unpacked_size(input->unpacked)
                             : input->stamp.size;
}

static uint64_t disk_size(const struct pf_input *input)
{
    const struct pf_input *file = input->packed ? input->packed : input;
    return file->disk < file->stamp.size ? file->disk : file->stamp.size;
}

uint64_t pf_input_memory(const struct pf_input *input)
{
    const uint64_t times = 4, least = 64 << 20;
    uint64_t size = disk_size(input);
    return size < least ? least * times : size < UINT64_MAX / times ? size * times : UINT64_MAX;
}

bool pf_input_is_packed(const struct pf_input *input)
{
    return disk_size(input) < pf_input_size(input);
}

const struct pf_stamp *pf_input_stamp(const struct pf_input *input)
{
    return input->packed ? &input->packed->stamp : &input->stamp;
}

/* ---- views of what a file unpacks to ------------------------------------------------------------ */

static ssize_t input_read_packed(void *arg, void *buffer, size_t size, uint64_t offset,
                                 struct pf_error *error)
{
    return input_read_file(arg, buffer, size, offset, error);
}

struct pf_input *pf_input_view_new(struct pf_input *packed, enum pf_packing_kind kind,
                                   struct pf_unpackings *all)
{
    struct pf_input *view = calloc(1, sizeof *view);
    uint64_t size = packed->stamp.size;
    if (!view)
        return NULL;
    if (kind == PF_UNPACKED || kind == PF_GZIP_PACKED)
        view->inflate = pf_inflate_new(input_read_packed, packed, size);
    else
        view->unpacked = pf_unpacked_new(all, kind, input_read_packed, packed, 0, size, UINT64_MAX);
    if (!view->inflate && !view->unpacked) {
        free(view);
        return NULL;
    }
    view->source = packed->source;
    view->present = true;
    view->packed = packed;
    return view;
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
