/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include "formats/driver.h"
#include "formats/hpctoolkit/model.h"
#include "formats/kit/notes.h"

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

/* Name, severity, code. */
#define HPC_NOTES(KIND)                                                                                      \
    KIND(ERROR_CHILDREN, "error", "children")                                                                \
    KIND(ERROR_CUT_CONTEXT, "error", "cut-context")                                                          \
    KIND(ERROR_CONTEXT_TWICE, "error", "context-twice")                                                      \
    KIND(ERROR_ENTRY, "error", "entry")                                                                      \
    KIND(ERROR_CONTEXTS, "error", "contexts")                                                                \
    KIND(ERROR_BROKEN_BLOCK, "error", "broken-block")                                                        \
    KIND(ERROR_HEAD, "error", "head")                                                                        \
    KIND(ERROR_HEADER, "error", "header")                                                                    \
    KIND(ERROR_IDENTITY, "error", "identity")                                                                \
    KIND(ERROR_INCONSISTENT_TREE, "error", "inconsistent-tree")                                              \
    KIND(ERROR_METRICS, "error", "metrics")                                                                  \
    KIND(ERROR_NO_VALUES, "error", "no-values")                                                              \
    KIND(ERROR_PART, "error", "part")                                                                        \
    KIND(ERROR_STRAY_TRACE, "error", "stray-trace")                                                          \
    KIND(ERROR_UNREADABLE, "error", "unreadable")                                                            \
    KIND(FATAL_BEYOND_END, "fatal", "beyond-end")                                                            \
    KIND(FATAL_BLOCK_BEYOND_END, "fatal", "block-beyond-end")                                                \
    KIND(FATAL_CUT_XML, "fatal", "cut-xml")                                                                  \
    KIND(FATAL_FOOTER, "fatal", "footer")                                                                    \
    KIND(FATAL_HEADER, "fatal", "header")                                                                    \
    KIND(FATAL_NO_TREE, "fatal", "no-tree")                                                                  \
    KIND(FATAL_PART, "fatal", "part")                                                                        \
    KIND(FATAL_SECTION_BEYOND_END, "fatal", "section-beyond-end")                                            \
    KIND(FATAL_TRACE_BEYOND_END, "fatal", "trace-beyond-end")                                                \
    KIND(WARNING_CCT, "warning", "cct")                                                                      \
    KIND(WARNING_METRIC_ID, "warning", "metric-id")                                                          \
    KIND(WARNING_PART, "warning", "part")                                                                    \
    KIND(WARNING_STRAY_TRACE, "warning", "stray-trace")                                                      \
    KIND(WARNING_SUMMARY, "warning", "summary")                                                              \
    KIND(WARNING_UNKNOWN_METRIC, "warning", "unknown-metric")                                                \
    KIND(WARNING_UNLISTED_CONTEXTS, "warning", "unlisted-contexts")

#define HPC_NOTE_NAME(name, severity, code) HPC_NOTE_##name,
enum hpc_note_kind { HPC_NOTES(HPC_NOTE_NAME) HPC_NOTE_KINDS };
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

/* The array of records that the first section of profile.db, cct.db or trace.db holds. */
struct hpc_array {
    uint64_t at, count, stride;
};

struct hpc_parts;
struct hpc_index;

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
    struct hpc_array cct;
    bool cct_complete; /* its records announce as many values as profile.db has */
    struct hpc_model model;
    struct pf_notes broken;    /* blocks that were found to be, until they are told */
    struct hpc_index *index;   /* NULL: not needed, or not made yet */
    struct hpc_parts *parts;   /* 2.x */
    uint64_t ticks_per_second; /* of the times in traces; 0: they are in ns */
    struct hpc_by_id columns;  /* 2.x: column of the tables of values -> metric */
    struct pf_table *tables;
    size_t n_tables;
};

static inline struct hpc_state *hpc_state(const struct pf_profile *profile)
{
    return profile->state;
}

/*
 * As pf_intern; what is not UTF-8 becomes U+FFFD, a byte a character. Names come from programs and compilers, and no
 * writer of databases looks at them.
 */
uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

/* A string among those of the state, terminated by NUL; NULL with *error filled. */
const char *hpc_keep(struct hpc_state *state, const char *text, size_t size, struct pf_error *error);

/* ---- metrics.c --------------------------------------------------------------------------------- */

/* A metric as a database describes it. Strings are kept in the state's. */
struct hpc_metric_facts {
    int64_t id;
    const char *name;   /* as it stands in the database */
    const char *suffix; /* what tells it from others of its name, in brackets behind it; NULL: nothing */
    const char *scope;  /* "" if unknown */
    const char *description;
};

/*
 * Adds a metric of the threads' profiles; its name is made unique. How it adds up follows from its scope:
 * point, function or exclusive, execution or inclusive; others do not. 1: added; 0: its id is taken; -1:
 * *error filled.
 */
int hpc_add_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, struct pf_error *error);

/*
 * Adds a metric of the summary. formula: how the tool computes it, `combine` how it was put together from the
 * threads' (both may be NULL); `computed`: it is not stored but to be evaluated. Results as above.
 */
int hpc_add_summary_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, const char *formula,
                           const char *combine, bool computed, struct pf_error *error);

/* Makes the metrics i and j, one exclusive and one inclusive, each other's partners; or i looks to j alone. */
void hpc_pair_metrics(struct hpc_state *state, size_t exclusive, size_t inclusive, bool both);

/* Says that the metric added last stands in this column of the tables of values. 0, or -1 with *error filled. */
int hpc_set_column(struct hpc_state *state, uint32_t column, struct pf_error *error);

#define HPC_SUMMARY_METRIC_COLUMNS 7
extern const struct pf_column hpc_summary_metric_columns[HPC_SUMMARY_METRIC_COLUMNS];

/* To be called when all metrics are known. 0, or -1 with *error filled. */
int hpc_metrics_finish(struct hpc_state *state, struct pf_error *error);
void hpc_metrics_free(struct hpc_state *state);

/* ---- formula.c --------------------------------------------------------------------------------- */

/*
 * Formulas of metrics that experiment.xml 4.0 does not store: numbers, `$ID` (the stored metric of that number), + - * / ^,
 * brackets, sqrt, ln, log(x, base), min, max, floor and ceil. Compiled into steps for a stack machine, so that
 * nothing recurses and every formula takes bounded time.
 */
struct hpc_formula;

/* NULL if the text is no formula, or too long a one, or memory runs out. */
struct hpc_formula *hpc_formula_new(const char *text);
void hpc_formula_free(struct hpc_formula *formula);

/* The value of metric `id`, or 0 if there is none; *known is set if there is. */
typedef double hpc_operand(void *arg, uint32_t id, bool *known);

/* True with *value if any operand is known, or the formula has none. */
bool hpc_formula_value(const struct hpc_formula *formula, hpc_operand *operand, void *arg, double *value);

/* ---- identity.c -------------------------------------------------------------------------------- */

/*
 * Who a thread is: a tuple of elements from the outermost (the node) to the innermost (a thread, a stream). Names
 * are made of them once all are known: as short as they can be and still differ, `rank3.thread0`.
 */
struct hpc_identities {
    struct hpc_identity *elements;
    size_t n_elements, room;
    struct hpc_tuple {
        size_t first; /* in elements */
        uint32_t count;
        uint32_t profile; /* index in the database */
    } * tuples;           /* of thread i */
    size_t n_tuples, tuples_room;
};

/* Columns of the threads' table after id and name. */
enum {
    HPC_FIELD_NODE,
    HPC_FIELD_RANK,
    HPC_FIELD_TID,
    HPC_FIELD_CORE,
    HPC_FIELD_DEVICE,
    HPC_FIELD_CONTEXT,
    HPC_FIELD_STREAM,
    HPC_FIELD_VALUES,
    HPC_FIELD_CONTEXTS,
    HPC_FIELDS
};
extern const struct pf_column hpc_field_columns[HPC_FIELDS];

/* Begins the next thread. 0, or -1 with *error filled, as the next one. */
int hpc_identities_add(struct hpc_identities *all, uint32_t profile, struct pf_error *error);
/* Adds an element to the thread begun last. */
int hpc_identities_element(struct hpc_identities *all, const struct hpc_identity *element,
                           struct pf_error *error);
void hpc_identities_free(struct hpc_identities *all);

/* Appends (id, name) of all threads to `items`, and their fields to `fields`. */
int hpc_identities_publish(const struct hpc_identities *all, const struct hpc_state *state,
                           struct pf_rows *items, struct pf_rows *fields, struct pf_error *error);

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

/* A sample: u64 time, u32 context; of an old data-centric trace four bytes more. */
enum { HPC_SAMPLE = 12, HPC_SAMPLE_DATA = 16 };

/* Finds each thread's samples in trace.db, if there is one. 0, or -1 with *error filled. */
int hpc_traces_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                    struct pf_error *error);

/* ---- experiment.c ------------------------------------------------------------------------------ */

/*
 * experiment.xml, versions 2.x and 4.0: metrics, names and the calling-context tree; of 2.x also the values of
 * the summary. It may have hundreds of MB; it is read in one go, and nothing is kept but the model.
 */

/* Reads what stands before the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout.
 * 0, or -1 with *error filled. */
int hpc_experiment_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Reads the rest into a fresh model, and for 2.x the summary's values. 0, or -1 with *error filled. */
int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                            struct pf_pass *pass, struct pf_error *error);

#endif
