/* SPDX-License-Identifier: MIT */
#ifndef PF_REQUEST_H
#define PF_REQUEST_H

#include "fs/fuse/ops.h"

/*
 * A request in progress, on the stack of the libfuse thread that serves it.
 *
 * A thread that hangs in a system call on an unresponsive file cannot be interrupted. The watch thread of the mount therefore checks
 * all requests. If a signal is pending that should end the caller's wait, or if the session is over, the watch thread replies EINTR
 * instead of the request's own thread. That thread then releases its result, which it cannot deliver. The header is private to this
 * folder.
 */
struct pf_request {
    fuse_req_t req;
    struct pf_mount *mount;
    pid_t caller;
    atomic_bool answered; /* the thread that sets it sends the reply, which frees `req` */
    struct pf_op op;

    /* guarded by mount->lock */
    struct pf_request *next, *previous; /* in mount->requests */
    uint64_t check_at;                  /* next check of the caller's signals, in monotonic milliseconds */
    uint64_t signalled; /* when the kernel reported a signal, in monotonic milliseconds; 0: not yet */
};

/*
 * pf_request_begin registers a request, pf_request_end removes it. Both take mount->lock. Between these calls, the watch thread may
 * answer the request, and thereby free `req`: use `req` only after pf_request_claim has returned true.
 */
void pf_request_begin(struct pf_request *request, fuse_req_t req);
void pf_request_end(struct pf_request *request);
/* Acquires the right to reply. Returns false if the request is already answered. */
bool pf_request_claim(struct pf_request *request);

/* Start and join the watch thread. pf_watch_start returns 0 or an errno value; pf_watch_end is a no-op without a thread. */
int pf_watch_start(struct pf_mount *mount);
void pf_watch_end(struct pf_mount *mount);
/*
 * Reports the current phase of the shutdown to the watch thread. SOURCE is unresponsive if PF_JOINING, PF_FREEING or, once the
 * session is over, PF_SERVING takes more than 2 s. The watch thread then ends the process; before PF_SAVING, it first tries to save
 * results to the cache. While it does so, calls of this function block.
 */
void pf_watch_phase(struct pf_mount *mount, enum pf_phase phase);

#endif
