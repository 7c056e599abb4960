/* SPDX-License-Identifier: MIT */
#ifndef PF_SERIES_H
#define PF_SERIES_H

#include "fs/sums/order.h"

/*
 * One metric in several runs, by name: the value of each function or call path in each run, and its change. Runs are
 * added in order. A run can be freed once it is added: the series holds the names of all runs in memory and passes their
 * values through an external sorter. Times are converted to ns. Not thread-safe.
 */
struct pf_run_series;

enum pf_series_by { PF_SERIES_FUNCTIONS, PF_SERIES_CONTEXTS };

/* Creates a series for at most `runs` (> 0) runs, all of which have the metric. Sorting uses at most `limit` bytes of memory.
 * Returns NULL if out of memory. */
struct pf_run_series *pf_series_new(unsigned runs, uint64_t limit);
void pf_series_free(struct pf_run_series *series);

/*
 * Adds the values of run `run`; runs must be added in ascending order. PF_SERIES_FUNCTIONS: the exclusive values of
 * functions.csv (inclusive ones if over_contexts is PF_OVER_ROOTS), summed over functions with the same name.
 * PF_SERIES_CONTEXTS: the sums of contexts.csv, by call path. Returns 0, or -1 with *error filled.
 */
int pf_series_add(struct pf_run_series *series, unsigned run, struct pf_aggregate *aggregate, unsigned metric,
                  enum pf_series_by by, struct pf_error *error);

/* An optional number: an exact integer or a double. */
struct pf_optional_number {
    bool present, real;
    union pf_number value;
};

/* The values of one name in all runs. */
struct pf_change {
    struct pf_cell name;
    const struct pf_optional_number *values; /* one per run */
    /* One per run, for functions only: the inclusive values if `values` are exclusive, or vice versa. */
    const struct pf_optional_number *others;
    struct pf_optional_number first, last;            /* of the first and the last run */
    struct pf_optional_number change;                 /* last - first; an absent value counts as 0 */
    struct pf_optional_number percent;                /* change in percent of |first|; absent if first is 0 */
    struct pf_optional_number min, mean, max, stddev; /* over the runs that have a value */
    unsigned runs; /* runs that have a value; 0: only `others` has values */
    int since;     /* the first run after a step of the values (see pf_find_step); -1: there is none */
};

/* Reads the values of the next name, in order of first appearance. Returns 1 with *change filled, which is valid until the next
 * call; 0 at the end; -1 with *error filled. */
int pf_series_next(struct pf_run_series *series, struct pf_change *change, struct pf_error *error);

/*
 * Finds a step in n finite values: splits them so that the sum of squared deviations from the two sides' means is
 * minimal. Returns the first index of the right side if the step between the means exceeds three times the standard
 * deviation of the residuals and 1 % of the overall mean; otherwise, or if n < 4, -1.
 */
int pf_find_step(const double *values, unsigned n);

double pf_optional_double(const struct pf_optional_number *number);
/* Converts a number to a cell, which is absent if the number is, and may point into the number. */
struct pf_cell pf_optional_cell(const struct pf_optional_number *number);

/* Returns the factor that converts the metric's values: ns per unit if the unit is a time, otherwise 1. */
int64_t pf_series_factor(const struct pf_metric *metric);

/* Returns the unit of values after multiplication by pf_series_factor, which is `ns` for all units of time. */
const char *pf_series_unit(const char *unit);

/* Returns true if the two metrics have the same name and, after times are converted to ns, the same unit. */
bool pf_comparable(const struct pf_metric *a, const struct pf_metric *b);

#endif
