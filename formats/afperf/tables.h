/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_TABLES_H
#define PF_AFPERF_TABLES_H

#include "formats/afperf/model.h"
#include "formats/driver.h"
#include "formats/driver_extra.h"

/* The tables: first those with cursors of their own, then those held in rows. */
enum afperf_table {
    VALUES,
    TRACE,
    MEASUREMENTS,
    REGIONS,
    INTERVALS,
    TAGS,
    WALKED,
    TYPES = WALKED,
    SECTIONS,
    PAUSES,
    TABLES
};

/* The driver's state of a profile. */
struct afperf_state {
    struct pf_input *input;
    struct afperf_model *model; /* NULL before the pass */
    struct pf_rows *rows[TABLES - WALKED];
    struct pf_table tables[TABLES];
    struct pf_model_extra extra;
};

static inline const struct afperf_model *afperf_model(const struct pf_model *model)
{
    return ((const struct afperf_state *)model->state)->model;
}

/*
 * Columns and count for a table's initializer. Each source file lists its columns next to the code that fills them, in
 * the same order.
 */
#define AFPERF_COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list

extern const struct pf_table afperf_values_table, afperf_trace_table, afperf_measurements_table,
    afperf_regions_table, afperf_intervals_table, afperf_tags_table;

/* Name and columns of each table held in rows, from TYPES on; and the columns of runs. */
extern const struct pf_table afperf_short_tables[TABLES - WALKED];
extern const struct pf_column afperf_run_columns[];
extern const size_t afperf_n_run_columns;

/*
 * Moves a model's runs, contexts, short tables and warnings to its profile. Returns 0; or -1 with *error filled, and
 * the model unchanged.
 */
int afperf_publish(struct afperf_model *model, struct pf_model *profile, struct pf_error *error);

/* Formats an id in hexadecimal into `text`, of AFPERF_HEX bytes; absent if not given. */
struct pf_cell afperf_id_cell(bool given, uint64_t id, char *text);

/* Returns a string of the model; absent if empty. */
struct pf_cell afperf_text_cell(const struct afperf_model *model, uint32_t string);

/* Returns a non-negative number that may exceed 64 bits; borrows *value in that case. */
static inline struct pf_cell afperf_wide_cell(const pf_int128 *value)
{
    return *value <= UINT64_MAX ? pf_uint((uint64_t)*value) : pf_wide(value);
}

/*
 * Reads the tags of a region's start record from the file. *tags is borrowed from the reader. Returns 0, or -1 with
 * *error filled.
 */
int afperf_region_tags(struct afperf_reader *reader, const struct afperf_span *region,
                       struct afperf_text *tags, struct pf_error *error);

#endif
