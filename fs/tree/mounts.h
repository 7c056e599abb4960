/* SPDX-License-Identifier: MIT */
#ifndef PF_MOUNTS_H
#define PF_MOUNTS_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Which file system stands where, asked so that no file system is asked: a server that looked at its own mount would wait for
 * itself, in a way that nothing can interrupt. All functions are safe to call from many threads.
 */

/* The device of what `name` (a link: the link itself) is in an open directory; AT_FDCWD, too. 0, or -1 with errno. */
int pf_device_at(int directory, const char *name, dev_t *device);

/*
 * The attributes of what `name` (a link: the link itself) is in an open directory, as far as the kernel has them without asking the file
 * system: those of a disk are up to date, those of a file server may be old. 0, or an errno value.
 */
int pf_stat_at(int directory, const char *name, struct stat *st);

/* True if the device is a mount of this program, living or dead; *owner (may be NULL) is who mounted it. False where /proc does
 * not tell. */
bool pf_is_own_mount(dev_t device, uid_t *owner);

/*
 * Maps an absolute path without links that lies in a mount of this program to the path below the mount's SOURCE. NULL with errno: 0
 * if the path lies in no such mount. The caller frees the result. *root (may be NULL) is set if the path is the mount point itself.
 */
char *pf_path_in_source(const char *path, bool *root);

#endif
