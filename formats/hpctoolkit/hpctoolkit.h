/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include "formats/hpctoolkit/types.h"
#include "formats/runtime/run.h"

/*
 * HPCToolkit databases. A database is a directory with one file that describes what was measured (meta.db or
 * experiment.xml) and files that hold the values per thread (profile.db) and the samples over time (trace.db).
 *
 * Files, each of which depends only on those listed before it:
 *   types.h       the data
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
 *   values.c      values and samples of threads               (this and the next two: tables.h)
 *   summary.c     values of the summary
 *   tables.c      the tables
 *   hpctoolkit.c  the driver
 *
 * Functions that take a struct pf_run end the run on failure and add their warnings to it (formats/runtime/run.h).
 * Cursors call only functions without such a parameter.
 */

/* Maximum length in bytes of the names of metrics and identifiers. */
#define HPC_NAME_MAX ((size_t)1024)

/* ---- metrics.c --------------------------------------------------------------------------------- */

/*
 * Interns a string as pf_intern does, but replaces each byte that is not valid UTF-8 by U+FFFD. Names come from
 * programs and compilers; writers of databases do not validate them.
 */
uint32_t hpc_intern(struct pf_run *run, struct pf_strings *strings, const char *text, size_t size);

/* Interns a string in the state's strings. Returns it NUL-terminated, owned by the state. */
const char *hpc_keep(struct pf_run *run, const char *text, size_t size);

/* Interns a name. Returns false if `names` contained it already. */
bool hpc_take_name(struct pf_run *run, struct pf_strings *names, const char *name, size_t size);

/* The attributes of a metric as the database describes it. The strings are owned by the state. */
struct hpc_metric_facts {
    int64_t id;
    const char *name;   /* as written in the database */
    const char *suffix; /* appended in brackets to a name that several metrics share; NULL: none */
    const char *scope;  /* "" if unknown */
    const char *description;
};

/*
 * Adds a metric of the threads' values and makes the metric's name unique. The metric is additive if its scope is point,
 * function, exclusive, execution or inclusive. Returns false if its id is taken.
 */
bool hpc_add_metric(struct pf_run *run, const struct hpc_metric_facts *facts);

/*
 * Adds a metric of the summary. `formula` is the tool's formula for the metric, `combine` the operation by which the
 * tool combines the threads' values; both may be NULL. A metric with only a formula has no stored values. Returns
 * false if its id is taken.
 */
bool hpc_add_summary_metric(struct pf_run *run, const struct hpc_metric_facts *facts, const char *formula,
                            const char *combine);

void hpc_metrics_free(struct hpc_state *state);

/* ---- formula.c --------------------------------------------------------------------------------- */

/* Returns the value of metric `id` and sets *known; returns 0 and leaves *known unchanged if the metric has no value. */
typedef double hpc_operand(void *arg, uint32_t id, bool *known);

/*
 * Evaluates a formula. Databases with experiment.xml 4.0 store only the formulas of derived metrics, not their values.
 * A formula consists of numbers, `$ID` (the stored metric of that id), + - * / ^, brackets, sqrt, ln, log(x, base),
 * min, max, floor and ceil. Returns false if the text is not a formula or is nested too deeply. Sets *known: true
 * if at least one operand has a value or the formula has no operands.
 */
bool hpc_formula_value(const char *text, hpc_operand *operand, void *arg, double *value, bool *known);

/* ---- model.c ----------------------------------------------------------------------------------- */

/* Initialises a model without contexts. The caller frees it with hpc_model_free. */
void hpc_model_begin(struct pf_run *run, struct hpc_model *model);
void hpc_model_free(struct hpc_model *model);

/* Adds a context as a child of `parent` (an index, or PF_NO_CONTEXT). Returns its index, or PF_NO_CONTEXT if the id is taken. */
uint32_t hpc_model_add(struct pf_run *run, struct hpc_model *model, uint32_t parent,
                       const struct hpc_context *context);

/* Overwrites the attributes of context i, except its id; the flags are ORed into the existing ones. */
void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context);

/* Adds a context without a parent and with only the attributes given here. Returns the same values as hpc_model_add. */
uint32_t hpc_model_add_bare(struct pf_run *run, struct hpc_model *model, uint64_t id, const char *name,
                            enum hpc_kind kind, uint8_t flags);
/* Adds the root context, which holds each thread's totals. Returns the same values as hpc_model_add. */
uint32_t hpc_model_add_root(struct pf_run *run, struct hpc_model *model, uint64_t id);

/* Appends a module, file or function to `list`. */
void hpc_model_add_item(struct pf_run *run, struct hpc_model *model, enum hpc_list list,
                        const struct hpc_item *item);

/* Adds a value to the summary of 2.x. Returns false, and skips the value, if the value's context precedes the last value's context. */
bool hpc_model_add_value(struct pf_run *run, struct hpc_model *model, const struct hpc_old_value *value);

/*
 * Names a context that has no name of its own. The name is `FILE:LINE` for a line, and for a call whose line is known. It
 * is `loop at FILE:LINE` for a loop, and otherwise `MODULE+0xOFFSET`. FILE and MODULE are base names.
 */
void hpc_name_context(struct pf_run *run, const struct hpc_model *model, struct hpc_context *context);

/* The columns of contexts.csv that only this format has. */
enum { HPC_RELATION, HPC_OFFSET, HPC_CONTEXT_COLUMNS };
extern const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS];
void hpc_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells);

/* ---- identity.c -------------------------------------------------------------------------------- */

/* Appends a thread to the state's threads. */
void hpc_add_thread(struct pf_run *run, const struct hpc_thread *thread);
/* Adds an element to the identity of the last added thread. */
void hpc_add_identity(struct pf_run *run, const struct hpc_identity *element);

/* Sets the partitions' terms ("thread", "threads") and columns, which do not depend on the file. */
void hpc_declare_threads(struct pf_model *model);

/*
 * Builds the partitions' items and fields once all threads are known. Names are as short as possible while still unique
 * (`rank3.thread0`). Frees the identities.
 */
void hpc_publish_threads(struct pf_run *run);

/* Numbers the rows of all threads (enum hpc_rows). To be called once each thread's numbers of contexts and samples are known. */
void hpc_number_rows(struct hpc_threads *threads);
void hpc_threads_free(struct hpc_threads *threads);

/* ---- meta.c, meta_tree.c: meta.db ---------------------------------------------------------------- */

#define HPC_META_MAGIC "HPCTOOLKITmeta" /* followed by two bytes of version */
enum { HPC_META_VERSION = 14 };

/* Reads what opening needs (version, title, identifiers, metrics) and sets the layout. */
void hpc_meta_open(struct pf_run *run);

/* Reads modules, files, functions and contexts into an empty model. */
void hpc_meta_contexts(struct pf_run *run, struct hpc_model *model);

/* ---- experiment.c ------------------------------------------------------------------------------ */

/*
 * experiment.xml has versions 2.x and 4.0. It contains the metrics, the names and the calling-context tree, and in 2.x
 * also the summary's values. The file may have hundreds of MB, so it is read in one pass, and only struct hpc_model is
 * kept in memory.
 */

/* Reads the head, up to the tables of modules, files and procedures: title, identifiers, metrics. Sets the layout. */
void hpc_experiment_open(struct pf_run *run);

/* Reads the rest into an empty model. In 2.x, this includes the summary's values. */
void hpc_experiment_contexts(struct pf_run *run, struct hpc_model *model);

/* ---- tables.c ---------------------------------------------------------------------------------- */

/* Sets the profile's tables and columns, which depend on what the database contains. To be called last when opening. */
void hpc_set_tables(struct pf_run *run);

#endif
