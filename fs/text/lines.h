/* SPDX-License-Identifier: MIT */
#ifndef PF_LINES_H
#define PF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"
#include "fs/text/buf.h"

/*
 * A generated text as an iterator by record, like the kernel's seq_file: whoever writes a view says how to go
 * from one record to the next, and the core owns sizes, offsets, blocks and seeking. A walk belongs to one
 * thread.
 */
struct pf_lines;

struct pf_lines_ops {
    /* Append the next record (one line or a few). 1: appended; 0: no more; -1: *error filled. */
    int (*next)(struct pf_lines *lines, struct pf_buf *out, struct pf_error *error);
    /* As next, but only add the number of bytes to *size. NULL: the core calls next. */
    int (*measure)(struct pf_lines *lines, uint64_t *size, struct pf_error *error);
    /* The position of the next record: written into blob if room suffices; returns its size in any case. */
    size_t (*save)(const struct pf_lines *lines, void *blob, size_t room);
    int (*restore)(struct pf_lines *lines, const void *blob, size_t size, struct pf_error *error);
    void (*close)(struct pf_lines *lines); /* frees `lines` itself too */
};

/* Embedded as the first member of a view's own state. */
struct pf_lines {
    const struct pf_lines_ops *ops;
};

#endif
