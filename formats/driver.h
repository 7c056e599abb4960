/* SPDX-License-Identifier: MIT */
#ifndef PF_DRIVER_H
#define PF_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/folder.h"
#include "formats/input/source.h"
#include "formats/kit/cell.h"
#include "formats/kit/error.h"
#include "formats/kit/pass.h"
#include "formats/kit/rows.h"
#include "formats/kit/tree.h"

/*
 * The driver interface: a format is one `struct pf_driver` and a line in registry.c. A driver recognises
 * files (probe), opens one as a profile (open), makes parts of the model when they are first needed (load)
 * and walks tables (cursors). It knows rows; it knows nothing of paths, CSV, sizes or FUSE.
 */

struct pf_probe;
struct pf_verdict; /* formats/probe.h */

/* ---- the model ---------------------------------------------------------------------------------- */

/*
 * Parts of a model become available in this order; each is loaded once, when something needs it. What a stage
 * has made is immutable afterwards and read by many threads.
 */
enum pf_stage {
    PF_OPENED,      /* after open(): header, metadata; costs a few reads (at most about 1 MB) */
    PF_PARTITIONED, /* the partitions' names are known (a light pass) */
    PF_MODELLED,    /* contexts, metrics, fields of partitions (a pass over the data) */
    PF_CHECKED, /* warnings: all that is wrong with the file (a further pass where the model needs none over all data) */
    PF_DERIVED, /* further tables that need a pass of their own */
    PF_STAGES
};

enum pf_over_contexts { PF_OVER_ALL, PF_OVER_FRAMES, PF_OVER_ROOTS, PF_OVER_NO_CONTEXTS };
enum pf_over_partitions { PF_SUM, PF_MIN, PF_MAX, PF_OVER_NO_PARTITIONS, PF_AT };

#define PF_NO_PARTNER (-1)

struct pf_metric {
    int64_t id;        /* the format's own, else its index */
    const char *name;  /* unique in the profile; borrowed for its life, as all strings here */
    const char *unit;  /* "" if unknown */
    const char *scope; /* "exclusive", "inclusive" or the format's own word; "" if unknown */
    const char *type;  /* "int", "double" */
    const char *description;
    enum pf_over_contexts over_contexts;
    enum pf_over_partitions over_partitions;
    int partner;            /* index of the inclusive or exclusive twin, or PF_NO_PARTNER */
    const char *expression; /* what it is computed from, for its info.txt; NULL: it is measured */
    uint32_t at; /* PF_AT: index of the partition whose values aggregates show; a context without one has 0 */
    bool empty;  /* known without a pass over the data to hold no value: others are primary before it */
    double most; /* no sum of its values is larger; 0: none exceeds 64 bits, as far as is known */
};

/*
 * The axis by which the measurements are partitioned. A profile that holds no measurements (an index of others)
 * has none, `plural` is NULL: it has neither contexts nor metrics, only tables, links and files. A driver that leaves
 * `plural` NULL and has `cells` has one thread, `all`, which the core makes: its index in cells of role PF_PARTITION is 0.
 */
struct pf_partitions {
    const char *singular;  /* column and word: "thread", "point", "run", "snapshot" */
    const char *plural;    /* folder and table: "threads", ... */
    struct pf_rows *items; /* two columns: id, name (names unique); from PF_PARTITIONED on */
    const struct pf_column
        *field_columns;     /* the format's own columns of the table, roles PF_PLAIN and PF_GROUP */
    size_t n_fields;        /* known from PF_PARTITIONED on; from PF_OPENED on if one is a PF_GROUP */
    struct pf_rows *fields; /* one row per item, n_fields columns; NULL if n_fields is 0 */
    bool fields_late;       /* `fields` is there from PF_MODELLED on, not from PF_PARTITIONED on */
};

/*
 * A folder for the key of a table: it holds a folder for each item, with an info.txt (the item's row in the
 * table `about`, a line a cell) and the tables that have a column of role PF_KEY.
 */
struct pf_keys {
    const char *plural;    /* name of the folder: "models"; NULL: there is none */
    struct pf_rows *items; /* two columns: id, name (names unique); from PF_MODELLED on; the driver's own */
    unsigned about;        /* index of a table held in rows, whose row i tells of item i */
};

/* A file that the profile carries (its decompressed original, say), shown in src/ under this name. */
struct pf_blob {
    const char *name;
};

/* A symbolic link at the profile's top. */
struct pf_link {
    const char *name;   /* any bytes; what file names may not hold is escaped */
    const char *target; /* a path relative to the folder that the source stands in */
};

struct pf_model;
struct pf_cursor;

/* Restricts a cursor to one item of an axis; negative: all. */
struct pf_restriction {
    int64_t partition, context, metric, key;
};

#define PF_UNRESTRICTED ((struct pf_restriction){-1, -1, -1, -1})

/*
 * A walk over the rows of a table. The core makes the struct (zeroed state) and calls open, then next until
 * 0. A restricted cursor yields the same rows in the same order as the whole table, less those that do not
 * match. Each cursor is used by one thread at a time; cursors of one profile run side by side.
 */
struct pf_cursor_ops {
    /* Allocate cursor->state and stand before the first row. -1 with *error filled. */
    int (*open)(struct pf_cursor *cursor, struct pf_error *error);
    /*
     * Fill one cell for each column of the table but those the core fills (see enum pf_role). The cells are the same
     * ones at each call after open, and those of role PF_PLAIN are still what the last call has made of them: only what
     * differs need be filled, but all of it the first time after open or restore. 1: a row; 0: no
     * more; -1: *error filled. Damage in the file is no error: it ends the table or skips rows, and is told
     * in the model's warnings. error->code EAGAIN: a fact that earlier rows were made from has turned out
     * otherwise (and is now corrected in the profile's state); the core starts the pass anew. Only a table's
     * first whole pass may say so.
     */
    int (*next)(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error);
    /* Write the position of the next row into blob if room suffices; returns its size in any case. */
    size_t (*save)(const struct pf_cursor *cursor, void *blob, size_t room);
    /* Go to a saved position. Checks the blob, which may come from a damaged cache file: -1 with *error
     * filled. */
    int (*restore)(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error);
    void (*close)(struct pf_cursor *cursor); /* frees state; also after a failed open */
    /* Optional, for people who wait: how much of what the cursor goes through lies behind it, from 0 to 1. */
    double (*progress)(const struct pf_cursor *cursor);
};

enum pf_table_flags {
    /*
     * Rows come partition by partition in the order of the partitions, and positions saved by a cursor
     * restricted to the partition they stand in can be restored into an unrestricted one and the reverse.
     */
    PF_BY_PARTITION = 1,
    PF_SEEKS_PARTITION = 2, /* restricting to a partition skips the others' data */
    PF_SEEKS_CONTEXT = 4,   /* restricting to a context skips the others' data */
    /* Stands in the partitions' folders alone: another table of its name adds up what it tells of each. */
    PF_ONLY_IN_PARTITIONS = 8,
    /* Stands in the metrics' folders alone, restricted to the one metric: a matrix of contexts and partitions. */
    PF_ONLY_IN_METRICS = 16,
    /* Stands in the folders of the profile's keys alone. */
    PF_ONLY_IN_KEYS = 32,
    PF_SEEKS_METRIC = 64, /* restricting to a metric skips the others' data */
    /* It passes over the others' data faster than going through them, but not so fast as to do so for each metric. */
    PF_SKIMS_METRIC = 128,
    /* A cursor restricted to a partition or a context needs PF_DERIVED: an index, a transposed copy. */
    PF_DERIVED_BY_PARTITION = 512,
    PF_DERIVED_BY_CONTEXT = 1024,
    PF_SEEKS_PARTNER = 256, /* restricting to a metric and its partner skips the others' data, too */
};

/* What a metric has in a context. */
struct pf_value_row {
    uint32_t metric, context;
    const struct pf_cell *values; /* one a partition, absent where there is none */
};

struct pf_table {
    const char *name; /* without ".csv" */
    const struct pf_column *columns;
    size_t n_columns;
    enum pf_stage stage; /* must be loaded before a cursor is opened */
    unsigned flags;      /* enum pf_table_flags */
    /*
     * Optional, of the table that aggregates are made from, and instead of ops->next: the values that come next in one metric
     * and context, those of all partitions. They stay until the next call. 1; 0: there are no more; -1: *error filled.
     */
    int (*next_values)(struct pf_cursor *cursor, struct pf_value_row *row, struct pf_error *error);
    const struct pf_cursor_ops *ops; /* NULL: the table is held in a struct pf_rows, cells by column */
    /*
     * What the ops read: the driver's own. Without ops it is the address of the pointer to the rows, with pf_sums_cursor and
     * pf_stored_cursor that of the pointer to the struct pf_sums or struct pf_stored, which is set once the table's stage is loaded.
     */
    const void *data;
};

/* The rows of a table without ops, once its stage is loaded; NULL for other tables. */
static inline const struct pf_rows *pf_table_rows(const struct pf_table *table)
{
    return table->ops || !table->data ? NULL : *(struct pf_rows *const *)table->data;
}

struct pf_cursor {
    struct pf_model *model;
    const struct pf_table *table;
    struct pf_restriction only;
    /*
     * The partner of the metric that it is restricted to is wanted, too: of next_values, or of a table that skims or seeks it
     * (PF_SKIMS_METRIC, PF_SEEKS_PARTNER).
     */
    bool partner;
    void *state; /* the driver's */
};

/* Options that change what is served. */
struct pf_options {
    const char *metric;    /* -o metric=NAME, or NULL */
    const char *instr_map; /* -o instr_map=FILE as an absolute path, or NULL */
    uint64_t cache;        /* -o cache=SIZE in bytes: what may be held in memory before spilling */
};

struct pf_driver;

/*
 * One open profile. The core makes it (pf_model_begin), the driver fills it in open() and load(); the core frees
 * partitions.items, partitions.fields, contexts, warnings and info after close() (pf_model_end).
 */
struct pf_model {
    const struct pf_driver *driver;
    struct pf_source *source;
    const struct pf_options *options;
    void *state; /* the driver's */

    char version[32]; /* of the format, for info.txt */
    /*
     * Key and value: further lines of info.txt, in order; made by the core, filled by open(). Format, Version, Partition, Time
     * unit, Metrics and Primary are the core's; Title stands for the driver's title.
     */
    struct pf_rows *info;
    const char *time_unit; /* unit of trace's column `time`, or NULL if there is no such table */

    struct pf_partitions partitions;
    struct pf_tree *contexts; /* from PF_MODELLED on, finished */
    const struct pf_column
        *context_columns; /* a format's own columns after the common ones in contexts.csv */
    size_t n_context_columns;
    /* Fills the own columns of context i; called from PF_MODELLED on, from any thread. NULL if there are
     * none. */
    void (*context_cells)(const struct pf_model *model, uint32_t context, struct pf_cell *cells);

    const struct pf_metric *metrics;
    size_t n_metrics;
    enum pf_stage metrics_stage;            /* from when on metrics are known: PF_OPENED or PF_MODELLED */
    const struct pf_column *metric_columns; /* a format's own columns at the end of metrics.csv */
    size_t n_metric_columns;
    /* Fills the own columns of a metric; called from metrics_stage on, from any thread. NULL if there are none. */
    void (*metric_cells)(const struct pf_model *model, size_t metric, struct pf_cell *cells);

    struct pf_rows
        *warnings; /* line, offset, severity, code, text; made by the core; complete from PF_CHECKED on */

    const struct pf_table *tables; /* the format's own, among them "values"; known after open() */
    size_t n_tables;
    /*
     * What aggregates are made from: a table with at most one row per (partition, context, metric), where
     * adjacent rows of one context need not be; and the column that holds the value. For most formats:
     * "values".
     */
    const struct pf_table *cells;
    unsigned cells_value;
    /*
     * Of a format that stores who calls whom and no tree (no context has a parent): the table of call edges, held in
     * rows by PF_MODELLED, with a column of role PF_METRIC and plain ones called caller, callee (names) and inclusive.
     * callers.csv is made from it, and inclusive values are the partner metric's alone. NULL: there is a tree.
     */
    const struct pf_table *edges;

    /* Optional, known after open(). */
    struct pf_keys keys;
    const struct pf_blob *blobs; /* shown in src/ */
    size_t n_blobs;
    const char
        *src; /* a folder of a source that is a directory, shown as src/ with all it holds; NULL: none */
    const struct pf_link *links;
    size_t n_links;
};

/* Add a row to profile->warnings. line 0 or offset < 0: empty. 0, or -1 with ENOMEM. Caps the number of rows.
 */
int pf_warn(struct pf_model *model, int64_t line, int64_t offset, const char *severity, const char *code,
            struct pf_error *error, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* ---- the driver --------------------------------------------------------------------------------- */

struct pf_driver {
    const char *name;    /* "Format:" in info.txt, and in `profilefs formats` */
    const char *title;   /* one line for people */
    unsigned version;    /* raised whenever the text served for some file changes: part of every cache key */
    pf_matters *matters; /* which names beside a source it may look for; NULL: all */
    bool directories;    /* probes directories (else files) */
    bool text;           /* its files are text: a file for which pf_probe_is_text is false is not its */
    bool archives;       /* its files are tar or zip archives, for which other drivers are not asked */
    /*
     * False: the profile takes the place of the file or directory it is made from. Else (directories only) it
     * stands in the directory as one more entry, PF_BESIDE_NAME, and a real entry of that name wins.
     */
    bool beside;
    const void *kit; /* what functions that serve several drivers need to know of this one, else NULL */
    void (*probe)(struct pf_probe *probe, struct pf_verdict *verdict);
    /* Fill the profile as far as PF_OPENED. On failure the core calls close(). */
    int (*open)(struct pf_model *model, struct pf_error *error);
    /* Load one stage; all earlier ones are loaded. Called by one thread at a time for a profile. */
    int (*load)(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
    void (*close)(struct pf_model *model);
    /*
     * Optional: facts that passes over tables have found out (see EAGAIN) and that rows are made from, so that
     * sizes kept from an earlier process fit. facts writes at most `room` bytes and returns how many it has;
     * recall takes them after PF_PARTITIONED.
     */
    size_t (*facts)(const struct pf_model *model, void *blob, size_t room);
    int (*recall)(struct pf_model *model, const void *blob, size_t size, struct pf_error *error);
    /*
     * Optional: bytes of a blob, as pread gives them: less than `size` only at its end; -1 with *error filled.
     * Called from PF_OPENED on, from any thread.
     */
    ssize_t (*blob_read)(struct pf_model *model, size_t blob, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error);
};

/* ---- a profile's life --------------------------------------------------------------------------- */

/*
 * Makes an empty profile of the driver, for its open(). The source, which stays the caller's, and the options must
 * live as long. 0; or -1 with *error filled: pf_model_end is due in either case.
 */
int pf_model_begin(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                   const struct pf_options *options, struct pf_error *error);

/* The same, opened by its driver. */
int pf_model_open(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                  const struct pf_options *options, struct pf_error *error);

/* Loads all stages behind PF_OPENED up to and with `last`, of which none is loaded yet. 0, or -1 with *error filled. */
int pf_model_load(struct pf_model *model, enum pf_stage last, struct pf_error *error);

/* Closes the profile, opened or not, and frees what the core frees of it: all but the source. */
void pf_model_end(struct pf_model *model);

#endif
