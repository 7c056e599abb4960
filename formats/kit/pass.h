/* SPDX-License-Identifier: MIT */
#ifndef PF_PASS_H
#define PF_PASS_H

#include <stdatomic.h>
#include <stdint.h>

#include "formats/kit/error.h"

/* A pass over data: what its threads share with those who wait for it. Zeroed: has just begun. */
struct pf_pass {
    atomic_bool stop;    /* set when nobody waits any more */
    atomic_bool stepped; /* set by each check; cleared by those who look whether there are any */
    _Atomic uint64_t done, total;
};

/*
 * A pass is cancelled through its threads. Code that runs a pass, or a part of it on another thread, brackets it:
 *
 *     struct pf_pass *before = pf_pass_enter(&pass);
 *     ...
 *     pf_pass_leave(before);
 *
 * pf_pass_enter makes `pass` (may be NULL) the calling thread's pass and returns the one of before, which pf_pass_leave restores.
 */
struct pf_pass *pf_pass_enter(struct pf_pass *pass);
void pf_pass_leave(struct pf_pass *before);
/* The calling thread's pass; NULL: none. */
struct pf_pass *pf_pass_now(void);

/*
 * Check whether the calling thread's pass is to go on. 0: it is, or there is none. -1 with ECANCELED in *error: give up, and leave
 * everything such that the same call can be made again. Costs two relaxed loads.
 *
 * Reading an input checks, and so do unpacking and sorting: only loops that do none of these for long need checks of their own.
 */
int pf_pass_check(struct pf_error *error);

/* Reports how far the calling thread's pass is: `done` of `total`, in any unit; total 0: unknown. Then pf_pass_check. */
int pf_pass_step(uint64_t done, uint64_t total, struct pf_error *error);

#endif
