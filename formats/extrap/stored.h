/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STORED_H
#define PF_EXTRAP_STORED_H

#include "formats/extrap/study.h"
#include "formats/extrap/summary.h"
#include "formats/runtime/numbered.h"

/*
 * Base of the drivers of studies. A driver supplies a function that reads its file into a study. Stages, tables and cursors
 * are implemented here. Drivers for folders of points build on this too (points.h).
 *
 * The tables are as follows. PARAMETERS stands for one column per parameter, which the core fills.
 *
 *   values      point,PARAMETERS,repetition,context,metric,value,name
 *   statistics  point,PARAMETERS,context,metric,repetitions,mean,median,min,max,std,name
 *   scaling     context,POINTS,name (the means of one metric; POINTS stands for one column per point)
 *   scaling_total  as scaling, but with sums over a measurement's threads; only if the study has threads
 *   models      modeler,context,metric,RSS,rRSS,SMAPE,AR2,RE,function,name
 *
 * Two more tables are internal. `cells` has one row per point, context and metric, from all their measurements. Aggregates
 * are computed from it. If the file has only statistics, `cells` equals `values`. `totals` is like `cells`, but its means are
 * those of the sums over threads.
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
    struct pf_study *head;  /* a study of only the head of the file, which has the parameters; NULL: none */
    unsigned parameters;
    bool threads; /* a measurement has one value per thread; the table values shows the thread */
    struct pf_column values[PF_PARAMETERS_MAX + 7];
    struct pf_column statistics[PF_PARAMETERS_MAX + 10];
    struct pf_column models[10];
    struct pf_table tables[PF_STUDY_TABLES];
};

/* Returns the constant of the above enum for the table that a cursor walks. */
static inline int pf_study_table_of(const struct pf_cursor *cursor)
{
    const struct pf_study_profile *stored = cursor->model->state;
    return (int)(cursor->table - stored->tables);
}

/* The .kit of a driver. */
struct pf_study_format {
    /* Reads study->input into `study`, which is empty. Notes damage. Any other error ends the run. */
    void (*read)(struct pf_study *study);
    uint64_t
        whole; /* files of up to this many bytes are read completely when opened, and the head of larger ones */
    bool models; /* the profile has a table of models */
};
#define PF_STUDY_HEAD ((uint64_t)1 << 20) /* approximate size of the head that is read, in bytes */

/* Implement a driver's `open`, `load` and `close`. */
int pf_study_open(struct pf_model *model, struct pf_error *error);
int pf_study_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error);
void pf_study_close(struct pf_model *model);
#define PF_STUDY_OPERATIONS .open = pf_study_open, .load = pf_study_load, .close = pf_study_close

/* Declares the tables of a profile with points, without their columns. model->state must be zeroed, except for `threads`. */
void pf_study_declare(struct pf_model *model, bool models);

/* Arguments and result of pf_study_read. */
struct pf_study_reading {
    void (*read)(struct pf_run *run,
                 void *reading); /* makes `study` by pf_study_new and hands it to pf_study_made */
    bool head;                   /* keep the study as pf_study_profile.head, for its parameters */
    struct pf_input *input;      /* the input that `read` reads; NULL: it uses other sources */
    struct pf_study *study;      /* the study that was made */
};

/* Runs reading->read, then pf_study_adopt for the study that it made. Returns 0, or -1 with *error filled and no new study. */
int pf_study_read(struct pf_model *model, struct pf_study_reading *reading, struct pf_error *error);

/* Takes ownership of a finished study from the run, and stores it in reading->study. */
void pf_study_made(struct pf_study_reading *reading, struct pf_study *study);

/*
 * Publishes a study in the profile or, if `head`, only keeps it for its parameters. Sets the tables' columns. The profile
 * takes ownership of the study.
 */
void pf_study_adopt(struct pf_model *model, struct pf_study *study, bool head);

/* Fills the cells of the columns repetitions to std in a row of statistics. `cells` points to the cell of the column context. */
void pf_statistics_cells(struct pf_cell *cells, const struct pf_statistics *statistics);

/* Cursor operations of values, statistics, cells and totals (rows.c). */
extern const struct pf_numbered pf_study_rows;

#endif
