/* SPDX-License-Identifier: MIT */
#ifndef PF_BENEATH_H
#define PF_BENEATH_H

/* Opens an entry below a folder without following symbolic links and without leaving the folder. Does not block on a
 * FIFO. Returns a descriptor, or -1 with errno. Thread-safe. */
int pf_open_beneath(int folder, const char *name, int flags);
/* Like pf_open_beneath, but fails with EXDEV if the path crosses a mount point (not detected by kernels without
 * openat2). */
int pf_open_here(int folder, const char *name, int flags);

#endif
