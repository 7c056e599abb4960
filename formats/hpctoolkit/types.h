/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_TYPES_H
#define PF_HPC_TYPES_H

#include "formats/driver_extra.h"
#include "formats/kit/ids.h"
#include "formats/kit/store.h"
#include "formats/runtime/notes.h"

/* Types of the driver: contexts, metrics, threads. */

/* The layout of a database, which determines the database's files and the records in these files. */
enum hpc_layout {
    HPC_META,  /* releases since 2022.10: meta.db, little-endian */
    HPC_DRAFT, /* development versions of 2022 before 2022.10: the same files with other records */
    HPC_XML4,  /* development versions of 2021/22: experiment.xml 4.0, big-endian */
    HPC_OLD,   /* releases up to 2022.05: experiment.xml 2.x, one dense table of values per thread */
};

/* ---- the model: contexts and the things they refer to -------------------------------------------------- */

/* Kinds of contexts. */
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
 * How a context is reached from its parent: HPC_LEXICAL plus the relation's number in meta.db. Relations from
 * HPC_RELATIONS on are unknown and have no name.
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

/* A value of the summary of 2.x. experiment.xml has these values inside the elements of the contexts. */
struct hpc_old_value {
    double value;
    uint32_t context, metric;
};

/*
 * The calling-context tree with its modules, files and functions. The readers of meta.db and experiment.xml build
 * the tree; it is immutable once loaded.
 */
struct hpc_model {
    struct pf_tree *tree; /* owned until the profile takes ownership */
    uint64_t *offset;     /* offset of each context in its module, or HPC_NO_OFFSET */
    uint8_t *relation;    /* enum hpc_relation of each context */
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
    struct pf_rows *rows; /* of the table summary_metrics, one per metric; NULL: no metrics */
};

/*
 * Kinds of the identifiers that make up a thread's identity. The kinds below have the same numbers in all databases;
 * the database names kinds with larger numbers.
 */
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

/* One element of a thread's identity, such as `RANK 3`. */
struct hpc_identity {
    uint16_t kind;
    bool shows_physical; /* print the physical number in addition to the logical one */
    uint64_t logical, physical;
};

/* The position in profile.db of the values of a thread or of the summary (see the section sparse.c of read.h). */
struct hpc_block {
    uint64_t values, indices; /* file offsets of the first value and of the first pair */
    uint64_t n_values;
    uint32_t n_contexts;
    bool is_cut; /* the block is damaged after its first n_contexts pairs */
};

/*
 * Kinds of rows of a thread. HPC_OF_VALUES are contexts with values, or in 2.x the rows of the thread's dense table.
 * HPC_OF_TRACE are the samples of its trace. Rows of each kind are numbered across all threads.
 */
enum hpc_rows { HPC_OF_VALUES, HPC_OF_TRACE, HPC_KINDS_OF_ROWS };

struct hpc_thread {
    struct hpc_block block; /* 2.x: n_contexts rows of `columns` doubles, starting at `values` */
    uint32_t profile;       /* index of the thread's record in profile.db; in 2.x, the thread's index */
    uint32_t part, columns; /* 2.x: index of the file with the values; number of the table's columns */
    uint32_t trace_part;    /* 2.x: index of the file with the trace */
    bool data_centric;      /* 2.x: samples are HPC_SAMPLE_DATA bytes long */
    uint64_t trace;         /* file offset of the samples */
    uint64_t samples;       /* number of samples */
    size_t identity;        /* index of the first identity element, the outermost one (usually the node) */
    uint32_t elements;      /* number of identity elements */
    uint64_t before[HPC_KINDS_OF_ROWS]; /* total number of rows of the threads before this one */
};

struct hpc_threads {
    struct hpc_thread *items;
    uint32_t count;
    size_t room;
    uint64_t rows[HPC_KINDS_OF_ROWS]; /* of all threads */
    struct hpc_identity *identities;  /* of all threads; freed once the threads are named */
    size_t n_identities, identities_room;
    struct pf_ids profiles; /* index of a record in profile.db -> index in `items` */
};

/* An array of records in a file: its offset, the number of records, and the distance between records in bytes. */
struct hpc_array {
    uint64_t at, count, stride;
};

/* ---- the profile's state --------------------------------------------------------------------------- */

struct hpc_parts;

/* Maps contexts to their pairs in the threads' blocks (see read.h). A pair's number is its row number of kind HPC_OF_VALUES. */
struct hpc_index {
    uint32_t *first; /* by context: number of the context's first pair */
    uint32_t *next;  /* by pair: number of the next pair of the same context; NULL: there is no index */
};

struct hpc_state {
    struct pf_model_extra extra;
    enum hpc_layout layout;
    bool big_endian;
    struct pf_strings *strings;   /* names of metrics and identifiers; complete once the profile is open */
    struct pf_input *description; /* meta.db or experiment.xml */
    struct pf_input *profile_db, *trace_db; /* NULL: missing or unusable */
    struct hpc_array profiles;              /* the array of profile records in profile.db */
    const char **identifiers; /* owned; the names of the kinds of identifiers, NULL if a kind has none */
    size_t n_identifiers;
    struct hpc_metrics metrics;
    struct hpc_summary_metrics summary_metrics;
    bool has_summary;
    uint32_t summary_profile; /* index of the summary's record in profile.db, usually 0 */
    struct hpc_block summary;
    struct hpc_threads threads;
    struct hpc_model model;
    struct pf_notes broken; /* notes on damaged blocks that are not published yet */
    struct hpc_index index;
    struct hpc_parts *parts;   /* only in 2.x */
    uint64_t ticks_per_second; /* of the times in traces; 0: the times are in ns */
    struct pf_ids columns;     /* 2.x: column of the dense tables -> metric */
    struct pf_table *tables;
};

static inline struct hpc_state *hpc_state(const struct pf_model *model)
{
    return model->state;
}

#endif
