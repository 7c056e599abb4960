/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_STACKS_H
#define PF_PPROF_STACKS_H

#include "formats/pprof/labels.h"
#include "formats/pprof/tables.h"

/* The samples: their stacks as contexts, their values, what their labels tell of threads and else. */
struct pprof_stacks;

/* The tables are resolved; labels are added. NULL with *error filled. */
struct pprof_stacks *pprof_stacks_new(struct pprof_tables *tables, struct pprof_labels *labels,
                                      struct pf_error *error);
void pprof_stacks_free(struct pprof_stacks *stacks);

/* Takes the field of a sample. 0; 1: no further one is to be taken; -1 with *error filled. */
int pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field, struct pf_error *error);

#endif
