/* SPDX-License-Identifier: MIT */
#ifndef PF_FUSE_OPS_H
#define PF_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "formats/kit/lock.h"
#include "fs/tree/vfs.h"

/* Maximum number of threads that serve requests, and maximum number that are kept while idle. */
enum { PF_FUSE_THREADS = 4096, PF_FUSE_IDLE = 16 };

struct pf_request;

/* Phases of a mount's life, see pf_watch_phase. */
enum pf_phase { PF_SERVING, PF_JOINING, PF_SAVING, PF_FREEING, PF_ENDED };

struct unmounter;

/* A mounted filesystem: the user data of all operations. */
struct pf_mount {
    struct pf_fs *fs;
    void (*ready)(void *arg); /* called once, at the first request after FUSE_INIT */
    void *ready_arg;
    atomic_bool is_ready;     /* `ready` has been called */
    bool edits_init_reply;    /* mount.c raises the maximum read in the reply to FUSE_INIT */
    atomic_bool init_replied; /* the reply to FUSE_INIT has been sent (mount.c) */
    _Atomic uint64_t sent;    /* number of replies; orders memory, see receive in mount.c */

    struct fuse_session *session;
    struct unmounter *unmounter;                 /* mount.c */
    void (*end_process)(struct pf_mount *mount); /* ends it even if threads hang in system calls */
    ptrdiff_t
        worker_heap; /* bytes of heap that libfuse allocates per thread that serves requests; 0: negligible */

    /* request.c: */
    struct pf_lock lock;
    pthread_cond_t work; /* wakes the watch thread after a signal, or a change of `phase` or `saved` */
    struct pf_request *requests;
    bool has_signal;            /* the kernel has reported a signal for a request */
    struct pf_request *checked; /* request that the watch thread checks right now, without the lock */
    pthread_cond_t check_ended; /* `checked` is NULL again */
    enum pf_phase phase;
    uint64_t deadline; /* end of the phase, in monotonic milliseconds; 0: none */
    bool abandoned, saved;
    bool watched; /* the watch thread has been started */
    pthread_t watcher;
};

extern const struct fuse_lowlevel_ops pf_fuse_ops;

#endif
