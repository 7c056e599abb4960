/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_H
#define PF_PERUN_H

#include <stdio.h>

#include "formats/driver.h"
#include "formats/driver_extra.h"
#include "formats/json/tree.h"
#include "formats/kit/ids.h"
#include "formats/kit/store.h"
#include "formats/runtime/numbered.h"
#include "formats/runtime/run.h"
#include "formats/runtime/sums.h"

/*
 * Perun profiles. One pass reads the JSON, whose regions may come in any order, and keeps a compact record of the resources
 * (struct perun_item) in file order. All tables are made from these records. Functions without a struct pf_error belong to the pass: they
 * end the run (data->run) on failure.
 *
 * The parts; each depends only on the parts listed above it:
 *   probe.c      format detection
 *   data.c       the results of the pass, names, kinds of warnings
 *   paths.c      contexts from trace, uid and command
 *   object.c     one resource, or the members that all rows of a type share
 *   models.c     regression models
 *   properties.c regions without measurements
 *   regions.c    the pass: the top level, snapshots and global regions, types with columns
 *   rows.c       rows from items, resources.csv
 *   points.c     the points of regression models
 *   metrics.c    the metrics and their sums
 *   perun.c      the driver: opening, info.txt, tables
 */

#define PERUN_NONE UINT32_MAX

/* Maximum number of fields of a resource and of columns of a type. Real files have at most nine. */
enum { PERUN_VALUES_MAX = 512 };

/* Maximum size in bytes of a value that is read as a whole: a trace or a model. */
#define PERUN_WHOLE_MAX ((size_t)16 << 20)

/* ---- fields ------------------------------------------------------------------------------------- */

/* Fields that the driver interprets; the numbers of all other fields follow in order of first appearance. */
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
    bool identity; /* identifies a resource; not a metric */
    bool reserved; /* has the name of a fixed column of resources.csv */
    bool seen;     /* has a value in at least one resource */
    bool texts;    /* at least one value is text */
    int column;    /* its column in resources.csv; -1: none */
};

/* ---- results of the pass ------------------------------------------------------------------------ */

/*
 * A resource object (one row) or a type with columns (many rows). An entry of resource_type_map, which holds the members
 * that all rows of a type share, has the same form. Names are numbers of strings in the tree; PERUN_NONE: absent.
 */
struct perun_item {
    uint64_t first, rows; /* number of its first row, number of rows; unused in an entry */
    uint64_t values;      /* index in data->values of its first value (of a type: of its first column) */
    uint64_t key, place;  /* types only: hash of the name, offset in the file */
    uint32_t n_values, region;
    uint32_t kind, subtype, uid, context;
    uint32_t unit; /* given together with its amount */
    bool type;
};

/* A field's value. cell.u of a text is its offset in data->texts; cell.u of a column is the index of its first cell in data->columns. */
struct perun_value {
    uint32_t field;
    struct pf_cell cell;
};

/* A snapshot, or a region whose resources belong to no snapshot. */
struct perun_region {
    bool numbered; /* a snapshot; its number is `number` */
    bool used;     /* has at least one resource */
    bool told;     /* an object of the file: `time` is that object's own time, never the time of a resource */
    int64_t number;
    uint32_t partition;
    struct pf_cell time; /* a text is a string of the tree */
};

struct perun_data {
    struct pf_run *run;        /* not NULL while data is added */
    struct pf_tree *tree;      /* contexts; its strings are shared by all parts of the driver */
    struct pf_strings *fields; /* names; string i is the name of field i */
    struct perun_field *field_list;
    size_t fields_room;

    struct pf_store *items, *entries; /* struct perun_item */
    struct pf_store *values;          /* struct perun_value */
    struct pf_store *columns;         /* cells */
    struct pf_store *texts;
    struct pf_ids entry_of; /* hash of a type's name -> index of its entry */
    uint64_t n_items, n_rows;

    struct perun_region *regions;
    uint32_t n_regions,
        none; /* region of resources that are in no region and name no snapshot; PERUN_NONE: not created yet */
    size_t regions_room;
    struct pf_ids snapshots; /* number of a snapshot -> index of its region */

    struct pf_rows *properties; /* key, value; only perun_add_property adds rows */
    struct pf_strings *property_keys;
    uint32_t *property_rows; /* number of a key -> its last row */
    size_t property_rows_room;
    size_t properties_text;         /* bytes of the keys and values */
    struct pf_rows *models;         /* rows of models.csv */
    struct pf_rows *model_names;    /* id and name of each model's folder */
    struct perun_model *model_list; /* by id */
    size_t n_models, models_room;
    size_t models_text;            /* bytes of the cells `stats` and `other` */
    bool models_cut;               /* a text was cut, and a warning was added */
    struct pf_store *model_values; /* doubles */
};

/*
 * Initialises *data, which is zeroed or was freed. limit: bytes that the stores may hold in memory. The caller calls perun_data_free,
 * also after a failure.
 */
void perun_data_begin(struct perun_data *data, struct pf_run *run, uint64_t limit);
void perun_data_free(struct perun_data *data);

/* Returns the number of the field of this name, which is added if new. */
uint32_t perun_field(struct perun_data *data, const char *name, size_t size);

/* Adds a region that is not a snapshot. Returns its index. */
uint32_t perun_new_region(struct perun_data *data);
/* Returns the index of the region of this snapshot, which is added if new. */
uint32_t perun_snapshot(struct perun_data *data, int64_t number);

/* Sets the time of a region; copies a text. */
void perun_set_time(struct perun_data *data, uint32_t region, struct pf_cell time);

/* Appends bytes to one of the stores. */
static inline void perun_append(struct perun_data *data, struct pf_store *store, const void *bytes,
                                size_t size)
{
    pf_run_check(data->run, pf_store_append(store, bytes, size, data->run->error));
}

/* Appends the cell's text to data->texts and replaces it in the cell by its offset there. */
void perun_keep_text(struct perun_data *data, struct pf_cell *cell);

/* Returns the number of a string of the tree, which is added if new. */
static inline uint32_t perun_string(struct perun_data *data, const char *text, size_t size)
{
    return pf_run_intern(data->run, data->tree->strings, text, size);
}

/* A string's text as a cell; absent for PERUN_NONE. */
static inline struct pf_cell perun_string_cell(const struct perun_data *data, uint32_t string)
{
    return string == PERUN_NONE ? pf_absent() : pf_interned(data->tree->strings, string);
}

/* Appends a row to the properties; copies key and value. */
void perun_add_property(struct perun_data *data, struct pf_cell key, struct pf_cell value);

/* Returns the value of the last property of this key; absent if the key is unknown. Constant time. */
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

/* A value of the file, not parsed further. */
struct perun_raw {
    struct pf_json_token token; /* event PF_JSON_END: absent. token.text points into `text` */
    struct pf_json_buffer text;
};

struct perun_reading {
    struct perun_data *data;
    struct perun_paths *paths;
    struct pf_json *json;
    struct pf_json_trees *trees;
    struct pf_input *input;
    uint64_t body;      /* offset of the JSON in the input */
    uint64_t stepped;   /* offset of the last pf_run_step */
    bool has_resources; /* a region that can hold resources was seen */

    /* The object being read. */
    struct perun_item item;
    struct perun_value *values; /* PERUN_VALUES_MAX */
    struct perun_raw trace, uid, command, other;
    bool has_snapshot; /* the object names a snapshot */
    int64_t number;    /* the number of that snapshot, if has_snapshot */

    struct perun_type *type; /* the type with columns that is being read (regions.c) */
};

/*
 * Reads the whole profile from reading->json into reading->data. Damage ends reading with a warning, and the data before it is
 * kept.
 */
void perun_read(struct perun_reading *reading);

/* Like pf_json_next, _skip and _take. The result is never negative: damage and failures end the reading (data.c). */
int perun_next(struct perun_reading *reading, struct pf_json_token *token);
int perun_skip(struct perun_reading *reading, struct pf_json_token *token);
int perun_take(struct perun_reading *reading, struct perun_raw *raw);

/* Reports the JSON reader's offset to the thread's pass (data.c). To be called at least once per MB of text. */
void perun_step(struct perun_reading *reading);

/* Adds a warning with the line and the offset of a token. */
#define PERUN_NOTE(reading, token, problem, ...)                                                             \
    pf_run_note((reading)->data->run, &perun_problems[problem], (token)->line,                               \
                (reading)->body + (token)->offset, __VA_ARGS__)

/*
 * Returns a field's value from its token (object.c). An amount is a number, with or without a unit; an amount that is not a number
 * is absent, with a warning. A text is borrowed from the token.
 */
struct pf_cell perun_value_of(struct perun_reading *reading, uint32_t field,
                              const struct pf_json_token *token);

/*
 * Reading of a resource or of an entry of resource_type_map into reading->item and reading->values (object.c). Callers either call
 * perun_begin_object, perun_read_member after each name, and perun_end_object; or perun_read_object after the object's first token.
 * perun_keep then appends the item to a store, and its values to data->values; region is the region that holds the object, or
 * PERUN_NONE.
 */
void perun_begin_object(struct perun_reading *reading);
void perun_read_member(struct perun_reading *reading, const struct pf_json_token *name);
void perun_end_object(struct perun_reading *reading);
void perun_read_object(struct perun_reading *reading);
void perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t region);

/* Reads the next element of a list of models (models.c). Returns false at the end of the list. */
bool perun_read_model(struct perun_reading *reading);
/* Makes the names of the models' folders, once all models are read. */
void perun_name_models(struct perun_data *data);

/* Reads a top-level member after its name. Regions without measurements, and scalars of any name, become properties; others are skipped. */
void perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name);

/* ---- contexts (paths.c) ------------------------------------------------------------------------- */

extern const char *const perun_kinds[];

/* Returns a builder that adds contexts to data->tree; the end of the run frees it. Borrows both arguments. */
struct perun_paths *perun_paths_new(struct perun_data *data, struct pf_json_trees *trees);

/*
 * Finds or adds the context of a trace, uid and command. *uid_text is the uid as one text in the tree's strings; PERUN_NONE: no uid.
 * Recent combinations are cached. Malformed JSON is reported with its offset in the file.
 */
void perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
                const struct perun_raw *command, uint32_t *context, uint32_t *uid_text);

/* Returns the name of a uid or frame as one text in the tree's strings. */
uint32_t perun_name_of(struct perun_paths *paths, struct json_object *value);

/* ---- rows (rows.c) ------------------------------------------------------------------------------ */

/* Makes rows from items. Not thread-safe: one walk per thread. */
struct perun_walk {
    const struct perun_data *data;
    struct pf_store_window items, entries, values;
    uint64_t number;        /* number of the current row */
    uint64_t next;          /* index of the item after the current one */
    struct perun_item item; /* the current one; for a type: its entry, with the type's `first` and `rows` */
    struct perun_cell {
        struct perun_value value;
        bool in_column;                      /* one cell per row, in data->columns */
        uint64_t first;                      /* index of the column's first cell */
        struct pf_store_window cells, texts; /* windows on data->columns and data->texts */
    } * cells;
    size_t n_columns, n_cells, room; /* columns come first */
};

/* Returns a walk without a current row, which borrows data. NULL: out of memory. perun_walk_free takes a struct perun_walk, or NULL. */
struct perun_walk *perun_walk_new(const struct perun_data *data);
void perun_walk_free(void *walk);
/* Moves to the row of this number. Returns 1; 0 after the last row; -1 with *error filled. Cells are valid until the next move. */
int perun_walk_to(struct perun_walk *walk, uint64_t number, struct pf_error *error);
/* Returns the value of a field in the current row; absent if the row does not have the field. */
struct pf_cell perun_walk_cell(const struct perun_walk *walk, uint32_t field);

/* ---- the profile -------------------------------------------------------------------------------- */

/* Tables, as indexes of perun->tables. */
enum { PERUN_VALUES, PERUN_RESOURCES, PERUN_MODELS, PERUN_PROPERTIES, PERUN_POINTS, PERUN_TABLES };

/* Columns of resources.csv before the fields' columns, and the maximum number of fields that have a column. */
enum {
    PERUN_R_ROW,
    PERUN_R_SNAPSHOT,
    PERUN_R_TIME,
    PERUN_R_CONTEXT,
    PERUN_R_THREAD,
    PERUN_R_FIELDS, /* number of the first field's column */
    PERUN_OWN_COLUMNS = 256
};
/* Columns after the fields' columns, counted from perun->last_columns. */
enum { PERUN_R_TYPE, PERUN_R_SUBTYPE, PERUN_R_UID, PERUN_R_LAST };

/* The header of a stored object: "profile TYPE LENGTH" and a NUL (probe.c). */
enum { PERUN_STORED_HEADER_MAX = 96 };
struct perun_stored_header {
    char type[32];
    uint64_t length; /* of the JSON */
    size_t size;     /* bytes of the header, including its NUL */
};
/* Parses a header. Returns false, with header->size 0, if the bytes do not begin with a valid one. */
bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header);

struct perun {
    struct pf_sums *sums;              /* from PF_MODELLED on */
    struct pf_input *input;            /* the file's bytes, inflated if they are compressed */
    struct perun_stored_header stored; /* the header before the JSON; size 0: not a stored object */

    struct perun_data data;   /* from PF_PARTITIONED on */
    struct pf_strings *names; /* of metrics and columns, each with its NUL */
    uint32_t header_type;     /* a string of the tree; PERUN_NONE: absent */

    struct pf_strings *keys; /* string i holds the bytes of metric i's struct perun_metric */
    uint32_t *units; /* by metric: the unit of the first amount that was given with one, or PERUN_NONE */
    size_t units_room;
    struct pf_metric *metrics;
    struct perun_points *points; /* NULL: the file has no models */

    struct pf_column *resource_columns; /* PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST */
    unsigned last_columns;              /* number of the first column after the fields' columns */
    struct pf_table tables[PERUN_TABLES];
    struct pf_model_extra extra;
};

/* The body of a run that loads stage PF_MODELLED: sums and metrics, from the rows of the first pass (metrics.c). arg: struct perun. */
void perun_load_model(struct pf_run *run, void *arg);
/* Frees everything that perun_load_model made. */
void perun_drop_model(struct perun *perun);

/* Makes the columns of resources.csv from the fields (rows.c). */
void perun_make_columns(struct perun *perun);

/* Returns the type of a resource: its own, or the header's if it has none. */
static inline uint32_t perun_type_of(const struct perun *perun, uint32_t own)
{
    return own != PERUN_NONE ? own : perun->header_type;
}

/* Returns the concatenation of `before` and `text` (up to its first NUL), owned by the profile. Equal names have equal addresses. */
const char *perun_name(struct perun *perun, const char *before, const char *text, size_t size);

void perun_probe(struct pf_probe *probe, struct pf_probe_result *result);

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
    uint32_t uid;              /* a string of the tree, or PERUN_NONE */
    uint32_t x_field, y_field; /* fields of the independent and the dependent variable */
    enum perun_model_kind kind;
    bool has_b, has_b2; /* b[0] and b[1] are known; b[2] is known */
    double b[3], x_start, x_end;
    uint64_t values,
        n_values; /* values of its buckets or points: index of the first one in data->model_values, and their number */
};

/*
 * The points of all models (points.c). perun_points_begin allocates perun->points, perun_points_add adds each row, perun_points_finish
 * sorts. The caller frees perun->points, also after a failure. All are no-ops if there are no models.
 */
void perun_points_begin(struct perun *perun);
void perun_points_add(struct pf_run *run, struct perun_points *points, const struct perun_walk *walk);
void perun_points_finish(struct pf_run *run, struct perun_points *points);
void perun_points_free(struct perun_points *points);

/* Columns of models.csv and points.csv. */
enum { PERUN_MODEL_COLUMNS = 12, PERUN_POINT_COLUMNS = 4 };
extern const struct pf_column perun_model_columns[PERUN_MODEL_COLUMNS],
    perun_point_columns[PERUN_POINT_COLUMNS];

#endif
