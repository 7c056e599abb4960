/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_METRICS_H
#define PF_HPC_METRICS_H

#include "formats/hpctoolkit/hpctoolkit.h"

/* A metric as a database describes it. Strings are kept in the state's. */
struct hpc_metric_facts {
    int64_t id;
    const char *name;   /* as it stands in the database */
    const char *suffix; /* what tells it from others of its name, in brackets behind it; NULL: nothing */
    const char *scope;  /* "" if unknown */
    const char *description;
};

/*
 * Adds a metric of the threads' profiles; its name is made unique. How it adds up follows from its scope:
 * point, function or exclusive, execution or inclusive; others do not. 1: added; 0: its id is taken; -1:
 * *error filled.
 */
int hpc_add_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, struct pf_error *error);

/*
 * Adds a metric of the summary. formula: how the tool computes it, `combine` how it was put together from the
 * threads' (both may be NULL); `computed`: it is not stored but to be evaluated. Results as above.
 */
int hpc_add_summary_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, const char *formula,
                           const char *combine, bool computed, struct pf_error *error);

/* Makes the metrics i and j, one exclusive and one inclusive, each other's partners; or i looks to j alone. */
void hpc_pair_metrics(struct hpc_state *state, size_t exclusive, size_t inclusive, bool both);

/* Says that the metric added last stands in this column of the tables of values. 0, or -1 with *error filled. */
int hpc_set_column(struct hpc_state *state, uint32_t column, struct pf_error *error);

#define HPC_SUMMARY_METRIC_COLUMNS 7
extern const struct pf_column hpc_summary_metric_columns[HPC_SUMMARY_METRIC_COLUMNS];

/* To be called when all metrics are known. 0, or -1 with *error filled. */
int hpc_metrics_finish(struct hpc_state *state, struct pf_error *error);
void hpc_metrics_free(struct hpc_state *state);

#endif
