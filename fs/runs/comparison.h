/* SPDX-License-Identifier: MIT */
#ifndef PF_RUNS_COMPARISON_H
#define PF_RUNS_COMPARISON_H

#include "fs/runs/run_list.h"

/*
 * Comparisons of the runs of a folder of SOURCE. All functions must be called on the thread of a pass; the passes over the runs
 * are part of that pass. Each function returns 0, or -1 with *error filled and nothing to free. The header is private to this
 * folder.
 */

/* A metric that two or more runs have. */
struct pf_shared_metric {
    char *name, *unit, *dir;
    unsigned runs;    /* number of runs that have it */
    unsigned primary; /* number of runs of which it is the primary metric */
    unsigned last;    /* index of the last run that has it */
};

/* The shared metrics of a folder's runs. */
struct pf_shared_metrics {
    struct pf_shared_metric *metrics;
    size_t n;
    int primary;     /* index, -1 if there are no metrics */
    bool is_private; /* not all users may read all files that the runs have used so far */
};
int pf_shared_metrics_find(struct pf_fs *fs, const struct pf_run_list *list, struct pf_shared_metrics *shared,
                           struct pf_error *error);
void pf_shared_metrics_free(struct pf_shared_metrics *shared);

/* Appends the text of profiles_summary.csv. Sets *is_private to true if not all users may read all files that the text is made
 * from. */
int pf_runs_summary(struct pf_fs *fs, const struct pf_run_list *list, struct pf_buf *out, bool *is_private,
                    struct pf_error *error);

/* The texts that compare one metric. */
enum pf_runs_text {
    PF_RUNS_FUNCTIONS,
    PF_RUNS_VALUES,
    PF_RUNS_CONTEXTS,
    PF_RUNS_CHANGES,
    PF_RUNS_PICTURE,
    PF_RUNS_TEXTS
};
struct pf_runs_texts {
    struct pf_store *text[PF_RUNS_TEXTS]; /* flushed (see pf_store_flush); NULL: not made */
    bool is_private;
};
int pf_runs_compare(struct pf_fs *fs, const struct pf_run_list *list, const struct pf_shared_metric *metric,
                    struct pf_runs_texts *texts, struct pf_error *error);

#endif
