/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SUMMARY_H
#define PF_EXTRAP_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/runtime/sums.h"

/*
 * Statistics over the repetitions of one (call path, metric, point), as Extra-P computes them: population standard
 * deviation; the median of an even count is the mean of the middle two. If any value is NaN, all statistics are NaN.
 */
struct pf_statistics {
    uint64_t count; /* not zero */
    double mean, median, min, max, std;
    bool has_median; /* false beyond PF_SUMMARY_HELD values */
};

/* Maximum number of values held for the median: 64 MB. */
#define PF_SUMMARY_HELD ((size_t)8 << 20)

struct pf_summary {
    uint64_t count;
    struct pf_total total;
    double running, squares; /* running mean, and sum of squared differences from it */
    double min, max;
    bool nan;
    double *held; /* the first values; owned */
    size_t room;
};

/* Resets the summary and keeps its memory. A zeroed struct is valid too. */
void pf_summary_reset(struct pf_summary *summary);
void pf_summary_free(struct pf_summary *summary);

int pf_summary_add(struct pf_summary *summary, double value, struct pf_error *error);

/* Returns the sum of the added values. */
double pf_summary_sum(const struct pf_summary *summary);

/* Returns the statistics of the added values (count > 0); reorders the held values. */
struct pf_statistics pf_summary_get(struct pf_summary *summary);

#endif
