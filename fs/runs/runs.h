/* SPDX-License-Identifier: MIT */
#ifndef PF_RUNS_H
#define PF_RUNS_H

#include "fs/tree/vfs.h"

/* The folder runs/ of each folder of SOURCE that holds several profiles: what these have in common, and how they differ. */
extern const struct pf_virtual pf_runs;

#endif
