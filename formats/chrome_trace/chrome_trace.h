/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_H
#define PF_CHROME_TRACE_H

#include "formats/kit/sorter.h"
#include "formats/runtime/build.h"

/* Upper bound of times in ns (146 years), so that differences of times do not overflow. */
#define TRACE_TIME_MAX (INT64_C(1) << 62)

struct trace_state {
    struct pf_build *build;
    struct pf_sorter *sorter; /* all events, while the file is read */
    uint64_t records;         /* number of records in the sorter */
    uint32_t nameless;        /* index of the name for events without one (PF_NO_STRING in the sorter) */
};

/* ---- slices into call paths (nest.c) ------------------------------------------------------------ */

/*
 * A slice is a time span of a thread: an event of phase X is a whole slice, and one of phase B begins a slice that an E
 * ends. Events come in any order, so they are sorted by thread and time first. The parent of a slice is the innermost
 * slice that is open when it begins. The time of each moment goes to the innermost open slice.
 */

/* Words of a sorter record. */
enum { TRACE_RECORD_THREAD, TRACE_RECORD_TIME, TRACE_RECORD_PLACE, TRACE_RECORD_DURATION, TRACE_RECORD_NAME };
enum { TRACE_RECORD_WORDS = TRACE_RECORD_NAME + 1, TRACE_RECORD_KEYS = TRACE_RECORD_PLACE + 1 };

/* The position of an event in the file: its number, with the phase in the lowest 8 bits. */
static inline uint64_t trace_place(uint64_t number, char phase)
{
    return number << 8 | (unsigned char)phase;
}

/* The metrics. */
enum { TRACE_TIME, TRACE_CALLS, TRACE_METRICS };

/*
 * Reads all records of the finished sorter, builds the call paths and adds their values. The partitions must be
 * complete.
 */
void trace_nest_all(struct trace_state *state);

#endif
