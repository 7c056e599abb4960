/* SPDX-License-Identifier: MIT */
#ifndef PF_CHART_H
#define PF_CHART_H

#include "formats/kit/error.h"
#include "fs/draw/svg.h"
#include "fs/sums/units.h"

/* A chart of lines over points on the x axis. Keeps the CHART_LINES heaviest of all lines offered. Not thread-safe;
 * private to this folder. */
enum { CHART_LINES = 12 };

/* In pixels: the place and size of the plot; CHART_HEIGHT: the height of the whole picture. */
enum {
    CHART_LEFT = 78,
    CHART_TOP = SVG_CAPTION + 26,
    CHART_WIDTH = 640,
    CHART_PLOT = 420,
    CHART_HEIGHT = CHART_TOP + CHART_PLOT + 48
};

struct chart_line {
    char *name; /* owned */
    size_t name_size;
    double weight;
    double *values; /* by point; nan: no value */
};

struct chart {
    size_t points;
    double *xs;                               /* by point: pixels from the left; filled in by the caller */
    struct chart_line lines[CHART_LINES + 1]; /* heaviest first; the last one is under construction */
    size_t count;
    bool logarithmic;       /* the y axis is logarithmic */
    struct pf_scale scale;  /* of the y axis; set by chart_range, like low and high */
    double low, high, step; /* in the unit of `scale`: range, and distance of the rules of a linear axis */
};

/* Begins an empty chart. Returns 0, or -1 with *error filled; the caller must call chart_free in either case. */
int chart_begin(struct chart *chart, size_t points, struct pf_error *error);
void chart_free(struct chart *chart);

/* Returns the values of the line under construction, one per point, which the caller fills. */
double *chart_values(struct chart *chart);

/* Keeps the line under construction if `weight` is positive and among the CHART_LINES largest. Returns 0, or -1 with *error filled. */
int chart_offer_line(struct chart *chart, double weight, const struct pf_cell *name, struct pf_error *error);

/* Chooses unit, range and step of the y axis. The chart must have a line; `unit` is the unit of the lines' values. */
void chart_range(struct chart *chart, const char *unit);

/* Returns the position of a value on the y axis, in pixels from the top. */
double chart_y(const struct chart *chart, double value);

/* Appends a straight line; `style` is its SVG attributes. */
void chart_rule(struct pf_buf *out, double x1, double y1, double x2, double y2, const char *style);

/* Appends a vertical rule at a position of the x axis and, if `label` is true, the start of the rule's label (see svg_label). */
void chart_tick(struct pf_buf *out, double x, bool label);

/* Appends the start of the name of the x axis (see svg_label). */
void chart_label_x_axis(struct pf_buf *out);

/* Appends the y axis, headed by "NAME, UNIT", and the lines with their names to the right of the plot. */
void chart_draw(const struct chart *chart, const char *name, const char *unit, struct pf_buf *out);

#endif
