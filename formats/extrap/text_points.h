/* SPDX-License-Identifier: MIT */
#ifndef PF_XTEXT_POINTS_H
#define PF_XTEXT_POINTS_H

#include "formats/extrap/experiment.h"
#include "formats/input/linereader.h"

/*
 * Reads what follows POINTS: `1 2` are two points of one coordinate, `(1 2)` is one of two, and so is
 * `((1) (2))`, which Extra-P's documentation shows and Extra-P refuses. A line may come in pieces. A number
 * that is none makes a broken point, so that the DATA lines after it still meet their points.
 */
struct pf_xtext_points {
    unsigned depth; /* of open braces */
    unsigned count; /* coordinates of the open point; more than PF_PARAMETERS_MAX are counted, not kept */
    double coordinates[PF_PARAMETERS_MAX];
    bool broken; /* the open point */
    bool inner;  /* inner braces in this line */
    bool lost;   /* the rest of the line is passed over */
};

/* Before the first piece of a line. */
void pf_xtext_points_start(struct pf_xtext_points *points);

/* Adds the points of text[0 .. size), which lies in the piece `line`. 0, or -1 with *error filled. */
int pf_xtext_points_add(struct pf_xtext_points *points, struct pf_experiment *experiment,
                        const struct pf_line *line, const char *text, size_t size, struct pf_error *error);

#endif
