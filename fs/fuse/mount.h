/* SPDX-License-Identifier: MIT */
#ifndef PF_MOUNT_H
#define PF_MOUNT_H

#include "fs/tree/vfs.h"

/* The parsed arguments of `profilefs [-o opts] SOURCE MOUNTPOINT`. */
struct pf_mount_options {
    struct pf_fs_options fs;
    const char *source, *mountpoint; /* absolute, without symbolic links */
    bool foreground;
};

/*
 * Mounts, and serves until unmounted. Unless options->foreground, a child process serves, and the calling process exits once the mount
 * works. `args` are the options for libfuse. Returns the exit status, after printing errors.
 */
struct fuse_args;
int pf_mount(const struct pf_mount_options *options, struct fuse_args *args);

/*
 * Unmounts a stale profilefs mount at this path, whose server died, and prints a message; such a mount fails every access with
 * ENOTCONN. Returns 0, also if there is no stale mount; -1, after a message, if it could not be unmounted.
 */
int pf_clear_dead_mount(const char *mountpoint);

#endif
