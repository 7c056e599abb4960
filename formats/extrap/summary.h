/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SUMMARY_H
#define PF_EXTRAP_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/runtime/sums.h"

/*
 * Statistics over the repetitions of one call path, metric and point, as Extra-P computes them. `std` is the population
 * standard deviation. The median of an even number of values is the mean of the middle two. If any value is NaN, all
 * statistics are NaN.
 */
struct pf_statistics {
    uint64_t count; /* not zero */
    double mean, median, min, max, std;
    bool has_median; /* false if there are more than PF_SUMMARY_HELD values */
};

/* Maximum number of values that are held in memory (64 MB) for the median. */
#define PF_SUMMARY_HELD ((size_t)8 << 20)

struct pf_summary {
    uint64_t count;
    struct pf_total total;
    double running, squares; /* running mean, and sum of squared differences from it */
    double min, max;
    bool nan;
    double *held; /* the first values, at most PF_SUMMARY_HELD; owned */
    size_t room;
};

/* Makes the summary empty, and keeps its memory. A zeroed struct is an empty summary. */
void pf_summary_reset(struct pf_summary *summary);
void pf_summary_free(struct pf_summary *summary);

/* Adds a value. Returns 0, or -1 with *error filled. */
int pf_summary_add(struct pf_summary *summary, double value, struct pf_error *error);

/* Returns the sum of the added values. */
double pf_summary_sum(const struct pf_summary *summary);

/* Returns the statistics of the added values, of which there must be at least one. Reorders the held values. */
struct pf_statistics pf_summary_get(struct pf_summary *summary);

#endif
