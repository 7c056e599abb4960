/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include "formats/driver.h"
#include "formats/driver_extra.h"
#include "formats/kit/ids.h"
#include "formats/kit/store.h"
#include "formats/runtime/run.h"

/*
 * HPCToolkit databases. A database is a directory with one file that describes what was measured (meta.db or
 * experiment.xml) and files that hold the values per thread (profile.db) and the samples over time (trace.db).
 *
 * Modules, each of which depends only on those listed before it:
 *   metrics.c     metrics of threads and of the summary: ids, unique names
 *   formula.c     formulas of derived metrics
 *   model.c       contexts: adding, naming; lists of modules, files and functions
 *   identity.c    identities of threads
 *   sparse.c      blocks of profile.db and their index       (this and the next two: read.h)
 *   parts.c       the per-thread files of 2.x
 *   profiles.c    profile.db and trace.db
 *   experiment.c  experiment.xml
 *   meta.c        records, strings and metrics of meta.db    (meta.h)
 *   meta_tree.c   contexts of meta.db
 *   load.c        loading the calling-context tree
 *   tables.c      cursors
 *   hpctoolkit.c  the driver
 */
enum hpc_layout {
    HPC_META,  /* releases since 2022.10: meta.db, little-endian */
    HPC_DRAFT, /* development versions of 2022 before that: same files, different records */
    HPC_XML4,  /* development versions of 2021/22: experiment.xml 4.0, big-endian */
    HPC_OLD,   /* releases up to 2022.05: experiment.xml 2.x, one dense table of values per thread */
};

/* Maximum length in bytes of the names of metrics and identifiers. */
#define HPC_NAME_MAX ((size_t)1024)

/* ---- the model: contexts and the things they refer to -------------------------------------------------- */

/*
 * The calling-context tree with its modules, files and functions. The readers of meta.db and experiment.xml build it;
 * it is immutable once loaded.
 */
enum hpc_kind {
    HPC_ROOT,
    HPC_ENTRY,
    HPC_FUNCTION,
    HPC_INLINED,
    HPC_CALL,
    HPC_LOOP,
    HPC_LINE,
    HPC_INSTRUCTION,
    HPC_OTHER /* unknown lexical type */
};

/*
 * How a context is reached from its parent: HPC_LEXICAL plus the relation's number in meta.db. Larger numbers have no
 * word.
 */
enum hpc_relation { HPC_NO_RELATION, HPC_LEXICAL, HPC_BY_CALL, HPC_BY_INLINED_CALL, HPC_RELATIONS };

#define HPC_NO_OFFSET UINT64_MAX

/* The lists of items that contexts refer to. */
enum hpc_list { HPC_MODULES, HPC_FILES, HPC_FUNCTIONS, HPC_LISTS };

/* A load module, a file or a function. */
struct hpc_item {
    uint64_t id;
    uint64_t offset;             /* of a function in its module; HPC_NO_OFFSET: unknown */
    uint32_t name, file, module; /* indices into the tree's strings, or PF_NO_STRING; name may be a path */
    uint32_t line;               /* of a function; 0: unknown */
    bool copied;                 /* the database contains a copy of this file at this path */
};

struct hpc_items {
    struct hpc_item *items;
    uint32_t count;
    size_t room;
};

/* A value of the summary of 2.x. experiment.xml lists these inside the elements of the contexts. */
struct hpc_old_value {
    double value;
    uint32_t context, metric;
};

struct hpc_model {
    struct pf_tree *tree; /* owned until the profile takes ownership */
    uint64_t *offset;     /* by context: offset in its module, or HPC_NO_OFFSET */
    uint8_t *relation;    /* by context: enum hpc_relation */
    uint32_t room;        /* number of contexts the arrays have room for */
    struct pf_ids ids;    /* context id -> context index */
    struct hpc_items lists[HPC_LISTS];
    struct pf_ids traced;       /* 2.x: id in traces -> context index */
    struct pf_store *summary;   /* 2.x: struct hpc_old_value, by ascending context; NULL: none */
    uint32_t last_with_summary; /* context of the last value in `summary` */
    uint32_t contexts;          /* number of contexts; valid once all are loaded */
};

/* The attributes of a context, except its place in the tree. */
struct hpc_context {
    uint64_t id;
    uint64_t offset;             /* HPC_NO_OFFSET: none */
    uint32_t name, file, module; /* in the tree's strings; file, module: PF_NO_STRING if none */
    uint32_t line;               /* 0: none */
    enum hpc_kind kind;
    uint8_t relation; /* enum hpc_relation */
    uint8_t flags;    /* enum pf_context_flags */
};

/* Initialises a model without contexts. The caller frees it with hpc_model_free. */
void hpc_model_begin(struct pf_run *run, struct hpc_model *model);
void hpc_model_free(struct hpc_model *model);

/* Adds a context as a child of `parent` (an index, or PF_NO_CONTEXT). Returns its index, or PF_NO_CONTEXT if the id is taken. */
uint32_t hpc_model_add(struct pf_run *run, struct hpc_model *model, uint32_t parent,
                       const struct hpc_context *context);

/* Overwrites all attributes of context i except its id. Flags are added to the existing flags. */
void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context);

/* Adds a context without a parent that has only these attributes. Returns as hpc_model_add. */
uint32_t hpc_model_add_bare(struct pf_run *run, struct hpc_model *model, uint64_t id, const char *name,
                            enum hpc_kind kind, uint8_t flags);
/* Adds the root context, which holds each thread's totals. Returns as hpc_model_add. */
uint32_t hpc_model_add_root(struct pf_run *run, struct hpc_model *model, uint64_t id);

/* Appends an item to one of the lists. */
void hpc_model_add_item(struct pf_run *run, struct hpc_model *model, enum hpc_list list,
                        const struct hpc_item *item);

/* Adds a value to the summary of 2.x. Returns false if it was skipped because values of a later context precede it. */
bool hpc_model_add_value(struct pf_run *run, struct hpc_model *model, const struct hpc_old_value *value);

/*
 * Names a context that has no name of its own: `FILE:LINE` for a line, or for a call whose line is known; `loop at
 * FILE:LINE` for a loop; `MODULE+0xOFFSET` otherwise. FILE and MODULE are base names.
 */
void hpc_name_context(struct pf_run *run, const struct hpc_model *model, struct hpc_context *context);

/* The columns of contexts.csv that only this format has. */
enum { HPC_RELATION, HPC_OFFSET, HPC_CONTEXT_COLUMNS };
extern const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS];
void hpc_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells);

/* ---- metrics and threads -------------------------------------------------------------------------------- */

/* The ids and names in use by the metrics of the threads, or by those of the summary. */
struct hpc_taken {
    struct pf_ids ids;        /* metric id -> index */
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
    struct pf_rows *rows; /* the rows of summary_metrics, one per metric; NULL: no metrics */
};

/* The kinds of identifiers that all writers number alike. Larger kinds have only the name that the database declares. */
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
    bool shows_physical; /* print the physical number in addition to the logical one */
    uint64_t logical, physical;
};

/* The position of a profile's values in profile.db. */
struct hpc_block {
    uint64_t values, indices; /* file offsets of the first value and of the first (context, index) pair */
    uint64_t n_values;
    uint32_t n_contexts;
    bool is_cut; /* the block is damaged after these contexts */
};

/*
 * The rows of threads, numbered consecutively across threads: contexts with values (in 2.x: rows of the dense table),
 * and samples.
 */
enum hpc_rows { HPC_OF_VALUES, HPC_OF_TRACE, HPC_KINDS_OF_ROWS };

struct hpc_thread {
    struct hpc_block block; /* 2.x: n_contexts rows of `columns` doubles, starting at `values` */
    uint32_t profile;       /* index of the profile in the database */
    uint32_t part, columns; /* 2.x: number of the file with its values; columns of its table */
    uint32_t trace_part;    /* 2.x: number of the file with its trace */
    bool data_centric;      /* 2.x: samples are HPC_SAMPLE_DATA bytes long */
    uint64_t trace;         /* file offset of its samples */
    uint64_t samples;       /* number of samples */
    size_t identity;        /* index of its first identity element, which is the outermost one (the node) */
    uint32_t elements;      /* number of identity elements */
    uint64_t before[HPC_KINDS_OF_ROWS]; /* number of rows of all threads before this one */
};

struct hpc_threads {
    struct hpc_thread *items;
    uint32_t count;
    size_t room;
    uint64_t rows[HPC_KINDS_OF_ROWS]; /* of all threads */
    struct hpc_identity *identities;  /* of all threads; freed once the threads are named */
    size_t n_identities, identities_room;
    struct pf_ids profiles; /* index of the profile in the database -> index in `items` */
};

/* The array of records in the first section of profile.db or trace.db. */
struct hpc_array {
    uint64_t at, count, stride;
};

/* ---- the profile's state --------------------------------------------------------------------------- */

struct hpc_parts;

/* Maps contexts to the numbers of their pairs in the threads' blocks; see read.h. */
struct hpc_index {
    uint32_t *first; /* by context: its first pair */
    uint32_t *next;  /* by pair: the next pair of its context; NULL: there is no index */
};

struct hpc_state {
    struct pf_model_extra extra;
    enum hpc_layout layout;
    bool big_endian;
    struct pf_strings *strings;   /* names of metrics and identifiers; complete once the profile is open */
    struct pf_input *description; /* meta.db or experiment.xml */
    struct pf_input *profile_db, *trace_db; /* NULL: missing or unusable */
    struct hpc_array profiles;              /* the array of profile records in profile.db */
    const char **identifiers; /* owned array: names of the kinds of identifiers; NULL: unnamed kind */
    size_t n_identifiers;
    struct hpc_metrics metrics;
    struct hpc_summary_metrics summary_metrics;
    bool has_summary;
    uint32_t summary_profile; /* index of the summary's profile: usually 0 */
    struct hpc_block summary;
    struct hpc_threads threads;
    struct hpc_model model;
    struct pf_notes broken; /* notes on damaged blocks that are not published yet */
    struct hpc_index index;
    struct hpc_parts *parts;   /* 2.x */
    uint64_t ticks_per_second; /* unit of the times in traces; 0: the times are in ns */
    struct pf_ids columns;     /* 2.x: column of the dense tables -> metric */
    struct pf_table *tables;
};

static inline struct hpc_state *hpc_state(const struct pf_model *model)
{
    return model->state;
}

/* ---- metrics.c --------------------------------------------------------------------------------- */

/*
 * Interns a string as pf_intern does, but replaces each byte that is not valid UTF-8 by U+FFFD. Names come from
 * programs and compilers; writers of databases do not validate them.
 */
uint32_t hpc_intern(struct pf_run *run, struct pf_strings *strings, const char *text, size_t size);

/* Interns a string in the state's strings. Returns it NUL-terminated, owned by the state. */
const char *hpc_keep(struct pf_run *run, const char *text, size_t size);

/* Interns a name. Returns false if it was interned already. */
bool hpc_take_name(struct pf_run *run, struct pf_strings *names, const char *name, size_t size);

/* The attributes of a metric as the database describes it. The strings are owned by the state. */
struct hpc_metric_facts {
    int64_t id;
    const char *name;   /* as written in the database */
    const char *suffix; /* distinguishes metrics of one name, appended in brackets; NULL: none */
    const char *scope;  /* "" if unknown */
    const char *description;
};

/*
 * Adds a metric of the threads' profiles and makes its name unique. The scope decides whether the metric is additive:
 * point, function, exclusive, execution and inclusive are; other scopes are not. Returns false if its id is taken.
 */
bool hpc_add_metric(struct pf_run *run, const struct hpc_metric_facts *facts);

/*
 * Adds a metric of the summary. `formula` is how the tool computes the metric, `combine` how it combines the threads'
 * values; both may be NULL. A metric with only a formula has no stored values. Returns as hpc_add_metric.
 */
bool hpc_add_summary_metric(struct pf_run *run, const struct hpc_metric_facts *facts, const char *formula,
                            const char *combine);

void hpc_metrics_free(struct hpc_state *state);

/* ---- formula.c --------------------------------------------------------------------------------- */

/* Returns the value of metric `id` and sets *known; returns 0 and leaves *known unchanged if the metric has no value. */
typedef double hpc_operand(void *arg, uint32_t id, bool *known);

/*
 * Evaluates the formula of a metric whose values experiment.xml 4.0 does not store: numbers, `$ID` (the stored metric
 * of that id), + - * / ^, brackets, sqrt, ln, log(x, base), min, max, floor and ceil. Returns false if the text is not
 * a formula or is nested too deeply. *known: at least one operand has a value, or the formula has no operands.
 */
bool hpc_formula_value(const char *text, hpc_operand *operand, void *arg, double *value, bool *known);

/* ---- identity.c -------------------------------------------------------------------------------- */

/* Adds a thread to the profile's. */
void hpc_add_thread(struct pf_run *run, const struct hpc_thread *thread);
/* Adds an element to the identity of the last added thread. */
void hpc_add_identity(struct pf_run *run, const struct hpc_identity *element);

/* Sets the threads' names and columns, which are known before the threads are read. */
void hpc_declare_threads(struct pf_model *model);

/*
 * Builds the partitions' items and fields once all threads are known. Names are as short as possible while still unique
 * (`rank3.thread0`). Frees the identities.
 */
void hpc_publish_threads(struct pf_run *run);

/* Numbers the rows of all threads. To be called once each thread's number of values is known. */
void hpc_number_rows(struct hpc_threads *threads);
void hpc_threads_free(struct hpc_threads *threads);

/* ---- tables.c ---------------------------------------------------------------------------------- */

/* Sets the profile's tables and columns, which depend on what the database contains. To be called last when opening. */
void hpc_set_tables(struct pf_run *run);

/* ---- meta.c, meta_tree.c: meta.db ---------------------------------------------------------------- */

#define HPC_META_MAGIC "HPCTOOLKITmeta" /* followed by two bytes of version */
enum { HPC_META_VERSION = 14 };

/* Reads what opening needs (version, title, identifiers, metrics) and sets the layout. */
void hpc_meta_open(struct pf_run *run);

/* Reads modules, files, functions and contexts into an empty model. */
void hpc_meta_contexts(struct pf_run *run, struct hpc_model *model);

/* ---- experiment.c ------------------------------------------------------------------------------ */

/*
 * experiment.xml, versions 2.x and 4.0: metrics, names and the calling-context tree; 2.x also holds the summary's
 * values. The file may be hundreds of MB large; it is read in one pass, and only the model is kept in memory.
 */

/* Reads the head, up to the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout. */
void hpc_experiment_open(struct pf_run *run);

/* Reads the rest into an empty model, and the summary's values for 2.x. */
void hpc_experiment_contexts(struct pf_run *run, struct hpc_model *model);

#endif
