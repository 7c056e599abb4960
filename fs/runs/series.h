/* SPDX-License-Identifier: MIT */
#ifndef PF_SERIES_H
#define PF_SERIES_H

#include "fs/sums/aggregate_private.h"

/*
 * One metric in several runs, name by name: what each function, or each call path, holds in each run, and how that
 * changes. Runs are added in order and are not needed afterwards: the union of their names is held in
 * memory, their values go through the sorter. Times are in ns, whatever the runs have them in. For one thread.
 */
struct pf_series;

enum pf_series_by { PF_SERIES_FUNCTIONS, PF_SERIES_CONTEXTS };

/* For so many runs (> 0) at most, all of which have the metric; limit: bytes that sorting may take. NULL: out of memory. */
struct pf_series *pf_series_new(unsigned runs, uint64_t limit);
void pf_series_free(struct pf_series *series);

/*
 * Adds run `run`, which is none before the last one: by functions what functions.csv has as exclusive value (inclusive if the
 * metric adds up over the roots), functions of one name added up; by contexts what contexts.csv has as sum, by path. 0, or -1 with
 * *error filled.
 */
int pf_series_add(struct pf_series *series, unsigned run, struct pf_aggregate *aggregate, unsigned metric,
                  enum pf_series_by by, struct pf_error *error);

/* A number that may not be there: an exact integer or a double. */
struct pf_figure {
    bool there, real;
    union pf_number number;
};

/* One name. */
struct pf_change {
    struct pf_cell name;
    const struct pf_figure *values; /* one a run */
    /* One a run: of functions the inclusive values where `values` are exclusive, or the reverse. */
    const struct pf_figure *others;
    struct pf_figure first, last;            /* of the first and the last run */
    struct pf_figure change;                 /* last - first, one that is not there being 0 */
    struct pf_figure percent;                /* of the first's magnitude; not there if that is nothing */
    struct pf_figure min, mean, max, stddev; /* over the runs that have a value */
    unsigned runs;                           /* how many have; 0: only `others` are there */
    int since; /* the run at which the best fit of two levels steps; -1: the step is within the noise */
};

/* The next name, in the order in which they came. 1; 0: no more; -1: *error filled. Valid until the next call. */
int pf_series_next(struct pf_series *series, struct pf_change *change, struct pf_error *error);

/*
 * The first index of the right side of the split of n values (n > 3, all finite) whose squared distances from the two
 * sides' means are least, if the step between these is more than three times the standard deviation of what is left, and
 * at least 1 % of the mean of all. -1: it is not.
 */
int pf_step_of(const double *values, unsigned n);

double pf_figure_double(const struct pf_figure *figure);
/* As a cell, absent if it is not there; may point into the figure. */
struct pf_cell pf_figure_cell(const struct pf_figure *figure);

/* ns in one of the metric's unit if that is a time, else 1: what its numbers are multiplied with. */
int64_t pf_series_factor(const struct pf_metric *metric);

/* The unit of what pf_series_factor makes of numbers of this unit: `ns` for any unit of time. */
const char *pf_series_unit(const char *unit);

/* True if numbers of both can be compared: of one name, and of one unit once times are in ns. */
bool pf_comparable(const struct pf_metric *a, const struct pf_metric *b);

#endif
