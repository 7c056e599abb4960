/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_VALUES_H
#define PF_HPC_VALUES_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * The table "values": thread by thread, in each by ascending context id, in each by ascending metric id, wherever it
 * is read from: a thread's block of profile.db, a context's of cct.db.
 */
enum {
    HPC_VALUES_THREAD,
    HPC_VALUES_CONTEXT,
    HPC_VALUES_METRIC,
    HPC_VALUES_VALUE,
    HPC_VALUES_NAME,
    HPC_VALUES_COLUMNS
};
extern const struct pf_column hpc_values_columns[HPC_VALUES_COLUMNS];
extern const struct pf_cursor_ops hpc_values_cursor,
    hpc_old_values_cursor; /* the latter: of 2.x, by ascending column */

/* The table "summary" (and "statistics", which is computed from it): by ascending context id, then metric id. */
enum { HPC_SUMMARY_CONTEXT, HPC_SUMMARY_METRIC, HPC_SUMMARY_VALUE, HPC_SUMMARY_NAME, HPC_SUMMARY_COLUMNS };
extern const struct pf_column hpc_summary_columns[HPC_SUMMARY_COLUMNS];
extern const struct pf_cursor_ops hpc_summary_cursor, hpc_statistics_cursor;

#endif
