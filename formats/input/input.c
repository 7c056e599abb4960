/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/input/inflate.h"
#include "formats/input/source_private.h"
#include "formats/input/unpacked.h"
#include "formats/kit/pass.h"

/* One file of a source, once it has been opened: its bytes, or those that it unpacks to. */

void pf_input_free(struct pf_input *input)
{
    if (!input)
        return;
    pf_input_free(input->view);
    pf_inflate_free(input->inflate);
    pf_unpacked_release(input->unpacked);
    if (input->open)
        pf_opened_close(&input->file);
    free(input->name);
    free(input);
}

bool pf_input_intact(const struct pf_input *input)
{
    struct stat st;
    if (pf_opened_stat(&input->file, &st))
        return false;
    struct pf_stamp now = pf_stamp_of(&st);
    if (st.st_nlink != input->links)
        now.ctime_ns = input->held.ctime_ns;
    return pf_stamp_same(&now, &input->held);
}

int pf_input_done(struct pf_input *input, struct pf_error *error)
{
    int result = 0;
    if (input->packed)
        input = input->packed;
    pf_lock_take(&input->source->lock);
    if (input->open) {
        if (!pf_input_intact(input))
            result = pf_fail(error, ESTALE, "the file has changed");
        pf_opened_close(&input->file);
        input->open = false;
    }
    pf_lock_drop(&input->source->lock);
    return result;
}

ssize_t pf_input_read_file(const struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                           struct pf_error *error)
{
    uint64_t end = input->stamp.size;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    if (!input->open)
        return pf_fail_at(error, ESTALE, (int64_t)offset, "the file has changed");
    ssize_t got = pf_opened_read(&input->file, buffer, size, offset, error);
    if (got >= 0 && (size_t)got < size)
        return input->file.unpacked
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
                             : pf_input_read_file(input, buffer, size, offset, error);
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
    return file->held.size < file->stamp.size ? file->held.size : file->stamp.size;
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
