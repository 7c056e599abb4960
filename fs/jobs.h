/* SPDX-License-Identifier: MIT */
#ifndef PF_JOBS_H
#define PF_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"
#include "formats/kit/lock.h"
#include "formats/kit/pass.h"

/*
 * Passes over data run here and nowhere else, on threads of their own. Who needs the result of one waits for its job. A pass that loses
 * its last waiter is stopped.
 *
 * A few further threads run errands: short work that must not queue after a pass.
 */
struct pf_pool;
struct pf_job;

/* Its threads are started by the first that has work for them. NULL: out of memory. */
struct pf_pool *pf_pool_new(unsigned pass_threads, unsigned short_threads);
/*
 * To be called each second while jobs may be waited for. A pass that has made no step since the last call is stalled: it may read a file
 * that does not answer. If all running passes are, each queued job gets a thread of its own; so does each new one until the next call.
 */
void pf_pool_tick(struct pf_pool *pool);
/* Starts them now. 0, or -1: out of threads. */
int pf_pool_start(struct pf_pool *pool);
/* Stops running passes and refuses new ones. Waiters go on when their jobs are over. */
void pf_pool_close(struct pf_pool *pool);
/* Closes the pool and joins its threads. */
void pf_pool_free(struct pf_pool *pool);

/*
 * An operation in progress: one call of a front end, on the stack of its thread, which waits there for the passes that it needs.
 * Initialize with PF_OP. Functions that take an operation return 0, or a failure that op->error describes.
 */
struct pf_op {
    void (*progress)(const struct pf_pass *pass,
                     struct pf_op *op); /* called about ten times a second while waiting; NULL: none */
    struct pf_error error;              /* of the last failure */
    /* jobs.c, guarded by the pool's lock: */
    pthread_cond_t changed; /* of its own: a shared one would wake all waiters for each job */
    bool interrupted;
    struct pf_op *next; /* that waits for the same job */
};
#define PF_OP                                                                                                \
    {                                                                                                        \
        .changed = PTHREAD_COND_INITIALIZER                                                                  \
    }

/* Ends the operation's present wait, and all later ones, with EINTR. May be called by any thread as long as the operation exists. */
void pf_op_interrupt(struct pf_pool *pool, struct pf_op *op);

/* What a pass does, on a thread whose pass (kit/pass.h) is the job's. It publishes its own results; the return value only tells success for the record. */
typedef int pf_job_run(void *arg, struct pf_error *error);

/*
 * Makes a job and queues it. `over` runs on the pass's thread after `run`, before waiters are woken: it
 * unlists the job wherever `arg`'s owner has listed it. The caller holds a reference. NULL: out of
 * memory or threads, or the pool is being freed.
 */
struct pf_job *pf_job_start(struct pf_pool *pool, const char *what, pf_job_run *run,
                            void (*over)(void *arg, struct pf_job *job, const struct pf_error *error),
                            void *arg);
struct pf_job *pf_job_hold(struct pf_job *job);
void pf_job_release(struct pf_job *job);

/*
 * Waits until the job is over. 0, or -1 with op->error filled: the job has failed; or EINTR: the operation was interrupted. A job whose
 * last waiter leaves is stopped; its error is ECANCELED then, also for waiters that have joined too late for it to go on.
 */
int pf_job_wait(struct pf_job *job, struct pf_op *op);
/* The parts of pf_job_wait. pf_job_join returns false if the job is over; pf_job_leave returns false if the operation does not wait for it. */
bool pf_job_join(struct pf_job *job, struct pf_op *op);
bool pf_job_leave(struct pf_job *job, struct pf_op *op);
/* Waits until the job is over, not counted as a waiter. */
void pf_job_block(struct pf_job *job);

/* Work for a short thread; embedded in what it works on. */
struct pf_errand {
    void (*run)(struct pf_errand *errand);
    struct pf_errand *next; /* the pool's */
};
/* Queues an errand. False: out of threads, or the pool is being freed. */
bool pf_pool_errand(struct pf_pool *pool, struct pf_errand *errand);

/*
 * Call piece(arg, i) for each i < n, on this thread (a pass's) and on pass threads that have nothing else to
 * do; returns when all have returned. Pieces may run in any order and side by side.
 */
void pf_pool_split(struct pf_pool *pool, size_t n, void (*piece)(void *arg, size_t i), void *arg);

/*
 * Orders a part of the pieces of one split: each piece calls pf_turn_begin and then pf_turn_end once, and what piece i does between the
 * two calls follows what piece i - 1 did there. No lock is held during a turn. A piece waits only for pieces that have begun.
 */
struct pf_turns {
    pthread_cond_t over;
    size_t turn; /* the piece whose turn it is; guarded by the pool's lock */
};
#define PF_TURNS                                                                                             \
    {                                                                                                        \
        PTHREAD_COND_INITIALIZER, 0                                                                          \
    }
void pf_turn_begin(struct pf_pool *pool, struct pf_turns *turns, size_t i);
void pf_turn_end(struct pf_pool *pool, struct pf_turns *turns);

/* A running or queued pass, for status. Returns how many there are, fills at most room. */
struct pf_job_status {
    char what[64];
    unsigned percent;
    unsigned waiters;
    bool running;
};
size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room);

#endif
