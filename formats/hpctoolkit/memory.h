/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_MEMORY_H
#define PF_HPC_MEMORY_H

#include "formats/kit/error.h"

/* As pf_fail_memory, but compilers and analysers see that it is -1. */
static inline int hpc_fail_memory(struct pf_error *error)
{
    pf_fail_memory(error);
    return -1;
}

#endif
