/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBEX_H
#define PF_CUBEX_H

#include "formats/cube/cube.h"
#include "formats/driver_extra.h"
#include "formats/runtime/numbered.h"

/* The driver for .cubex files. */

enum { PF_CUBEX_EXCLUSIVE, PF_CUBEX_INCLUSIVE, PF_CUBEX_SIDES };

/* The one or two metrics of the profile that a metric of the file becomes: an index for each side, or PF_NO_PARTNER. */
struct pf_cubex_sides {
    int side[PF_CUBEX_SIDES];
};

enum {
    PF_CUBEX_VALUES,
    PF_CUBEX_COMPONENTS,
    PF_CUBEX_REGIONS,
    PF_CUBEX_SYSTEM,
    PF_CUBEX_ATTRIBUTES,
    PF_CUBEX_TABLES
};

struct pf_cubex {
    struct pf_cube cube;
    struct pf_cube_columns columns; /* valid from PF_DERIVED on */
    struct pf_table tables[PF_CUBEX_TABLES];

    struct pf_metric *metrics;
    uint32_t *metric_of;          /* metric of the profile -> metric of the cube */
    struct pf_cubex_sides *sides; /* metric of the cube -> metrics of the profile */
    struct pf_strings *names;     /* names of the profile's metrics */

    struct pf_blob *blobs;
    const struct pf_cube_member **members; /* the member of each blob */
    struct pf_model_extra extra;
};

/*
 * Numbers for the rows of a table, by metric, call path and location. Only items within the cursor's restriction get
 * numbers. An element (a metric's value for a call path and location) gets one number for each row that it may have.
 */
struct pf_cubex_numbers {
    const struct pf_cubex *cubex;
    uint32_t path_first, paths, location_first, locations; /* first item and number of items per axis */
    uint64_t *first; /* the first number of each metric; one more item holds the total */
    /* Set by pf_cubex_find_number: */
    uint32_t metric;
    uint32_t path;
    uint64_t each; /* numbers per element of the metric */
    uint64_t rest; /* the number, counted from the first one of its metric and call path */
};

/*
 * Initialises the numbering. each() returns how many numbers an element of the cube's metric `metric` gets; 0 if the
 * cursor does not select the metric. Returns 0, or -1 with *error filled. The caller frees numbers->first in either case.
 */
int pf_cubex_numbers_init(struct pf_cubex_numbers *numbers, const struct pf_cursor *cursor,
                          uint64_t (*each)(const struct pf_cursor *cursor, uint32_t metric),
                          struct pf_error *error);
/* Finds the metric and call path of a number, which must be less than the total. */
void pf_cubex_find_number(struct pf_cubex_numbers *numbers, uint64_t number);

/* The table "values". */
enum { PF_CUBEX_THREAD, PF_CUBEX_CONTEXT, PF_CUBEX_METRIC, PF_CUBEX_VALUE, PF_CUBEX_NAME, PF_CUBEX_COLUMNS };
extern const struct pf_numbered pf_cubex_values;

/* The table "components". */
enum {
    PF_CUBEX_PART_THREAD,
    PF_CUBEX_PART_CONTEXT,
    PF_CUBEX_PART_METRIC,
    PF_CUBEX_PART_COMPONENT,
    PF_CUBEX_PART_VALUE,
    PF_CUBEX_PART_NAME,
    PF_CUBEX_PART_COLUMNS
};
extern const struct pf_numbered pf_cubex_components;

/* Sets the profile's metrics. (metrics.c) */
void pf_cubex_set_metrics(struct pf_run *run);

/* Sets the partitions' terms ("thread", "threads") and columns, which do not depend on the file. (threads.c) */
void pf_cubex_declare_threads(struct pf_model *model);

/* Sets the profile's threads. (threads.c) */
void pf_cubex_set_threads(struct pf_run *run);

#endif
