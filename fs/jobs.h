/* SPDX-License-Identifier: MIT */
#ifndef PF_JOBS_H
#define PF_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The threads that run passes over data, as jobs (work.h). Jobs queue in the order in which they come, and share out their loops to threads
 * that have nothing else to do.
 */
struct pf_pool;

/* Its threads are started by the first that has work for them. NULL: out of memory. */
struct pf_pool *pf_pool_new(unsigned threads);
/*
 * To be called each second while jobs may be waited for. A pass that has made no step since the last call is stalled: it may read a file
 * that does not answer. If all running passes are, each queued job gets a thread of its own; so does each new one until the next call.
 */
void pf_pool_tick(struct pf_pool *pool);
/* Starts the threads now. 0, or -1: out of threads. */
int pf_pool_start(struct pf_pool *pool);
/* Stops running passes and refuses new ones. Waiters go on when their jobs are over. */
void pf_pool_close(struct pf_pool *pool);
/* Closes the pool and joins its threads; then it can still be asked for its status. */
void pf_pool_join(struct pf_pool *pool);
/* Joins and frees the pool, after all owners (work.h). */
void pf_pool_free(struct pf_pool *pool);

/*
 * Call piece(arg, i) for each i < n, on this thread and on the pool's threads that have nothing else to do, as parts of this thread's
 * pass; returns when all have returned. Pieces may run in any order and side by side.
 */
void pf_pool_split(struct pf_pool *pool, size_t n, void (*piece)(void *arg, size_t i), void *arg);

/*
 * What the pieces of one split do one after the other, in the order of their numbers: between these two calls, each of which a piece
 * makes once. A piece waits only for those before it, which are under way, as pieces are begun in this order.
 */
struct pf_turns {
    size_t turn; /* whose it is; both guarded by the pool's lock */
    pthread_cond_t over;
};
#define PF_TURNS                                                                                             \
    {                                                                                                        \
        0, PTHREAD_COND_INITIALIZER                                                                          \
    }
void pf_turn_begin(struct pf_pool *pool, struct pf_turns *turns, size_t i);
void pf_turn_end(struct pf_pool *pool, struct pf_turns *turns);

/* A running or queued job, for status. Returns how many there are, fills at most `room`. */
struct pf_job_status {
    char what[64];
    unsigned percent;
    unsigned waiters;
    bool running;
};
size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room);

#endif
