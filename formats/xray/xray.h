/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_H
#define PF_XRAY_H

#include <inttypes.h>
#include <stdatomic.h>

#include "formats/kit/fold.h"
#include "formats/kit/notes.h"
#include "formats/kit/store.h"
#include "formats/xray/clock.h"
#include "formats/xray/names.h"

/*
 * LLVM XRay logs, and profiles that its profiling mode writes. The parts, each knowing those before it only:
 *   header.c      the first bytes -> which kind of file
 *   records.c     bytes of a buffer -> events
 *   index.c       which parts of a file are whose, in which order; buffers.c finds those of FDR logs (PF_PARTITIONED)
 *   profiling.c   profiling files -> threads, contexts, values: all there is to know of them
 *   names.c       what functions are called; names_find.c looks for the map, elf_map.c and yaml_map.c read it
 *   calls.c       events of a thread -> its calls, added up by context -> the profile's contexts, values, fields of threads
 *                 (PF_MODELLED)
 *   durations.c   how long the calls of functions took, in all threads and in each (PF_DERIVED)
 *   trace.c       events as the table "trace"
 */

/* ---- the header --------------------------------------------------------------------------------- */

/* What an XRay file is, told by its first bytes. There are three kinds, each in either byte order. */
enum xray_type { XRAY_BASIC, XRAY_FDR, XRAY_PROFILING };

struct xray_header {
    enum xray_type type;
    bool big_endian;
    uint64_t version; /* FDR: 1 to 5; basic: 1 to 3; profiling: XRAY_PROFILING_VERSION */

    /* Of logs. */
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   /* ticks a second; 0: not known */
    uint64_t buffer_size; /* FDR: of one buffer; the layout of version 1, mere information later */

    /* Of profiling files. */
    uint64_t created; /* nanoseconds since 1970 */
    uint64_t pid;
};

#define XRAY_HEADER_SIZE       ((size_t)32)
#define XRAY_PROFILING_VERSION 0x20180424

/* Bytes that xray_confidence wants to see: the header and what a log starts with. */
#define XRAY_PROBE_SIZE ((size_t)64)

/* Reads the header at the start of bytes; false if there is none. */
bool xray_header_read(struct xray_header *header, const unsigned char *bytes, size_t size);

/* How sure it is, in bits of evidence, that what follows a header follows it: as in struct pf_verdict. */
unsigned xray_confidence(const struct xray_header *header, const unsigned char *bytes, size_t size);

/* The version as info.txt tells it, e.g. "5", "basic 3", "profiling 0x20180424". */
void xray_header_version(const struct xray_header *header, char *text, size_t room);

/* ---- what is wrong ------------------------------------------------------------------------------ */

enum xray_note_kind {
    XRAY_FILE_CUT,       /* the file ends inside the record at this offset */
    XRAY_BUFFER_CUT,     /* the file ends inside this buffer; bytes missing */
    XRAY_BEYOND_END,     /* this buffer's extents go past the end of the file; the extents */
    XRAY_OVERLAP,        /* a buffer starts here, before the declared end of the one before */
    XRAY_RESYNCHRONISED, /* no buffer where one is due; bytes skipped */
    XRAY_NO_THREAD,      /* this buffer does not say whose it is */
    XRAY_DUPLICATE,      /* this buffer stands in the file once more */
    XRAY_BUFFER_SIZE,    /* header of version 1; the size as it stands there */
    XRAY_RECORD_CUT,     /* a buffer ends inside this record */
    XRAY_FUNCTION_KIND,  /* function record; kind */
    XRAY_METADATA_KIND,  /* metadata record; kind */
    XRAY_EVENT_SIZE,     /* event; size */
    XRAY_NESTED,         /* a buffer starts inside another that was taken as whole */
    XRAY_NO_END,         /* version 1: this buffer has no EndOfBuffer */
    XRAY_UNTIMED,        /* this buffer; number of records */
    XRAY_STRAY,          /* this buffer; number of records */
    XRAY_STRAY_ARGUMENT, /* basic logs: the first one; how many there are */
    XRAY_UNKNOWN,        /* basic logs: the first one; how many there are */
    XRAY_BLOCK_SIZE,     /* profiling: this block is smaller than its header; its size */
    XRAY_BLOCK_CUT,      /* profiling: the file ends inside this block; bytes missing */
    XRAY_CUT_IN_BLOCK,   /* profiling: a block ends inside this record */
    XRAY_NO_PATH,        /* profiling: this record is of no function */
    XRAY_LONG_PATH,      /* profiling: this record's path is not read; its functions */
    XRAY_LONG_PAYLOAD,   /* this event; bytes not shown */
    XRAY_MANY_ARGUMENTS, /* this function record; arguments not shown */
    XRAY_NEGATIVE,       /* nowhere; how often a context of a thread has negative ticks */
    XRAY_NOTE_KINDS
};
extern const struct pf_note_kind xray_note_kinds[XRAY_NOTE_KINDS];

/* Notes a problem at an offset (UINT64_MAX: at none), without or with a number. */
static inline void xray_note(struct pf_notes *notes, enum xray_note_kind kind, uint64_t offset)
{
    pf_note(notes, &xray_note_kinds[kind], 0, (int64_t)offset, NULL);
}

static inline void xray_note_number(struct pf_notes *notes, enum xray_note_kind kind, uint64_t offset,
                                    uint64_t number)
{
    pf_note(notes, &xray_note_kinds[kind], 0, (int64_t)offset, "%" PRIu64, number);
}

/* ---- whose what is ------------------------------------------------------------------------------ */

/*
 * What a light pass over a file finds out: its threads, and which parts of the file are theirs. A part is a buffer of an FDR
 * log, a run of a basic log's records, a block of a profiling file. There can be as many as records in a file, so they are
 * held in a store that spills: memory is bounded by the threads.
 */
struct xray_range {
    uint64_t body, end; /* bytes [body, end) of the file, without what only tells whose they are */
};

struct xray_thread {
    int64_t tid; /* of profiling files: all of 64 bits, to be read as unsigned */
    int32_t pid;
    bool has_pid;
    uint64_t first, count; /* ranges */
};

struct xray_index {
    struct pf_store *ranges; /* thread after thread, in the order in which they were written */
    uint64_t n_ranges;
    struct xray_thread *threads; /* in the order in which they first appear in the file */
    size_t n_threads;
    uint64_t start; /* the smallest TSC of the ranges' first events; UINT64_MAX: there are none */
    uint64_t bytes; /* of all ranges together */
};

/* Range i < n_ranges. 0, or -1 with *error filled. */
int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error);

/* Offset of the record that a buffer starts with, given that of its records. */
static inline uint64_t xray_buffer_offset(const struct xray_header *header, uint64_t body)
{
    return body - (header->version == 1 ? 16 : 32);
}

/* While the light pass runs. */
struct xray_indexing;

/* A part of a thread. Those of one thread are in order of their wall time, then TSC, then place in the file. */
struct xray_part {
    struct xray_range range;
    int64_t seconds; /* wall time of an FDR buffer's start, of the monotonic clock */
    int32_t micros;
    bool has_tsc;
    uint64_t tsc; /* of its first NewCPUId */
};

/* Adds a part of this thread. 0, or -1 with *error filled. */
int xray_index_add(struct xray_indexing *indexing, bool has_pid, int32_t pid, int64_t tid,
                   const struct xray_part *part, struct pf_error *error);
/* An event at this time is the first of a part. */
void xray_index_start(struct xray_indexing *indexing, uint64_t tsc);

/* What finds the parts of a file of each type. 0, or -1 with *error filled. */
typedef int xray_scan(struct xray_indexing *indexing, const struct xray_header *header,
                      struct pf_input *input, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);
xray_scan xray_scan_buffers, xray_scan_blocks;

/* ---- the profile's state ------------------------------------------------------------------------ */

/* Measures of a context in a thread, in the fold. */
enum { XRAY_CALLS, XRAY_TICKS, XRAY_TICKS_INC, XRAY_OPEN, XRAY_MEASURES };

/* How long the completed calls of a function took, in a thread or in all. */
struct xray_function {
    uint32_t id, thread;
    uint64_t count;
    uint64_t min, max; /* ticks */
    xray_uint128 sum;
    uint64_t median, p90, p99; /* from PF_DERIVED on */
};

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
    struct pf_store *of_threads; /* struct xray_function: thread by thread, in each by id */
    uint64_t *first_of_thread;   /* where each thread's begin, and where all end */
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

/* Profiling files: metrics and fields of threads; PF_MODELLED. */
void xray_profiling_set(struct pf_profile *profile);
int xray_profiling_contexts(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

extern const struct pf_cursor_ops xray_trace_cursor;
extern const struct pf_numbered xray_durations, xray_thread_durations;

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

#endif
