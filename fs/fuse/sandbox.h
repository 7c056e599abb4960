/* SPDX-License-Identifier: MIT */
#ifndef PF_SANDBOX_H
#define PF_SANDBOX_H

#include <stddef.h>

#include "formats/kit/error.h"

struct pf_fs_options;

/*
 * What takes this process every right that reading profiles does not need, so that a file that gets the better of a parser gets
 * little else: no privileges (but reading what the mounter could read), files only where they were allowed, no programs,
 * sockets, or other processes. Layers that the kernel lacks are left out, and told.
 *
 *   struct pf_sandbox *sandbox = pf_sandbox_new(sources, n, options, &error);    while the paths still lead there
 *   pf_sandbox_enter(sandbox, &error);                 before the first thread is started, and for ever
 *
 * Not safe from several threads at once.
 */
struct pf_sandbox;

/*
 * One that allows to read some sources (of a file the folder it stands in), and what serving them needs: /proc, the folders of the
 * cache (made if absent), the file that an option has named, and a folder for temporary files, which $TMPDIR names from here on.
 * NULL with *error filled: out of memory.
 */
struct pf_sandbox *pf_sandbox_new(char *const *sources, size_t n, const struct pf_fs_options *options,
                                  struct pf_error *error);
void pf_sandbox_free(struct pf_sandbox *sandbox); /* ends nothing */

/* -1 with *error filled: out of memory, or the kernel refuses what it has. */
int pf_sandbox_enter(struct pf_sandbox *sandbox, struct pf_error *error);

/* One line of what holds and what lacks, without its end: "Landlock 4, seccomp, ..."; lives as long as the sandbox. */
const char *pf_sandbox_text(const struct pf_sandbox *sandbox);

#endif
