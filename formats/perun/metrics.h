/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_METRICS_H
#define PF_PERUN_METRICS_H

#include "formats/perun/model.h"

/* The metrics found so far, told apart by type, subtype and field. */
struct perun_metrics {
    struct perun_metric *list;
    uint32_t count, room;
    uint32_t *slots, mask; /* hash of the three -> index + 1 */
    bool full;
};

/* As many metrics as there may be; values of further ones are in resources.csv alone. */
#define PERUN_METRICS_MAX 10000u

/* The index of a metric, added if new; PERUN_NONE in *index if there are too many. 0, or -1 with *error filled. */
int perun_metric_of(struct perun_metrics *metrics, uint32_t type, uint32_t subtype, uint32_t field,
                    uint32_t *index, struct pf_error *error);
void perun_metrics_free(struct perun_metrics *metrics);

/* Makes the profile's metrics of these, which it takes over: names, units, and how they add up. */
int perun_describe_metrics(struct perun *perun, struct perun_metrics *metrics, struct pf_error *error);

#endif
