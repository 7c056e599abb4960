/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_PROFILING_H
#define PF_XRAY_PROFILING_H

#include "formats/driver.h"

/*
 * Files that XRay's profiling mode writes: no events, but for each thread how often each calling context was
 * called and how many ticks it took. After the header come blocks, each of one thread: u32 size with these 16
 * bytes, u32 number, u64 thread; then records: u32 ids of functions from the innermost to the outermost, a
 * zero, u64 calls, i64 exclusive ticks. Nothing is aligned.
 */

/* Columns of the thread table after id and name. */
enum { XRAY_PROFILING_PID, XRAY_PROFILING_TID, XRAY_PROFILING_BLOCKS, XRAY_PROFILING_FIELDS };

/* What the profile has, once the header is read. */
void xray_profiling_set(struct pf_profile *profile);

/* The stages. Each leaves the profile as it was if it fails. */
int xray_profiling_threads(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);
int xray_profiling_contexts(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error);

#endif
