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
 * The driver interface. A format is one struct pf_driver and a line in registry.c. A driver recognises files (probe),
 * opens one as a model (open), makes parts of the model when they are first needed (load) and walks tables (cursors).
 * Drivers do not deal with paths, CSV, file sizes or FUSE. Members that few formats need are in driver_extra.h. Strings
 * are borrowed and live as long as the model.
 */

struct pf_cursor;
struct pf_probe;     /* formats/probe.h */
struct pf_probe_result; /* formats/probe.h */
struct pf_value_row; /* formats/driver_extra.h */

/* Stages of a model, in order. Each is loaded once, when it is first needed. Its parts are immutable afterwards and read by many threads. */
enum pf_stage {
    PF_OPENED,      /* after open(): header, metadata; costs a few reads (at most about 1 MB) */
    PF_PARTITIONED, /* the partitions' names (a light pass) */
    PF_MODELLED,    /* contexts, metrics, fields of partitions (a pass over the data) */
    PF_CHECKED,     /* all warnings (a further pass if PF_MODELLED does not read all data) */
    PF_DERIVED,     /* further tables that need a pass of their own */
    PF_STAGES
};

/* The contexts whose values add up to totals: all, frames (PF_FRAME), roots (PF_ROOT), or none since the values overlap. */
enum pf_over_contexts { PF_OVER_ALL, PF_OVER_FRAMES, PF_OVER_ROOTS, PF_OVER_NO_CONTEXTS };
/* What aggregates show of a context's values in the partitions: sum, minimum, maximum, nothing, or the value in partition `at`. */
enum pf_over_partitions { PF_SUM, PF_MIN, PF_MAX, PF_OVER_NO_PARTITIONS, PF_AT };
#define PF_NO_PARTNER (-1)

struct pf_metric {
    int64_t id;               /* the format's own number, or the metric's index */
    const char *name;         /* unique in the profile */
    const char *unit, *scope; /* "" if unknown; scope: "exclusive", "inclusive" or a word of the format */
    const char *type, *description; /* type: "int", "double" */
    enum pf_over_contexts over_contexts;
    enum pf_over_partitions over_partitions;
    int partner;            /* index of the inclusive or exclusive twin, or PF_NO_PARTNER */
    const char *expression; /* formula of a computed metric, for its info.txt; NULL: it is measured */
    uint32_t at; /* PF_AT: index of the partition whose values aggregates show; absent values count as 0 */
    bool empty;  /* all values are known to be 0: such a metric is the last choice as the primary metric */
    double most; /* upper bound of the absolute value of every sum; 0: unknown, sums are assumed to fit 64 bits */
};

/*
 * The axis by which measurements are partitioned. open() leaves `plural` NULL if the profile has no measurements (an index of other
 * profiles, without contexts and metrics) or if its format has no partitions. If `plural` is NULL and the model has `values`, the core adds
 * a single partition: a thread called `all`, whose index in columns of role PF_PARTITION is 0.
 */
struct pf_partitions {
    const char *singular;                  /* name of the column: "thread", "point", "run", "snapshot" */
    const char *plural;                    /* name of the folder and the table: "threads", ... */
    struct pf_rows *items;                 /* two columns: id, name (unique); from PF_PARTITIONED on */
    const struct pf_column *field_columns; /* further columns of the table: PF_PLAIN, PF_GROUP */
    size_t n_fields;        /* known from PF_PARTITIONED on; from PF_OPENED on if one is a PF_GROUP */
    struct pf_rows *fields; /* one row per item; NULL if n_fields is 0; from PF_PARTITIONED on */
    bool fields_late;       /* `fields` is valid only from PF_MODELLED on */
};

/* Limits a cursor to the rows with these indexes. A negative member sets no limit. */
struct pf_restriction {
    int64_t partition, context, metric, key;
};
#define PF_UNRESTRICTED ((struct pf_restriction){-1, -1, -1, -1})

/*
 * A walk over the rows of a table. The core makes a cursor (zeroed state), calls open, then next until it returns 0. A restricted
 * cursor yields the matching rows in the table's order. One thread at a time uses a cursor; cursors of one model run side by side.
 */
struct pf_cursor_ops {
    /* Allocates cursor->state, positioned at the first row. Returns 0, or -1 with *error filled. */
    int (*open)(struct pf_cursor *cursor, struct pf_error *error);
    /*
     * Fills one cell per column, except the columns that the core fills (enum pf_role). PF_PLAIN cells keep their contents between calls:
     * `next` fills those that change, and all cells in the first call after open or restore. Returns 1 for a row, 0 at the end, or -1 with
     * *error filled (EAGAIN: see struct pf_driver_extra). Damage is not an error: it ends the table or skips rows, with a warning in the
     * model.
     */
    int (*next)(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error);
    /* Writes the next row's position to `saved` if it fits into `room` bytes. Returns its size in either case. No I/O: the caller holds locks. */
    size_t (*save)(const struct pf_cursor *cursor, void *saved, size_t room);
    /* Moves to a saved position. Validates it, since it may come from a damaged cache. Returns 0, or -1 with *error filled. */
    int (*restore)(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error);
    void (*close)(struct pf_cursor *cursor);            /* frees the state; also called after a failed open */
    double (*progress)(const struct pf_cursor *cursor); /* optional, for display: fraction done, 0 to 1 */
    /* Optional: replaces `next` for the table model->values, see struct pf_value_row. Returns 1, 0 at the end, or -1 with *error filled. */
    int (*next_values)(struct pf_cursor *cursor, struct pf_value_row *row, struct pf_error *error);
};

/* "Seeks" means that a cursor restricted to an item skips the data of other items. Further flags are in enum pf_table_extra_flags. */
enum pf_table_flags {
    /* Rows are in the partitions' order. An unrestricted cursor can restore a position saved by a cursor of one partition. */
    PF_BY_PARTITION = 1,
    PF_SEEKS_PARTITION = 2,
    PF_SEEKS_CONTEXT = 4,
    PF_SEEKS_METRIC = 8,
    PF_DERIVED_BY_PARTITION = 16, /* a cursor restricted to a partition needs the stage PF_DERIVED */
    PF_DERIVED_BY_CONTEXT = 32,   /* a cursor restricted to a context needs the stage PF_DERIVED */
    PF_ONLY_IN_PARTITIONS = 64, /* appears only in partitions' folders; another table of the same name has the sums */
    PF_ONLY_IN_METRICS = 128,   /* appears only in metrics' folders, as a matrix of contexts and partitions */
};

struct pf_table {
    const char *name; /* without ".csv" */
    const struct pf_column *columns;
    size_t n_columns;
    enum pf_stage stage; /* to be loaded before a cursor is opened */
    unsigned flags;
    const struct pf_cursor_ops *ops; /* NULL: the table is held in a struct pf_rows */
    /* Data for the ops; owned by the driver. Without ops: a struct pf_rows **. With pf_sums_cursor: a struct pf_sums **. With
     * pf_stored_cursor: a struct pf_stored **. Loading `stage` sets the inner pointer. */
    const void *data;
};

/* Returns the rows of a table. Returns NULL if its stage is not loaded yet, or if the table has ops. */
static inline const struct pf_rows *pf_table_rows(const struct pf_table *table)
{
    return table->ops || !table->data ? NULL : *(struct pf_rows *const *)table->data;
}

struct pf_cursor {
    struct pf_model *model;
    const struct pf_table *table;
    struct pf_restriction only;
    /* The cursor also yields the rows of only.metric's partner. Set only if the table has next_values, PF_SKIMS_METRIC or PF_SEEKS_PARTNER. */
    bool partner;
    void *state; /* the driver's */
};

/* Mount options that change what is served. */
struct pf_options {
    const char *metric;    /* -o metric=NAME, or NULL */
    const char *instr_map; /* -o instr_map=FILE as an absolute path, or NULL */
    uint64_t cache;        /* -o cache=SIZE: bytes that may be held in memory before spilling to disk */
};

/* An open profile (life cycle: formats/model.h). open() and load() fill it; the core frees its rows and its tree after close(). */
struct pf_model {
    const struct pf_driver *driver;
    struct pf_source *source;
    const struct pf_options *options;
    void *state;          /* the driver's */
    char version[32];     /* version of the format, for info.txt */
    struct pf_rows *info; /* further lines of info.txt (key, value), added by open(); the value of Title replaces driver->title */
    const char *time_unit; /* of the column `time` of the table "trace"; NULL: there is no such table */
    struct pf_partitions partitions;
    struct pf_tree *contexts;        /* from PF_MODELLED on, finished */
    const struct pf_metric *metrics; /* if NULL after open(), set from PF_MODELLED on */
    size_t n_metrics;
    bool metrics_late;                       /* the metrics were unknown after open(); set by the core */
    const struct pf_column *context_columns; /* the format's own columns at the end of contexts.csv */
    const struct pf_column *metric_columns;  /* the format's own columns at the end of metrics.csv */
    size_t n_context_columns, n_metric_columns;
    /* Fill the cells of context_columns and metric_columns (NULL: none). Called on any thread, from PF_MODELLED or pf_metrics_stage on. */
    void (*context_cells)(const struct pf_model *model, uint32_t context, struct pf_cell *cells);
    void (*metric_cells)(const struct pf_model *model, size_t metric, struct pf_cell *cells);
    struct pf_rows *warnings;      /* see runtime/notes.h; complete from PF_CHECKED on */
    const struct pf_table *tables; /* all tables that the format provides, such as "values"; set by open() */
    size_t n_tables;
    const struct pf_table *values; /* the table that aggregates are made from; it has at most one row per partition, context and metric */
    unsigned value_column;         /* the column of `values` that holds the value */
    struct pf_model_extra *extra; /* keys, blobs, links, call edges: driver_extra.h; or NULL */
};

struct pf_driver {
    const char *name;    /* "Format:" in info.txt, and in `profilefs formats` */
    const char *title;   /* one line for people */
    unsigned version;    /* part of what cached data depend on: raised whenever the text served for some file changes */
    pf_matters *matters; /* returns true for the names of sibling files that the driver may open; NULL: all names */
    bool directories;    /* probes directories, not files */
    bool text;           /* its files are text: pf_probe_is_text */
    bool archives;       /* its files are tar or zip archives, which other drivers do not probe */
    const void *kit;     /* data for a shared implementation of the functions (see pf_build_format), or NULL */
    void (*probe)(struct pf_probe *probe, struct pf_probe_result *result);
    /* Fills the model up to PF_OPENED. Returns 0, or -1 with *error filled; the core calls close() in either case. */
    int (*open)(struct pf_model *model, struct pf_error *error);
    /* Loads one stage after all earlier ones. One thread at a time per model. Returns 0, or -1 with *error filled. */
    int (*load)(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
    void (*close)(struct pf_model *model);
    const struct pf_driver_extra *extra; /* facts, blobs, an additional entry: driver_extra.h; or NULL */
};

#endif
