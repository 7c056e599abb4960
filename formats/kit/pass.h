/* SPDX-License-Identifier: MIT */
#ifndef PF_PASS_H
#define PF_PASS_H

#include <stdatomic.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * The state of a pass over data, shared by the threads that run it and the threads that wait for it. A zero-initialized
 * pass has just begun.
 */
struct pf_pass {
    atomic_bool stop;    /* set when no thread waits any more, or at shutdown */
    atomic_bool stepped; /* set by each check; a watcher clears it to see whether checks occur */
    _Atomic uint64_t done, total;
};

/*
 * The current pass is thread-local. Code that runs a pass, or a part of it on another thread, brackets it:
 *
 *     struct pf_pass *before = pf_pass_begin(&pass);
 *     ...
 *     pf_pass_end(before);
 *
 * pf_pass_begin makes `pass` (may be NULL) the calling thread's pass and returns the previous one, which pf_pass_end
 * restores.
 */
struct pf_pass *pf_pass_begin(struct pf_pass *pass);
void pf_pass_end(struct pf_pass *before);
/* The calling thread's pass, or NULL. */
struct pf_pass *pf_pass_now(void);

/*
 * Checks whether the calling thread's pass was cancelled. Returns -1 with ECANCELED in *error if it was; 0 if not, or if
 * there is no pass. After -1, the caller must return in a state in which its own call can be repeated. Costs two relaxed
 * loads.
 *
 * Reading an input, unpacking and sorting include checks, so only loops that do none of these for long need their own.
 */
int pf_pass_check(struct pf_error *error);

/* Reports the progress of the calling thread's pass, `done` of `total` in any unit (total 0: unknown), then calls
 * pf_pass_check and returns its result. */
int pf_pass_step(uint64_t done, uint64_t total, struct pf_error *error);

#endif
