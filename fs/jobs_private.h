/* SPDX-License-Identifier: MIT */
#ifndef PF_JOBS_PRIVATE_H
#define PF_JOBS_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "formats/kit/error.h"
#include "formats/kit/lock.h"
#include "formats/kit/pass.h"
#include "fs/jobs.h"
#include "fs/work.h"

/* Declarations shared by jobs.c (runs jobs on threads), work.c (finds jobs by key) and job.c (functions of a single job). */

enum pf_job_state { PF_JOB_QUEUED, PF_JOB_RUNNING, PF_JOB_OVER };

/* All members except `pass` are guarded by the pool's lock. */
struct pf_job {
    struct pf_job *next;    /* in the pool's list of queued and running jobs, oldest first */
    struct pf_job *sibling; /* in the owner's list, newest first */
    unsigned references;    /* held by the owner's list, each waiter, and the thread that runs the job */
    enum pf_job_state state;
    bool stopped; /* pass.stop has been set at least once */
    bool on_pool; /* runs directly on a thread of the pool, not inside another job or an operation */
    bool stepped; /* the pass made a step between the last two ticks */
    bool
        stalled; /* on_pool, and neither this job nor any job that it waits for made a step between the last two ticks */
    char what[64];
    const struct pf_work *work;
    struct pf_owner *owner; /* held until the job is over */
    uint64_t number;
    struct pf_pass pass;
    struct pf_op *waiters;
    /* Valid in state PF_JOB_OVER: */
    int result;
    struct pf_error error;
    uint64_t until; /* monotonic seconds: no retry of a failure before this time */
};

struct split;

struct pf_pool {
    struct pf_lock lock;
    pthread_cond_t work; /* wakes the pool's threads when there is a new job or split, or at closing */
    pthread_cond_t over; /* a job, all pieces of a split, or an extra thread has ended */
    pthread_cond_t tick; /* wakes the ticking thread when a first job is listed, or at closing */
    struct pf_job *jobs; /* queued and running */
    struct split *splits;
    bool closing;
    unsigned for_passes;       /* configured number of threads */
    unsigned threads;          /* started threads, without extra ones */
    unsigned running, stalled; /* number of jobs on the pool's threads; number of these that are stalled */
    unsigned extra;   /* number of extra threads, which run jobs that would otherwise wait for stalled ones */
    unsigned tick_ms; /* interval of pf_pool_tick; tests set it before the first job */
    bool ticks;       /* the ticking thread has been started */
    bool ticker_waits; /* the ticking thread waits for a job */
    pthread_t ticker;
    pthread_t thread[];
};

/* Returns the job that the calling thread runs, or runs a part of; NULL if there is none. */
struct pf_job *pf_job_now(void);

/*
 * Finds stalled passes: those without a step since the last call. If every thread runs a stalled pass, starts a thread for each queued
 * job. The pool calls it each second while jobs are listed.
 */
void pf_pool_tick(struct pf_pool *pool);

/* All functions below are called with the pool's lock held. */

/*
 * Appends a queued job to the pool's list. run_here: the caller runs it; otherwise a thread of the pool does. Returns 0, or -1, without
 * listing the job, if threads cannot be created.
 */
int pf_job_list(struct pf_pool *pool, struct pf_job *job, bool run_here);
/* Runs a queued job on this thread, or ends the job if it has been stopped. Drops the lock while the job's work runs. */
void pf_run_job(struct pf_pool *pool, struct pf_job *job);
/* ---- job.c --------------------------------------------------------------------------------------- */

/* Drops a reference. */
void pf_job_release(struct pf_job *job);
/* Removes the job from its owner's list. */
void pf_job_remove(struct pf_job *job);
/* Removes a job that has run from its owner's list, unless the list must keep its failure for the back-off. */
void pf_job_remove_unless_failed(struct pf_job *job);
/* Ends the job: wakes its waiters and drops the reference of the thread that ran it. */
void pf_job_finish(struct pf_job *job);
/* Returns true if an operation must stop waiting: the operation was interrupted, or the job that runs the operation was stopped. */
bool pf_op_has_given_up(const struct pf_op *op);
/* Sets pass.stop if the pool is closing or no waiter wants the job any more; otherwise clears it. */
void pf_job_update_stop(struct pf_pool *pool, struct pf_job *job);

#endif
