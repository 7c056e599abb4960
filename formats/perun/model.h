/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_MODEL_H
#define PF_PERUN_MODEL_H

#include "formats/perun/data.h"
#include "formats/perun/sums.h"

/* Tables of a profile, as indexes of state->tables. */
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

struct perun {
    struct pf_input *input; /* the text: of a stored object what it inflates to */
    uint64_t body;          /* where the JSON begins in it */
    bool stored;
    char stored_type[32];
    uint64_t length; /* of the JSON, as the object's header has it */

    struct pf_rows *models, *properties; /* of data */
    struct perun_data *data;             /* from PF_PARTITIONED on */
    struct pf_strings *names;            /* of metrics and columns */
    uint32_t *order;                     /* of snapshots: index in order of appearance -> partition */
    int64_t all;                         /* the partition of what belongs to no snapshot, or -1 */

    uint32_t header_type;    /* in the strings; PERUN_NONE: none */
    struct perun_sums *sums; /* from PF_MODELLED on */
    struct perun_metric *metric_keys;
    struct pf_metric *metrics;
    size_t n_metrics;

    bool others;                        /* resources.csv has a column for fields without one */
    struct pf_column *resource_columns; /* PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST */
    unsigned last_columns;              /* the number of the first one behind the fields' */
    struct pf_table tables[PERUN_TABLES];
};

/* PF_PARTITIONED: the pass over the JSON, the snapshots, and the columns of resources. */
int perun_load_data(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
/* PF_MODELLED: sums and metrics, by a walk over what the first pass has left. */
int perun_load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

/* The value of a property, the last one of its key; absent if there is none. */
struct pf_cell perun_property(const struct pf_rows *properties, const char *key);

/* The type of a row's resource: its own, else the header's. */
static inline uint32_t perun_type_of(const struct perun *perun, uint32_t own)
{
    return own != PERUN_NONE ? own : perun->header_type;
}

extern const struct pf_cursor_ops perun_values_cursor, perun_resources_cursor, perun_points_cursor;

#endif
