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
 *   struct pf_sandbox *sandbox = pf_sandbox_new(&error);
 *   pf_sandbox_allow(sandbox, path, PF_MAY_READ);      for each place, while its path still leads there
 *   pf_sandbox_enter(sandbox, &error);                 before the first thread is started, and for ever
 *
 * Not safe from several threads at once.
 */
struct pf_sandbox;

enum pf_right {
    PF_MAY_READ,  /* everything below a folder, or one file */
    PF_MAY_WRITE, /* and make, rename and delete files there */
};

/* NULL with *error filled: out of memory or descriptors. */
struct pf_sandbox *pf_sandbox_new(struct pf_error *error);
void pf_sandbox_free(struct pf_sandbox *sandbox); /* ends nothing */

/* A path that does not exist, or NULL, is not allowed; that is no error. */
void pf_sandbox_allow(struct pf_sandbox *sandbox, const char *path, enum pf_right right);

/* What serving SOURCE needs (of a file the folder it stands in). */
void pf_sandbox_allow_source(struct pf_sandbox *sandbox, const char *source);

/* What serving needs besides: /proc, the folder of cache files (made if absent), the file that an option has named, and a folder
 * for temporary files, which $TMPDIR names from here on. */
void pf_sandbox_allow_usual(struct pf_sandbox *sandbox, const struct pf_fs_options *options);

/* A sandbox with both. NULL with *error filled. */
struct pf_sandbox *pf_sandbox_of(const char *source, const struct pf_fs_options *options,
                                 struct pf_error *error);

/* -1 with *error filled: out of memory, or the kernel refuses what it has. */
int pf_sandbox_enter(struct pf_sandbox *sandbox, struct pf_error *error);

/* All of it for a command that serves some sources: made, entered, let go. 0, or -1 with *error filled. */
int pf_sandbox_for(char *const *sources, size_t n, const struct pf_fs_options *options,
                   struct pf_error *error);

/* One line of what holds and what lacks, without its end: "Landlock 4, seccomp, ..."; lives as long as the sandbox. */
const char *pf_sandbox_text(const struct pf_sandbox *sandbox);

/* Enters the sandbox of a source, a folder, tries what it denies and what it allows, and prints a line each. The exit status. */
int pf_sandbox_test(const char *folder);

#endif
