/* SPDX-License-Identifier: MIT */
#ifndef PF_LINES_H
#define PF_LINES_H

#include "formats/driver.h"
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
    /*
     * The position of the next record: written into blob if room suffices; returns its size in any case. NULL, as restore: it is the
     * number `position` below.
     */
    size_t (*save)(const struct pf_lines *lines, void *blob, size_t room);
    int (*restore)(struct pf_lines *lines, const void *blob, size_t size, struct pf_error *error);
    void (*close)(struct pf_lines *lines); /* frees `lines` itself too */
    /* How much of the text lies before the next record, roughly, from 0 to 1. NULL: the walk is one or few records. */
    double (*progress)(const struct pf_lines *lines);
};

/* Embedded as the first member of a view's own state. */
struct pf_lines {
    const struct pf_lines_ops *ops;
    uint64_t position; /* the walk's own, 0 at the start; a restored one may lie behind its end */
};

size_t pf_lines_save(const struct pf_lines *lines, void *blob, size_t room);
int pf_lines_restore(struct pf_lines *lines, const void *blob, size_t size, struct pf_error *error);
double pf_lines_progress(const struct pf_lines *lines);

/* A walk that yields one ready-made text; takes the buffer over. NULL with *error filled (buffer freed). */
struct pf_lines *pf_lines_of_text(struct pf_buf *buf, struct pf_error *error);

/*
 * The bytes of a file that the profile carries, as a walk whose records are chunks of it. Borrows the profile;
 * freed by its close. NULL with *error filled.
 */
struct pf_lines *pf_blob_lines(struct pf_model *model, size_t blob, struct pf_error *error);

#endif
