/* SPDX-License-Identifier: MIT */
#ifndef PF_EXPORT_H
#define PF_EXPORT_H

#include "fs/sums/aggregate.h"

/* True if some metric adds up over contexts and partitions. pprof rejects a profile without any type of samples. */
bool pf_pprof_has_samples(const struct pf_model *model);

/*
 * A profile for pprof (profile.proto, not compressed): a sample for each calling context that holds values, over all
 * partitions, and a type of samples for each metric that adds up over contexts and partitions; inclusive ones need none.
 * Values are whole numbers in the units of folded stacks (see pf_folding); one beyond 64 bits is the nearest that fits. The
 * primary metric is the default type. A walk; it borrows profile and aggregate. NULL with *error filled.
 */
struct pf_lines *pf_pprof_lines(struct pf_model *model, struct pf_aggregate *aggregate,
                                struct pf_error *error);

/* The number of contexts whose value of a metric is beyond 64 bits in that profile. */
uint64_t pf_pprof_saturated(const struct pf_model *model, const struct pf_aggregate *aggregate,
                            unsigned metric);

/*
 * A table that is a time line (see pf_timeline_table) in the Trace Event Format of Chrome, which Perfetto and speedscope read:
 * each partition is a thread, times are microseconds with three places. Its columns say what rows are:
 *
 * `duration`    a row is a span, an event X; without a duration it is an instant
 * `event`       rows begin (`enter...`, `...start`) and end calls (`exit...`, `tail-exit...`, `...stop`): events B and E. What ends
 *               ends all that it has called; what has not begun does not end. Other rows are instants
 * none of both  what a row tells lasts until the thread's next row
 *
 * A walk; it borrows the profile. NULL with *error filled.
 */
struct pf_lines *pf_trace_json_lines(struct pf_model *model, const struct pf_table *table,
                                     struct pf_error *error);

#endif
