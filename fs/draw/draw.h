/* SPDX-License-Identifier: MIT */
#ifndef PF_DRAW_H
#define PF_DRAW_H

#include "fs/sums/aggregate.h"

/*
 * Pictures of a profile, as SVG: they need nothing but a viewer, and say what they show without a script, too. Each is a
 * walk over its text, which borrows the profile (and aggregate) and is freed by its close; NULL with *error filled. Any
 * number may run side by side.
 */

/* Bytes that a picture takes at most. */
enum { PF_PICTURE_MAX = 2000000 };

/*
 * The flame graph of a metric: positive exclusive values of each subtree, roots on top. Frames narrower than 1/2000 are
 * drawn as one; where that makes too large a picture, wider ones too.
 */
struct pf_lines *pf_flame_lines(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                struct pf_error *error);

/* The table that a profile's time line is: "trace", by partition and time. NULL: it has none. */
const struct pf_table *pf_timeline_table(const struct pf_model *model);

/* Threads over time: how deep their stacks are, in shades. Goes through the table "trace" twice. */
struct pf_lines *pf_timeline_lines(struct pf_model *model, struct pf_error *error);

/* The table "scaling" of a profile's metrics, with a column for each point. NULL: it has none. */
const struct pf_table *pf_scaling_table(const struct pf_model *model);

/* How the contexts that hold the most of a metric grow with the points, logarithmic both ways. */
struct pf_lines *pf_scaling_lines(struct pf_model *model, unsigned metric, struct pf_error *error);

/*
 * The functions of several runs, each a line: those that hold or change the most. Title, unit and the runs' names are borrowed
 * for its life. NULL with *error filled. For one thread.
 */
struct pf_runs_picture;
struct pf_runs_picture *pf_runs_picture_new(const char *title, const char *unit, const char *const *runs,
                                            size_t n, struct pf_error *error);
void pf_runs_picture_free(struct pf_runs_picture *picture);

/* Offers a function: what it holds in each run, nan where it is not there. 0, or -1 with *error filled. */
int pf_runs_picture_add(struct pf_runs_picture *picture, const struct pf_cell *name, const double *values,
                        struct pf_error *error);

/* Appends the picture, once all are offered. */
void pf_runs_picture_draw(struct pf_runs_picture *picture, struct pf_buf *out);

#endif
