/* SPDX-License-Identifier: MIT */
#ifndef PF_NUMBERED_H
#define PF_NUMBERED_H

#include "formats/driver.h"

/*
 * Cursors over numbered records. The position of such a cursor is the number of the next record. A table with such a cursor:
 *
 *     static const struct pf_numbered regions = {PF_NUMBERED, .begin = begin_regions, .row = region_row};
 *     ... {.name = "regions", .ops = &regions.ops, ...}
 */

/* The state of an open cursor. */
struct pf_numbers {
    uint64_t next, end; /* half-open range of the remaining numbers */
    void *own;          /* owned by the driver, such as a reader, or memory that rows borrow */
};

/* Marks the end, as a value of `next` or a result of `after`. */
#define PF_NO_NUMBER UINT64_MAX

struct pf_numbered {
    struct pf_cursor_ops ops; /* PF_NUMBERED */
    /* Sets the range of records for the cursor's restriction. Returns 0, or -1 with *error filled; `free` is called in
     * both cases. */
    int (*begin)(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error);
    /* Fills the cells of a record's row. Returns 1; 0 if the record has no row or does not match the restriction; -1
     * with *error filled. */
    int (*row)(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error);
    /*
     * Optional, for records whose successor is not the next number (in a linked list, for example): returns the
     * successor of a record. Called after `row`.
     */
    uint64_t (*after)(const struct pf_cursor *cursor, const void *own, uint64_t number);
    void (*free)(void *own); /* NULL: `own` is freed with free() */
};

int pf_numbered_open(struct pf_cursor *cursor, struct pf_error *error);
int pf_numbered_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error);
size_t pf_numbered_save(const struct pf_cursor *cursor, void *saved, size_t room);
int pf_numbered_restore(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error);
void pf_numbered_close(struct pf_cursor *cursor);
double pf_numbered_progress(const struct pf_cursor *cursor);

/* The state of an open cursor, for callers that advance it without next(). */
static inline struct pf_numbers *pf_numbers_of(const struct pf_cursor *cursor)
{
    return cursor->state; /* the first member of the state */
}

#define PF_NUMBERED                                                                                          \
    {                                                                                                        \
        .open = pf_numbered_open, .next = pf_numbered_next, .save = pf_numbered_save,                        \
        .restore = pf_numbered_restore, .close = pf_numbered_close, .progress = pf_numbered_progress         \
    }

/* Returns true if the item matches `only`, a member of the cursor's restriction (negative: any item). */
static inline bool pf_wanted(int64_t only, uint64_t item)
{
    return only < 0 || (uint64_t)only == item;
}

/* ---- positions ---------------------------------------------------------------------------------- */

/*
 * Helpers for save and restore of cursors whose position is a struct of fixed size without pointers and padding. Saved
 * positions stay on one host, so byte order does not matter, but they may be damaged when they are restored.
 * Thread-safe.
 */

/* Copies a position of `size` bytes to `saved` if it fits into `room` bytes. Always returns `size`. */
size_t pf_position_save(const void *position, size_t size, void *saved, size_t room);

/* Copies a position of `size` bytes from `saved`. Returns 0, or -1 with EINVAL in *error and *position unchanged if the
 * sizes differ. The caller must validate the numbers in it. */
int pf_position_restore(void *position, size_t size, const void *saved, size_t saved_size,
                        struct pf_error *error);

/* Rejects a position that is out of range: fills *error with EINVAL. Returns -1. */
int pf_position_refuse(struct pf_error *error);

#endif
