/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBEX_H
#define PF_CUBEX_H

#include "formats/cube/columns.h"
#include "formats/cube/cube.h"

/* A .cubex as a profile. */

/* The metrics of a profile that are made of one of the file: indexes, or PF_NO_PARTNER. */
struct pf_cubex_sides {
    int side[2]; /* exclusive, inclusive */
};

struct pf_cubex {
    struct pf_cube cube;
    struct pf_cube_columns columns; /* from PF_DERIVED on */

    struct pf_metric *metrics;
    uint32_t *metric_of;          /* of the profile -> of the cube */
    struct pf_cubex_sides *sides; /* of the cube -> of the profile */
    struct pf_strings *names;     /* of metrics that are not the cube's own */

    struct pf_blob *blobs;
    const struct pf_cube_member **members; /* of each blob */

    struct pf_rows *regions, *system;
};

/* The table "values". */
enum { PF_CUBEX_THREAD, PF_CUBEX_CONTEXT, PF_CUBEX_METRIC, PF_CUBEX_VALUE, PF_CUBEX_NAME, PF_CUBEX_COLUMNS };
extern const struct pf_cursor_ops pf_cubex_values;

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
extern const struct pf_cursor_ops pf_cubex_components;

/* Gives the profile its metrics. (metrics.c) */
int pf_cubex_set_metrics(struct pf_profile *profile, struct pf_error *error);

/* Gives the profile its threads; fills regions and system. (tables.c) */
int pf_cubex_set_threads(struct pf_profile *profile, struct pf_error *error);
int pf_cubex_fill_regions(struct pf_cubex *cubex, struct pf_error *error);
int pf_cubex_fill_system(struct pf_cubex *cubex, struct pf_error *error);
enum { PF_CUBEX_REGION_COLUMNS = 10, PF_CUBEX_SYSTEM_COLUMNS = 7 };
extern const struct pf_column pf_cubex_region_columns[PF_CUBEX_REGION_COLUMNS];
extern const struct pf_column pf_cubex_system_columns[PF_CUBEX_SYSTEM_COLUMNS];

#endif
