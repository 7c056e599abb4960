/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_H
#define PF_XRAY_H

#include <stdatomic.h>
#include <stdint.h>

#include "formats/kit/fold.h"
#include "formats/xray/clock.h"
#include "formats/xray/header.h"
#include "formats/xray/index.h"
#include "formats/xray/lists.h"
#include "formats/xray/names.h"
#include "formats/xray/stack.h"

/*
 * LLVM XRay logs, and profiles that its profiling mode writes. The parts, each knowing those before it only:
 *   header.c     the first bytes -> which kind of file
 *   records.c    bytes of a buffer -> events
 *   buffers.c    FDR logs -> buffers, and order.c -> threads (PF_PARTITIONED)
 *   basic.c      basic logs -> runs of records of one thread (PF_PARTITIONED)
 *   profiling.c  profiling files -> threads, contexts, values: all there is to know of them
 *   names.c      what functions are called; names_find.c looks for the map, elf_map.c and yaml_map.c read it
 *                (PF_PARTITIONED)
 *   contexts.c   calls of a thread -> its contexts; reading.c: events of a thread -> those, and team.c: of
 *                several threads at once
 *   calls.c      what the threads come to -> contexts, values, fields of threads (PF_MODELLED); tallies.c: what the
 *                functions took, and lists.c: of each thread
 *   durations.c  events of a thread -> durations of its calls
 *   ranks.c      durations -> percentiles (PF_DERIVED)
 *   functions.c  functions as the table "durations"; thread_functions.c: those of each thread
 *   trace.c      events as the table "trace"
 */

/* Measures of a context in a thread, in the fold. */
enum { XRAY_CALLS, XRAY_TICKS, XRAY_TICKS_INC, XRAY_OPEN, XRAY_MEASURES };

struct xray_state {
    struct pf_fold_state fold; /* first: see fold.h */
    struct pf_input *input;
    struct xray_header header;
    struct xray_clock clock;
    struct pf_derivation derivations[6];

    struct xray_index index; /* from PF_PARTITIONED on */
    struct xray_maps maps;   /* from PF_OPENED on */
    struct xray_names names; /* from PF_PARTITIONED on */
    /*
     * The smallest TSC of all events, from which the trace counts time. The light pass can only guess it;
     * a walk over the trace that meets an earlier event lowers it.
     */
    _Atomic uint64_t start;

    /* From PF_MODELLED on, their percentiles from PF_DERIVED on. */
    struct xray_function *functions; /* with completed calls, by id */
    uint32_t n_functions;
    struct xray_lists lists; /* the same of each thread */
};

static inline struct xray_state *xray_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* Words for the kind of a context. */
extern const char *const xray_context_kinds[];

/* The stages. Each leaves the profile as it was if it fails. */
int xray_load_threads(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
int xray_load_calls(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
int xray_load_ranks(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

extern const struct pf_cursor_ops xray_trace_cursor;
extern const struct pf_cursor_ops xray_durations_cursor;
extern const struct pf_cursor_ops xray_thread_durations_cursor;

/* Columns of the thread table after id and name. */
enum {
    XRAY_FIELD_PID,
    XRAY_FIELD_TID,
    XRAY_FIELD_BUFFERS,
    XRAY_FIELD_EVENTS,
    XRAY_FIELD_UNMATCHED_EXITS,
    XRAY_FIELD_IMPLICIT_EXITS,
    XRAY_FIELD_OPEN_AT_END,
    XRAY_FIELD_MAX_DEPTH,
    XRAY_FIELD_FIRST_TSC,
    XRAY_FIELD_LAST_TSC,
    XRAY_FIELDS
};

/* Columns of the trace. */
enum {
    XRAY_TRACE_THREAD,
    XRAY_TRACE_TIME,
    XRAY_TRACE_TSC,
    XRAY_TRACE_CPU,
    XRAY_TRACE_EVENT,
    XRAY_TRACE_FUNCTION,
    XRAY_TRACE_DEPTH,
    XRAY_TRACE_ARGS,
    XRAY_TRACE_EVENT_TYPE,
    XRAY_TRACE_DATA,
    XRAY_TRACE_NAME,
    XRAY_TRACE_COLUMNS
};

/* What the trace shows of one event at most; more is left out and told in the warnings. */
enum { XRAY_PAYLOAD_SHOWN = 16 * 1024 * 1024, XRAY_ARGUMENTS_SHOWN = 64 * 1024 };

/* Columns of the table "durations". That of a thread has the thread before them. */
enum {
    XRAY_DURATIONS_FUNCTION,
    XRAY_DURATIONS_COUNT,
    XRAY_DURATIONS_MIN,
    XRAY_DURATIONS_MEDIAN,
    XRAY_DURATIONS_P90,
    XRAY_DURATIONS_P99,
    XRAY_DURATIONS_MAX,
    XRAY_DURATIONS_SUM,
    XRAY_DURATIONS_NAME,
    XRAY_DURATIONS_COLUMNS
};

#endif
