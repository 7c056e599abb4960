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
 * Perun profiles. A profile is a JSON object of regions, in any order. Some regions hold resources, which are the measurements. One pass
 * reads the JSON and keeps compact records of the resources (struct perun_item) in file order. All tables are made from these records.
 * Functions without a struct pf_error run during a pass: on failure they end the run (data->run).
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

/* Maximum size in bytes of a value that is read as a whole, such as a trace or a regression model. */
#define PERUN_WHOLE_MAX ((size_t)16 << 20)

/* ---- fields ------------------------------------------------------------------------------------- */

/* Numbers of the fields that the driver interprets. All other fields have higher numbers. */
enum {
    PERUN_TIME,
    PERUN_TID,
    PERUN_THREAD,
    PERUN_AMOUNT,
    PERUN_EXCLUSIVE,
    PERUN_NCALLS,
    PERUN_SIZE, /* the field structure-unit-size */
};

/* A member that resources have, or a column of a type. */
struct perun_field {
    bool identity; /* part of a resource's identity, so it is not a metric */
    bool reserved; /* has the name of a fixed column of resources.csv */
    bool seen;     /* has a value in at least one resource */
    bool texts;    /* at least one value is text */
    int column;    /* its column in resources.csv; -1: none */
};

/* ---- results of the pass ------------------------------------------------------------------------ */

/*
 * A resource object, which is one row; or a type with columns (regions.c), which has many rows; or an entry of resource_type_map, which
 * holds the members that all rows of a type share. Texts are strings of the tree, or PERUN_NONE.
 */
struct perun_item {
    uint64_t first, rows; /* number of the first row; number of rows; both unused in an entry */
    uint64_t values;      /* index in data->values of the first value; in a type, of the first column */
    uint64_t key, place;  /* only in a type: hash of the type's name; offset of the name in the file */
    uint32_t n_values, region;
    uint32_t kind, subtype, uid, context; /* `kind` is the member `type` */
    uint32_t unit;                        /* the unit that is written after the amount */
    bool type;                            /* a type with columns */
};

/*
 * The value of a field in a resource or entry, or a column of a type. cell.u is the offset of a text in data->texts, or the index of a
 * column's first cell in data->columns.
 */
struct perun_value {
    uint32_t field;
    struct pf_cell cell;
};

/* A region with resources: a snapshot, or one whose resources belong to no snapshot. */
struct perun_region {
    bool numbered; /* the region is a snapshot, whose number is `number` */
    bool used;     /* has at least one resource or entry */
    bool declared; /* the region is an object in the file; `time` is never taken from a resource */
    int64_t number;
    uint32_t partition;
    struct pf_cell time; /* a text is owned by the tree's strings */
};

struct perun_data {
    struct pf_run *run;        /* not NULL while data is added */
    struct pf_tree *tree;      /* contexts; its strings are shared by all parts of the driver */
    struct pf_strings *fields; /* string i is the name of field i */
    struct perun_field *field_list;
    size_t fields_room;

    struct pf_store *items, *entries; /* of struct perun_item; `entries`: those of resource_type_map */
    struct pf_store *values;          /* struct perun_value */
    struct pf_store *columns;         /* the cells of types with columns, as struct pf_cell */
    struct pf_store *texts;           /* the bytes of texts in values and columns */
    struct pf_ids entry_of;           /* index in `entries` by the hash of a type's name */
    uint64_t n_items, n_rows;

    struct perun_region *regions;
    uint32_t n_regions,
        none; /* index of the region for resources that belong to no other; PERUN_NONE: not created yet */
    size_t regions_room;
    struct pf_ids snapshots; /* number of a snapshot -> index of its region */

    struct pf_rows *properties; /* key, value; only perun_add_property adds rows */
    struct pf_strings *property_keys;
    uint32_t *property_rows; /* the last row of each key in property_keys, by the key's number */
    size_t property_rows_room;
    size_t properties_text;         /* bytes of the keys and values */
    struct pf_rows *models;         /* rows of models.csv */
    struct pf_rows *model_names;    /* id and name of each model's folder */
    struct perun_model *model_list; /* by id */
    size_t n_models, models_room;
    size_t models_text;            /* bytes of the cells `stats` and `other` */
    bool models_cut;               /* a text was cut, and a warning was added */
    struct pf_store *model_values; /* the doubles that the member `values` of struct perun_model refers to */
};

/*
 * Initialises *data, which is zeroed or was freed. All stores together hold at most `limit` bytes in memory. The caller calls
 * perun_data_free, also after a failure.
 */
void perun_data_begin(struct perun_data *data, struct pf_run *run, uint64_t limit);
void perun_data_free(struct perun_data *data);

/* Returns the number of the field `name`. Adds the field if it is new. */
uint32_t perun_field(struct perun_data *data, const char *name, size_t size);

/* Adds a region that is not a snapshot. Returns its index. */
uint32_t perun_new_region(struct perun_data *data);
/* Returns the index of the region of snapshot `number`. Adds the region if it is new. */
uint32_t perun_snapshot(struct perun_data *data, int64_t number);

/* Sets the time of a region. If `time` is a text, copies it. */
void perun_set_time(struct perun_data *data, uint32_t region, struct pf_cell time);

/* Appends bytes to one of the stores of `data`. */
static inline void perun_append(struct perun_data *data, struct pf_store *store, const void *bytes,
                                size_t size)
{
    pf_run_check(data->run, pf_store_append(store, bytes, size, data->run->error));
}

/* Appends the cell's text to data->texts. Sets cell->u to the text's offset there. */
void perun_keep_text(struct perun_data *data, struct pf_cell *cell);

/* Interns a text among the tree's strings. Returns the number of the string. */
static inline uint32_t perun_string(struct perun_data *data, const char *text, size_t size)
{
    return pf_run_intern(data->run, data->tree->strings, text, size);
}

/* Returns a string of the tree as a cell; absent for PERUN_NONE. */
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

/* A value that is read as a whole. An object or list is JSON text. */
struct perun_raw {
    struct pf_json_token token; /* its event is PF_JSON_END if there is no value; token.text is in `text` */
    struct pf_json_buffer text;
};

struct perun_reading {
    struct perun_data *data;
    struct perun_paths *paths;
    struct pf_json *json;
    struct pf_json_trees *trees;
    struct pf_input *input;
    uint64_t body;      /* offset of the JSON in the input */
    uint64_t stepped;   /* offset in the JSON at the last pf_run_step */
    bool has_resources; /* a region that can hold resources was seen */

    /* The object being read: a resource or an entry of resource_type_map. */
    struct perun_item item;
    struct perun_value *values;                  /* array of PERUN_VALUES_MAX */
    struct perun_raw trace, uid, command, other; /* `other` is the value of the current field */
    bool has_snapshot;                           /* the object names a snapshot */
    int64_t number;                              /* the number of that snapshot, if has_snapshot */

    struct perun_type *type; /* the type with columns that is being read (regions.c) */
};

/*
 * Reads the whole profile from reading->json into reading->data. At damage, reading ends with a warning, and the data read so far are
 * kept.
 */
void perun_read(struct perun_reading *reading);

/* Like pf_json_next, pf_json_skip and pf_json_take, but damage and failures end the run, so the result is never negative (data.c). */
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
 * Returns the value of a field, given its first token (object.c). A text is borrowed from the token. An amount is a number, with or
 * without a unit; for any other amount, adds a warning and returns absent.
 */
struct pf_cell perun_value_of(struct perun_reading *reading, uint32_t field,
                              const struct pf_json_token *token);

/*
 * Read a resource or an entry of resource_type_map into reading->item and reading->values (object.c). perun_read_object reads the
 * members of an object whose first token was read. A caller that handles some members itself calls perun_begin_object, then
 * perun_read_member after the name of each other member, then perun_end_object.
 *
 * perun_keep then appends the item to a store, and its values to data->values. `region` is the index of the snapshot or global region that
 * contains the object, or PERUN_NONE.
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

/*
 * Reads a top-level member after its name. If it is a scalar, or one of the regions that describe the profile, its contents become
 * properties. Other members are skipped.
 */
void perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name);

/* ---- contexts (paths.c) ------------------------------------------------------------------------- */

extern const char *const perun_kinds[];

/* Returns a builder that adds contexts to data->tree; the end of the run frees it. Borrows both arguments. */
struct perun_paths *perun_paths_new(struct perun_data *data, struct pf_json_trees *trees);

/*
 * Finds or adds the context of a trace, uid and command. Sets *uid_text to the uid as a string of the tree, or to PERUN_NONE if there is
 * no uid. Recent combinations are cached. Malformed JSON is reported with its offset in the file.
 */
void perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
                const struct perun_raw *command, uint32_t *context, uint32_t *uid_text);

/* Returns the name of a uid or frame, as the number of a string of the tree. */
uint32_t perun_name_of(struct perun_paths *paths, struct json_object *value);

/* ---- rows (rows.c) ------------------------------------------------------------------------------ */

/* A walk over the rows of all items, for one thread at a time. */
struct perun_walk {
    const struct perun_data *data;
    struct pf_store_window items, entries, values;
    uint64_t number;        /* number of the current row */
    uint64_t next;          /* index of the item after the current one */
    struct perun_item item; /* the current item; for a type: its entry, with the type's `first` and `rows` */
    struct perun_cell {
        struct perun_value value;
        bool in_column;                      /* the value is in a column, and differs by row */
        uint64_t first;                      /* in a column: index of the first cell in data->columns */
        struct pf_store_window cells, texts; /* windows on data->columns and data->texts */
    } * cells; /* of the current row: first n_columns columns, then the values that all rows of the item share */
    size_t n_columns, n_cells, room;
};

/* Returns a walk without a current row; NULL: out of memory. Borrows data. */
struct perun_walk *perun_walk_new(const struct perun_data *data);
/* Frees a struct perun_walk, which may be NULL. */
void perun_walk_free(void *walk);
/* Moves to row `number`. Returns 1; 0 after the last row; -1 with *error filled. Cells are valid until the next move. */
int perun_walk_to(struct perun_walk *walk, uint64_t number, struct pf_error *error);
/* Returns the value of a field in the current row; absent if the row has no value for it. */
struct pf_cell perun_walk_cell(const struct perun_walk *walk, uint32_t field);

/* ---- the profile -------------------------------------------------------------------------------- */

/* Tables, as indexes of perun->tables. */
enum { PERUN_VALUES, PERUN_RESOURCES, PERUN_MODELS, PERUN_PROPERTIES, PERUN_POINTS, PERUN_TABLES };

/* Columns of resources.csv: these, then at most PERUN_OWN_COLUMNS columns of fields, then the columns of the next enum. */
enum {
    PERUN_R_ROW,
    PERUN_R_SNAPSHOT,
    PERUN_R_TIME,
    PERUN_R_CONTEXT,
    PERUN_R_THREAD,
    PERUN_R_FIELDS, /* the column of the first field */
    PERUN_OWN_COLUMNS = 256
};
/* The last columns of resources.csv, counted from perun->last_columns. */
enum { PERUN_R_TYPE, PERUN_R_SUBTYPE, PERUN_R_UID, PERUN_R_LAST };

/* The header of a stored object: "profile TYPE LENGTH" and a NUL (probe.c). */
enum { PERUN_STORED_HEADER_MAX = 96 };
struct perun_stored_header {
    char type[32];
    uint64_t length; /* of the JSON, in characters */
    size_t size;     /* of the header in bytes, including its NUL */
};
/* Parses a header. Returns false, with header->size 0, if the bytes do not begin with a valid one. */
bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header);

struct perun {
    struct pf_sums *sums;              /* from PF_MODELLED on */
    struct pf_input *input;            /* the file, decompressed if it is compressed */
    struct perun_stored_header stored; /* the header before the JSON; size 0: not a stored object */

    struct perun_data data;   /* from PF_PARTITIONED on */
    struct pf_strings *names; /* of metrics and columns, each with its NUL */
    uint32_t header_type;     /* the profile's type, as a string of the tree; PERUN_NONE: absent */

    struct pf_strings *keys; /* string i holds the bytes of metric i's struct perun_metric */
    uint32_t *units;         /* for each metric: the first unit found after its amounts, or PERUN_NONE */
    size_t units_room;
    struct pf_metric *metrics;
    struct pf_ids taken;         /* addresses of the names of metrics, while the names are made */
    struct perun_points *points; /* NULL: the file has no models */

    struct pf_column *resource_columns; /* room for PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST */
    unsigned last_columns;              /* index of the first column after the columns of fields */
    struct pf_table tables[PERUN_TABLES];
    struct pf_model_extra extra;
};

/* Loads stage PF_MODELLED as the body of a run: makes sums, metrics and points from the rows (metrics.c). `arg` is a struct perun. */
void perun_load_model(struct pf_run *run, void *arg);
/* Frees everything that perun_load_model made. */
void perun_drop_model(struct perun *perun);

/* Makes the columns of resources.csv from the fields (rows.c). */
void perun_make_columns(struct perun *perun);

/* Returns `own`, the type of a resource, or the header's type if `own` is PERUN_NONE. */
static inline uint32_t perun_type_of(const struct perun *perun, uint32_t own)
{
    return own != PERUN_NONE ? own : perun->header_type;
}

/*
 * Returns the concatenation of `before` and the first `size` bytes of `text` (or those before a NUL), owned by the profile. Equal names
 * have equal addresses.
 */
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
    bool has_b, has_b2; /* has_b: b[0] and b[1] are known; has_b2: b[2] is known */
    double b[3], x_start, x_end;
    uint64_t values,
        n_values; /* n_values values of buckets or points, from index `values` of data->model_values on */
};

/*
 * Collect the points of all models (points.c). perun_points_begin allocates perun->points, perun_points_add adds the points of a row,
 * perun_points_finish sorts them. The caller frees perun->points, also after a failure. If there are no models, all are no-ops.
 */
void perun_points_begin(struct perun *perun);
void perun_points_add(struct pf_run *run, struct perun_points *points, const struct perun_walk *walk);
void perun_points_finish(struct pf_run *run, struct perun_points *points);
void perun_points_free(struct perun_points *points);

/* The number of columns of models.csv and of points.csv, and these columns. */
enum { PERUN_MODEL_COLUMNS = 12, PERUN_POINT_COLUMNS = 4 };
extern const struct pf_column perun_model_columns[PERUN_MODEL_COLUMNS],
    perun_point_columns[PERUN_POINT_COLUMNS];

#endif
