/* SPDX-License-Identifier: MIT */
#ifndef PF_BENEATH_H
#define PF_BENEATH_H

/*
 * Opens an entry below a folder, following no link and never leaving the folder. Does not wait for a FIFO. Returns a descriptor, or
 * -1 with errno. Safe from any thread.
 */
int pf_open_beneath(int folder, const char *name, int flags);
/* As pf_open_beneath, but EXDEV if the path crosses a mount point (which kernels without openat2 do not report). */
int pf_open_here(int folder, const char *name, int flags);

#endif
