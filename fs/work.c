/* SPDX-License-Identifier: MIT */
#include "fs/work.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/jobs_private.h"

enum { PROGRESS_MS = 100 };

/* ---- owners -------------------------------------------------------------------------------------- */

void pf_owner_init(struct pf_owner *owner, const struct pf_owner_type *type, struct pf_pool *pool,
                   unsigned references)
{
    *owner = (struct pf_owner){.type = type, .pool = pool, .references = references};
}

void pf_owner_end(struct pf_owner *owner)
{
    if (!owner->jobs) /* no other thread uses the owner, and the pool may be freed already */
        return;
    pf_lock_take(&owner->pool->lock);
    while (owner->jobs)
        pf_job_remove(owner->jobs);
    pf_lock_drop(&owner->pool->lock);
}

bool pf_owner_is_busy(struct pf_owner *owner)
{
    bool busy = false;
    pf_lock_take(&owner->pool->lock);
    for (const struct pf_job *job = owner->jobs; job; job = job->sibling)
        busy |= job->state != PF_JOB_OVER;
    pf_lock_drop(&owner->pool->lock);
    return busy;
}

/* ---- waiters ------------------------------------------------------------------------------------- */

static void join_job(struct pf_pool *pool, struct pf_job *job, struct pf_op *op)
{
    op->job = job;
    op->next = job->waiters;
    job->waiters = op;
    job->references++;
    pf_job_update_stop(pool, job);
}

/* Removes the operation from the waiters of a job that is not over. Called once pf_op_has_given_up returns true. */
static void end_wait(struct pf_pool *pool, struct pf_job *job, struct pf_op *op)
{
    struct pf_op **at = &job->waiters;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    op->job = NULL;
    pf_job_update_stop(pool, job);
}

void pf_op_interrupt(struct pf_pool *pool, struct pf_op *op)
{
    pf_lock_take(&pool->lock);
    op->interrupted = true;
    pthread_cond_signal(&op->changed);
    if (op->job)
        pf_job_update_stop(pool, op->job);
    pf_lock_drop(&pool->lock);
}

/* Waits until the operation is signalled; after PROGRESS_MS without a signal, calls op->progress without the lock. */
static void wait_and_show(struct pf_pool *pool, struct pf_job *job, struct pf_op *op)
{
    struct timespec until = pf_monotonic_after(PROGRESS_MS);
    if (pf_lock_wait_until(&pool->lock, &op->changed, &until) == ETIMEDOUT) {
        pf_lock_drop(&pool->lock);
        op->progress(&job->pass, op);
        pf_lock_take(&pool->lock);
    }
}

/* Waits until a joined job is over, or until the operation gives up and leaves it. */
static void wait_for_job(struct pf_pool *pool, struct pf_job *job, struct pf_op *op)
{
    while (job->state != PF_JOB_OVER && !pf_op_has_given_up(op))
        if (op->progress)
            wait_and_show(pool, job, op);
        else
            pf_lock_wait(&pool->lock, &op->changed);
    if (job->state != PF_JOB_OVER)
        end_wait(pool, job, op);
}

/* ---- needing ------------------------------------------------------------------------------------- */

static struct pf_job *find_job(const struct pf_owner *owner, const struct pf_work *work, uint64_t number)
{
    struct pf_job *job = owner->jobs;
    while (job && (job->work != work || job->number != number))
        job = job->sibling;
    return job;
}

/* Returns the listed job of a key, which may have failed, or a new queued one. NULL with *error filled. */
static struct pf_job *job_of(const struct pf_work *work, struct pf_owner *owner, uint64_t number,
                             bool run_here, struct pf_error *error)
{
    struct pf_pool *pool = owner->pool;
    struct pf_job *job = find_job(owner, work, number);
    if (job && job->state == PF_JOB_OVER && pf_monotonic_seconds() >= job->until) {
        pf_job_remove(job);
        job = NULL;
    }
    if (job)
        return job;
    if (pool->closing) {
        pf_fail(error, ECANCELED, "stopped: the program ends");
        return NULL;
    }
    job = calloc(1, sizeof *job);
    if (!job) {
        pf_fail_memory(error);
        return NULL;
    }
    *job = (struct pf_job){
        .work = work, .owner = owner, .number = number, .references = 1};
    snprintf(job->what, sizeof job->what, "%s%s%.48s", work->title ? work->title : "",
             work->title && owner->type->name ? " " : "", owner->type->name ? owner->type->name(owner) : "");
    if (pf_job_list(pool, job, run_here)) {
        free(job);
        pf_fail(error, ENOMEM, "no more threads");
        return NULL;
    }
    atomic_fetch_add(&owner->references, 1);
    job->sibling = owner->jobs;
    owner->jobs = job;
    return job;
}

enum { RETRY = 1 };

/*
 * The result for an operation whose wait is over: 0; -1 with op->error filled; or RETRY if the job stopped because its other
 * waiters left.
 */
static int take_result(const struct pf_pool *pool, const struct pf_job *job, struct pf_op *op)
{
    if (job->state == PF_JOB_OVER && !job->result)
        return 0;
    if (op->interrupted)
        return pf_fail(&op->error, EINTR, "interrupted");
    if (op->inside && atomic_load(&op->inside->pass.stop))
        return pf_fail(&op->error, ECANCELED, "cancelled: no waiter left");
    if (job->stopped && job->error.code == ECANCELED && !pool->closing)
        return RETRY;
    op->error = job->error;
    return -1;
}

/* Runs the job of a key, or waits until it is over. Called with the pool's lock held. Returns what take_result returns. */
static int run_or_wait(const struct pf_work *work, struct pf_owner *owner, uint64_t number, bool run_here,
                       struct pf_op *op)
{
    struct pf_pool *pool = owner->pool;
    struct pf_job *job = job_of(work, owner, number, run_here, &op->error);
    if (!job)
        return -1;
    if (job->state == PF_JOB_OVER) {
        op->error = job->error;
        return -1;
    }
    join_job(pool, job, op);
    if (run_here && job->state == PF_JOB_QUEUED)
        pf_run_job(pool, job);
    else
        wait_for_job(pool, job, op);
    int result = take_result(pool, job, op);
    pf_job_release(job);
    return result;
}

int pf_need(struct pf_op *op, const struct pf_work *work, struct pf_owner *owner, uint64_t number)
{
    int result;
    pf_may_block();
    op->inside = pf_job_now();
    assert(!op->inside || op->inside->work->rank > work->rank);
    bool run_here = op->inside || (work->is_short && work->is_short(owner, number));
    pf_lock_take(&owner->pool->lock);
    do
        result = run_or_wait(work, owner, number, run_here, op);
    while (result == RETRY);
    pf_lock_drop(&owner->pool->lock);
    return result;
}
