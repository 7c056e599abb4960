/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_H
#define PF_XRAY_H

#include <inttypes.h>
#include <stdatomic.h>

#include "formats/kit/store.h"
#include "formats/runtime/notes.h"
#include "formats/xray/fold.h"
#include "formats/xray/names.h"

/*
 * LLVM XRay logs, and profiles that its profiling mode writes. The parts, each knowing those before it only:
 *   records.c     bytes of a buffer -> events
 *   parts.c       parts of a file (buffers, runs, blocks) -> threads and their ranges, in order, without duplicates
 *   buffers.c     finds the parts of FDR logs
 *   names.c       names of functions; names_find.c looks for the map, elf_map.c and yaml_map.c read it
 *   fold.c        a record per thread and touched context, added up from events in the order of threads
 *   model.c       the contexts, values and fields of threads that the next two collect -> the profile's model
 *   profiling.c   profiling files: the parts, then threads, contexts, values
 *   index.c       the light pass over a file of any kind -> its threads (PF_PARTITIONED)
 *   stack.c       the open calls of a thread
 *   calls.c       events of a thread -> its calls, added up by context (PF_MODELLED)
 *   durations.c   duration of the calls of each function, over all threads and in each (PF_DERIVED)
 *   trace.c       events as the table "trace"
 *   xray.c        the first bytes -> which kind of file; the driver
 */

/* ---- the header --------------------------------------------------------------------------------- */

/* What an XRay file is, told by its first bytes. There are three kinds, each in either byte order. */
enum xray_type { XRAY_BASIC, XRAY_FDR, XRAY_PROFILING };

struct xray_header {
    enum xray_type type;
    bool big_endian;
    uint64_t version; /* FDR: 1 to 5; basic: 1 to 3; profiling: 0x20180424 */

    /* Of logs. */
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   /* ticks a second; 0: not known */
    uint64_t buffer_size; /* FDR: of one buffer; the layout of version 1, mere information later */

    /* Of profiling files. */
    uint64_t created; /* nanoseconds since 1970 */
    uint64_t pid;
};

#define XRAY_HEADER_SIZE ((size_t)32)

/* ---- what is wrong ------------------------------------------------------------------------------ */

/* Those that several files note: the file, or a buffer, ends inside a record; the file ends inside a buffer (bytes missing). */
extern const struct pf_note_kind xray_file_cut, xray_record_cut, xray_buffer_cut;

/* Notes a problem at an offset (UINT64_MAX: at none), without or with a number. */
static inline void xray_note(struct pf_notes *notes, const struct pf_note_kind *kind, uint64_t offset)
{
    pf_note(notes, kind, 0, (int64_t)offset, NULL);
}

static inline void xray_note_number(struct pf_notes *notes, const struct pf_note_kind *kind, uint64_t offset,
                                    uint64_t number)
{
    pf_note(notes, kind, 0, (int64_t)offset, "%" PRIu64, number);
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
    /* Where damage has hidden or may have cut off buffers: offsets in the file, ascending. There may be more than are kept. */
    uint64_t *damage;
    size_t n_damage;
};

/* Range i < n_ranges. 0, or -1 with *error filled. */
int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error);

/* The first damage known at `from` or between there and `to`; UINT64_MAX: none. */
uint64_t xray_index_damage(const struct xray_index *index, uint64_t from, uint64_t to);

void xray_index_free(struct xray_index *index);

/* Offset of the record that a buffer starts with, given that of its records. */
static inline uint64_t xray_buffer_offset(const struct xray_header *header, uint64_t body)
{
    return body - (header->version == 1 ? 16 : 32);
}

/* ---- the profile's state ------------------------------------------------------------------------ */

/* Measures of a context in a thread, in the fold. */
enum { XRAY_CALLS, XRAY_TICKS, XRAY_TICKS_INC, XRAY_OPEN, XRAY_MEASURES };

enum { XRAY_METRICS = 6 };

/* The rows of the tables of durations, see durations.c. */
struct xray_durations {
    struct pf_store *store; /* owned, as is the next */
    uint64_t *first;        /* row of each thread, of all together, and where all end */
};

struct xray_state {
    struct xray_fold_state fold; /* first: see fold.h */
    struct pf_input *input;
    struct xray_header header;
    struct pf_metric metrics[XRAY_METRICS]; /* of logs */
    struct pf_derivation derivations[XRAY_METRICS];

    struct xray_index index; /* from PF_PARTITIONED on */
    struct xray_maps maps;   /* from PF_OPENED on */
    struct xray_names names; /* from PF_PARTITIONED on */
    /*
     * The smallest TSC of all events, from which the trace counts time. The light pass can only guess it;
     * a walk over the trace that meets an earlier event lowers it.
     */
    _Atomic uint64_t start;

    struct xray_durations durations; /* from PF_DERIVED on */
};

static inline struct xray_state *xray_state(const struct pf_model *model)
{
    return model->state;
}

/* What a pass over the data makes of it. */
struct xray_model {
    struct pf_tree *tree;
    struct xray_fold *fold;
    struct pf_rows *fields; /* of threads */
    struct pf_notes notes;
    uint64_t negative; /* how often a context of a thread has negative ticks */
};

/* An empty model. 0, or -1 with *error filled; xray_model_end is due in either case. */
int xray_model_begin(struct xray_model *model, const struct pf_model *profile, unsigned measures,
                     struct pf_error *error);
/* Gives the model to the profile, or frees it if making it has failed. 0, or -1 with *error filled. */
int xray_model_end(struct xray_model *model, struct pf_model *profile, int failed, struct pf_error *error);

/* The stages. Each leaves the profile as it was if it fails. */
int xray_load_threads(struct pf_model *model, struct pf_error *error);
int xray_load_calls(struct pf_model *model, struct pf_error *error);
void xray_durations_free(struct xray_durations *durations);
int xray_load_durations(struct pf_model *model, struct pf_error *error);

/* Profiling files: metrics and fields of threads; PF_MODELLED. */
void xray_profiling_set(struct pf_model *model);
int xray_profiling_contexts(struct pf_model *model, struct pf_error *error);

extern const struct pf_cursor_ops xray_trace_cursor;
extern const struct pf_numbered xray_durations; /* of threads, or of all, as the first column tells */

/* Columns of logs' tables: of threads after id and name (see calls.c), of the trace. */
enum { XRAY_FIELDS = 10, XRAY_TRACE_COLUMNS = 11 };
extern const struct pf_column xray_thread_fields[XRAY_FIELDS], xray_trace_columns[XRAY_TRACE_COLUMNS];

/* What the trace shows of one event at most; more is left out and told in the warnings. */
enum { XRAY_PAYLOAD_SHOWN = 16 * 1024 * 1024, XRAY_ARGUMENTS_SHOWN = 64 * 1024 };

#endif
