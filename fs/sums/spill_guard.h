/* SPDX-License-Identifier: MIT */
#ifndef PF_SPILL_GUARD_H
#define PF_SPILL_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Protects mappings of temporary files against disk errors. Touching a page that cannot be read raises SIGBUS, which
 * would end the process. For a guarded mapping, the signal handler sets *lost and replaces the mapping by zeroed memory, so
 * that the interrupted code continues.
 *
 * A reader of a guarded mapping must tolerate zeros anywhere in it, and check *lost before it relies on what it has
 * read.
 */
struct pf_guard;

/* Guards a mapping until pf_guard_release, which must be called before the mapping is unmapped. Borrows `lost`. Returns
 * NULL if out of memory. */
struct pf_guard *pf_guard_mapping(char *base, size_t size, atomic_bool *lost);
void pf_guard_release(struct pf_guard *guard);

/* Returns true if any mapping of the process has been lost. Callers use this fast check before they check a single mapping. */
bool pf_guard_any_lost(void);

#endif
