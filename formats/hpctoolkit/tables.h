/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_TABLES_H
#define PF_HPC_TABLES_H

#include "formats/hpctoolkit/hpctoolkit.h"

/* Sets the profile's tables, which follow from what the database has: to be called at the end of opening. */
int hpc_set_tables(struct pf_profile *profile, struct pf_error *error);

#endif
