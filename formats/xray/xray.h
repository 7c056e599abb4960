/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_H
#define PF_XRAY_H

#include <inttypes.h>
#include <stdatomic.h>

#include "formats/kit/store.h"
#include "formats/runtime/run.h"
#include "formats/xray/fold.h"
#include "formats/xray/names.h"

/*
 * LLVM XRay logs, and the files of XRay's profiling mode. Each source file depends only on those listed before it:
 *   records.c     bytes of a buffer -> events
 *   parts.c       parts of a file (buffers, runs, blocks) -> threads and their ranges, in order, without duplicates
 *   buffers.c     finds the parts of FDR logs
 *   names.c       names of functions; names_find.c finds the program's instrumentation map, elf_map.c and yaml_map.c read it
 *   fold.c        adds events to one record per thread and touched context
 *   model.c       contexts, values and fields of threads, collected by profiling.c and calls.c -> the profile's model
 *   profiling.c   profiling files: the parts, then threads, contexts, values
 *   index.c       the index pass over a file of any type -> its threads (PF_PARTITIONED)
 *   stack.c       the open calls of a thread
 *   calls.c       events of a thread -> its calls, added up by context (PF_MODELLED)
 *   durations.c   statistics of the durations of calls, per thread and in total (PF_DERIVED)
 *   trace.c       events as the table "trace"
 *   xray.c        the driver: file type from the first bytes, metrics, tables, stages
 */

/* ---- the header --------------------------------------------------------------------------------- */

/* Types of XRay files: logs of two types, and profiling files. */
enum xray_type { XRAY_BASIC, XRAY_FDR, XRAY_PROFILING };

/* The header of a file. Each type of file exists in both byte orders. */
struct xray_header {
    enum xray_type type;
    bool big_endian;
    uint64_t version; /* 1 to 5 in FDR logs, 1 to 3 in basic ones, 0x20180424 in profiling files */

    /* Logs only. */
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   /* ticks per second; 0: unknown */
    uint64_t buffer_size; /* size of an FDR log's buffer in bytes; only version 1 depends on it */

    /* Profiling files only. */
    uint64_t created; /* nanoseconds since 1970 */
    uint64_t pid;
};

#define XRAY_HEADER_SIZE ((size_t)32)

/* ---- warnings ----------------------------------------------------------------------------------- */

/* Warnings: the file ends inside a record; a buffer does; the file ends inside a buffer (number: missing bytes). */
extern const struct pf_note_kind xray_file_cut, xray_record_cut, xray_buffer_cut;

/* Warn of a problem at an offset (UINT64_MAX: no offset). xray_note_number appends a number to the text. */
static inline void xray_note(struct pf_run *run, const struct pf_note_kind *kind, uint64_t offset)
{
    pf_run_note(run, kind, 0, offset, NULL);
}

static inline void xray_note_number(struct pf_run *run, const struct pf_note_kind *kind, uint64_t offset,
                                    uint64_t number)
{
    pf_run_note(run, kind, 0, offset, "%" PRIu64, number);
}

/* ---- the parts of threads ----------------------------------------------------------------------- */

/*
 * A part of the file that belongs to one thread: a buffer of an FDR log, a run of records of a basic log, or a block of
 * a profiling file.
 */
struct xray_range {
    uint64_t body, end; /* file offsets [body, end), without the records that identify the thread */
};

struct xray_thread {
    int64_t tid; /* in profiling files, an unsigned 64-bit number */
    int32_t pid;
    bool has_pid;
    uint64_t first, count; /* number of its first range, and number of its ranges */
};

/*
 * The result of the index pass: the threads, and the parts of the file that belong to each. There may be as many parts
 * as records, so the ranges are in a store that spills. Only the threads are held in memory.
 */
struct xray_index {
    struct pf_store *ranges; /* sorted by thread, then by the time they were written */
    uint64_t n_ranges;
    struct xray_thread *threads; /* in order of first appearance in the file */
    size_t n_threads;
    uint64_t start; /* smallest TSC of the first events of all ranges; UINT64_MAX: no events */
    uint64_t bytes; /* total size of all ranges */
    /* Ascending file offsets where damage has hidden buffers or may have truncated them. Their number is limited. */
    uint64_t *damage;
    size_t n_damage;
};

/* Reads range i (i < n_ranges). Returns 0, or -1 with *error filled. */
int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error);

/* Returns the first damage recorded in [from, to), or at `from` if the range is empty; UINT64_MAX: none. */
uint64_t xray_index_damage(const struct xray_index *index, uint64_t from, uint64_t to);

void xray_index_free(struct xray_index *index);

/*
 * Returns the offset of a buffer, given the offset of its body. The record NewBuffer precedes the body. From version 2 on,
 * the record BufferExtents precedes NewBuffer.
 */
static inline uint64_t xray_buffer_offset(const struct xray_header *header, uint64_t body)
{
    return body - (header->version == 1 ? 16 : 32);
}

/* ---- the profile's state ------------------------------------------------------------------------ */

/* Measures of a context in a thread, in the fold. */
enum { XRAY_CALLS, XRAY_TICKS, XRAY_TICKS_INC, XRAY_OPEN, XRAY_MEASURES };

enum { XRAY_METRICS = 6 };

/* The rows of the tables of durations (durations.c). */
struct xray_durations {
    struct pf_store *store; /* owned */
    uint64_t *first;        /* first row of each thread and of the total, and the number of rows; owned */
};

struct xray_state {
    struct xray_fold_state fold; /* must be first, see fold.h */
    struct pf_input *input;
    struct xray_header header;
    struct pf_metric metrics[XRAY_METRICS]; /* logs only */
    struct pf_derivation derivations[XRAY_METRICS];

    struct xray_index index; /* valid from PF_PARTITIONED on */
    struct xray_maps maps;   /* valid from PF_OPENED on */
    struct xray_names names; /* valid from PF_PARTITIONED on */
    /*
     * T0 is the time 0 of the trace, the smallest TSC of all events. The index pass estimates T0, and a cursor of the
     * trace lowers it when it meets an earlier event. Atomic, since several threads may use cursors.
     */
    _Atomic uint64_t start;

    struct xray_durations durations; /* valid from PF_DERIVED on */
};

static inline struct xray_state *xray_state(const struct pf_model *model)
{
    return model->state;
}

/* The model that a pass over the data builds; zeroed before the pass. */
struct xray_model {
    struct pf_run *run;
    struct pf_tree *tree;
    struct xray_fold *fold;
    struct pf_rows *fields; /* of threads */
    uint64_t negative; /* number of (thread, context) pairs or records (profiling.c) with ticks below 0 */
};

/*
 * Called in the run. xray_model_begin makes an empty model. xray_model_finish sorts the run's warnings and adds those
 * on the whole model.
 */
void xray_model_begin(struct pf_run *run, struct xray_model *model, unsigned measures);
void xray_model_finish(struct xray_model *model);
/* Called after the run. Moves the model to the profile, or frees it if the run has `failed`. Returns `failed`. */
int xray_model_end(struct xray_model *model, struct pf_model *profile, int failed);

/* Finds or adds the context of a function below `parent`. Returns its index. */
uint32_t xray_model_context(struct xray_model *model, uint32_t parent, uint32_t id, uint32_t name);

/* Returns the record of a context in the open partition, as xray_fold_at does. */
static inline union xray_measure *xray_model_at(struct xray_model *model, uint32_t context)
{
    union xray_measure *measures = xray_fold_at(model->fold, context, model->run->error);
    if (!measures)
        pf_run_fail(model->run);
    return measures;
}

/* Ends a thread. Adds its fields and ends the open partition. */
void xray_model_end_thread(struct xray_model *model, const struct pf_cell *fields);

/*
 * Load the stages of threads, of calls and of durations. Return 0, or -1 with *error filled and the profile unchanged.
 */
int xray_load_threads(struct pf_model *model, struct pf_error *error);
int xray_load_calls(struct pf_model *model, struct pf_error *error);
void xray_durations_free(struct xray_durations *durations);
int xray_load_durations(struct pf_model *model, struct pf_error *error);

/*
 * For profiling files only. xray_profiling_set sets the metrics and the fields of threads, and xray_profiling_contexts
 * loads stage PF_MODELLED.
 */
void xray_profiling_set(struct pf_model *model);
int xray_profiling_contexts(struct pf_model *model, struct pf_error *error);

extern const struct pf_cursor_ops xray_trace_cursor;
extern const struct pf_numbered xray_durations; /* per thread if the first column is that, else totals */

/* Numbers of columns: of a log's table of threads, without id and name (calls.c); of the table "trace". */
enum { XRAY_FIELDS = 10, XRAY_TRACE_COLUMNS = 11 };
extern const struct pf_column xray_thread_fields[XRAY_FIELDS], xray_trace_columns[XRAY_TRACE_COLUMNS];

/* Maximum bytes of payload and number of arguments that the trace shows per event. Warnings report the excess. */
enum { XRAY_PAYLOAD_SHOWN = 16 * 1024 * 1024, XRAY_ARGUMENTS_SHOWN = 64 * 1024 };

#endif
