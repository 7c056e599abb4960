/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_H
#define PF_PERUN_H

#include <stdio.h>

#include "formats/driver.h"
#include "formats/json/tree.h"
#include "formats/kit/ids.h"
#include "formats/kit/numbered.h"
#include "formats/kit/store.h"
#include "formats/kit/sums.h"
#include "formats/runtime/notes.h"

/*
 * Perun profiles. One pass reads the JSON, whose regions stand in any order, and leaves behind what stands for resources
 * (struct perun_item), small and in the order of the file; all tables are made from that.
 *
 * The parts, each knowing those before it only:
 *   probe.c      recognising
 *   data.c       the results of the pass, names, kinds of warnings
 *   paths.c      contexts from trace, uid and command
 *   object.c     one resource, or what the rows of a type share
 *   models.c     regression models
 *   properties.c regions without measurements
 *   regions.c    the pass: the top level, snapshots and global regions, types with columns
 *   rows.c       rows from items, resources.csv
 *   points.c     the points of regression models
 *   metrics.c    the metrics and their sums
 *   perun.c      the driver: opening, info.txt, tables
 */

#define PERUN_NONE UINT32_MAX

/* Fields of one resource, or columns of one type; real ones have at most nine. */
enum { PERUN_VALUES_MAX = 512 };

/* Cells of a column that are kept at once. */
enum { PERUN_BLOCK = 1024 };

/* What is read whole at most: a trace, a model. */
#define PERUN_WHOLE_MAX ((size_t)16 << 20)

/* ---- fields ------------------------------------------------------------------------------------- */

/* Fields with a meaning; all others follow in order of first appearance. */
enum {
    PERUN_TIME,
    PERUN_TID,
    PERUN_THREAD,
    PERUN_AMOUNT,
    PERUN_EXCLUSIVE,
    PERUN_NCALLS,
    PERUN_SIZE, /* structure-unit-size */
};

struct perun_field {
    bool identity; /* tells resources apart: no metric */
    bool reserved; /* called as a column that resources.csv has anyway */
    bool seen;     /* somewhere, with a value */
    bool texts;    /* one of which is a text */
    int column;    /* of resources.csv, or -1: it has none */
};

/* ---- what the pass leaves behind ---------------------------------------------------------------- */

/*
 * What stands for resources: an object, or a type with columns. What the rows of a type share, from resource_type_map, is
 * kept likewise, as an entry. Names are numbers of strings, PERUN_NONE: none.
 */
struct perun_item {
    uint64_t first, rows; /* which rows it has; an entry has none */
    uint64_t values;      /* number of its first value in data->values; of a type, of its first column */
    uint64_t key, place;  /* of a type: hash of its name, offset in the file */
    uint32_t n_values, region;
    uint32_t kind, subtype, uid, context;
    uint32_t unit; /* that stands beside its amount */
    bool type;
};

/* A field's value. Of a text, cell.u is its offset in data->texts; of a column, the number of its first cell in data->columns. */
struct perun_value {
    uint32_t field;
    struct pf_cell cell;
};

/* A snapshot, or what resources that belong to none stand in. */
struct perun_region {
    bool numbered; /* it is snapshot `number` */
    bool used;     /* some resource stands in it */
    bool told;     /* it stands in the file, and its time is what that says: not that of its first resource */
    int64_t number;
    uint32_t partition;
    struct pf_cell
        time; /* of a text, cell.u is its offset in data->texts; once all is read, it is a string of the tree */
};

struct perun_data {
    struct pf_tree *tree;      /* its strings are everybody's */
    struct pf_strings *fields; /* names; field i is string i */
    struct perun_field *field_list;
    size_t fields_room;

    struct pf_store *items, *entries; /* struct perun_item */
    struct pf_store *values;          /* struct perun_value */
    struct pf_store *columns;         /* cells */
    struct pf_store *texts;
    struct pf_ids entry_of; /* hash of a type's name -> number of the entry */
    uint64_t n_items, n_rows;

    struct perun_region *regions;
    uint32_t n_regions,
        none; /* none: of resources outside of all regions, that name no snapshot; PERUN_NONE: there is none */
    size_t regions_room;
    struct pf_ids snapshots; /* by number */

    struct pf_rows *properties; /* key, value; added by perun_add_property only */
    struct pf_strings *property_keys;
    uint32_t *property_rows; /* by number of the key: its last row */
    size_t property_rows_room;
    size_t properties_text;         /* bytes of these */
    struct pf_rows *models;         /* as models.csv */
    struct pf_rows *model_names;    /* id, name: the folders' */
    struct perun_model *model_list; /* see models.c */
    size_t n_models, models_room;
    size_t models_text;            /* bytes of their longer texts */
    bool models_cut;               /* some were cut, and that is noted */
    struct pf_store *model_values; /* doubles */
    struct pf_notes notes;
};

/* Empties what was zeroed or freed. limit: bytes that may be held in memory. 0, or -1 with *error filled. */
int perun_data_begin(struct perun_data *data, uint64_t limit, struct pf_error *error);
void perun_data_free(struct perun_data *data);

/* The field of this name, added if new; PERUN_NONE with *error filled. */
uint32_t perun_field(struct perun_data *data, const char *name, size_t size, struct pf_error *error);

/* A new region; PERUN_NONE: *error filled. The region of this snapshot, added if new; PERUN_NONE likewise. */
uint32_t perun_new_region(struct perun_data *data, struct pf_error *error);
uint32_t perun_snapshot(struct perun_data *data, int64_t number, struct pf_error *error);

int perun_set_time(struct perun_data *data, uint32_t region, struct pf_cell time, struct pf_error *error);

/* Puts a text where others are, and its offset there into the cell. 0, or -1 with *error filled. */
int perun_keep_text(struct perun_data *data, struct pf_cell *cell, struct pf_error *error);

/* A string of the tree; PERUN_NONE with *error filled. */
static inline uint32_t perun_string(struct perun_data *data, const char *text, size_t size,
                                    struct pf_error *error)
{
    return pf_intern(data->tree->strings, text, size, error);
}

/* A cell for a string's number; absent for PERUN_NONE. */
static inline struct pf_cell perun_string_cell(const struct perun_data *data, uint32_t string)
{
    return string == PERUN_NONE ? pf_absent() : pf_interned(data->tree->strings, string);
}

/* Appends a row to the properties. 0, or -1 with *error filled. */
int perun_add_property(struct perun_data *data, struct pf_cell key, struct pf_cell value,
                       struct pf_error *error);

/* The value of the last property of this key; absent if there is none. Takes time independent of the number of properties. */
struct pf_cell perun_property(const struct perun_data *data, const char *key);

/* ---- the pass ----------------------------------------------------------------------------------- */

enum {
    PERUN_BAD_JSON,
    PERUN_BAD_STREAM,
    PERUN_TRAILING,
    PERUN_BAD_LENGTH,
    PERUN_NO_ENTRY,
    PERUN_UNEQUAL,
    PERUN_NO_LIST,
    PERUN_NO_NUMBER,
    PERUN_NO_REGION,
    PERUN_NO_RESOURCES,
    PERUN_WRONG_KIND,
    PERUN_BAD_SNAPSHOT,
    PERUN_TOO_LONG,
    PERUN_TOO_MANY,
};
extern const struct pf_note_kind perun_problems[];

/* A value as it stands in the file. */
struct perun_raw {
    struct pf_json_token token; /* event PF_JSON_END: there is none. Its text stands in: */
    struct pf_json_buffer text;
};

struct perun_reading {
    struct perun_data *data;
    struct perun_paths *paths;
    struct pf_json *json;
    struct pf_json_trees *trees;
    struct pf_input *input;
    uint64_t body;      /* offset of the JSON in the input */
    uint64_t stepped;   /* offset of the last pf_pass_step */
    bool has_resources; /* a region that resources stand in */

    /* The object being read. */
    struct perun_item item;
    struct perun_value *values; /* PERUN_VALUES_MAX */
    struct perun_raw trace, uid, command, other;
    bool has_snapshot; /* it names one */
    int64_t number;    /* of it */

    struct pf_cell cells[PERUN_BLOCK]; /* the last ones of a column */
    size_t n_cells;
};

/* Reads the profile that json stands before. Damage ends it, with a note; -1 with *error filled for all else. */
int perun_read(struct perun_reading *reading, struct pf_error *error);

/* Reports the JSON reader's place to the thread's pass (data.c); -1 with ECANCELED. Call it at least once per MB of text. */
int perun_step(struct perun_reading *reading, struct pf_error *error);

/* A note at a token's place. */
#define PERUN_NOTE(reading, token, problem, ...)                                                             \
    pf_note(&(reading)->data->notes, &perun_problems[problem], (int64_t)(token)->line,                       \
            (int64_t)((reading)->body + (token)->offset), __VA_ARGS__)

/*
 * A field's value from its token (object.c): an amount as a number where it is one, with or without a unit; absent, with a note,
 * where it is none. Texts are the token's.
 */
struct pf_cell perun_value_of(struct perun_reading *reading, uint32_t field,
                              const struct pf_json_token *token);

/*
 * Reads one resource, or what all rows of a type share, into reading->item and values: begin, each member behind its name, end;
 * or all of the object, behind its first token (object.c). perun_keep puts these into a store; region is the one it stands in,
 * or PERUN_NONE.
 */
void perun_begin_object(struct perun_reading *reading);
int perun_read_member(struct perun_reading *reading, const struct pf_json_token *name,
                      struct pf_error *error);
int perun_end_object(struct perun_reading *reading, struct pf_error *error);
int perun_read_object(struct perun_reading *reading, struct pf_error *error);
int perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t region,
               struct pf_error *error);

/* The next element of a list of models: 1; 0: the list ends; -1: *error filled. Once all are read, the names of folders (models.c). */
int perun_read_model(struct perun_reading *reading, struct pf_error *error);
int perun_name_models(struct perun_data *data, struct pf_error *error);

/* A top-level member that is shown as properties (regions without measurements, scalars of any name), or passed over. */
int perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error);

/* ---- contexts (paths.c) ------------------------------------------------------------------------- */

extern const char *const perun_kinds[];

/* The tree gets what is found. NULL: out of memory. */
struct perun_paths *perun_paths_new(struct pf_tree *tree, struct pf_json_trees *trees);
void perun_paths_free(struct perun_paths *paths);

/*
 * The context of a place, and its uid as one text in the tree's strings (PERUN_NONE: it has none). Places met a short
 * while ago are not read again. 0, or -1 with *error filled: with the place in the file if the text is no JSON.
 */
int perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
               const struct perun_raw *command, uint32_t *context, uint32_t *uid_text,
               struct pf_error *error);

/* What a uid or frame is called, as one text in the tree's strings; PERUN_NONE with *error filled. */
uint32_t perun_name_of(struct perun_paths *paths, struct json_object *value, struct pf_error *error);

/* ---- rows (rows.c) ------------------------------------------------------------------------------ */

/* Makes rows from items. For one thread. */
struct perun_walk {
    const struct perun_data *data;
    struct pf_store_window items, entries, values;
    uint64_t number;        /* of the row */
    uint64_t next;          /* number of the item behind the row's */
    struct perun_item item; /* the row's; of a type, what its rows share */
    struct perun_cell {
        struct perun_value value;
        bool in_column;                      /* it differs from row to row: */
        uint64_t first;                      /* number of the first one in data->columns */
        struct pf_store_window cells, texts; /* through which it is read */
    } * cells;
    size_t n_columns, n_cells, room; /* columns come first */
};

/* The item's rows are none yet. */
void perun_walk_open(struct perun_walk *walk, const struct perun_data *data);
void perun_walk_close(struct perun_walk *walk);
/* 1: the row of this number; 0: there are no more; -1: *error filled. Cells are valid until the next row. */
int perun_walk_to(struct perun_walk *walk, uint64_t number, struct pf_error *error);
/* The value of a field in this row; absent if it has none. */
struct pf_cell perun_walk_cell(const struct perun_walk *walk, uint32_t field);

/* ---- the profile -------------------------------------------------------------------------------- */

/* Tables, as indexes of perun->tables. */
enum { PERUN_VALUES, PERUN_RESOURCES, PERUN_MODELS, PERUN_PROPERTIES, PERUN_POINTS, PERUN_TABLES };

/* Columns of resources.csv before and behind the fields', and how many fields have one of their own. */
enum {
    PERUN_R_ROW,
    PERUN_R_SNAPSHOT,
    PERUN_R_TIME,
    PERUN_R_CONTEXT,
    PERUN_R_THREAD,
    PERUN_R_FIELDS, /* at most PERUN_OWN_COLUMNS; of the columns behind them the numbers are: */
    PERUN_OWN_COLUMNS = 256
};
enum { PERUN_R_TYPE, PERUN_R_SUBTYPE, PERUN_R_UID, PERUN_R_LAST };

/* The header of a stored object: "profile TYPE LENGTH" and a NUL (probe.c). */
enum { PERUN_STORED_HEADER_MAX = 96 };
struct perun_stored_header {
    char type[32];
    uint64_t length; /* of the JSON */
    size_t size;     /* of the header with its NUL */
};
/* True if bytes begin with it; else *header is zero. */
bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header);

struct perun {
    struct pf_sums *sums;              /* from PF_MODELLED on */
    struct pf_input *input;            /* the text: of a stored object what it inflates to */
    struct perun_stored_header stored; /* behind which the JSON stands; size 0: it is no stored object */

    struct perun_data data;   /* from PF_PARTITIONED on */
    struct pf_strings *names; /* of metrics and columns, each with its NUL */
    uint32_t header_type;     /* in the strings; PERUN_NONE: none */

    struct pf_strings *keys; /* of metrics: bytes of struct perun_metric; metric i is string i */
    uint32_t *units;         /* of metrics: that stood beside the first amount with one, or PERUN_NONE */
    size_t units_room;
    struct pf_metric *metrics;
    struct perun_points *points; /* NULL: there are no models */

    struct pf_column *resource_columns; /* PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST */
    unsigned last_columns;              /* the number of the first one behind the fields' */
    struct pf_table tables[PERUN_TABLES];
};

/* PF_MODELLED: sums and metrics, by a walk over what the first pass has left (metrics.c). */
int perun_load_model(struct pf_model *model, struct pf_error *error);
void perun_drop_model(struct perun *perun);

/* The columns of resources.csv (rows.c). */
int perun_make_columns(struct perun *perun, struct pf_error *error);

/* The type of a row's resource: its own, else the header's. */
static inline uint32_t perun_type_of(const struct perun *perun, uint32_t own)
{
    return own != PERUN_NONE ? own : perun->header_type;
}

/* A text with a NUL, from two parts, that lives as long as the profile; NULL with *error filled. */
const char *perun_name(struct perun *perun, const char *before, const char *text, size_t size,
                       struct pf_error *error);

/* Prints a cell of any type as in CSV, but without quotes. */
void perun_print_cell(FILE *out, const struct pf_cell *cell);

void perun_probe(struct pf_probe *probe, struct pf_verdict *verdict);

extern const struct pf_numbered perun_resources, perun_points;

/* ---- models ------------------------------------------------------------------------------------- */

enum perun_model_kind {
    PERUN_UNKNOWN,
    PERUN_CONSTANT,
    PERUN_LINEAR,
    PERUN_LOGARITHMIC,
    PERUN_QUADRATIC,
    PERUN_POWER,
    PERUN_EXPONENTIAL,
    PERUN_REGRESSOGRAM,
    PERUN_MOVING_AVERAGE,
    PERUN_KERNEL_REGRESSION,
    PERUN_MODEL_KINDS
};

struct perun_model {
    uint32_t uid;              /* in the strings, or PERUN_NONE */
    uint32_t x_field, y_field; /* what it is of */
    enum perun_model_kind kind;
    bool has_b, has_b2; /* b[0] and b[1] are known; b[2] is */
    double b[3], x_start, x_end;
    uint64_t values,
        n_values; /* its buckets or points: number of the first one in the store of values, how many */
};

/*
 * The points of all models (points.c): perun_points_begin makes perun->points, then each row is added, then they are finished. The
 * caller frees them, also after a failure. Do nothing if there are no models. 0, or -1 with *error filled.
 */
int perun_points_begin(struct perun *perun, struct pf_error *error);
int perun_points_add(struct perun_points *points, const struct perun_walk *walk, struct pf_error *error);
int perun_points_finish(struct perun_points *points, struct pf_error *error);
void perun_points_free(struct perun_points *points);

/* Columns of models.csv and points.csv. */
enum { PERUN_MODEL_COLUMNS = 12, PERUN_POINT_COLUMNS = 4 };
extern const struct pf_column perun_model_columns[PERUN_MODEL_COLUMNS],
    perun_point_columns[PERUN_POINT_COLUMNS];

#endif
