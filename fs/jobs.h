/* SPDX-License-Identifier: MIT */
#ifndef PF_JOBS_H
#define PF_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A pool of threads that run passes over data as jobs (work.h). Jobs queue in FIFO order; a job can split its loops over idle
 * threads. A pass that reports no step (pf_pass_step) for a second is stalled: its file may be unresponsive. While every thread runs a
 * stalled pass, each queued job gets a new thread. Thread-safe.
 */
struct pf_pool;

/* Returns a pool whose threads start with the first job. NULL: out of memory. */
struct pf_pool *pf_pool_new(unsigned threads);
/* Starts the threads now. Returns 0, or -1 if threads cannot be created. */
int pf_pool_start(struct pf_pool *pool);
/* Stops running passes and refuses new ones. Waiters return when their jobs end. */
void pf_pool_close(struct pf_pool *pool);
/* Closes the pool and joins its threads; pf_pool_status can still be called. */
void pf_pool_join(struct pf_pool *pool);
/* Joins and frees the pool. All owners (work.h) must have been freed. */
void pf_pool_free(struct pf_pool *pool);

/*
 * Calls piece(arg, i) for each i < n, on this thread and on idle threads of the pool, as parts of this thread's pass. Returns when all
 * pieces have returned. Pieces start in ascending order and run in parallel.
 */
void pf_pool_split(struct pf_pool *pool, size_t n, void (*piece)(void *arg, size_t i), void *arg);

/*
 * A section that the pieces of a split execute one after the other, in ascending order. Each piece calls pf_turn_begin and pf_turn_end
 * exactly once. Pieces cannot deadlock: a piece waits only for lower-numbered ones, and these have started before it.
 */
struct pf_turns {
    size_t turn; /* piece whose turn it is; guarded by the pool's lock, like `over` */
    pthread_cond_t over;
};
#define PF_TURNS                                                                                             \
    {                                                                                                        \
        0, PTHREAD_COND_INITIALIZER                                                                          \
    }
void pf_turn_begin(struct pf_pool *pool, struct pf_turns *turns, size_t i);
void pf_turn_end(struct pf_pool *pool, struct pf_turns *turns);

/* Status of a running or queued job. pf_pool_status returns the number of these jobs, and fills at most `room` of them. */
struct pf_job_status {
    char what[64];
    unsigned percent;
    unsigned waiters;
    bool running;
};
size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room);

#endif
