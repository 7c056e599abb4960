/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include "formats/driver.h"
#include "formats/kit/ids.h"
#include "formats/kit/notes.h"
#include "formats/kit/store.h"

/*
 * HPCToolkit databases: a directory with a file that describes what was measured (meta.db or experiment.xml)
 * and files that hold the measurements by thread (profile.db) and by time (trace.db). The parts, each knowing those before it
 * only:
 *   metrics.c     metrics of threads and of the summary: ids, unique names
 *   formula.c     formulas of derived metrics
 *   model.c       contexts: adding, naming; lists of what they name
 *   identity.c    identities of threads
 *   sparse.c      blocks of profile.db, its index            (read.h, as are the next three)
 *   parts.c       the files of 2.x
 *   profiles.c    profile.db and trace.db
 *   experiment.c  experiment.xml
 *   meta.c        records, strings and metrics of meta.db    (meta.h)
 *   meta_tree.c   its contexts
 *   load.c        the whole load
 *   tables.c      cursors
 *   hpctoolkit.c  the driver
 */
enum hpc_layout {
    HPC_META,  /* releases from 2022.10 on: meta.db, little-endian */
    HPC_DRAFT, /* development versions of 2022 before them: the same files, other records */
    HPC_XML4,  /* development versions of 2021/22: experiment.xml 4.0, big-endian */
    HPC_OLD,   /* releases up to 2022.05: experiment.xml 2.x, a dense table of values a thread */
};

/*
 * Notes a problem: its severity and code, line (0: not known), offset (-1: not known) and text, which names the file. 0 in any
 * case.
 */
#define hpc_note(notes, severity, code, line, offset, ...)                                                   \
    (pf_note((notes), &(const struct pf_note_kind){(severity), (code), NULL}, line, offset, __VA_ARGS__), 0)

/* ---- the model: what the measurements are of ----------------------------------------------------------- */

/* The calling-context tree and what it names, made by the readers of meta.db and experiment.xml; immutable once loaded. */
enum hpc_kind {
    HPC_ROOT,
    HPC_ENTRY,
    HPC_FUNCTION,
    HPC_INLINED,
    HPC_CALL,
    HPC_LOOP,
    HPC_LINE,
    HPC_INSTRUCTION,
    HPC_OTHER /* of a lexical type that is not known */
};

/* How a context is reached from its parent. Further numbers are those of meta.db, plus HPC_LEXICAL, that have no word. */
enum hpc_relation { HPC_NO_RELATION, HPC_LEXICAL, HPC_BY_CALL, HPC_BY_INLINED_CALL, HPC_RELATIONS };

#define HPC_NO_OFFSET UINT64_MAX

/* The tables of what contexts refer to. */
enum hpc_list { HPC_MODULES, HPC_FILES, HPC_FUNCTIONS, HPC_LISTS };

/* A load module, a file or a function. */
struct hpc_item {
    uint64_t id;
    uint64_t offset;             /* of a function in its module; HPC_NO_OFFSET: not known */
    uint32_t name, file, module; /* in the tree's strings, or PF_NO_STRING; name: also a path */
    uint32_t line;               /* of a function; 0: not known */
    bool copied;                 /* the database has a copy of this file, at this path */
};

struct hpc_items {
    struct hpc_item *items;
    uint32_t count;
    size_t room;
};

/* A value of the summary of 2.x, which stands among the contexts of experiment.xml. */
struct hpc_old_value {
    double value;
    uint32_t context, metric;
};

struct hpc_model {
    struct pf_tree *tree; /* owned until it becomes the profile's */
    uint64_t *offset;     /* by context: in its module, or HPC_NO_OFFSET */
    uint8_t *relation;    /* by context: enum hpc_relation */
    uint32_t room;        /* contexts that the arrays have room for */
    struct pf_ids ids;    /* id of a context -> its index */
    struct hpc_items lists[HPC_LISTS];
    struct pf_ids traced;       /* 2.x: id in traces -> index of the context */
    struct pf_store *summary;   /* 2.x: struct hpc_old_value, by ascending context; NULL: none */
    uint32_t last_with_summary; /* the context of the last one */
    uint32_t contexts;          /* how many there are, once all are known */
};

/* What is known of a context, but for its place in the tree. */
struct hpc_context {
    uint64_t id;
    uint64_t offset;             /* HPC_NO_OFFSET: none */
    uint32_t name, file, module; /* in the tree's strings; PF_NO_STRING: none (not name) */
    uint32_t line;               /* 0: none */
    enum hpc_kind kind;
    uint8_t relation; /* enum hpc_relation */
    uint8_t flags;    /* enum pf_context_flags */
};

/* Makes a model without contexts. false: out of memory. Freed by hpc_model_free in either case. */
bool hpc_model_begin(struct hpc_model *model);
void hpc_model_free(struct hpc_model *model);

/*
 * Adds a context below `parent` (an index, or PF_NO_CONTEXT). Returns its index; PF_NO_CONTEXT with
 * error->code 0 if its id is taken, or with *error filled.
 */
uint32_t hpc_model_add(struct hpc_model *model, uint32_t parent, const struct hpc_context *context,
                       struct pf_error *error);

/* Says all this anew of context i, but for its id; flags are added. */
void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context);

/* Adds a context that has no parent, and of which only this is known. As hpc_model_add. */
uint32_t hpc_model_add_bare(struct hpc_model *model, uint64_t id, const char *name, enum hpc_kind kind,
                            uint8_t flags, struct pf_error *error);
/* Adds the context that holds each thread's totals. As hpc_model_add. */
uint32_t hpc_model_add_root(struct hpc_model *model, uint64_t id, struct pf_error *error);

/* Appends to one of the lists. 0, or -1 with *error filled. */
int hpc_model_add_item(struct hpc_model *model, enum hpc_list list, const struct hpc_item *item,
                       struct pf_error *error);

/* Adds a value to the summary of 2.x. 1; 0: it stands behind those of a later context, and is left out; -1: *error filled. */
int hpc_model_add_value(struct hpc_model *model, const struct hpc_old_value *value, struct pf_error *error);

/*
 * Names a context that has no name of its own: a line, or a call whose line is known, `FILE:LINE`; a loop `loop at FILE:LINE`; any
 * other `MODULE+0xOFFSET`. FILE and MODULE are the last part of the path. 0, or -1 with *error filled.
 */
int hpc_name_context(struct hpc_model *model, struct hpc_context *context, struct pf_error *error);

/* The format's own columns of contexts.csv. */
enum { HPC_RELATION, HPC_OFFSET, HPC_CONTEXT_COLUMNS };
extern const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS];
void hpc_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells);

/* ---- metrics and threads -------------------------------------------------------------------------------- */

/* The ids and names that the metrics of the threads, or those of the summary, have taken. */
struct hpc_taken {
    struct pf_ids ids;        /* id -> index */
    struct pf_strings *names; /* owned */
};

struct hpc_metrics {
    struct hpc_taken taken;
    struct pf_metric *items;
    size_t count, room;
};

/* Columns of the table summary_metrics. */
enum {
    HPC_SUMMARY_ID,
    HPC_SUMMARY_NAME,
    HPC_SUMMARY_UNIT,
    HPC_SUMMARY_SCOPE,
    HPC_SUMMARY_FORMULA,
    HPC_SUMMARY_COMBINE,
    HPC_SUMMARY_DESCRIPTION,
    HPC_SUMMARY_COLUMNS
};

struct hpc_summary_metrics {
    struct hpc_taken taken;
    struct pf_rows *rows; /* the table summary_metrics: a row each; NULL: there are none */
};

/* The kinds of identifiers that every writer numbers alike; further ones have a name alone. */
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

/* One element of a thread's identity: `RANK 3`. */
struct hpc_identity {
    uint16_t kind;
    bool shows_physical; /* the physical number tells more than the logical one */
    uint64_t logical, physical;
};

/* Where the values of a profile stand in profile.db. */
struct hpc_block {
    uint64_t values, indices; /* offsets of the first value and of the first (context, index) pair */
    uint64_t n_values;
    uint32_t n_contexts;
    bool is_cut; /* what follows is broken */
};

/* What threads have, numbered from one to the next: contexts with values (in 2.x: rows of their tables), and samples. */
enum hpc_rows { HPC_OF_VALUES, HPC_OF_TRACE, HPC_KINDS_OF_ROWS };

struct hpc_thread {
    struct hpc_block block;             /* 2.x: n_contexts rows of `columns` doubles, from `values` on */
    uint32_t profile;                   /* its index in the database */
    uint32_t part, columns;             /* 2.x: number of the file that holds its values */
    uint32_t trace_part;                /* 2.x: of the file that holds its trace */
    bool data_centric;                  /* 2.x: samples are longer */
    uint64_t trace;                     /* offset of its samples, */
    uint64_t samples;                   /* and how many there are */
    size_t identity;                    /* its first element, from the outermost (the node) on */
    uint32_t elements;                  /* how many there are */
    uint64_t before[HPC_KINDS_OF_ROWS]; /* rows of the threads before it */
};

struct hpc_threads {
    struct hpc_thread *items;
    uint32_t count;
    size_t room;
    uint64_t rows[HPC_KINDS_OF_ROWS]; /* of all threads */
    struct hpc_identity *identities;  /* of all threads; only until these have names */
    size_t n_identities, identities_room;
    struct pf_ids profiles; /* index in the database -> index here */
};

/* The array of records that the first section of profile.db or trace.db holds. */
struct hpc_array {
    uint64_t at, count, stride;
};

/* ---- the profile's state --------------------------------------------------------------------------- */

struct hpc_parts;

/* See read.h: from contexts to the numbers of their pairs in the threads' blocks. */
struct hpc_index {
    uint32_t *first; /* by context: its first pair */
    uint32_t *next;  /* by pair: the next one of its context; NULL: there is no index */
};

struct hpc_state {
    enum hpc_layout layout;
    bool big_endian;
    struct pf_strings *strings;   /* names of metrics and identifiers; complete once the profile is open */
    struct pf_input *description; /* meta.db or experiment.xml */
    struct pf_input *profile_db, *trace_db; /* NULL: absent or of no use */
    struct hpc_array profiles;              /* the records of profile.db */
    const char **identifiers;               /* owned array: names of their kinds; NULL: not named */
    size_t n_identifiers;
    struct hpc_metrics metrics;
    struct hpc_summary_metrics summary_metrics;
    bool has_summary;
    uint32_t summary_profile; /* which profile it is: the first one mostly */
    struct hpc_block summary;
    struct hpc_threads threads;
    struct hpc_model model;
    struct pf_notes broken; /* blocks that were found to be, until they are told */
    struct hpc_index index;
    struct hpc_parts *parts;   /* 2.x */
    uint64_t ticks_per_second; /* of the times in traces; 0: they are in ns */
    struct pf_ids columns;     /* 2.x: column of the tables of values -> metric */
    struct pf_table *tables;
};

static inline struct hpc_state *hpc_state(const struct pf_model *model)
{
    return model->state;
}

/* ---- metrics.c --------------------------------------------------------------------------------- */

/*
 * As pf_intern; what is not UTF-8 becomes U+FFFD, a byte a character. Names come from programs and compilers, and no
 * writer of databases looks at them.
 */
uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

/* A string among those of the state, terminated by NUL; NULL with *error filled. */
const char *hpc_keep(struct hpc_state *state, const char *text, size_t size, struct pf_error *error);

/* Adds a string that is not there yet: 1, with its number; 0 if it is; -1: *error filled. */
int hpc_take_name(struct pf_strings *names, const char *name, size_t size, uint32_t *number,
                  struct pf_error *error);

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
 * Adds a metric of the summary. formula: how the tool computes it, `combine` how it was put together from the threads' (both may be
 * NULL). One that has a formula alone is not stored. Results as above.
 */
int hpc_add_summary_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, const char *formula,
                           const char *combine, struct pf_error *error);

void hpc_metrics_free(struct hpc_state *state);

/* ---- formula.c --------------------------------------------------------------------------------- */

/* The value of metric `id`, or 0 if there is none; *known is set if there is. */
typedef double hpc_operand(void *arg, uint32_t id, bool *known);

/*
 * Evaluates a formula of a metric that experiment.xml 4.0 does not store: numbers, `$ID` (the stored metric of that number),
 * + - * / ^, brackets, sqrt, ln, log(x, base), min, max, floor and ceil. False if the text is none, or too deep a one.
 * *known: any operand is known, or the formula has none.
 */
bool hpc_formula_value(const char *text, hpc_operand *operand, void *arg, double *value, bool *known);

/* ---- identity.c -------------------------------------------------------------------------------- */

/* Adds a thread. 0, or -1 with *error filled. */
int hpc_add_thread(struct hpc_threads *threads, const struct hpc_thread *thread, struct pf_error *error);
/* Adds an element to the identity of the thread added last. 0, or -1 with *error filled. */
int hpc_add_identity(struct hpc_threads *threads, const struct hpc_identity *element, struct pf_error *error);

/* Sets what is known of the threads' table before they are read: its name and columns. */
void hpc_declare_threads(struct pf_model *model);

/*
 * To be called when all threads are known: makes the partitions' items, whose names are as short as they can be and still differ
 * (`rank3.thread0`), and their fields. 0, or -1 with *error filled.
 */
int hpc_publish_threads(struct pf_model *model, struct pf_error *error);

/* To be called when it is known how many values each thread has: numbers what they have. */
void hpc_number_rows(struct hpc_threads *threads);
void hpc_threads_free(struct hpc_threads *threads);

/* ---- tables.c ---------------------------------------------------------------------------------- */

/* Sets the profile's tables and columns, which follow from what the database has: to be called at the end of opening. */
int hpc_set_tables(struct pf_model *model, struct pf_error *error);

/* ---- meta.c, meta_tree.c: meta.db ---------------------------------------------------------------- */

#define HPC_META_MAGIC "HPCTOOLKITmeta" /* before the two bytes of the version */
enum { HPC_META_VERSION = 14 };

/* Reads what opening needs: version, title, identifiers, metrics. Sets the layout. 0, or -1 with *error filled. */
int hpc_meta_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error);

/* Reads modules, files, functions and contexts into a fresh model. 0, or -1 with *error filled. */
int hpc_meta_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                      struct pf_error *error);

/* ---- experiment.c ------------------------------------------------------------------------------ */

/*
 * experiment.xml, versions 2.x and 4.0: metrics, names and the calling-context tree; of 2.x also the values of
 * the summary. It may have hundreds of MB; it is read in one go, and nothing is kept but the model.
 */

/* Reads what stands before the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout.
 * 0, or -1 with *error filled. */
int hpc_experiment_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error);

/* Reads the rest into a fresh model, and for 2.x the summary's values. 0, or -1 with *error filled. */
int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                            struct pf_error *error);

#endif
