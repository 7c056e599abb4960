/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/jobs_private.h"

/* Functions of a single job, used by jobs.c and work.c: its place in the owner's list, its failure, its waiters and its end. */

enum {
    TRANSIENT_SECONDS = 2, /* time for which a transient error is reported without a retry */
    FAILURES_MAX = 8,      /* maximum number of failed jobs in an owner's list */
};

/* ---- lists ---------------------------------------------------------------------------------------- */

void pf_job_release(struct pf_job *job)
{
    if (--job->references == 0)
        free(job);
}

void pf_job_remove(struct pf_job *job)
{
    struct pf_job **at = &job->owner->jobs;
    while (*at != job)
        at = &(*at)->sibling;
    *at = job->sibling;
    pf_job_release(job);
}

/* ---- failures ------------------------------------------------------------------------------------ */

/* Returns the back-off in seconds: the time for which a failure is reported without a retry. */
static uint64_t back_off(int code)
{
    switch (code) {
    case ESTALE: /* the retry sees the new file */
    case ECANCELED:
    case EMFILE: /* closing idle files frees descriptors */
    case ENFILE:
        return 0;
    default:
        return pf_is_transient(code) ? TRANSIENT_SECONDS : UINT32_MAX;
    }
}

/* Removes the oldest failed job from the owner's list if the list has FAILURES_MAX of them. */
static void limit_failures(struct pf_owner *owner)
{
    struct pf_job *oldest = NULL;
    unsigned failed = 0;
    for (struct pf_job *job = owner->jobs; job; job = job->sibling)
        if (job->state == PF_JOB_OVER) {
            oldest = job;
            failed++;
        }
    if (failed >= FAILURES_MAX)
        pf_job_remove(oldest);
}

void pf_job_remove_unless_failed(struct pf_job *job)
{
    uint64_t seconds = job->result ? back_off(job->error.code) : 0;
    job->until = pf_monotonic_seconds() + seconds;
    if (seconds)
        limit_failures(job->owner);
    else
        pf_job_remove(job);
}

void pf_job_finish(struct pf_job *job)
{
    job->state = PF_JOB_OVER;
    for (struct pf_op *op = job->waiters; op; op = op->next) {
        op->job = NULL;
        pthread_cond_signal(&op->changed);
    }
    job->waiters = NULL;
    pf_job_release(job);
}

/* ---- waiters ------------------------------------------------------------------------------------- */

bool pf_op_has_given_up(const struct pf_op *op)
{
    return op->interrupted || (op->inside && atomic_load(&op->inside->pass.stop));
}

static bool is_wanted(const struct pf_job *job)
{
    const struct pf_op *op = job->waiters;
    while (op && pf_op_has_given_up(op))
        op = op->next;
    return op != NULL;
}

void pf_job_update_stop(struct pf_pool *pool, struct pf_job *job)
{
    bool stop = pool->closing || !is_wanted(job);
    job->stopped |= stop;
    if (atomic_exchange(&job->pass.stop, stop) || !stop)
        return;
    /* Also stops the jobs that this job waits for, unless another waiter wants them. */
    for (struct pf_job *needed = pool->jobs; needed; needed = needed->next)
        for (struct pf_op *op = needed->waiters; op; op = op->next)
            if (op->inside == job) {
                pthread_cond_signal(&op->changed);
                pf_job_update_stop(pool, needed);
            }
}
