/* SPDX-License-Identifier: MIT */
#ifndef PF_FUSE_OPS_H
#define PF_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fs/tree/vfs.h"

/* Threads that serve requests at most, and those that are kept while there are fewer requests. */
enum { PF_FUSE_THREADS = 4096, PF_FUSE_IDLE = 16 };

struct pf_request;

/* A mounted filesystem: what the operations get as user data. */
struct pf_mount {
    struct pf_fs *fs;
    void (*ready)(void *arg); /* called once, at the first request after FUSE_INIT */
    void *ready_arg;
    atomic_bool is_ready;    /* it has been called */
    bool completes_greeting; /* the reply to FUSE_INIT allows large reads whatever libfuse says (mount.c) */
    atomic_bool greeted;   /* the reply to FUSE_INIT has been sent (mount.c) */
    _Atomic uint64_t sent; /* replies, see receive in mount.c */

    /* Parked requests that a signal has hit: looked at again and again, since the kernel tells only once. */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct pf_request *watched;
    bool closing;
    pthread_t watcher;
};

extern const struct fuse_lowlevel_ops pf_fuse_ops;

/* Start and end the thread that watches for signals. The lock is used by parked requests until the pool is freed. 0, or an errno value. */
int pf_mount_watch(struct pf_mount *mount);
void pf_mount_unwatch(struct pf_mount *mount);

#endif
