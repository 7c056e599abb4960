/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_COLUMNS_H
#define PF_EXTRAP_COLUMNS_H

#include "formats/extrap/experiment.h"
#include "formats/extrap/summary.h"
#include "formats/kit/numbered.h"

/*
 * The tables of an experiment that all formats share. Both of the first have a column a parameter (filled by the
 * core) after the point:
 *
 *   values      point,PARAMETERS,repetition,context,metric,value,name
 *   statistics  point,PARAMETERS,context,metric,repetitions,mean,median,min,max,std,name
 *   scaling     context,POINTS,name: of one metric, the mean at each point
 *   scaling_total  the same with the sum over the threads of a measurement, in experiments that tell threads
 *   models      modeler,context,metric,RSS,rRSS,SMAPE,AR2,RE,function,name
 *
 * Beside these stand two tables that are not listed. cells: like statistics, but with one row a (point, context, metric)
 * whatever the file repeats: aggregates are made from them. If the file has statistics only, it is like values. totals:
 * like cells, with sums over threads in place of means.
 */
enum {
    PF_VALUES_TABLE,
    PF_STATISTICS_TABLE,
    PF_SCALING_TABLE,
    PF_MODELS_TABLE,
    PF_SCALING_TOTAL_TABLE = PF_MODELS_TABLE, /* experiments that tell threads have no models */
    PF_CELLS_TABLE,
    PF_TOTALS_TABLE,
    PF_EXPERIMENT_TABLES
};

struct pf_experiment_tables {
    unsigned parameters;
    bool
        threads; /* measurements have a value a thread, which values tells; to be set before pf_experiment_declare */
    struct pf_column values[PF_PARAMETERS_MAX + 7];
    struct pf_column statistics[PF_PARAMETERS_MAX + 10];
    struct pf_column models[10];
    struct pf_column *scaling; /* owned, with the names of its columns: */
    char *point_names;
    struct pf_table tables[PF_EXPERIMENT_TABLES];
};

/* Makes the tables the profile's, which has points. models: there is such a table. They have no columns yet. */
void pf_experiment_declare(struct pf_experiment_tables *tables, bool models, struct pf_profile *profile);

/*
 * Gives the tables their columns: for the parameters and metrics that the experiment has and the points that the
 * profile has, if any are known yet. Again where these have turned out otherwise. 0, or -1 with *error filled.
 */
int pf_experiment_columns(struct pf_experiment_tables *tables, const struct pf_experiment *experiment,
                          struct pf_profile *profile, struct pf_error *error);
void pf_experiment_tables_free(struct pf_experiment_tables *tables);

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

/* The cell of the thread in a row of values: before the name. */
static inline struct pf_cell *pf_thread_cell(struct pf_cell *cells, unsigned parameters)
{
    return &cells[1 + parameters + 4];
}

/* A row of statistics. */
void pf_statistics_cells(struct pf_cell *cells, unsigned parameters, uint32_t point,
                         const struct pf_series *series, const struct pf_statistics *statistics);

/* Walks values, statistics, cells and totals. (stored_rows.c) */
extern const struct pf_cursor_ops pf_stored_rows;

/* Walks scaling and scaling_total: over cells and totals. (scaling.c) */
extern const struct pf_numbered pf_experiment_scaling;

#endif
