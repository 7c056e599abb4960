/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_TABLES_H
#define PF_AFPERF_TABLES_H

#include "formats/afperf/model.h"
#include "formats/driver.h"

/* The tables that are walked through, then those that are held in rows. */
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
};

static inline const struct afperf_model *afperf_model(const struct pf_model *model)
{
    return ((const struct afperf_state *)model->state)->model;
}

/* Each file has the columns of its tables beside what fills them, in the same order. */
#define AFPERF_COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list

extern const struct pf_table afperf_values_table, afperf_trace_table, afperf_measurements_table,
    afperf_regions_table, afperf_intervals_table, afperf_tags_table;

/* The short tables: name and columns of each, from TYPES on; and the runs' own columns. */
extern const struct pf_table afperf_short_tables[TABLES - WALKED];
extern const struct pf_column afperf_run_columns[];
extern const size_t afperf_n_run_columns;

/* Hands a model's runs, contexts, short tables and warnings to its profile. 0; -1 with *error filled: the model is as it was. */
int afperf_publish(struct afperf_model *model, struct pf_model *profile, struct pf_error *error);

/* An id as text in hexadecimal, in `text` of AFPERF_HEX bytes; absent if it is not given. */
struct pf_cell afperf_id_cell(bool given, uint64_t id, char *text);

/* A string of the model; absent if it is empty. */
struct pf_cell afperf_text_cell(const struct afperf_model *model, uint32_t string);

/* A number that may need more than 64 bits, and none below 0. */
static inline struct pf_cell afperf_wide_cell(const pf_int128 *value)
{
    return *value <= UINT64_MAX ? pf_uint((uint64_t)*value) : pf_wide(value);
}

/*
 * The tags of a region as its start record has them, read from the file: borrowed from the reader. 0, or -1 with *error
 * filled.
 */
int afperf_region_tags(struct afperf_reader *reader, const struct afperf_span *region,
                       struct afperf_text *tags, struct pf_error *error);

#endif
