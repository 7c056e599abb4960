/* SPDX-License-Identifier: MIT */
#ifndef PF_NUMBERED_H
#define PF_NUMBERED_H

#include "formats/driver.h"

/*
 * Cursors over records that have numbers: a position is the number of the next one. A table's ops are those of such a
 * cursor:
 *
 *     static const struct pf_numbered regions = {PF_NUMBERED, .begin = begin_regions, .row = region_row};
 *     ... {.name = "regions", .ops = &regions.ops, ...}
 */

/* Which records are looked at, and what the cursor holds while it is open. */
struct pf_numbers {
    uint64_t next, end; /* from `next` on those less than `end` */
    void *own;          /* the driver's: memory for what rows borrow, readers */
};

/* Behind the last record: for `next`, and for what `after` gives. */
#define PF_NO_NUMBER UINT64_MAX

struct pf_numbered {
    struct pf_cursor_ops ops; /* PF_NUMBERED */
    /* Says which records there are for the cursor's restriction. 0, or -1 with *error filled; `free` is called in either case. */
    int (*begin)(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error);
    /* Fills the cells of a record's row. 1; 0: it has none, or does not match the restriction; -1 with *error filled. */
    int (*row)(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error);
    /*
     * Optional: the record after this one, for which `row` has been called, where that is not the next number (a list of those of
     * one context).
     */
    uint64_t (*after)(const struct pf_cursor *cursor, const void *own, uint64_t number);
    void (*free)(void *own); /* NULL: `own` is freed as it is */
};

int pf_numbered_open(struct pf_cursor *cursor, struct pf_error *error);
int pf_numbered_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error);
size_t pf_numbered_save(const struct pf_cursor *cursor, void *blob, size_t room);
int pf_numbered_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error);
void pf_numbered_close(struct pf_cursor *cursor);
double pf_numbered_progress(const struct pf_cursor *cursor);

/* Those of an open cursor, for who goes on by other means than next. */
static inline struct pf_numbers *pf_numbers_of(const struct pf_cursor *cursor)
{
    return cursor->state; /* they are the first member */
}

#define PF_NUMBERED                                                                                          \
    {                                                                                                        \
        pf_numbered_open, pf_numbered_next, pf_numbered_save, pf_numbered_restore, pf_numbered_close,        \
            pf_numbered_progress                                                                             \
    }

/* Whether an item belongs to what one axis is restricted to. */
static inline bool pf_wanted(int64_t only, uint64_t item)
{
    return only < 0 || (uint64_t)only == item;
}

#endif
