/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_TABLES_H
#define PF_HPC_TABLES_H

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"
#include "formats/runtime/numbered.h"

/* ---- values.c ----------------------------------------------------------------------------------- */

/* Columns of the table "values". Its rows are sorted by thread, then context id, then metric id. */
enum {
    HPC_VALUE_THREAD,
    HPC_VALUE_CONTEXT,
    HPC_VALUE_METRIC,
    HPC_VALUE_VALUE,
    HPC_VALUE_NAME,
    HPC_VALUE_COLUMNS
};
extern const struct pf_numbered hpc_values;

/*
 * An entry is a context with values of one thread (or of the summary). A value's row number is the number of its entry
 * shifted left by HPC_VALUE_BITS, plus the value's index in the entry. Metric ids have 16 bits, so the index fits.
 */
enum { HPC_VALUE_BITS = 16 };

/*
 * Returns the number of the row after `number`. It is the next row of the same entry, which has `rows` rows, or the
 * first row of the next entry.
 */
static inline uint64_t hpc_row_after(uint64_t number, uint64_t rows)
{
    uint64_t entry = number >> HPC_VALUE_BITS, next = (number & ((1 << HPC_VALUE_BITS) - 1)) + 1;
    return next < rows ? number + 1 : (entry + 1) << HPC_VALUE_BITS;
}

/* Columns of the table "trace". */
enum { HPC_TRACE_THREAD, HPC_TRACE_TIME, HPC_TRACE_CONTEXT, HPC_TRACE_NAME, HPC_TRACE_COLUMNS };
extern const struct pf_numbered hpc_trace;

/* ---- summary.c ---------------------------------------------------------------------------------- */

/*
 * Columns of the tables "summary" and "statistics". The latter is computed from the former. Rows are sorted by context id,
 * then in "summary" by metric id, in "statistics" by the metric's row of the table summary_metrics.
 */
enum { HPC_SUM_CONTEXT, HPC_SUM_METRIC, HPC_SUM_VALUE, HPC_SUM_NAME, HPC_SUM_COLUMNS };
extern const struct pf_numbered hpc_summary, hpc_statistics;
extern const struct pf_numbered hpc_old_summary; /* "summary" of 2.x, with rows in the order of the file */

#endif
