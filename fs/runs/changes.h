/* SPDX-License-Identifier: MIT */
#ifndef PF_CHANGES_H
#define PF_CHANGES_H

#include "fs/runs/series.h"

/* What changed most between the first and the last run, for eyes. For one thread. */
enum { PF_CHANGES_MOST = 20 };

struct pf_kept {
    char *name; /* owned, escaped */
    struct pf_figure first, last, change, percent;
    int since;
};

struct pf_changes {
    struct pf_kept grew[PF_CHANGES_MOST], shrank[PF_CHANGES_MOST]; /* most first */
    size_t n_grew, n_shrank;
    double totals[2]; /* of the first and the last run; 0 where the metric has none */
    bool has_total;
};

/* Notes what a run holds in total. Runs come in order: the first one stays, the last one wins. */
void pf_changes_note_total(struct pf_changes *changes, unsigned run, const struct pf_aggregate *aggregate,
                           unsigned metric);

/* Keeps the change if it is among the largest. *changes is zeroed before the first. 0, or -1 with *error filled. */
int pf_changes_note(struct pf_changes *changes, const struct pf_change *change, struct pf_error *error);

/* Appends two lists, and the totals if there are any; runs[i] is the name of run i. */
void pf_changes_print(const struct pf_changes *changes, const char *const *runs, struct pf_buf *out);
void pf_changes_free(struct pf_changes *changes);

#endif
