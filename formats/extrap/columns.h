/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_COLUMNS_H
#define PF_EXTRAP_COLUMNS_H

#include "formats/extrap/experiment.h"
#include "formats/extrap/summary.h"

/*
 * The tables of an experiment that all formats share. Both have a column a parameter (filled by the core)
 * after the point:
 *
 *   values      point,PARAMETERS,repetition,context,metric,value,name
 *   statistics  point,PARAMETERS,context,metric,repetitions,mean,median,min,max,std,name
 *
 * Beside these stands a table that is not listed, like statistics but with one row a (point, context, metric)
 * whatever the file repeats: the cells that aggregates are made from.
 */
enum { PF_VALUES_TABLE, PF_STATISTICS_TABLE, PF_EXPERIMENT_TABLES, PF_CELLS_TABLE = PF_EXPERIMENT_TABLES };

struct pf_experiment_tables {
    unsigned parameters;
    struct pf_column values[PF_PARAMETERS_MAX + 6];
    struct pf_column statistics[PF_PARAMETERS_MAX + 10];
    struct pf_table tables[PF_EXPERIMENT_TABLES + 1]; /* the last: cells, not listed */
};

/* Fills the columns for the parameters that the experiment has, and makes the tables the profile's. */
void pf_experiment_tables(const struct pf_experiment *experiment, struct pf_experiment_tables *tables,
                          const struct pf_cursor_ops *values, const struct pf_cursor_ops *statistics,
                          struct pf_profile *profile);

/* A row of values. */
static inline void pf_value_cells(struct pf_cell *cells, unsigned parameters, uint32_t point,
                                  uint64_t repetition, const struct pf_series *series, double value)
{
    cells[0] = pf_int(point);
    cells += 1 + parameters;
    cells[0] = pf_uint(repetition);
    cells[1] = pf_int(series->context);
    cells[2] = pf_int(series->metric);
    cells[3] = pf_double(value);
}

/* A row of statistics. */
void pf_statistics_cells(struct pf_cell *cells, unsigned parameters, uint32_t point,
                         const struct pf_series *series, const struct pf_statistics *statistics);

#endif
