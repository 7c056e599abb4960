/* SPDX-License-Identifier: MIT */
#ifndef PF_TEST_BACKGROUND_H
#define PF_TEST_BACKGROUND_H

#include <pthread.h>
#include <unistd.h>

#include "fs/work.h"

/* A blocking call that runs on a separate thread. */
struct background {
    int (*call)(void *arg, struct pf_op *op);
    void *arg;
    struct pf_op op;
    int result;
    pthread_t thread;
};

static void *run_background(void *arg)
{
    struct background *background = arg;
    background->result = background->call(background->arg, &background->op);
    return NULL;
}

__attribute__((unused)) static void background_start(struct background *background,
                                                     int (*call)(void *arg, struct pf_op *op), void *arg)
{
    *background = (struct background){.call = call, .arg = arg, .op = PF_OP};
    pthread_create(&background->thread, NULL, run_background, background);
}

/* Blocks until the jobs have exactly n waiters; operations and other jobs can wait for a job. */
__attribute__((unused)) static void await_waiters(struct pf_pool *pool, unsigned n)
{
    struct pf_job_status status[8];
    for (unsigned waiters = n + 1; waiters != n; usleep(100)) {
        size_t jobs = pf_pool_status(pool, status, 8);
        waiters = 0;
        for (size_t i = 0; i < jobs && i < 8; i++)
            waiters += status[i].waiters;
    }
}

/* Blocks until exactly n jobs are queued or running. */
__attribute__((unused)) static void await_jobs(struct pf_pool *pool, size_t n)
{
    while (pf_pool_status(pool, NULL, 0) != n)
        usleep(100);
}

/* Waits until the call has returned, and returns its result. */
__attribute__((unused)) static int background_result(struct background *background)
{
    pthread_join(background->thread, NULL);
    return background->result;
}

#endif
