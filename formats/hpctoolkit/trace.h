/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_TRACE_H
#define PF_HPC_TRACE_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * The time line of each thread: samples of a time and the context that the thread was in, both read straight
 * from trace.db (old: *.hpctrace).
 */

/* A sample: u64 time, u32 context; of an old data-centric trace four bytes more. */
enum { HPC_SAMPLE = 12, HPC_SAMPLE_DATA = 16 };

/* Finds each thread's samples in trace.db, if there is one. 0, or -1 with *error filled. */
int hpc_traces_load(struct hpc_state *state, struct hpc_notes *notes, struct pf_pass *pass,
                    struct pf_error *error);

/* Columns of the table "trace". */
enum { HPC_TRACE_THREAD, HPC_TRACE_TIME, HPC_TRACE_CONTEXT, HPC_TRACE_NAME, HPC_TRACE_COLUMNS };
extern const struct pf_column hpc_trace_columns[HPC_TRACE_COLUMNS];
extern const struct pf_cursor_ops hpc_trace_cursor;

#endif
