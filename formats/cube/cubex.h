/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBEX_H
#define PF_CUBEX_H

#include "formats/cube/cube.h"
#include "formats/kit/numbered.h"

/* A .cubex as a profile. */

/* The metrics of a profile that are made of one of the file: indexes, or PF_NO_PARTNER. */
enum { PF_CUBEX_EXCLUSIVE, PF_CUBEX_INCLUSIVE, PF_CUBEX_SIDES };
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
    struct pf_cube_columns columns; /* from PF_DERIVED on */
    struct pf_table tables[PF_CUBEX_TABLES];

    struct pf_metric *metrics;
    uint32_t *metric_of;          /* of the profile -> of the cube */
    struct pf_cubex_sides *sides; /* of the cube -> of the profile */
    struct pf_strings *names;     /* of metrics that are not the cube's own */

    struct pf_blob *blobs;
    const struct pf_cube_member **members; /* of each blob */
};

/*
 * The rows of a table as numbers: metric by metric, call path by call path, location by location, as far as a restriction leaves
 * them. What an element of a metric has is the table's to say.
 */
struct pf_cubex_numbers {
    const struct pf_cubex *cubex;
    uint32_t path_first, paths, location_first, locations;
    uint64_t *first; /* number of each metric, and behind the last one */
    uint32_t metric; /* that the number found last is of, */
    uint32_t path;   /* its call path, */
    uint64_t each;   /* how many an element of that has; */
    uint64_t rest;   /* and its place among the call path's numbers */
};

/* each: how many numbers an element of a metric has; 0: the metric is not wanted. -1 with *error filled; `first` is to be freed. */
int pf_cubex_numbers_init(struct pf_cubex_numbers *numbers, const struct pf_cursor *cursor,
                          uint64_t (*each)(const struct pf_cursor *cursor, uint32_t metric),
                          struct pf_error *error);
void pf_cubex_find_number(struct pf_cubex_numbers *numbers, uint64_t number);

/* The table "values". */
enum { PF_CUBEX_THREAD, PF_CUBEX_CONTEXT, PF_CUBEX_METRIC, PF_CUBEX_VALUE, PF_CUBEX_NAME, PF_CUBEX_COLUMNS };
extern const struct pf_numbered pf_cubex_values;
int pf_cubex_next_values(struct pf_cursor *cursor, struct pf_value_row *row, struct pf_error *error);

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

/* Gives the profile its metrics. (metrics.c) */
int pf_cubex_set_metrics(struct pf_model *model, struct pf_error *error);

/* Sets what is known of the threads' table before they are read: its name and columns. (threads.c) */
void pf_cubex_declare_threads(struct pf_model *model);

/* Gives the profile its threads. (threads.c) */
int pf_cubex_set_threads(struct pf_model *model, struct pf_error *error);

#endif
