/* SPDX-License-Identifier: MIT */
#ifndef PF_DRAW_H
#define PF_DRAW_H

#include "fs/sums/aggregate.h"

/*
 * Pictures of a profile, as SVG. The caption of a picture has three lines. The first shows the metric, its unit and its total, the
 * second the format and the command or title, the third how to read the picture or why it is empty. A picture is complete even in
 * viewers without scripts and style sheets. Each function that draws returns a walk over the picture's text, or NULL with *error
 * filled. The walk borrows the model and aggregate; ops->close frees it. Any number of walks may run in parallel.
 */

/* The maximum size of a picture in bytes. */
enum { PF_PICTURE_MAX = 2000000 };

/*
 * The flame graph of a metric, roots on top. The width of a frame is the sum of the positive exclusive values in its subtree. Sibling
 * frames narrower than 1/2000 of the picture are merged into one; if the picture is still too large, wider frames are merged, too.
 */
struct pf_walk *pf_flame_walk(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                              struct pf_error *error);

/* The call graph of a metric for Graphviz, with at most 200 functions. */
struct pf_walk *pf_callgraph_walk(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                  struct pf_error *error);

/* Returns the table "trace", from which the time line is drawn. Returns NULL if the profile has no such table, or if the table has no
 * partition or time column. */
const struct pf_table *pf_timeline_table(const struct pf_model *model);

/* The time line: the stack depth of each thread over time, as shades. Reads the table "trace" twice. */
struct pf_walk *pf_timeline_walk(struct pf_model *model, struct pf_error *error);

/* Returns the table "scaling" of a profile's metrics, with one column per point; NULL if the profile has none. */
const struct pf_table *pf_scaling_table(const struct pf_model *model);

/* A chart of a metric's values over a parameter of the profile's points, with one line for each of the largest contexts. Both axes
 * are logarithmic. */
struct pf_walk *pf_scaling_walk(struct pf_model *model, unsigned metric, struct pf_error *error);

/* The texts of a chart of one metric in several runs. All pointers are borrowed. */
struct pf_runs_caption {
    const char *metric, *unit;
    const char *formats;     /* "collapsed, pprof" */
    const char *const *runs; /* names */
    size_t n;                /* runs */
    const double *totals;    /* of the first and the last run; NULL: the metric has no total */
};

/*
 * A chart of functions over runs. Shows the functions with the largest values or changes, one line each. Borrows *caption until
 * pf_runs_picture_free. pf_runs_picture_new returns NULL with *error filled on failure. Not thread-safe.
 */
struct pf_runs_picture;
struct pf_runs_picture *pf_runs_picture_new(const struct pf_runs_caption *caption, struct pf_error *error);
void pf_runs_picture_free(struct pf_runs_picture *picture);

/* Offers a function for the chart, with its value in each run (nan: no value). Returns 0, or -1 with *error filled. */
int pf_runs_picture_add(struct pf_runs_picture *picture, const struct pf_cell *name, const double *values,
                        struct pf_error *error);

/* Appends the picture, once all functions have been offered. */
void pf_runs_picture_draw(struct pf_runs_picture *picture, struct pf_buf *out);

#endif
