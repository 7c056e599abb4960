/* SPDX-License-Identifier: MIT */
#ifndef PF_SPANS_H
#define PF_SPANS_H

#include "formats/driver.h"

/*
 * The table "trace" of a format with a time line: what began when in which thread, and how long it took. Rows are added thread
 * by thread while the file is read, in memory up to a limit and in an unlinked file beyond. Adding is for one thread; reading
 * afterwards for all.
 */
struct pf_spans;

/* A time as the file has it: an integer where it is one. */
struct pf_time {
    union {
        int64_t i;
        double d;
    };
    bool real; /* d */
};

static inline struct pf_time pf_time(int64_t value)
{
    return (struct pf_time){.i = value};
}

struct pf_span_row {
    struct pf_time time, duration;
    bool instant;     /* it has no duration: that cell is empty */
    char phase;       /* a letter for a table that has such a column */
    uint32_t context; /* PF_NO_CONTEXT: it stands in no stack, and has neither context nor depth */
    uint32_t name;    /* in the tree's strings */
};

/* limit: bytes to hold in memory before spilling. NULL: out of memory. */
struct pf_spans *pf_spans_new(uint64_t limit);
void pf_spans_free(struct pf_spans *spans);

/* How many rows there are: the number of the next one. */
uint64_t pf_spans_count(const struct pf_spans *spans);

/* Adds a row to the partition that is being added. 0, or -1 with *error filled; so are the following. */
int pf_spans_add(struct pf_spans *spans, const struct pf_span_row *row, struct pf_error *error);
/* Says how long what row `number` tells of took, which it did not tell when it was added. */
int pf_spans_set_duration(struct pf_spans *spans, uint64_t number, struct pf_time duration,
                          struct pf_error *error);
/* Ends a partition (once for each, in order, also for empty ones). */
int pf_spans_end_partition(struct pf_spans *spans, struct pf_error *error);

/*
 * The cursor over spans, for tables with the columns below (PF_SPANS_PHASE in the second one alone). The spans are the
 * profile's `state` plus `table->user` bytes: a struct pf_spans *.
 */
extern const struct pf_cursor_ops pf_spans_cursor;

enum { PF_SPANS_THREAD, PF_SPANS_TIME, PF_SPANS_DURATION, PF_SPANS_DEPTH, PF_SPANS_CONTEXT, PF_SPANS_NAME };
enum { PF_SPANS_COLUMNS = PF_SPANS_NAME + 1, PF_SPANS_PHASED_COLUMNS };
extern const struct pf_column pf_spans_columns[PF_SPANS_COLUMNS];
extern const struct pf_column pf_spans_phased_columns[PF_SPANS_PHASED_COLUMNS];

#define PF_SPANS_FLAGS (PF_BY_PARTITION | PF_SEEKS_PARTITION)

/* The table: the struct of the profile's state, its field that is a struct pf_spans *, the stage from which on it is filled. */
#define PF_SPANS_TRACE(state, field, from)                                                                   \
    {                                                                                                        \
        .name = "trace", .columns = pf_spans_columns, .n_columns = PF_SPANS_COLUMNS, .stage = (from),        \
        .flags = PF_SPANS_FLAGS, .ops = &pf_spans_cursor, .user = offsetof(state, field)                     \
    }

#endif
