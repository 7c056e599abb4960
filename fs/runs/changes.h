/* SPDX-License-Identifier: MIT */
#ifndef PF_CHANGES_H
#define PF_CHANGES_H

#include "fs/runs/series.h"

/* The largest increases and decreases between the first and the last run, as readable text. Not thread-safe. */
enum { PF_CHANGES_MOST = 20 };

struct pf_large_change {
    char *name; /* owned, escaped */
    struct pf_optional_number first, last, change, percent;
    int since;
};

struct pf_changes {
    struct pf_large_change grew[PF_CHANGES_MOST], shrank[PF_CHANGES_MOST]; /* largest change first */
    size_t n_grew, n_shrank;
    double totals[2]; /* of the first and the last run; 0 if the metric has no total */
    bool has_total;
};

/* Records the total of a run. Must be called in the order of runs: the first call sets totals[0], and each call sets
 * totals[1]. */
void pf_changes_add_total(struct pf_changes *changes, unsigned run, const struct pf_aggregate *aggregate,
                          unsigned metric);

/* Keeps the change if it is among the largest of its sign. *changes must be zero-initialized. Returns 0, or -1 with *error filled. */
int pf_changes_add(struct pf_changes *changes, const struct pf_change *change, struct pf_error *error);

/* Appends the two lists, and the totals if there are any; runs[i] is the name of run i. */
void pf_changes_print(const struct pf_changes *changes, const char *const *runs, struct pf_buf *out);
void pf_changes_free(struct pf_changes *changes);

#endif
