/* SPDX-License-Identifier: MIT */
#ifndef PF_WALK_H
#define PF_WALK_H

#include "formats/driver.h"
#include "fs/text/buf.h"

/*
 * A generated text as an iterator over records, like the kernel's seq_file: a view implements the step from one record to the next,
 * and the core handles sizes, offsets, blocks and seeking. Not thread-safe: one thread per walk.
 */
struct pf_walk;

struct pf_walk_ops {
    /* Appends the next record (one line or a few). Returns 1; 0 at the end; -1 with *error filled. */
    int (*next)(struct pf_walk *walk, struct pf_buf *out, struct pf_error *error);
    /* Like next, but does not render: only adds the record's size in bytes to *size. NULL: the core calls next instead. */
    int (*measure)(struct pf_walk *walk, uint64_t *size, struct pf_error *error);
    /*
     * save writes the position of the next record to `saved` if it fits in `room` bytes, and always returns the position's size. restore
     * moves to a saved position; returns 0, or -1 with *error filled. Both NULL: the position is the member `position` of pf_walk.
     */
    size_t (*save)(const struct pf_walk *walk, void *saved, size_t room);
    int (*restore)(struct pf_walk *walk, const void *saved, size_t size, struct pf_error *error);
    void (*close)(struct pf_walk *walk); /* frees `walk` itself too */
    /* Returns the progress of the walk: the share of the text before the next record, approximately, from 0 to 1. NULL: always 0. */
    double (*progress)(const struct pf_walk *walk);
};

/* Embedded as the first member of a view's own state. */
struct pf_walk {
    const struct pf_walk_ops *ops;
    uint64_t position; /* set by the view, 0 at the start; a restored position may be past the end */
};

/* Call the operation, or do what is documented above for NULL. */
size_t pf_walk_save(const struct pf_walk *walk, void *saved, size_t room);
int pf_walk_restore(struct pf_walk *walk, const void *saved, size_t size, struct pf_error *error);
double pf_walk_progress(const struct pf_walk *walk);

/* Returns a walk with the buffer's text as its only record; takes ownership of the text. NULL with *error filled (text freed). */
struct pf_walk *pf_walk_of_text(struct pf_buf *buf, struct pf_error *error);

/*
 * Returns a walk over a file embedded in the profile; its records are chunks of bytes. Borrows the model; freed by ops->close. NULL
 * with *error filled.
 */
struct pf_walk *pf_blob_walk(struct pf_model *model, size_t blob, struct pf_error *error);

#endif
