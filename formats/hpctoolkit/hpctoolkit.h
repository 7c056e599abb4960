/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include <pthread.h>

#include "formats/driver.h"
#include "formats/hpctoolkit/model.h"
#include "formats/hpctoolkit/window.h"
#include "formats/kit/notes.h"
#include "formats/kit/store.h"

/*
 * HPCToolkit databases: a directory with a file that describes what was measured (meta.db or experiment.xml)
 * and files that hold the measurements by thread (profile.db), by context (cct.db) and by time (trace.db).
 */
enum hpc_layout {
    HPC_META,  /* releases from 2022.10 on: meta.db, little-endian */
    HPC_DRAFT, /* development versions of 2022 before them: the same files, other records */
    HPC_XML4,  /* development versions of 2021/22: experiment.xml 4.0, big-endian */
    HPC_OLD,   /* releases up to 2022.05: experiment.xml 2.x, a dense table of values a thread */
};

/* ---- what is wrong ---------------------------------------------------------------------------------- */

/* By severity and code. */
enum hpc_note_kind {
    HPC_NOTE_ERROR_CHILDREN,
    HPC_NOTE_ERROR_CUT_CONTEXT,
    HPC_NOTE_ERROR_CONTEXT_TWICE,
    HPC_NOTE_ERROR_ENTRY,
    HPC_NOTE_ERROR_CONTEXTS,
    HPC_NOTE_ERROR_BROKEN_BLOCK,
    HPC_NOTE_ERROR_HEAD,
    HPC_NOTE_ERROR_HEADER,
    HPC_NOTE_ERROR_IDENTITY,
    HPC_NOTE_ERROR_INCONSISTENT_TREE,
    HPC_NOTE_ERROR_METRICS,
    HPC_NOTE_ERROR_NO_VALUES,
    HPC_NOTE_ERROR_PART,
    HPC_NOTE_ERROR_STRAY_TRACE,
    HPC_NOTE_ERROR_UNREADABLE,
    HPC_NOTE_FATAL_BEYOND_END,
    HPC_NOTE_FATAL_BLOCK_BEYOND_END,
    HPC_NOTE_FATAL_CUT_XML,
    HPC_NOTE_FATAL_FOOTER,
    HPC_NOTE_FATAL_HEADER,
    HPC_NOTE_FATAL_NO_TREE,
    HPC_NOTE_FATAL_PART,
    HPC_NOTE_FATAL_SECTION_BEYOND_END,
    HPC_NOTE_FATAL_TRACE_BEYOND_END,
    HPC_NOTE_WARNING_CCT,
    HPC_NOTE_WARNING_METRIC_ID,
    HPC_NOTE_WARNING_PART,
    HPC_NOTE_WARNING_STRAY_TRACE,
    HPC_NOTE_WARNING_SUMMARY,
    HPC_NOTE_WARNING_UNKNOWN_METRIC,
    HPC_NOTE_WARNING_UNLISTED_CONTEXTS,
    HPC_NOTE_KINDS
};
extern const struct pf_note_kind hpc_note_kinds[HPC_NOTE_KINDS];

/* Notes a problem: its kind, line (0: not known), offset (-1: not known) and text, which names the file. 0 in any case. */
#define hpc_note(notes, kind, line, offset, ...)                                                             \
    (pf_note((notes), &hpc_note_kinds[kind], line, offset, __VA_ARGS__), 0)

/* ---- identifiers of threads ----------------------------------------------------------------------- */

/* The kinds that every writer numbers alike; further ones have a name alone. */
enum hpc_identifier {
    HPC_SUMMARY,
    HPC_NODE,
    HPC_RANK,
    HPC_THREAD,
    HPC_DEVICE,
    HPC_CONTEXT,
    HPC_STREAM,
    HPC_CORE,
    HPC_IDENTIFIERS
};

/* Names of the kinds of identifiers, as the database gives them. */
struct hpc_identifiers {
    const char **names; /* owned array, names in the state's strings; NULL: not named */
    size_t count;
};

/* One element of a thread's identity: `RANK 3`. */
struct hpc_identity {
    uint16_t kind;
    bool shows_physical; /* the physical number tells more than the logical one */
    uint64_t logical, physical;
};

/* ---- metrics -------------------------------------------------------------------------------------- */

/* From the ids that profiles use, which have 16 bits, to indexes of metrics. */
struct hpc_by_id {
    uint32_t *index; /* owned; HPC_NO_NUMBER: no metric has this id */
    uint32_t count;  /* one past the largest id */
};

static inline uint32_t hpc_metric_at(const struct hpc_by_id *by_id, uint32_t id)
{
    return id < by_id->count ? by_id->index[id] : HPC_NO_NUMBER;
}

/* A metric of the summary. */
struct hpc_summary_metric {
    int64_t id;
    const char *name;
    struct hpc_formula *formula; /* how to compute it from others; NULL: it is stored, or can't be computed */
};

struct hpc_metrics {
    struct pf_metric *items;
    size_t count, room;
    struct hpc_idmap ids;   /* id in the threads' profiles -> index */
    struct hpc_idmap names; /* number of the name in the state's strings -> index: names are unique */
    struct hpc_by_id by_id;
};

struct hpc_summary_metrics {
    struct hpc_summary_metric *items;
    size_t count, room;
    struct hpc_idmap ids, names;
    struct hpc_by_id by_id;
    struct pf_rows *rows; /* the table summary_metrics */
};

/* ---- threads -------------------------------------------------------------------------------------- */

/* Where the values of a profile stand in profile.db. */
struct hpc_block {
    uint64_t values, indices; /* offsets of the first value and of the first (context, index) pair */
    uint64_t n_values;
    uint32_t n_contexts;
};

struct hpc_thread {
    struct hpc_block block; /* 2.x: n_contexts rows of `columns` doubles, from `values` on */
    uint32_t profile;       /* its index in the database */
    uint32_t part, columns; /* 2.x: number of the file that holds its values */
    uint32_t trace_part;    /* 2.x: of the file that holds its trace */
    bool data_centric;      /* 2.x: samples are longer */
    uint64_t trace;         /* offset of its samples, */
    uint64_t samples;       /* and how many there are */
};

struct hpc_threads {
    struct hpc_thread *items;
    uint32_t count;
    struct hpc_idmap profiles; /* index in the database -> index here */
};

/* The array of records of cct.db. */
struct hpc_cct {
    uint64_t at, count;
    size_t stride;
    bool complete; /* they announce as many values as profile.db has */
};

struct hpc_parts;
struct hpc_transpose;

/* ---- the profile's state --------------------------------------------------------------------------- */

struct hpc_state {
    enum hpc_layout layout;
    bool big_endian;
    struct pf_strings *strings;   /* names of metrics and identifiers; complete once the profile is open */
    struct pf_input *description; /* meta.db or experiment.xml */
    struct pf_input *profile_db, *cct_db, *trace_db; /* NULL: absent or of no use */
    struct hpc_identifiers identifiers;
    struct hpc_metrics metrics;
    struct hpc_summary_metrics summary_metrics;
    bool has_summary;
    uint32_t summary_profile; /* which profile it is: the first one mostly */
    struct hpc_block summary;
    struct hpc_threads threads;
    struct hpc_cct cct;
    struct hpc_model model;
    struct pf_notes broken;          /* blocks that were found to be, until they are told */
    struct hpc_transpose *transpose; /* NULL: not needed, or not made yet */
    struct hpc_parts *parts;         /* 2.x */
    uint64_t ticks_per_second;       /* of the times in traces; 0: they are in ns */
    struct hpc_by_id columns;        /* 2.x: column of the tables of values -> metric */
    struct pf_table *tables;
    size_t n_tables;
};

static inline struct hpc_state *hpc_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* A string among those of the state, terminated by NUL; NULL with *error filled. */
const char *hpc_keep(struct hpc_state *state, const char *text, size_t size, struct pf_error *error);

/* ---- tables.c ---------------------------------------------------------------------------------- */

/* Sets the profile's tables, which follow from what the database has: to be called at the end of opening. */
int hpc_set_tables(struct pf_profile *profile, struct pf_error *error);

/* ---- contexts.c -------------------------------------------------------------------------------- */

/*
 * Makes profile->contexts: what the database describes, and after that, by ascending id, what has values without being
 * described (instructions that their writer has folded into lines). Also looks whether cct.db is of use, and into
 * the blocks of profile.db unless these are large and cct.db vouches for them. 0, or -1 with *error filled; then
 * all is as before.
 */
int hpc_contexts_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);

/* The format's own columns of contexts.csv. */
enum { HPC_CONTEXT_RELATION, HPC_CONTEXT_OFFSET, HPC_CONTEXT_COLUMNS };
extern const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS];
void hpc_context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells);

/* ---- trace.c ----------------------------------------------------------------------------------- */

/*
 * The time line of each thread: samples of a time and the context that the thread was in, both read straight
 * from trace.db (old: *.hpctrace).
 */

/* A sample: u64 time, u32 context; of an old data-centric trace four bytes more. */
enum { HPC_SAMPLE = 12, HPC_SAMPLE_DATA = 16 };

/* Finds each thread's samples in trace.db, if there is one. 0, or -1 with *error filled. */
int hpc_traces_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                    struct pf_error *error);

/* Columns of the table "trace". */
enum { HPC_TRACE_THREAD, HPC_TRACE_TIME, HPC_TRACE_CONTEXT, HPC_TRACE_NAME, HPC_TRACE_COLUMNS };
extern const struct pf_column hpc_trace_columns[HPC_TRACE_COLUMNS];
extern const struct pf_cursor_ops hpc_trace_cursor;

/* ---- values.c ---------------------------------------------------------------------------------- */

/*
 * The table "values": thread by thread, in each by ascending context id, in each by ascending metric id, wherever it
 * is read from: a thread's block of profile.db, a context's of cct.db.
 */
enum {
    HPC_VALUES_THREAD,
    HPC_VALUES_CONTEXT,
    HPC_VALUES_METRIC,
    HPC_VALUES_VALUE,
    HPC_VALUES_NAME,
    HPC_VALUES_COLUMNS
};
extern const struct pf_column hpc_values_columns[HPC_VALUES_COLUMNS];
extern const struct pf_cursor_ops hpc_values_cursor,
    hpc_old_values_cursor; /* the latter: of 2.x, by ascending column */

/* The table "summary" (and "statistics", which is computed from it): by ascending context id, then metric id. */
enum { HPC_SUMMARY_CONTEXT, HPC_SUMMARY_METRIC, HPC_SUMMARY_VALUE, HPC_SUMMARY_NAME, HPC_SUMMARY_COLUMNS };
extern const struct pf_column hpc_summary_columns[HPC_SUMMARY_COLUMNS];
extern const struct pf_cursor_ops hpc_summary_cursor, hpc_statistics_cursor;

/* ---- experiment.c ------------------------------------------------------------------------------ */

/*
 * experiment.xml, versions 2.x and 4.0: metrics, names and the calling-context tree; of 2.x also the values of
 * the summary. It may have hundreds of MB; it is read in one go, and nothing is kept but the model.
 */

/* The version that the root element in a file's head (terminated by NUL) names; NULL if there is none. Changes the head. */
const char *hpc_experiment_version(char *head);

/* Reads what stands before the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout.
 * 0, or -1 with *error filled. */
int hpc_experiment_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Reads the rest into a fresh model, and for 2.x the summary's values. 0, or -1 with *error filled. */
int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                            struct pf_pass *pass, struct pf_error *error);

/* ---- agree.c ----------------------------------------------------------------------------------- */

/*
 * Whether cct.db holds the same values as profile.db, as far as it is used: 1 or 0; -1 with *error filled. Both are read in
 * full, so that larger databases are believed: 1. For the stage that `pass` is of.
 */
int hpc_cct_agrees(const struct hpc_state *state, const struct pf_tree *tree, struct pf_pass *pass,
                   struct pf_error *error);

#endif
