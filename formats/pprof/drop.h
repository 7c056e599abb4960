/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_DROP_H
#define PF_PPROF_DROP_H

#include "formats/driver.h"

/*
 * Which functions are taken out of stacks with all that they call: those that one expression (drop_frames) matches and another
 * (keep_frames) does not. Both come from the file: time is bounded, and what RE2 would not take is no expression.
 */
struct pprof_drop;

/* Expressions that have a size of 0 are none. *wrong says why nothing is dropped, or is NULL. NULL: nothing is. */
struct pprof_drop *pprof_drop_new(struct pf_cell drop, struct pf_cell keep, const char **wrong);
void pprof_drop_free(struct pprof_drop *drop);

/* True if a function of this name is dropped. */
bool pprof_drops(struct pprof_drop *drop, struct pf_cell name);

/* True if some name took so long that it was not looked at to the end. */
bool pprof_drop_gave_up(const struct pprof_drop *drop);

#endif
