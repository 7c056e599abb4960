/* SPDX-License-Identifier: MIT */
#ifndef PF_EXIT_H
#define PF_EXIT_H

#include <errno.h>

#include "formats/kit/error.h"

/* Exit statuses of the program. */
enum {
    PF_EXIT_OK = 0,
    PF_EXIT_PROBLEM = 1, /* a problem of the data: a damaged profile, no such file */
    PF_EXIT_USAGE = 2,
    PF_EXIT_SYSTEM = 3, /* out of memory, no FUSE, ... */
    PF_EXIT_GREW = 4,   /* `compare --fail`: an entry grew by more than allowed */
};

/* Returns the exit status for an errno value: missing resources and denied access are not problems of the data. */
static inline int pf_exit_of(int code)
{
    return pf_is_out_of_resources(code) || code == EACCES ? PF_EXIT_SYSTEM : PF_EXIT_PROBLEM;
}

#endif
