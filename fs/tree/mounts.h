/* SPDX-License-Identifier: MIT */
#ifndef PF_MOUNTS_H
#define PF_MOUNTS_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Identifies mounts without sending requests to their file systems: a server that accesses its own mount deadlocks
 * and cannot be interrupted. All functions are thread-safe.
 */

/*
 * The device of `name` in an open directory, or relative to AT_FDCWD; symbolic links are not followed. 0, or -1 with
 * errno.
 */
int pf_device_at(int directory, const char *name, dev_t *device);

/*
 * Reads the attributes of `name` in an open directory without refreshing them from a file server; resolving the name may
 * still send a request. Symbolic links are not followed. Attributes of a file on a local disk are current; those from a
 * file server may be stale. Returns 0 or an errno value.
 */
int pf_stat_at(int directory, const char *name, struct stat *st);

/*
 * True if the device is a mount of this program, alive or dead; *owner (may be NULL) is the user who mounted it. False
 * if /proc is not readable.
 */
bool pf_is_own_mount(dev_t device, uid_t *owner);

/*
 * Maps an absolute path without symbolic links, inside a mount of this program, to the path below the mount's SOURCE.
 * The caller frees the result. NULL with errno; errno is 0 if the path is in no such mount. *root (may be NULL) receives
 * whether the path is the mount point itself.
 */
char *pf_path_in_source(const char *path, bool *root);

#endif
