/* SPDX-License-Identifier: MIT */
#ifndef PF_CHART_H
#define PF_CHART_H

#include "formats/kit/error.h"
#include "fs/draw/svg.h"

/* Lines over some places on an axis: of all that are offered, the few that weigh the most. For one thread. */
enum { CHART_LINES = 12 };

/* Pixels: where the plot is, and how large. */
enum {
    CHART_LEFT = 78,
    CHART_TOP = 56,
    CHART_WIDTH = 640,
    CHART_PLOT = 420,
    CHART_HEIGHT = CHART_TOP + CHART_PLOT + 60
};

struct chart_line {
    char *name; /* owned */
    size_t name_size;
    double weight;
    double *values; /* by place; nan: there is none */
};

struct chart {
    size_t places;
    double *xs;                               /* by place: pixels from the left, which the caller fills in */
    struct chart_line lines[CHART_LINES + 1]; /* the heaviest first; the last one is being made */
    size_t count;
    double low, high; /* of all values in the lines */
    bool logarithmic; /* the axis of values */
};

/* An empty chart of so many places. 0, or -1 with *error filled: chart_free is due in either case. */
int chart_begin(struct chart *chart, size_t places, struct pf_error *error);
void chart_free(struct chart *chart);

/* The values of a line that is being made, to be filled. */
double *chart_values(struct chart *chart);

/* Keeps the line that was made, if it weighs enough. 0, or -1 with *error filled. */
int chart_keep(struct chart *chart, double weight, const struct pf_cell *name, struct pf_error *error);

/* Finds low and high, in whole steps of the axis. There is a line. */
void chart_range(struct chart *chart);

/* Where a value is, in pixels from above. */
double chart_y(const struct chart *chart, double value);

/* A straight line; `style`: attributes. */
void chart_rule(struct pf_buf *out, double x1, double y1, double x2, double y2, const char *style);

/* A rule at a place of the axis, and the beginning of its label (see svg_label). */
void chart_tick(struct pf_buf *out, double x, bool label);

/* The axis of values with its labels, and the lines with their names beside the plot. */
void chart_draw(const struct chart *chart, struct pf_buf *out);

#endif
