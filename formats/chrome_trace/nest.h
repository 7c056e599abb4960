/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_NEST_H
#define PF_CHROME_TRACE_NEST_H

#include "formats/driver.h"
#include "formats/kit/samples.h"
#include "formats/kit/sorter.h"
#include "formats/kit/spans.h"

/*
 * Slices into call paths. Events stand in a file in any order, so they are sorted by thread and time first; then a slice lies in
 * the innermost one that is open when it begins, and each moment's time is that of the innermost open slice.
 */

/* A record of the sorter: thread; time; place in the file and phase; duration; name. */
enum { TRACE_RECORD_THREAD, TRACE_RECORD_TIME, TRACE_RECORD_PLACE, TRACE_RECORD_DURATION, TRACE_RECORD_NAME };
enum { TRACE_RECORD_WORDS = TRACE_RECORD_NAME + 1, TRACE_RECORD_KEYS = TRACE_RECORD_PLACE + 1 };

/* The place of an event: its number, with the phase in the lowest bits. */
static inline uint64_t trace_place(uint64_t number, char phase)
{
    return number << 8 | (unsigned char)phase;
}

/* The metrics. */
enum { TRACE_TIME, TRACE_CALLS, TRACE_METRICS };

struct trace_nest {
    struct pf_profile *profile; /* whose partitions are there, and which gets contexts, values and warnings */
    struct pf_sorter *sorter;   /* filled and finished */
    struct pf_spans *spans;
    uint32_t nameless; /* a string: the name of what has none in it (PF_NO_STRING in records) */
};

/* Reads the sorter through, `records` in all. `threads`: how many there are. 0, or -1 with *error filled. */
int trace_nest_all(const struct trace_nest *nest, uint32_t threads, struct pf_pass *pass, uint64_t records,
                   struct pf_error *error);

#endif
