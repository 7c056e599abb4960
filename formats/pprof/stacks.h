/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_STACKS_H
#define PF_PPROF_STACKS_H

#include "formats/pprof/tables.h"

/* The samples: their stacks as contexts, their values, what their labels tell of threads and else. */
struct pprof_stacks;

/* The tables are resolved. NULL with *error filled. */
struct pprof_stacks *pprof_stacks_new(struct pprof_tables *tables, struct pf_error *error);
void pprof_stacks_free(struct pprof_stacks *stacks);

/* Takes the field of a sample. 0; 1: no further one is to be taken; -1 with *error filled. */
int pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field, struct pf_error *error);

/* Once all are taken: adds a row for each sum of a thread, a metric and a label. 0, or -1 with *error filled. */
int pprof_stacks_list_labels(struct pprof_stacks *stacks, struct pf_rows *rows, struct pf_error *error);

/* Columns of that table. */
enum {
    PPROF_L_THREAD,
    PPROF_L_METRIC,
    PPROF_L_SUM,
    PPROF_L_UNIT,
    PPROF_L_VALUE,
    PPROF_L_LABEL,
    PPROF_L_COLUMNS
};

#endif
