/* SPDX-License-Identifier: MIT */
#ifndef PF_AGGREGATE_H
#define PF_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/sums/units.h"
#include "fs/text/walk.h"

/*
 * Aggregates of a profile's values, and the views of them under metrics/. One pass over model->values computes the
 * aggregates of all metrics.
 *
 * Sums follow each metric's over_contexts and over_partitions. Values are added in the table's order, so the text does
 * not depend on scheduling. Integers are added as 128-bit integers, doubles with compensated summation. An aggregate is
 * immutable once made.
 *
 * All aggregates of the process and the orders of their views share a memory budget of options->cache bytes. Sums that
 * exceed the budget spill to mapped unlinked files, but each aggregate may always hold a small share of the budget in memory.
 */
struct pf_aggregate;

/* Aggregates all metrics. Returns NULL with *error filled on failure (ECANCELED if the pass was stopped). The profile
 * must be loaded up to cells->stage and PF_MODELLED. */
struct pf_aggregate *pf_aggregate_new(struct pf_model *model, struct pf_error *error);
/* Like pf_aggregate_new. If the table of values can skip other metrics' data, aggregates only this metric and its
 * partner; all other metrics then seem to have no values. */
struct pf_aggregate *pf_aggregate_of(struct pf_model *model, unsigned metric, struct pf_error *error);
void pf_aggregate_free(struct pf_aggregate *aggregate);

/* Returns the model whose values were aggregated; borrowed by the aggregate. */
const struct pf_model *pf_aggregate_model(const struct pf_aggregate *aggregate);

/* Returns true if the sums of a metric are doubles, false if they are exact integers. */
bool pf_aggregate_is_real(const struct pf_aggregate *aggregate, unsigned metric);

/* Must be called after reading from the aggregate. Returns 0, or -1 with EIO in *error if part of a spilled aggregate cannot
 * be read from disk: all values read from the aggregate are then invalid, and the caller must make a new one. */
int pf_aggregate_check(const struct pf_aggregate *aggregate, struct pf_error *error);

/* Returns true if, since the last call, an aggregate spilled that would fit the budget by itself, or the budget was
 * exceeded when an order was made or released. The caller should then free the aggregates of idle profiles. */
bool pf_budget_was_exceeded(void);

/* True if a pass over one metric's values can skip the data of other metrics (PF_SEEKS_METRIC, PF_SKIMS_METRIC). */
bool pf_aggregate_skips_metrics(const struct pf_model *model);
/* True if such a pass is possible, and aggregating all metrics at once would be slow or would use a large part of the memory
 * budget. The contexts must be loaded. */
bool pf_aggregate_is_large(const struct pf_model *model);

/* Returns the partner of a metric: the inclusive metric of an exclusive one, or vice versa. Returns PF_NO_PARTNER if there is
 * none. The views of a metric need both metrics, so pf_aggregate_of aggregates both. */
int pf_partner_of(const struct pf_model *model, unsigned metric);

/*
 * pf_aggregate_pack appends the serialized aggregate to `out`, for the cache file. Returns false, with `out` unchanged, if
 * that would take more than `limit` bytes.
 *
 * pf_aggregate_unpack deserializes an aggregate for the same profile, loaded up to the same stage. Returns NULL if the
 * bytes do not fit the profile or memory runs out; the caller must then aggregate the values again.
 */
bool pf_aggregate_pack(const struct pf_aggregate *aggregate, uint64_t limit, struct pf_buf *out);
struct pf_aggregate *pf_aggregate_unpack(const struct pf_model *model, const void *bytes, size_t size);

/* True if the metric adds up over contexts and over partitions. */
bool pf_adds_up(const struct pf_metric *metric);

/* Returns the metric's total over contexts and partitions, or an absent cell if the metric does not add up over one of them.
 * The cell may point to *wide, which the caller owns. */
struct pf_cell pf_aggregate_total(const struct pf_aggregate *aggregate, unsigned metric, pf_int128 *wide);

/*
 * True if a function or context has more than 100 % of the metric. Possible causes are values that are negative, have wrapped
 * around or decrease over time, and call cycles in a format without a call tree. The aggregate must contain all metrics. If a
 * metric and its partner both exceed 100 %, true only for the one with the lower index.
 */
bool pf_aggregate_exceeds_total(const struct pf_aggregate *aggregate, unsigned metric);

/* The views of one metric. */
enum pf_metric_view {
    PF_METRIC_CONTEXTS,   /* contexts.csv: context,sum,mean,min,max,stddev,imbalance,count,name */
    PF_METRIC_PARTITIONS, /* threads.csv (points.csv, ...): thread,sum,contexts */
    PF_METRIC_FUNCTIONS,  /* functions.csv: kind,contexts,exclusive,inclusive,the percents,unit,name,file */
    PF_METRIC_MODULES,    /* modules.csv: functions,exclusive,exclusive_percent,unit,module */
    PF_METRIC_FILES,      /* files.csv: functions,exclusive,exclusive_percent,unit,file */
    PF_METRIC_LINES,      /* lines.csv: exclusive,exclusive_percent,unit,line,name,file */
    PF_METRIC_GROUPS,     /* groups.csv: column,partitions,sum,sum_percent,value */
    PF_METRIC_CALLERS,    /* callers.csv: contexts,exclusive,inclusive,caller,callee */
    PF_METRIC_HOT,        /* hot.txt */
    PF_METRIC_TREE,       /* tree.txt */
    PF_METRIC_BOTTOM_UP,  /* bottom_up.txt */
    PF_METRIC_FOLDED,     /* stacks.folded */
    PF_METRIC_VIEWS
};

/* Opens a walk over one view. First gets the order of the view's records (pf_order_get), which may wait for a job. The
 * walk borrows the aggregate, and frees itself on close. Returns NULL with *error filled on failure. Any number of
 * walks may run in parallel. */
struct pf_walk *pf_metric_view_walk(struct pf_aggregate *aggregate, unsigned metric, enum pf_metric_view view,
                                    struct pf_error *error);

/*
 * Returns the index of the primary metric: the one named `metric` if there is one (NULL: no name given), otherwise `time`,
 * otherwise the first exclusive metric with a unit of time, otherwise the first exclusive one, otherwise the first. Metrics that
 * are known to have no values rank last. Returns -1 if there are no metrics.
 */
int pf_primary_metric(const struct pf_metric *metrics, size_t n, const char *metric);

#endif
