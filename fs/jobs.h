/* SPDX-License-Identifier: MIT */
#ifndef PF_JOBS_H
#define PF_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"
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

/* A thread that waits for jobs, one after the other; on its stack. Initialize with PF_WAITER. */
struct pf_waiter {
    pthread_cond_t changed; /* of its own: a shared one would wake all waiters for each job */
    bool interrupted;       /* guarded by the pool's lock */
    struct pf_waiter *next; /* of the same job */
};
#define PF_WAITER                                                                                            \
    {                                                                                                        \
        .changed = PTHREAD_COND_INITIALIZER                                                                  \
    }

/* What a pass does. It publishes its own results; the return value only tells success for the record. */
typedef int pf_job_run(void *arg, struct pf_pass *pass, struct pf_error *error);

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

/* Waits until the job is over: 0. EINTR: pf_job_interrupt was called; if no other waiter is left, the pass is stopped. */
int pf_job_await(struct pf_job *job, struct pf_waiter *waiter);
/* Ends a waiter's present wait for this job, and all later ones, with EINTR. */
void pf_job_interrupt(struct pf_job *job, struct pf_waiter *waiter);
/* The parts of pf_job_await. pf_job_join returns false if the job is over; pf_job_leave returns false if the waiter is not listed. */
bool pf_job_join(struct pf_job *job, struct pf_waiter *waiter);
bool pf_job_leave(struct pf_job *job, struct pf_waiter *waiter);
/* Waits until the job is over, not counted as a waiter; *progress (may be NULL) is called about ten times a second. */
void pf_job_block(struct pf_job *job, void (*progress)(const struct pf_pass *pass, void *arg), void *arg);

/*
 * What a call answers that needs a pass, beside 0 and what its errors are (-1, or errno values): *job is a reference on the job
 * that must be over before the same call is made again.
 */
enum { PF_PARKED = 1 << 16 };

/* Makes such a call until it needs no pass, waiting on this thread; the variable `job` is the call's. */
#define PF_WAIT_FOR(result, progress, arg, call)                                                             \
    for (struct pf_job *job = NULL; ((result) = (call)) == PF_PARKED; pf_job_release(job))                   \
    pf_job_block(job, progress, arg)

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
 * What the pieces of one split do one after the other, in the order of their numbers: between these two, each of which a piece calls
 * once. A piece waits for those before it alone, which are under way, as pieces are begun in this order.
 */
struct pf_turns {
    pthread_mutex_t lock;
    pthread_cond_t over;
    size_t turn; /* whose it is */
};
#define PF_TURNS                                                                                             \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                               \
    }
void pf_turn_begin(struct pf_turns *turns, size_t i);
void pf_turn_end(struct pf_turns *turns);

/* A running or queued pass, for status. Returns how many there are, fills at most room. */
struct pf_job_status {
    char what[64];
    unsigned percent;
    unsigned waiters;
    bool running;
};
size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room);

#endif
