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
 * Keyed work: whatever takes long is a job of a key (work, owner, number). An operation that needs the result starts the job or joins the
 * one that is listed, and waits for it on its own thread.
 */

/*
 * An operation in progress: one call of a front end, on the stack of its thread, which waits there for the jobs that it needs.
 * Initialize with PF_OP. Functions that take an operation return 0, or a failure that op->error describes.
 */
struct pf_op {
    /* Called about ten times a second while the operation waits for a job, on its thread and without locks; NULL: not. */
    void (*progress)(const struct pf_pass *pass, struct pf_op *op);
    struct pf_error error; /* of the last failure */
    /* work.c, guarded by the pool's lock: */
    pthread_cond_t changed; /* of its own: a shared one would wake all waiters for each job */
    bool interrupted;
    struct pf_job *inside; /* the job that it is a part of; NULL: none */
    struct pf_job *job;    /* that it waits for, or runs itself; NULL: none */
    struct pf_op *next;    /* that waits for the same job */
};
#define PF_OP                                                                                                \
    {                                                                                                        \
        .changed = PTHREAD_COND_INITIALIZER                                                                  \
    }

/* Ends the operation's present wait, and all later ones, with EINTR. May be called by any thread as long as the operation exists. */
void pf_op_interrupt(struct pf_pool *pool, struct pf_op *op);

/* A job may need only works of a lower rank than its own, so that jobs cannot wait for each other in a circle. */
enum pf_work_rank {
    PF_WORK_OPEN = 1,
    PF_WORK_STAGE, /* and further ones, one for each stage */
    PF_WORK_NAMES = PF_WORK_STAGE + 8,
    PF_WORK_SIZES,
    PF_WORK_SUMS,
    PF_WORK_MEASURE,
    PF_WORK_BLOCKS,
    PF_WORK_PREPARE,
    PF_WORK_SNAPSHOT,
};

struct pf_owner;

/* A kind of job. */
struct pf_work {
    const char *title; /* for status.txt: "sizes of", before the owner's name; NULL: the name alone */
    enum pf_work_rank rank;
    /* True if it takes a millisecond or so: then it runs on the operation's own thread. NULL: it never does. Called without locks. */
    bool (*is_short)(struct pf_owner *owner, uint64_t number);
    /*
     * Makes the result, as a part of the calling thread's pass, and leaves it with the owner, unless it is there already: it may have been
     * made since the operation looked. 0, or -1 with *error filled.
     */
    int (*run)(struct pf_owner *owner, uint64_t number, struct pf_error *error);
};

/* What is common to all owners of one type. */
struct pf_owner_type {
    /* Gives one reference back. Called without locks. */
    void (*release)(struct pf_owner *owner);
    /* The owner's name, for status.txt; NULL: it has none. Called with the pool's lock held. */
    const char *(*name)(const struct pf_owner *owner);
};

/* What jobs work for, embedded in a larger struct. */
struct pf_owner {
    const struct pf_owner_type *type;
    struct pf_pool *pool;
    atomic_uint references; /* a job has one while it is queued or runs */
    struct pf_job *jobs;    /* queued, running and failed; guarded by the pool's lock */
};

/* An owner with one reference. */
void pf_owner_init(struct pf_owner *owner, const struct pf_owner_type *type, struct pf_pool *pool);
/* For the type's release function, when the last reference is gone: forgets failures. */
void pf_owner_end(struct pf_owner *owner);
/* True if a job is queued or runs for the owner. */
bool pf_owner_is_busy(struct pf_owner *owner);

/*
 * Has the job of a key run, unless it has failed a short time ago, and waits until it is over. The caller has a reference to the owner, and
 * holds no lock of fs/.
 *
 * Within a job, a job that nobody runs yet is run here. A job whose last waiter leaves is stopped.
 *
 * 0, or -1 with op->error filled: why the job failed; EINTR: the operation was interrupted; ECANCELED: the job that the caller is a part of
 * is stopped, or the pool is closed. All waiters of a job get its error. So do later callers for some time: 2 s if the error is
 * transient; no time if the file has changed or descriptors were missing; as long as the owner exists if the data are at fault.
 */
int pf_need(struct pf_op *op, const struct pf_work *work, struct pf_owner *owner, uint64_t number);

#endif
