/* SPDX-License-Identifier: MIT */
#ifndef PF_EXPORT_H
#define PF_EXPORT_H

#include "fs/sums/aggregate.h"

/* True if pf_pprof_walk exports at least one metric. pprof rejects a profile that has no sample type. */
bool pf_pprof_has_samples(const struct pf_model *model);

/*
 * Exports a profile for pprof (profile.proto, uncompressed): one sample per calling context with values, summed over all
 * partitions, and one sample type per metric that adds up over contexts and partitions. Inclusive metrics are omitted,
 * since pprof derives their values.
 *
 * Values are integers in the units of folded stacks (see folded.h); a value beyond 64 bits is clamped. The primary
 * metric, if exported, is the default sample type. The walk borrows the aggregate. Returns NULL with *error filled on failure.
 */
struct pf_walk *pf_pprof_walk(struct pf_aggregate *aggregate, struct pf_error *error);

/* Returns the number of contexts whose value of a metric is clamped to 64 bits in the pprof export. */
uint64_t pf_pprof_saturated(const struct pf_aggregate *aggregate, unsigned metric);

/*
 * Exports a timeline table (see pf_timeline_table) in Chrome's Trace Event Format, which Perfetto and speedscope read. Each
 * partition becomes a thread; times are in microseconds with three decimals. The table's columns determine what a row is:
 *
 * `duration`  a span (event X), or an instant if the cell is empty
 * `event`     the begin (`enter...`, `...start`) or end (`exit...`, `tail-exit...`, `...stop`) of a call: events B and E. The
 *             end of a call also ends the calls nested in it; an end without a begin is ignored. Other rows are instants
 * neither     a state that lasts until the thread's next row
 *
 * The walk borrows the model. Returns NULL with *error filled on failure.
 */
struct pf_walk *pf_trace_json_walk(struct pf_model *model, const struct pf_table *table,
                                   struct pf_error *error);

#endif
