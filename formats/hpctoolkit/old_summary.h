/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_OLD_SUMMARY_H
#define PF_HPC_OLD_SUMMARY_H

#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/store.h"

/*
 * The summary's values of a database of 2.x, which stand among the contexts of experiment.xml: kept as they come, those of
 * a context side by side as they are in the file. In memory up to a limit, in an unlinked file beyond. All zero is empty.
 */
struct hpc_old_summary {
    struct pf_store *values;
    uint64_t count;
    struct hpc_run {
        uint64_t first; /* number of its first value */
        uint32_t count;
    } * runs; /* by context */
    size_t room;
};

/* Adds a value of the summary's metric number `metric`. 1; 0: not behind the context's other values, and left out; -1:
 * *error filled. */
int hpc_old_summary_add(struct hpc_old_summary *summary, uint32_t context, uint32_t metric, double value,
                        struct pf_error *error);
void hpc_old_summary_free(struct hpc_old_summary *summary);

/* The table "summary" of such a database. */
extern const struct pf_cursor_ops hpc_old_summary_cursor;

#endif
