/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SUMMARY_H
#define PF_EXTRAP_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/sums.h"

/*
 * Statistics over the repetitions of one (call path, metric, point), as Extra-P computes them: deviation of
 * the population, the median of an even number is the mean of the two in the middle. One nan makes all nan.
 */
struct pf_statistics {
    uint64_t count; /* not zero */
    double mean, median, min, max, std;
    bool has_median; /* false beyond PF_SUMMARY_HELD values */
};

/* Values held for the median: 64 MB. */
#define PF_SUMMARY_HELD ((size_t)8 << 20)

struct pf_summary {
    uint64_t count;
    struct pf_total total;
    double running, squares; /* mean so far, and sum of squared differences from it */
    double min, max;
    bool nan;
    double *held; /* the first values; owned */
    size_t room;
};

/* Starts anew, keeping the memory. A summary that is all zero is ready too. */
void pf_summary_reset(struct pf_summary *summary);
void pf_summary_free(struct pf_summary *summary);

int pf_summary_add(struct pf_summary *summary, double value, struct pf_error *error);

/* The sum of what was added. */
double pf_summary_sum(const struct pf_summary *summary);

/* The statistics of what was added (count > 0); reorders what is held. */
struct pf_statistics pf_summary_get(struct pf_summary *summary);

#endif
