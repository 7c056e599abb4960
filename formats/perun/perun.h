/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_H
#define PF_PERUN_H

#include "formats/driver.h"
#include "formats/json/tree.h"
#include "formats/kit/notes.h"
#include "formats/kit/store.h"
#include "formats/kit/sums.h"
#include "formats/kit/table.h"

/*
 * Perun profiles. One pass reads the JSON, whose regions stand in any order, and leaves behind what stands for resources
 * (rows.c), small and in the order of the file; all tables are made from that.
 *
 *   perun.c      the driver: opening, info.txt, tables
 *   probe.c      recognising
 *   regions.c    the pass: the top level, snapshots and global regions
 *   object.c     one resource, or what the rows of a type share
 *   types.c      types with columns, and how they find what their rows share
 *   paths.c      contexts from trace, uid and command; flat.c: objects as one text
 *   rows.c       resources as they are kept, the walk over them, resources.csv
 *   model.c      snapshots, sums, metrics.c: what the metrics are
 *   models.c     regression models; points.c: their points
 *   properties.c regions without measurements
 */

#define PERUN_NONE UINT32_MAX

/* Fields of one resource, or columns of one type; real ones have at most nine. */
enum { PERUN_VALUES_MAX = 1024 };

/* What is read whole at most: a trace, a model, a region without measurements. */
#define PERUN_WHOLE_MAX ((size_t)16 << 20)

/* ---- text that grows (flat.c) ------------------------------------------------------------------- */

/* Zeroed it is empty. */
struct perun_text {
    char *at; /* owned */
    size_t size, room;
};

/* Appends; a NUL that does not count comes behind it. 0, or -1 with *error filled. */
int perun_add(struct perun_text *text, const char *bytes, size_t size, struct pf_error *error);
int perun_add_cell(struct perun_text *text, const struct pf_cell *cell, struct pf_error *error);
/* Makes room for so many more bytes. */
int perun_reserve(struct perun_text *text, size_t more, struct pf_error *error);
void perun_text_free(struct perun_text *text);

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
    bool reserved; /* called as a column that resources.csv has anyway: only in `other` */
    bool seen;     /* somewhere, with a value */
    bool texts;    /* one of which is a text */
    int column;    /* of resources.csv, or -1: in `other` */
};

/* ---- resources as they are kept (rows.c) -------------------------------------------------------- */

/*
 * An item is what stands for resources: an object, or a type with columns. What the rows of a type share, from
 * resource_type_map, is kept likewise, as an entry. Names are numbers of strings, PERUN_NONE: none.
 */
struct perun_item {
    uint64_t mark; /* pf_siphash_number of its offset: no position that is damaged meets one */
    bool type;
    uint32_t n_values;
    uint64_t rows;       /* of a type */
    uint64_t texts_size; /* bytes of texts behind the values */
    uint32_t snapshot;   /* in data->snapshots */
    uint32_t time;       /* of the region it stands in, in data->times */
    uint32_t kind, subtype, uid, context;
    uint32_t unit; /* that stands beside its amount */
};

/* A field's value. Of a text, cell.u is its offset in the item's texts; of a column, that of its first cell in data->columns. */
struct perun_value {
    uint32_t field;
    struct pf_cell cell;
};

struct perun_snapshot {
    int64_t number;
    uint32_t time; /* in data->times; PERUN_NONE: not known */
};

/* ---- models ------------------------------------------------------------------------------------- */

/* Columns of models.csv. */
enum {
    PERUN_MODEL_ID,
    PERUN_MODEL_R_SQUARE,
    PERUN_MODEL_X_START,
    PERUN_MODEL_X_END,
    PERUN_MODEL_POINTS,
    PERUN_MODEL_STATS,
    PERUN_MODEL_FORMULA,
    PERUN_MODEL_COEFFS,
    PERUN_MODEL_KIND,
    PERUN_MODEL_METHOD,
    PERUN_MODEL_UID,
    PERUN_MODEL_OTHER,
    PERUN_MODEL_COLUMNS
};

enum perun_model_kind {
    PERUN_UNKNOWN_MODEL,
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
    uint32_t uid;              /* in the strings, or PF_NO_STRING */
    uint32_t x_field, y_field; /* what it is of */
    uint8_t kind;              /* enum perun_model_kind */
    bool has_b, has_b2;        /* b[0] and b[1] are known; b[2] is */
    double b[3], x_start, x_end;
    uint64_t values, n_values; /* its buckets or points: place in the store of values, number */
};

/* ---- what the pass leaves behind ---------------------------------------------------------------- */

struct perun_data {
    struct pf_tree *tree;      /* its strings are everybody's */
    struct pf_strings *fields; /* names; field i is string i */
    struct perun_field *field_list;
    size_t fields_room;

    struct pf_store *items, *entries; /* each a struct perun_item, its values, its texts */
    struct pf_store *columns;         /* cells; of a text, cell.u is its offset in column_texts */
    struct pf_store *column_texts;
    struct pf_store *links; /* of each type, in order: 1 + offset of its entry, 0: there is none (64 bits) */
    uint64_t n_items, n_types;

    struct perun_snapshot *snapshots; /* in order of appearance */
    uint32_t n_snapshots;
    size_t snapshots_room;
    struct pf_hash_table snapshot_table;
    struct pf_cell *times; /* texts are strings of the tree */
    uint32_t n_times;
    size_t times_room;
    bool without_snapshot; /* some resource has none */
    uint32_t none_time;    /* the time of the first of these */

    struct pf_rows *properties;  /* key, value */
    size_t properties_text;      /* bytes of these */
    struct pf_rows *models;      /* as models.csv */
    struct pf_rows *model_names; /* id, name: the folders' */
    struct perun_model *model_list;
    size_t n_models, models_room;
    size_t models_text;            /* bytes of their longer texts */
    struct pf_store *model_values; /* doubles */
    struct pf_notes notes;
};

struct perun_data *perun_data_new(uint64_t limit, struct pf_error *error);
void perun_data_free(struct perun_data *data);

/* The field of this name, added if new; PERUN_NONE with *error filled. */
uint32_t perun_field(struct perun_data *data, const char *name, size_t size, struct pf_error *error);

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

/* The value of a property, the last one of its key; absent if there is none. */
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
    PERUN_MANY_FIELDS,
    PERUN_MANY_METRICS,
    PERUN_MANY_MODELS,
    PERUN_MANY_PROPERTIES,
};
extern const struct pf_note_kind perun_problems[];

/* A value as it stands in the file. */
struct perun_raw {
    struct pf_json_token token; /* event PF_JSON_END: there is none. Its text is: */
    char *text;                 /* owned: JSON, or a string's text; ended by a NUL */
    size_t room;
};

struct perun_reading {
    struct perun_data *data;
    struct perun_paths *paths;
    struct pf_json *json;
    struct pf_json_trees *trees;
    struct pf_input *input;
    uint64_t body; /* offset of the JSON in the input */
    struct pf_pass *pass;
    uint64_t stepped;       /* offset of the last pf_pass_step */
    bool has_resources;     /* a region that resources stand in */
    struct pf_sorter *keys; /* of types and entries: see types.c */
    uint64_t n_entries;

    /* The object being read. */
    struct perun_item item;
    struct perun_value *values; /* PERUN_VALUES_MAX */
    struct perun_text texts;
    struct perun_raw trace, uid, command;
    bool has_snapshot; /* it names one */
    int64_t number;    /* of it */
};

/* Reads the profile that json stands before. Damage ends it, with a note; -1 with *error filled for all else. */
int perun_read(struct perun_reading *reading, struct pf_error *error);

/* Tells how far the pass is. To be called at least once in a MB of text. */
int perun_step(struct perun_reading *reading, struct pf_error *error);

/* A note at a token's place. */
#define PERUN_NOTE(reading, token, problem, ...)                                                             \
    pf_note(&(reading)->data->notes, &perun_problems[problem], (int64_t)(token)->line,                       \
            (int64_t)((reading)->body + (token)->offset), __VA_ARGS__)

/* Passes over what is left of a value whose first token was read. */
int perun_leave(struct perun_reading *reading, const struct pf_json_token *token, struct pf_error *error);
/* The same for one that is of a wrong kind: what it is not is noted. */
int perun_wrong_kind(struct perun_reading *reading, const struct pf_json_token *token, const char *what,
                     struct pf_error *error);

/* A new time that is not known yet; PERUN_NONE: *error filled. And its value. */
uint32_t perun_new_time(struct perun_data *data, struct pf_error *error);
int perun_set_time(struct perun_data *data, uint32_t time, struct pf_cell value, struct pf_error *error);
/* The snapshot of this number, added if new; PERUN_NONE: *error filled. */
uint32_t perun_snapshot(struct perun_data *data, int64_t number, struct pf_error *error);

/*
 * A field's value from its token (object.c): an amount as a number where it is one, with or without a unit; absent, with a note,
 * where it is none. Texts are the token's.
 */
struct pf_cell perun_value_of(struct perun_reading *reading, uint32_t field,
                              const struct pf_json_token *token);

/*
 * Reads the members of an object, behind its first token (object.c): one resource, or what all rows of a type share, into
 * reading->item, values and texts. perun_keep puts these into a store; snapshot and time are those of the region it stands
 * in, or PERUN_NONE.
 */
int perun_read_object(struct perun_reading *reading, struct pf_error *error);
int perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t snapshot, uint32_t time,
               struct pf_error *error);

/* The regions `resources` and `resource_type_map`, behind their first token; then each type finds its entry (types.c). */
int perun_read_types(struct perun_reading *reading, struct pf_error *error);
int perun_read_entries(struct perun_reading *reading, struct pf_error *error);
int perun_link_types(struct perun_reading *reading, struct pf_error *error);

/* The next element of a list of models: 1; 0: the list ends; -1: *error filled. Once all are read, the names of folders (models.c). */
int perun_read_model(struct perun_reading *reading, struct pf_error *error);
int perun_name_models(struct perun_data *data, struct pf_error *error);

/* A top-level member that is shown as properties (regions without measurements, scalars of any name), or passed over. */
int perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error);

/* ---- contexts (paths.c) ------------------------------------------------------------------------- */

extern const char *const perun_kinds[];

/* The tree gets what is found. NULL: out of memory. */
struct perun_paths *perun_paths_new(struct pf_tree *tree);
void perun_paths_free(struct perun_paths *paths);

/*
 * The context of a place, and its uid as one text in the tree's strings (PF_NO_STRING: it has none). Places met a short
 * while ago are not read again. 0, or -1 with *error filled: with the place in the file if the text is no JSON.
 */
int perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
               const struct perun_raw *command, uint32_t *context, uint32_t *uid_text,
               struct pf_error *error);

/* Gives the tree what is known of files and lines. After the last path, before the tree is finished. */
void perun_paths_finish(struct perun_paths *paths);

/* What a flattened object says of a place in the source besides (flat.c). */
struct perun_frame {
    uint32_t line;    /* 0: none */
    size_t file_size; /* of its source, with which the text begins; 0: none */
};

/*
 * Appends to `out` what a uid or frame comes to as one text: a scalar itself; an object's values joined by colons in the
 * order of what their keys mean (binary, file, module, class, function, line, instruction, others); a list's joined by
 * commas. Objects and lists in them are left out. 0, or -1 with *error filled.
 */
int perun_flatten(struct json_object *value, struct perun_text *out, struct perun_frame *frame,
                  struct pf_error *error);

/* ---- rows (rows.c) ------------------------------------------------------------------------------ */

/* Goes through all resources in file order. For one thread. */
struct perun_walk {
    const struct perun_data *data;
    struct pf_store_window items, entries, links;
    /* A position: in which item the next row is, how many come before that, which row of all it is, which of the item. */
    struct perun_position {
        uint64_t item, items_over, types_over, number, row;
    } at;
    uint64_t loaded;           /* the item that the following is of; PERUN_NO_ITEM: none */
    uint64_t size, rows;       /* of it, in the store; how many it has */
    struct perun_item item;    /* it; of a type, what its rows share */
    struct perun_value *cells; /* of a row: n_columns, then those shared */
    size_t n_columns, n_cells, cells_room;
    struct perun_text texts, column_texts; /* that cells borrow */
    uint64_t *starts;                      /* of columns, in data->columns */
    struct pf_cell *block;                 /* PERUN_BLOCK rows of each column in turn, */
    uint64_t block_row, block_end;         /* from this one to that */
    size_t starts_room, block_room;
    uint64_t number; /* of the row, from 0 */
};
#define PERUN_NO_ITEM UINT64_MAX
enum { PERUN_BLOCK = 256 };

void perun_walk_open(struct perun_walk *walk, const struct perun_data *data);
void perun_walk_close(struct perun_walk *walk);
/* 1: the next row; 0: no more; -1: *error filled. Cells are valid until the next row. */
int perun_walk_next(struct perun_walk *walk, struct pf_error *error);
/* The value of a field in this row, or NULL. */
const struct pf_cell *perun_walk_cell(const struct perun_walk *walk, uint32_t field);
/* How much lies behind, from 0 to 1. */
double perun_walk_progress(const struct perun_walk *walk);

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
enum { PERUN_R_TYPE, PERUN_R_SUBTYPE, PERUN_R_UID, PERUN_R_OTHER, PERUN_R_LAST };

/* What a metric is of; strings, and a field. */
struct perun_metric {
    uint32_t type, subtype, field;
    uint32_t unit; /* that stood beside the first amount with one, or PERUN_NONE */
};

/* The metrics found so far. */
struct perun_metrics {
    struct perun_metric *list; /* owned */
    size_t room;
    uint32_t count;
    struct pf_hash_table table;
    bool full;
};

struct perun {
    struct pf_sums_state sums; /* first: values' cursor looks here. From PF_MODELLED on */
    struct pf_input *input;    /* the text: of a stored object what it inflates to */
    uint64_t body;             /* where the JSON begins in it */
    bool stored;
    char stored_type[32];
    uint64_t length; /* of the JSON, as the object's header has it */

    struct perun_data *data;             /* from PF_PARTITIONED on */
    struct pf_rows *models, *properties; /* of data */
    struct pf_strings *names;            /* of metrics and columns, each with its NUL */
    uint32_t *order;                     /* of snapshots: index in order of appearance -> partition */
    int64_t all;                         /* the partition of what belongs to no snapshot, or -1 */
    uint32_t header_type;                /* in the strings; PERUN_NONE: none */

    struct perun_metrics keys;
    struct pf_metric *metrics;

    bool others;                        /* resources.csv has a column for fields without one */
    struct pf_column *resource_columns; /* PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST */
    unsigned last_columns;              /* the number of the first one behind the fields' */
    struct pf_table tables[PERUN_TABLES];
};

/* PF_PARTITIONED: the pass over the JSON, the snapshots, and the columns of resources. */
int perun_load_data(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
/* PF_MODELLED: sums and metrics, by a walk over what the first pass has left. */
int perun_load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

void perun_drop_model(struct perun *perun);

/* The type of a row's resource: its own, else the header's. */
static inline uint32_t perun_type_of(const struct perun *perun, uint32_t own)
{
    return own != PERUN_NONE ? own : perun->header_type;
}

/* A text with a NUL that lives as long as the profile; NULL with *error filled. */
const char *perun_name(struct perun *perun, const char *text, size_t size, struct pf_error *error);

/* The index of a metric, added if new; PERUN_NONE in *index if there are too many. 0, or -1 with *error filled. */
int perun_metric_of(struct perun_metrics *metrics, uint32_t type, uint32_t subtype, uint32_t field,
                    uint32_t *index, struct pf_error *error);
/* Makes the profile's metrics of perun->keys: names, units, and how they add up. */
int perun_describe_metrics(struct perun *perun, struct pf_error *error);

void perun_probe(struct pf_probe *probe, struct pf_verdict *verdict);

/* The header of a stored object: "profile TYPE LENGTH" and a NUL (probe.c). */
enum { PERUN_STORED_HEADER_MAX = 96 };
struct perun_stored_header {
    char type[32];
    uint64_t length; /* of the JSON, in characters */
    size_t size;     /* of the header with its NUL */
};
/* True if bytes begin as a stored object; if they begin with a whole header. */
bool perun_is_stored(const unsigned char *bytes, size_t size);
bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header);

extern const struct pf_cursor_ops perun_resources_cursor, perun_points_cursor;

#endif
