/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_H
#define PF_CHROME_TRACE_H

#include "formats/kit/sorter.h"
#include "formats/runtime/build.h"

/* Times are less than this, in ns, so that differences of times fit too: 146 years. */
#define TRACE_TIME_MAX (INT64_C(1) << 62)

struct trace_state {
    struct pf_build *build;
    struct pf_sorter *sorter; /* of all events, while the file is read: */
    uint64_t records;         /* how many are in it */
    uint32_t nameless;        /* the name of what has none in it (PF_NO_STRING), in the tree's strings */
};

/* ---- slices into call paths (nest.c) ------------------------------------------------------------ */

/*
 * Events stand in a file in any order, so they are sorted by thread and time first; then a slice lies in the innermost one that
 * is open when it begins, and each moment's time is that of the innermost open slice.
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

/* Reads the sorter through, which is finished. The partitions are known. */
void trace_nest_all(struct trace_state *state);

#endif
