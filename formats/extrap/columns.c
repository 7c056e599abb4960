/* SPDX-License-Identifier: MIT */
#include "formats/extrap/columns.h"

/* The columns point and PARAMETERS, then `rest`. Returns how many columns there are. */
static size_t fill(struct pf_column *columns, const struct pf_experiment *experiment,
                   const struct pf_column *rest, size_t n_rest)
{
    unsigned parameters = pf_experiment_parameters(experiment);
    columns[0] = (struct pf_column){"point", PF_PARTITION, 0};
    for (unsigned i = 0; i < parameters; i++)
        columns[1 + i] = (struct pf_column){pf_experiment_parameter(experiment, i), PF_PARTITION_FIELD, i};
    memcpy(columns + 1 + parameters, rest, n_rest * sizeof *rest);
    return 1 + parameters + n_rest;
}

static const struct pf_column value_columns[] = {
    {"repetition", PF_PLAIN, 0}, {"context", PF_CONTEXT, 0},   {"metric", PF_METRIC, 0},
    {"value", PF_PLAIN, 0},      {"name", PF_CONTEXT_NAME, 0},
};
static const struct pf_column statistics_columns[] = {
    {"context", PF_CONTEXT, 0}, {"metric", PF_METRIC, 0}, {"repetitions", PF_PLAIN, 0},
    {"mean", PF_PLAIN, 0},      {"median", PF_PLAIN, 0},  {"min", PF_PLAIN, 0},
    {"max", PF_PLAIN, 0},       {"std", PF_PLAIN, 0},     {"name", PF_CONTEXT_NAME, 0},
};
enum { MEAN = 3 }; /* in statistics_columns */

void pf_experiment_tables(const struct pf_experiment *experiment, struct pf_experiment_tables *tables,
                          const struct pf_cursor_ops *values, const struct pf_cursor_ops *statistics,
                          struct pf_profile *profile)
{
    tables->parameters = pf_experiment_parameters(experiment);
    size_t n_values =
        fill(tables->values, experiment, value_columns, sizeof value_columns / sizeof *value_columns);
    size_t n_statistics = fill(tables->statistics, experiment, statistics_columns,
                               sizeof statistics_columns / sizeof *statistics_columns);
    tables->tables[PF_VALUES_TABLE] = (struct pf_table){.name = "values",
                                                        .columns = tables->values,
                                                        .n_columns = n_values,
                                                        .stage = PF_MODELLED,
                                                        .flags = PF_SEEKS_CONTEXT,
                                                        .ops = values,
                                                        .user = PF_VALUES_TABLE};
    tables->tables[PF_STATISTICS_TABLE] = (struct pf_table){.name = "statistics",
                                                            .columns = tables->statistics,
                                                            .n_columns = n_statistics,
                                                            .stage = PF_MODELLED,
                                                            .flags = PF_SEEKS_CONTEXT,
                                                            .ops = statistics,
                                                            .user = PF_STATISTICS_TABLE};
    tables->tables[PF_CELLS_TABLE] = tables->tables[PF_STATISTICS_TABLE];
    tables->tables[PF_CELLS_TABLE].name = "cells";
    tables->tables[PF_CELLS_TABLE].user = PF_CELLS_TABLE;
    profile->tables = tables->tables;
    profile->n_tables = PF_EXPERIMENT_TABLES;
    profile->cells = &tables->tables[PF_CELLS_TABLE];
    profile->cells_value = 1 + tables->parameters + MEAN;
}

void pf_statistics_cells(struct pf_cell *cells, unsigned parameters, uint32_t point,
                         const struct pf_series *series, const struct pf_statistics *statistics)
{
    cells[0] = pf_int(point);
    cells += 1 + parameters;
    cells[0] = pf_int(series->context);
    cells[1] = pf_int(series->metric);
    cells[2] = pf_uint(statistics->count);
    cells[3] = pf_double(statistics->mean);
    cells[4] = statistics->has_median ? pf_double(statistics->median) : pf_absent();
    cells[5] = pf_double(statistics->min);
    cells[6] = pf_double(statistics->max);
    cells[7] = pf_double(statistics->std);
}
