/* SPDX-License-Identifier: MIT */
#ifndef PF_PASS_H
#define PF_PASS_H

#include <stdatomic.h>
#include <stdint.h>

/* What a running pass shares with those who wait for it (drivers see it through pf_pass_step). */
struct pf_pass {
    atomic_bool stop;      /* set when nobody waits any more */
    atomic_bool stepped;   /* set by each step; cleared by those who look whether there are any */
    struct pf_pass *outer; /* what this is a part of, and stops with; NULL: nothing */
    _Atomic uint64_t done, total;
};

#endif
