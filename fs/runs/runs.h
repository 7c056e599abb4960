/* SPDX-License-Identifier: MIT */
#ifndef PF_RUNS_H
#define PF_RUNS_H

#include "fs/tree/vfs.h"

/* The folder runs/, in each folder of SOURCE that has several profiles: tables that compare these profiles. */
extern const struct pf_virtual pf_runs;

#endif
