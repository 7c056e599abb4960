/* SPDX-License-Identifier: MIT */
#ifndef PF_WORK_H
#define PF_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/kit/error.h"
#include "formats/kit/pass.h"
#include "fs/jobs.h"

/*
 * Keyed work: every slow computation is a job with a key (work, owner, number). An operation that needs the result starts the job, or
 * joins the job that is already listed for the key. Its thread then waits until the job ends.
 */

/*
 * An operation in progress: one call of a front end, on the stack of the thread that runs the call. The thread waits for the jobs that
 * the operation needs. Initialised with PF_OP. A function that takes an operation fills op->error when it fails.
 */
struct pf_op {
    /* Called about ten times a second while the operation waits for a job, on its thread and without locks; may be NULL. */
    void (*progress)(const struct pf_pass *pass, struct pf_op *op);
    struct pf_error error; /* of the last failure */
    /* private to work.c, guarded by the pool's lock: */
    pthread_cond_t changed; /* per operation: a shared one would wake all waiters of all jobs */
    bool interrupted;
    struct pf_job *inside; /* the job that the operation is a part of; NULL: none */
    struct pf_job *job;    /* the job that the operation waits for or runs itself; NULL: none */
    struct pf_op *next;    /* next waiter of the same job */
};
#define PF_OP                                                                                                \
    {                                                                                                        \
        .changed = PTHREAD_COND_INITIALIZER                                                                  \
    }

/* Ends the operation's current wait, and all later ones, with EINTR. Callable from any thread while the operation exists. */
void pf_op_interrupt(struct pf_pool *pool, struct pf_op *op);

/* A job may only need work of a lower rank than its own, which rules out deadlocks between jobs. */
enum pf_work_rank {
    PF_WORK_OPEN = 1,
    PF_WORK_STAGE, /* first of eight ranks, one per stage */
    PF_WORK_NAMES = PF_WORK_STAGE + 8,
    PF_WORK_SIZES,
    PF_WORK_SUMS,
    PF_WORK_ORDER,
    PF_WORK_MEASURE,
    PF_WORK_BLOCKS,
    PF_WORK_PREPARE,
    PF_WORK_SNAPSHOT,
};

struct pf_owner;

/* A kind of job. */
struct pf_work {
    const char *title; /* for status.txt: words before the owner's name, such as "sizes of"; or NULL */
    enum pf_work_rank rank;
    /* Returns true if the job takes about a millisecond: it then runs on the operation's thread. NULL: never. Called without locks. */
    bool (*is_short)(struct pf_owner *owner, uint64_t number);
    /*
     * Makes the result, as a part of the calling thread's pass, and stores it in the owner. No-op if the owner already has the result: it
     * may have been made after the operation checked. Returns 0, or -1 with *error filled.
     */
    int (*run)(struct pf_owner *owner, uint64_t number, struct pf_error *error);
};

/* Operations of all owners of one type. */
struct pf_owner_type {
    /* Drops a reference. Called without locks. */
    void (*release)(struct pf_owner *owner);
    /* Returns the owner's name for status.txt. NULL: no name. Called with the pool's lock held. */
    const char *(*name)(const struct pf_owner *owner);
};

/* The object that holds the results of jobs; embedded in a larger struct. */
struct pf_owner {
    const struct pf_owner_type *type;
    struct pf_pool *pool;
    atomic_uint references; /* a queued or running job holds one */
    struct pf_job *jobs;    /* queued, running and failed; guarded by the pool's lock */
};

/* Initialises an owner that has this many references. Borrows type and pool. */
void pf_owner_init(struct pf_owner *owner, const struct pf_owner_type *type, struct pf_pool *pool,
                   unsigned references);
/* Frees the owner's failed jobs. The type's release function calls it after the last reference was dropped. */
void pf_owner_end(struct pf_owner *owner);
/* Returns true if a job of the owner is queued or running. */
bool pf_owner_is_busy(struct pf_owner *owner);

/*
 * Runs the job of a key and waits until it ends; fails at once during the back-off after a failure (see below). The caller holds a
 * reference to the owner, and no lock of fs/.
 *
 * A caller that is itself part of a job runs the needed job on its own thread if that job is still queued. A job whose last waiter
 * leaves is stopped.
 *
 * Returns 0, or -1 with op->error filled. The error is the job's, or EINTR if the operation was interrupted, or ECANCELED if the pool is
 * closed or the job that the caller is a part of was stopped. All waiters of a job get the job's error. Later callers get the same error
 * without a retry: a transient error for 2 s, an error of the data as long as the owner exists. After ESTALE, EMFILE and ENFILE, the next
 * caller retries at once.
 */
int pf_need(struct pf_op *op, const struct pf_work *work, struct pf_owner *owner, uint64_t number);

#endif
