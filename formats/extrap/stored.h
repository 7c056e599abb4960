/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STORED_H
#define PF_EXTRAP_STORED_H

#include "formats/extrap/study.h"
#include "formats/extrap/summary.h"
#include "formats/kit/numbered.h"

/*
 * Profiles of studies: what their drivers share. A driver supplies a function that reads its file into a study; the rest
 * (stages, tables, cursors) is here. Folders of points have one of their own (points.h).
 *
 * The tables. Both of the first have a column a parameter (filled by the core) after the point:
 *
 *   values      point,PARAMETERS,repetition,context,metric,value,name
 *   statistics  point,PARAMETERS,context,metric,repetitions,mean,median,min,max,std,name
 *   scaling     context,POINTS,name: of one metric, the mean at each point
 *   scaling_total  the same with the sum over the threads of a measurement, in studies that tell threads
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
    PF_SCALING_TOTAL_TABLE = PF_MODELS_TABLE, /* studies that tell threads have no models */
    PF_CELLS_TABLE,
    PF_TOTALS_TABLE,
    PF_STUDY_TABLES
};

/* The state of such a profile. */
struct pf_study_profile {
    struct pf_study *study; /* NULL before the pass */
    struct pf_study *head;  /* the parameters, where these are known before the pass; else NULL */
    unsigned parameters;
    bool threads; /* measurements have a value a thread, which values tells */
    struct pf_column values[PF_PARAMETERS_MAX + 7];
    struct pf_column statistics[PF_PARAMETERS_MAX + 10];
    struct pf_column models[10];
    struct pf_column *scaling; /* owned */
    struct pf_table tables[PF_STUDY_TABLES];
};

/* The table that a cursor walks, as one of the constants above. */
static inline int pf_study_table_of(const struct pf_cursor *cursor)
{
    const struct pf_study_profile *stored = cursor->model->state;
    return (int)(cursor->table - stored->tables);
}

/* What a driver has as its .kit. */
struct pf_stored_format {
    /* Reads study->input into a new study. Damage is noted; all else that is wrong is the study's failure. */
    void (*read)(struct pf_study *study);
    uint64_t
        whole; /* files of at most so many bytes are read when they are opened; of larger ones about PF_STUDY_HEAD are */
    bool models; /* there is a table of them */
};
#define PF_STUDY_HEAD ((uint64_t)1 << 20)

/* The functions of a driver. */
int pf_stored_open(struct pf_model *model, struct pf_error *error);
int pf_stored_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_stored_close(struct pf_model *model);
#define PF_STORED .open = pf_stored_open, .load = pf_stored_load, .close = pf_stored_close

/* Makes the tables the profile's, which has points. They have no columns yet. profile->state: zeroed, but for `threads`. */
void pf_stored_declare(struct pf_model *model, bool models);

/* Keeps a study of which the parameters are known, and gives the tables their columns. 0, or -1 with *error filled. */
int pf_stored_keep_head(struct pf_model *model, struct pf_study *head, struct pf_error *error);

/*
 * Makes a finished study the profile's, which keeps it, and gives the tables their columns. 0; or -1 with *error filled: the study
 * has been freed.
 */
int pf_stored_publish(struct pf_model *model, struct pf_study *study, struct pf_error *error);

/* The cells of a row of statistics from the number of repetitions on; `cells` begin with that of the context. */
void pf_statistics_cells(struct pf_cell *cells, const struct pf_statistics *statistics);

/* Walks values, statistics, cells and totals. (rows.c) */
extern const struct pf_numbered pf_stored_rows;

#endif
