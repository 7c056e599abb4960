/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_H
#define PF_CHROME_TRACE_H

#include "formats/chrome_trace/nest.h"
#include "formats/chrome_trace/threads.h"

/* The tables of events that are no slices. */
enum trace_kind { TRACE_ASYNC, TRACE_COUNTERS, TRACE_INSTANTS, TRACE_KINDS };

/* The kind of a phase, TRACE_KINDS if it has no table. */
enum trace_kind trace_kind_of(char phase);

struct trace_state {
    struct pf_samples samples; /* first: the kit looks here */
    struct pf_spans *spans;
    struct trace_threads threads;
    uint32_t nameless;           /* the name of what has none, in the tree's strings */
    uint64_t kinds[TRACE_KINDS]; /* how many events there are of each kind */
};

static inline struct trace_state *trace_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* The cursor over one kind of events, which the table's `user` is: read from the file once more, in its order. */
extern const struct pf_cursor_ops trace_details_cursor;

enum { TRACE_ASYNC_COLUMNS = 6, TRACE_COUNTER_COLUMNS = 6, TRACE_INSTANT_COLUMNS = 5 };
extern const struct pf_column trace_async_columns[TRACE_ASYNC_COLUMNS];
extern const struct pf_column trace_counter_columns[TRACE_COUNTER_COLUMNS];
extern const struct pf_column trace_instant_columns[TRACE_INSTANT_COLUMNS];

#endif
