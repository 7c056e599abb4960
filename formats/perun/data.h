/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_DATA_H
#define PF_PERUN_DATA_H

#include "formats/perun/perun.h"

/*
 * What the pass over the JSON leaves behind. Memory: contexts, snapshots, distinct names; the rest is on tapes:
 *
 *   items    what stands for resources, in file order: an object with its properties, or a type with columns
 *   entries  the properties that all rows of a type share, from resource_type_map
 *   shapes   what many items and entries have in common
 *   keys     of each entry: hash of its key, offset in entries (two 64-bit words)
 *   types    of each type: hash of its key, offset of the key in the file (two 64-bit words)
 *   links    of each type: 1 + offset of its entry, 0 if there is none (a 64-bit word)
 *   columns  the values of the columns of types
 *
 * An item: a byte, PERUN_OBJECT or PERUN_TYPE. After the first: the properties. After the second: rows; start and
 * end of its values in columns; 1 + unit; number of columns; of each its field, its offset from the start, and its sum: all as
 * varints but the sum, which is PERUN_NO_SUM unless each row has a number there.
 *
 * Properties: offset of their shape, 1 + uid (0: none), context, 1 + unit, the values of the shape's fields. A shape: 1 + snapshot,
 * 1 + group, 1 + type, 1 + subtype, number of fields; of each its number. Types and so on are numbers of strings.
 */
enum { PERUN_OBJECT, PERUN_TYPE };

/* The sum of a column: a byte, one of these; then the integers' sum as a value, and those of the doubles. */
enum { PERUN_NO_SUM, PERUN_WHOLE_SUM, PERUN_REAL_SUM };

struct perun_snapshot {
    int64_t number;
    uint32_t group; /* whose time is its time; PERUN_NONE: not known */
    uint32_t order; /* among all, by number */
};

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

struct perun_model {
    uint32_t uid;              /* in the strings, or PF_NO_STRING */
    uint32_t x_field, y_field; /* what it is of; PERUN_NONE: no such field */
    uint8_t kind;              /* enum perun_model_kind */
    bool has_b, has_b2;        /* b[0] and b[1] are known; b[2] is */
    double b[3], x_start, x_end;
    uint64_t values, n_values; /* its buckets or points: place in the store of values, number */
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
    PERUN_KERNEL_REGRESSION
};

struct perun_data {
    struct pf_tree *tree; /* its strings are everybody's */
    struct perun_fields fields;
    struct perun_tape items, entries, shapes, keys, types, links, columns;
    uint64_t n_items, n_types, n_entries;

    struct perun_snapshot *snapshots; /* in order of appearance */
    uint32_t n_snapshots, snapshot_room;
    uint32_t *snapshot_slots; /* number -> snapshot + 1 */
    uint32_t snapshot_mask;
    uint32_t *groups; /* the time of each snapshot or global region: a row of times, or PERUN_NONE */
    uint32_t n_groups, group_room;
    struct pf_rows *times; /* a cell each */
    bool without_snapshot; /* some resource has none */
    uint32_t none_group;   /* the time of the first of these */

    struct pf_rows *properties; /* key, value */
    size_t properties_text;     /* bytes of these in all, and of the longer texts of models */
    size_t models_text;
    struct pf_rows *models;      /* as models.csv */
    struct pf_rows *model_names; /* id, name: the folders' */
    struct perun_model *model_list;
    size_t n_models, model_room;
    struct pf_store *model_values; /* doubles */
    struct perun_notes notes;
};

struct perun_data *perun_data_new(uint64_t limit, struct pf_error *error);
void perun_data_free(struct perun_data *data);

/* The snapshot of this number, added if new: its index in order of appearance; PERUN_NONE: *error filled. */
uint32_t perun_data_snapshot(struct perun_data *data, int64_t number, struct pf_error *error);

/* A new region that has a time, which is not known yet; PERUN_NONE: *error filled. */
uint32_t perun_data_group(struct perun_data *data, struct pf_error *error);
int perun_data_set_time(struct perun_data *data, uint32_t group, const struct pf_cell *time,
                        struct pf_error *error);
/* The time of a group; absent if it has none, or there is no group (PERUN_NONE). */
struct pf_cell perun_data_time(const struct perun_data *data, uint32_t group);

#endif
