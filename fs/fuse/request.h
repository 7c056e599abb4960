/* SPDX-License-Identifier: MIT */
#ifndef PF_REQUEST_H
#define PF_REQUEST_H

#include "fs/fuse/ops.h"

/*
 * A request in progress, on the stack of the libfuse thread that serves it to its end.
 *
 * No signal reaches a thread that is in a system call on a file which does not answer. So one thread of the mount looks at all
 * requests: when a signal is pending that should end the caller, or when the session is over, it replies EINTR in place of the
 * request's own thread, which undoes what it then cannot deliver.
 */
struct pf_request {
    fuse_req_t req;
    struct pf_mount *mount;
    pid_t caller;
    atomic_bool answered; /* whoever sets it replies, and may use `req` until then */
    struct pf_op op;

    /* guarded by mount->lock */
    struct pf_request *next, *previous; /* in mount->requests */
    uint64_t ask_at;    /* when the caller's signals are looked at next, in monotonic milliseconds */
    uint64_t signalled; /* when the kernel reported a signal; 0: it has not */
};

/* Between these two another thread may answer the request, and then `req` is gone: only a reply after pf_request_claim may use it. */
void pf_request_begin(struct pf_request *request, fuse_req_t req);
void pf_request_end(struct pf_request *request);
/* Takes the right to reply. False: the request is answered. */
bool pf_request_claim(struct pf_request *request);

/* Starts and ends the thread that looks at requests. 0, or an errno value. */
int pf_watch_start(struct pf_mount *mount);
void pf_watch_end(struct pf_mount *mount);
/*
 * Reports the phase that the end of the mount has reached to the watch thread. A phase that takes more than 2 s means that SOURCE does
 * not answer: the watch thread then saves what is not in the cache yet and ends the process, and this function does not return.
 */
void pf_watch_phase(struct pf_mount *mount, enum pf_phase phase);

#endif
