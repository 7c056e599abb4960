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
 * Unmounts stale profilefs mounts at this path, and prints a message for each. The server of a stale mount has died, and every access
 * to the mount fails with ENOTCONN. Returns 0 if no stale mount is left, or -1 after a message.
 */
int pf_clear_dead_mount(const char *mountpoint);

#endif
