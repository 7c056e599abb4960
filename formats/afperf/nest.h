/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_NEST_H
#define PF_AFPERF_NEST_H

#include "formats/afperf/log.h"
#include "formats/afperf/model.h"

/* Gives a region, whose parent is known and has been entered, its node. 0, or -1 with *error filled. */
int afperf_enter(struct afperf_model *model, uint32_t number, uint32_t run, struct pf_error *error);

/* Adds a region to its node: its stop and what its children cover are known. 0, or -1 with *error filled. */
int afperf_leave(struct afperf_model *model, uint32_t number, struct pf_error *error);

/* Nests the regions of a run by their times alone. 0, or -1 with *error filled. */
int afperf_nest_by_geometry(struct afperf_model *model, struct afperf_log_reader *timeline, uint32_t run,
                            struct pf_error *error);

#endif
