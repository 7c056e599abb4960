/* SPDX-License-Identifier: MIT */
#ifndef PF_MOUNT_H
#define PF_MOUNT_H

#include "fs/tree/vfs.h"

/* What `profilefs [-o opts] SOURCE MOUNTPOINT` was asked to do. */
struct pf_mount_options {
    struct pf_fs_options fs;
    const char *source, *mountpoint; /* absolute, free of links */
    bool foreground;
};

/*
 * Mounts and serves until unmounted. In the background the calling process returns once the mount works.
 * `args` are the options for libfuse. Returns the exit status; errors have been printed.
 */
struct fuse_args;
int pf_mount(const struct pf_mount_options *options, struct fuse_args *args);

/*
 * A server that was killed leaves a mount behind on which everything fails. If that is so at this path and the mount is one of
 * ours, it is taken away, and standard error says so. 0, or -1 if it could not be taken away, which has been said.
 */
int pf_clear_dead_mount(const char *mountpoint);

#endif
