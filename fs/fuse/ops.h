/* SPDX-License-Identifier: MIT */
#ifndef PF_FUSE_OPS_H
#define PF_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "formats/kit/lock.h"
#include "fs/tree/vfs.h"

/* Threads that serve requests at most, and those that are kept while there are fewer requests. */
enum { PF_FUSE_THREADS = 4096, PF_FUSE_IDLE = 16 };

struct pf_request;

/* How far a mount has come; see pf_watch_phase. */
enum pf_phase { PF_SERVING, PF_JOINING, PF_SAVING, PF_FREEING, PF_ENDED };

struct keeper;

/* A mounted filesystem: what the operations get as user data. */
struct pf_mount {
    struct pf_fs *fs;
    void (*ready)(void *arg); /* called once, at the first request after FUSE_INIT */
    void *ready_arg;
    atomic_bool is_ready;    /* it has been called */
    bool completes_greeting; /* the reply to FUSE_INIT allows large reads whatever libfuse says (mount.c) */
    atomic_bool greeted;     /* the reply to FUSE_INIT has been sent (mount.c) */
    _Atomic uint64_t sent;   /* replies, see receive in mount.c */

    struct fuse_session *session;
    struct keeper *keeper;                 /* mount.c */
    void (*leave)(struct pf_mount *mount); /* ends the process at once */
    ptrdiff_t
        worker_heap; /* bytes of heap that libfuse allocates for each thread that serves requests; 0: few */

    /* request.c: */
    struct pf_lock lock;
    pthread_cond_t work; /* there is something to look at, or the end */
    struct pf_request *requests;
    bool has_signal;          /* the kernel has reported one */
    struct pf_request *asked; /* looked at without the lock just now */
    pthread_cond_t has_asked;
    uint64_t ticked; /* in monotonic milliseconds */
    enum pf_phase phase;
    uint64_t deadline; /* of the phase, in monotonic milliseconds; 0: none */
    bool abandoned, saved;
    bool watched; /* the thread has been started */
    pthread_t watcher;
};

extern const struct fuse_lowlevel_ops pf_fuse_ops;

#endif
