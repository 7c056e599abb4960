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

/* For jobs.c, which runs jobs on the pool's threads, work.c, which has them by key, and job.c below both. */

enum pf_job_state { PF_JOB_QUEUED, PF_JOB_RUNNING, PF_JOB_OVER };

/* All but the pass is guarded by the pool's lock. */
struct pf_job {
    struct pf_job *next;    /* in the pool's list of queued and running jobs, oldest first */
    struct pf_job *sibling; /* in the owner's list, newest first */
    unsigned references; /* the owner's list has one, and so have each waiter and the thread that runs it */
    enum pf_job_state state;
    bool is_short;
    bool stopped; /* pass.stop has been set at some time */
    bool on_pool; /* runs on a thread of the pool that does nothing else */
    bool stepped; /* between the last two ticks */
    bool
        stalled; /* on such a thread, and without a step between the last two ticks, as all jobs that it waits for */
    char what[64];
    const struct pf_work *work;
    struct pf_owner *owner; /* held until the job is over */
    uint64_t number;
    struct pf_pass pass;
    struct pf_op *waiters;
    /* Once it is over: */
    int result;
    struct pf_error error;
    uint64_t until; /* monotonic seconds: until then a failure is not tried again */
};

struct split;

struct pf_pool {
    struct pf_lock lock;
    pthread_cond_t work; /* for pass threads: a job or a split */
    pthread_cond_t over; /* a job or a split piece is over, or a turn */
    struct pf_job *jobs; /* queued and running */
    struct split *splits;
    bool closing;
    unsigned for_passes;       /* threads that there shall be */
    unsigned threads;          /* that have been started */
    unsigned running, stalled; /* jobs on the pool's threads */
    unsigned extra;            /* threads for jobs that would otherwise queue behind stalled ones */
    pthread_t thread[];
};

/* The job that the calling thread runs a part of; NULL: none. */
struct pf_job *pf_job_now(void);

/* All with the pool's lock held. */

/* Appends a job to the list, queued. For the pool's threads (not run_here): -1 if there are none, and then it is not listed. */
int pf_job_list(struct pf_pool *pool, struct pf_job *job, bool run_here);
/* Runs a queued job on this thread, without the lock, unless it has been stopped. */
void pf_run_job(struct pf_pool *pool, struct pf_job *job);
/* ---- job.c --------------------------------------------------------------------------------------- */

/* Drops a reference. */
void pf_job_drop(struct pf_job *job);
/* Takes the job off its owner's list. */
void pf_job_forget(struct pf_job *job);
/* After a job has run: takes it off its owner's list, unless its failure is to be repeated for some time. */
void pf_job_unlist(struct pf_job *job);
/* Ends the job: wakes its waiters and drops the reference of the thread that has run it. */
void pf_job_finish(struct pf_job *job);
/* True if an operation does not want its job any more. */
bool pf_op_has_given_up(const struct pf_op *op);
/* Sets or clears pass.stop, according to whether a waiter still wants the job. */
void pf_job_decide(struct pf_pool *pool, struct pf_job *job);

#endif
