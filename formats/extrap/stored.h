/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STORED_H
#define PF_EXTRAP_STORED_H

#include "formats/extrap/study.h"
#include "formats/extrap/summary.h"
#include "formats/runtime/numbered.h"

/*
 * Base of the drivers of studies. A driver supplies a function that reads its file into a study; stages, tables and
 * cursors are implemented here. Folders of points build on it (points.h).
 *
 * Tables (values and statistics have one column per parameter after the point, filled by the core):
 *
 *   values      point,PARAMETERS,repetition,context,metric,value,name
 *   statistics  point,PARAMETERS,context,metric,repetitions,mean,median,min,max,std,name
 *   scaling     context,POINTS,name: for one metric, the mean at each point
 *   scaling_total  the same with the sum over a measurement's threads, if the study has threads
 *   models      modeler,context,metric,RSS,rRSS,SMAPE,AR2,RE,function,name
 *
 * Two more tables are internal. cells has one row per (point, context, metric), pooled over all measurements;
 * aggregates are computed from it. If the file has statistics only, cells equals values. totals is like cells, with
 * sums over threads in place of means.
 */
enum {
    PF_VALUES_TABLE,
    PF_STATISTICS_TABLE,
    PF_SCALING_TABLE,
    PF_MODELS_TABLE,
    PF_SCALING_TOTAL_TABLE = PF_MODELS_TABLE, /* studies with threads have no models */
    PF_CELLS_TABLE,
    PF_TOTALS_TABLE,
    PF_STUDY_TABLES
};

/* State of a profile that is a study. */
struct pf_study_profile {
    struct pf_study *study; /* NULL before the pass */
    struct pf_study *head;  /* the parameters, if they are known before the pass; else NULL */
    unsigned parameters;
    bool threads; /* a measurement has one value per thread, shown in the table values */
    struct pf_column values[PF_PARAMETERS_MAX + 7];
    struct pf_column statistics[PF_PARAMETERS_MAX + 10];
    struct pf_column models[10];
    struct pf_table tables[PF_STUDY_TABLES];
};

/* Returns the table that a cursor walks, as a constant of the enum above. */
static inline int pf_study_table_of(const struct pf_cursor *cursor)
{
    const struct pf_study_profile *stored = cursor->model->state;
    return (int)(cursor->table - stored->tables);
}

/* The .kit of a driver. */
struct pf_study_format {
    /* Reads study->input into `study`, which is empty. Damage is noted; any other error ends the run. */
    void (*read)(struct pf_study *study);
    uint64_t
        whole; /* opening reads all of a file of at most this size, in bytes, and about PF_STUDY_HEAD bytes of a larger one */
    bool models; /* the profile has a table of models */
};
#define PF_STUDY_HEAD ((uint64_t)1 << 20)

/* Implement a driver's `open`, `load` and `close`. */
int pf_study_open(struct pf_model *model, struct pf_error *error);
int pf_study_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_study_close(struct pf_model *model);
#define PF_STUDY_OPERATIONS .open = pf_study_open, .load = pf_study_load, .close = pf_study_close

/*
 * Declares the tables of a profile with points, without columns yet. model->state must be zeroed, except for
 * `threads`.
 */
void pf_study_declare(struct pf_model *model, bool models);

/* A study to be read in a run. */
struct pf_study_reading {
    void (*read)(struct pf_run *run,
                 void *reading); /* makes `study` by pf_study_new and hands it to pf_study_made */
    bool head;                   /* the study is a head: only its parameters are needed */
    struct pf_input *input;      /* for `read` */
    struct pf_study *study;
};

/*
 * Runs reading->read, then publishes its study in the profile, or keeps it as the head, and sets the tables' columns.
 * Returns 0, or -1 with *error filled and no new study kept.
 */
int pf_study_read(struct pf_model *model, struct pf_study_reading *reading, struct pf_error *error);

/* Hands a finished study over from the run. */
void pf_study_made(struct pf_study_reading *reading, struct pf_study *study);

/* Publishes a study in the profile, or keeps it as the head, and sets the tables' columns. The profile owns the study. */
void pf_study_adopt(struct pf_model *model, struct pf_study *study, bool head);

/* Fills the cells of a statistics row from `repetitions` on. `cells` begins at the context's cell. */
void pf_statistics_cells(struct pf_cell *cells, const struct pf_statistics *statistics);

/* Cursor operations of values, statistics, cells and totals (rows.c). */
extern const struct pf_numbered pf_study_rows;

#endif
