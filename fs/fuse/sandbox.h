/* SPDX-License-Identifier: MIT */
#ifndef PF_SANDBOX_H
#define PF_SANDBOX_H

#include <stddef.h>

#include "formats/kit/error.h"

struct pf_fs_options;

/*
 * Drops every right of this process that reading profiles does not need, so that a file that exploits a parser gains little. The
 * process keeps no privileges except that of reading what the mounter could read. It can access only allowed files, and can neither
 * start programs nor open sockets nor affect other processes. Layers that the kernel does not support are skipped and reported by
 * pf_sandbox_text.
 *
 *   struct pf_sandbox *sandbox = pf_sandbox_new(sources, n, options, &error);    before mounting, which may cover the paths
 *   pf_sandbox_enter(sandbox, &error);                 before the first thread is started; irreversible
 *
 * Not thread-safe.
 */
struct pf_sandbox;

/*
 * Returns a sandbox that allows reading the sources, /proc and the instrumentation map of the options. For a source that is a file,
 * all files in its folder may be read. The sandbox also allows writing the cache folder, which is created if missing, and a folder
 * for temporary files, to which $TMPDIR is set. Returns NULL with *error filled if out of memory.
 */
struct pf_sandbox *pf_sandbox_new(char *const *sources, size_t n, const struct pf_fs_options *options,
                                  struct pf_error *error);
void pf_sandbox_free(struct pf_sandbox *sandbox); /* lifts no restriction */

/* Enters the sandbox. Returns 0, or -1 with *error filled if out of memory or if privileges cannot be dropped. If Landlock or seccomp
 * cannot be activated, pf_sandbox_text reports this. */
int pf_sandbox_enter(struct pf_sandbox *sandbox, struct pf_error *error);

/* Returns one line, without newline, with the active and the missing layers: "Landlock 4, seccomp, ..."; owned by the sandbox. */
const char *pf_sandbox_text(const struct pf_sandbox *sandbox);

#endif
