/* SPDX-License-Identifier: MIT */
#ifndef PF_SPILL_GUARD_H
#define PF_SPILL_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Mapped temporary files on a disk that fails. Touching a page that cannot be read raises SIGBUS, which ends the process. For a
 * guarded mapping the handler sets *lost and puts zeroed memory in the mapping's place, so that the code that touched it goes on. Who
 * reads a guarded mapping must take zeros anywhere in it, and check *lost before it relies on what it has read.
 */
struct pf_guard;

/* Guards a mapping until it is released, before the mapping ends. lost: borrowed. NULL: out of memory. */
struct pf_guard *pf_guard_mapping(char *base, size_t size, atomic_bool *lost);
void pf_guard_release(struct pf_guard *guard);

/* True once any mapping was lost: for most processes it never is. */
bool pf_guard_any_lost(void);

#endif
