/* SPDX-License-Identifier: MIT */
#ifndef PF_EXIT_H
#define PF_EXIT_H

/* Exit statuses of the program. */
enum {
    PF_EXIT_OK = 0,
    PF_EXIT_PROBLEM = 1, /* in the data: a damaged profile, no such file */
    PF_EXIT_USAGE = 2,
    PF_EXIT_SYSTEM = 3, /* out of memory, no FUSE, ... */
};

#endif
