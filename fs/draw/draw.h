/* SPDX-License-Identifier: MIT */
#ifndef PF_DRAW_H
#define PF_DRAW_H

#include "fs/sums/aggregate.h"

/*
 * Pictures of a profile, as SVG. The three lines of a picture's head give metric, unit and total; format and command or title;
 * and how to read the picture, or why it is empty. Pictures need nothing but a viewer: without scripts and style sheets they
 * show everything too. Each is a walk over its text, which borrows the profile (and aggregate) and is freed by its close; NULL
 * with *error filled. Any number may run side by side.
 */

/* The maximum size of a picture in bytes. */
enum { PF_PICTURE_MAX = 2000000 };

/*
 * The flame graph of a metric: positive exclusive values of each subtree, roots on top. Frames narrower than 1/2000 of the
 * picture are merged into one; if the picture is still too large, wider frames are merged, too.
 */
struct pf_lines *pf_flame_lines(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                struct pf_error *error);

/* The call graph of a metric for Graphviz: at most 200 functions. */
struct pf_lines *pf_callgraph_lines(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                    struct pf_error *error);

/* The table that a profile's time line is made from: "trace", by partition and time; NULL if there is no such table. */
const struct pf_table *pf_timeline_table(const struct pf_model *model);

/* Threads over time: the depth of their stacks, in shades. Reads the table "trace" twice. */
struct pf_lines *pf_timeline_lines(struct pf_model *model, struct pf_error *error);

/* The table "scaling" of a profile's metrics, with one column per point; NULL if there is no such table. */
const struct pf_table *pf_scaling_table(const struct pf_model *model);

/* A metric's values over the points, a line for each of the largest contexts; both axes are logarithmic. */
struct pf_lines *pf_scaling_lines(struct pf_model *model, unsigned metric, struct pf_error *error);

/* A metric of several runs. All is borrowed. */
struct pf_runs_head {
    const char *metric, *unit;
    const char *formats;     /* "collapsed, pprof" */
    const char *const *runs; /* names */
    size_t n;                /* runs */
    const double *totals;    /* of the first and the last run; NULL: the metric has no total */
};

/*
 * The functions of several runs, each a line: those that hold or change the most. *head is borrowed until the picture is freed.
 * NULL with *error filled. For one thread.
 */
struct pf_runs_picture;
struct pf_runs_picture *pf_runs_picture_new(const struct pf_runs_head *head, struct pf_error *error);
void pf_runs_picture_free(struct pf_runs_picture *picture);

/* Offers a function and its value in each run, nan where it has none. 0, or -1 with *error filled. */
int pf_runs_picture_add(struct pf_runs_picture *picture, const struct pf_cell *name, const double *values,
                        struct pf_error *error);

/* Appends the picture, once all functions have been offered. */
void pf_runs_picture_draw(struct pf_runs_picture *picture, struct pf_buf *out);

#endif
