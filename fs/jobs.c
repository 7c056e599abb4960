/* SPDX-License-Identifier: MIT */
#include "fs/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fs/clock.h"
#include "fs/jobs_private.h"

enum {
    PASS_NICE = 5, /* nice value of passes, so that threads that answer requests take precedence */
    TICK_MS = 1000,
};

/* A loop of a running pass, on the stack of the pass's thread. Idle threads may run pieces of the loop. */
struct split {
    struct split *next;
    size_t n, taken, finished;
    void (*piece)(void *arg, size_t i);
    void *arg;
    struct pf_pass *pass; /* of the thread that created the split */
    struct pf_job *job;
};

static _Thread_local struct pf_job *job_now;

struct pf_job *pf_job_now(void)
{
    return job_now;
}

/* ---- splits ------------------------------------------------------------------------------------- */

/* Runs one piece that no thread has taken. Drops the lock meanwhile. */
static void run_piece(struct pf_pool *pool, struct split *split)
{
    pf_assert_held(&pool->lock);
    size_t i = split->taken++;
    pf_lock_drop(&pool->lock);
    struct pf_pass *pass = pf_pass_begin(split->pass);
    struct pf_job *job = job_now;
    job_now = split->job;
    split->piece(split->arg, i);
    job_now = job;
    pf_pass_end(pass);
    pf_lock_take(&pool->lock);
    if (++split->finished == split->n)
        pthread_cond_broadcast(&pool->over);
}

void pf_pool_split(struct pf_pool *pool, size_t n, void (*piece)(void *arg, size_t i), void *arg)
{
    struct split split = {.n = n, .piece = piece, .arg = arg, .pass = pf_pass_now(), .job = job_now};
    if (n == 0)
        return;
    pf_may_block();
    pf_lock_take(&pool->lock);
    split.next = pool->splits;
    /* cppcheck-suppress autoVariables ; removed before this function returns */
    pool->splits = &split;
    if (n > 1)
        pthread_cond_broadcast(&pool->work);
    while (split.taken < n)
        run_piece(pool, &split);
    while (split.finished < n)
        pf_lock_wait(&pool->lock, &pool->over);
    struct split **at = &pool->splits;
    while (*at != &split)
        at = &(*at)->next;
    *at = split.next;
    pf_lock_drop(&pool->lock);
}

void pf_turn_begin(struct pf_pool *pool, struct pf_turns *turns, size_t i)
{
    pf_may_block();
    pf_lock_take(&pool->lock);
    while (turns->turn != i)
        pf_lock_wait(&pool->lock, &turns->over);
    pf_lock_drop(&pool->lock);
}

void pf_turn_end(struct pf_pool *pool, struct pf_turns *turns)
{
    pf_lock_take(&pool->lock);
    turns->turn++;
    pthread_cond_broadcast(&turns->over);
    pf_lock_drop(&pool->lock);
}

static struct split *open_split(const struct pf_pool *pool)
{
    for (struct split *split = pool->splits; split; split = split->next)
        if (split->taken < split->n)
            return split;
    return NULL;
}

/* ---- jobs; with the lock held ------------------------------------------------------------------- */

static struct pf_job *queued_job(const struct pf_pool *pool)
{
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        if (job->state == PF_JOB_QUEUED)
            return job;
    return NULL;
}

/* Runs the job's work. Drops the lock meanwhile. */
static int run_work(struct pf_pool *pool, struct pf_job *job)
{
    pf_lock_drop(&pool->lock);
    struct pf_pass *pass = pf_pass_begin(&job->pass);
    struct pf_job *outer = job_now;
    job_now = job;
    int result = job->work->run(job->owner, job->number, &job->error);
    job_now = outer;
    pf_pass_end(pass);
    pf_lock_take(&pool->lock);
    return result;
}

void pf_run_job(struct pf_pool *pool, struct pf_job *job)
{
    job->state = PF_JOB_RUNNING;
    job->references++;
    atomic_store(&job->pass.stepped, true);
    job->result = atomic_load(&job->pass.stop)
                      ? pf_fail(&job->error, ECANCELED, "cancelled: no waiter left")
                      : run_work(pool, job);
    pool->stalled -= job->stalled;
    pf_job_remove_unless_failed(job);
    /* Release the owner before waking the waiters, so that a waiter, not this thread, drops the last reference. */
    pf_lock_drop(&pool->lock);
    job->owner->type->release(job->owner);
    pf_lock_take(&pool->lock);
    struct pf_job **at = &pool->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    pthread_cond_broadcast(&pool->over);
    pf_job_finish(job);
}

static void run_on_pool(struct pf_pool *pool, struct pf_job *job)
{
    job->on_pool = true;
    pool->running++;
    pf_run_job(pool, job);
    pool->running--;
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void *pass_thread(void *arg)
{
    struct pf_pool *pool = arg;
    setpriority(PRIO_PROCESS, 0, PASS_NICE); /* on Linux, sets the nice value of the calling thread only */
    pf_lock_take(&pool->lock);
    for (;;) {
        struct pf_job *job = queued_job(pool);
        struct split *split = open_split(pool);
        if (job)
            run_on_pool(pool, job);
        else if (split)
            run_piece(pool, split);
        else if (pool->closing)
            break;
        else
            pf_lock_wait(&pool->lock, &pool->work);
    }
    pf_lock_drop(&pool->lock);
    return NULL;
}

/* Runs queued jobs as long as fewer than for_passes jobs make progress. */
static void *extra_thread(void *arg)
{
    struct pf_pool *pool = arg;
    struct pf_job *job;
    setpriority(PRIO_PROCESS, 0, PASS_NICE);
    pf_lock_take(&pool->lock);
    do {
        if ((job = queued_job(pool)))
            run_on_pool(pool, job);
    } while (job && pool->running - pool->stalled < pool->for_passes);
    pool->extra--;
    pthread_cond_broadcast(&pool->over);
    pf_lock_drop(&pool->lock);
    return NULL;
}

/* Starts a thread for a queued job. Called with the lock held. If pthread_create fails, the job waits for the next tick. */
static void start_extra_thread(struct pf_pool *pool)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, extra_thread, pool))
        return;
    pthread_detach(thread);
    pool->extra++;
}

static bool all_are_stalled(const struct pf_pool *pool)
{
    return pool->running >= pool->for_passes && pool->stalled == pool->running;
}

/* Marks a job, and all jobs that wait for it, as not stalled. */
static void pass_on_step(struct pf_job *job)
{
    job->stalled = false;
    for (struct pf_op *op = job->waiters; op; op = op->next)
        if (op->inside && op->inside->stalled)
            pass_on_step(op->inside);
}

static void find_stalled(struct pf_pool *pool)
{
    size_t queued = 0;
    pf_assert_held(&pool->lock);
    for (struct pf_job *job = pool->jobs; job; job = job->next) {
        queued += job->state == PF_JOB_QUEUED;
        job->stepped = job->state == PF_JOB_RUNNING && atomic_exchange(&job->pass.stepped, false);
        job->stalled = job->state == PF_JOB_RUNNING && !job->stepped && job->on_pool;
    }
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        if (job->stepped)
            pass_on_step(job);
    pool->stalled = 0;
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        pool->stalled += job->stalled;
    if (all_are_stalled(pool))
        while (queued-- > 0)
            start_extra_thread(pool);
}

void pf_pool_tick(struct pf_pool *pool)
{
    pf_lock_take(&pool->lock);
    find_stalled(pool);
    pf_lock_drop(&pool->lock);
}

static void *ticking_thread(void *arg)
{
    struct pf_pool *pool = arg;
    pf_lock_take(&pool->lock);
    struct timespec until = pf_monotonic_after(pool->tick_ms);
    while (!pool->closing) {
        if (!pool->jobs) {
            pool->ticker_waits = true;
            pf_lock_wait(&pool->lock, &pool->tick);
            pool->ticker_waits = false;
            until = pf_monotonic_after(pool->tick_ms);
        } else if (pf_lock_wait_until(&pool->lock, &pool->tick, &until) == ETIMEDOUT) {
            find_stalled(pool);
            until = pf_monotonic_after(pool->tick_ms);
        }
    }
    pf_lock_drop(&pool->lock);
    return NULL;
}

/* ---- the pool ----------------------------------------------------------------------------------- */

static int start_threads(struct pf_pool *pool)
{
    pf_assert_held(&pool->lock);
    if (!pool->ticks && pthread_create(&pool->ticker, NULL, ticking_thread, pool))
        return -1;
    pool->ticks = true;
    for (; pool->threads < pool->for_passes; pool->threads++)
        if (pthread_create(&pool->thread[pool->threads], NULL, pass_thread, pool))
            return -1;
    return 0;
}

struct pf_pool *pf_pool_new(unsigned threads)
{
    struct pf_pool *pool = calloc(1, sizeof *pool + threads * sizeof *pool->thread);
    if (!pool)
        return NULL;
    pf_lock_init(&pool->lock, PF_RANK_POOL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->over, NULL);
    pthread_cond_init(&pool->tick, NULL);
    pool->for_passes = threads;
    pool->tick_ms = TICK_MS;
    return pool;
}

int pf_pool_start(struct pf_pool *pool)
{
    pf_lock_take(&pool->lock);
    int result = start_threads(pool);
    pf_lock_drop(&pool->lock);
    return result;
}

int pf_job_list(struct pf_pool *pool, struct pf_job *job, bool run_here)
{
    if (!run_here && start_threads(pool))
        return -1;
    struct pf_job **end = &pool->jobs;
    while (*end)
        end = &(*end)->next;
    *end = job;
    if (run_here)
        return 0;
    if (all_are_stalled(pool))
        start_extra_thread(pool);
    pthread_cond_signal(&pool->work);
    if (pool->ticker_waits)
        pthread_cond_signal(&pool->tick);
    return 0;
}

void pf_pool_close(struct pf_pool *pool)
{
    pf_lock_take(&pool->lock);
    pool->closing = true;
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        pf_job_update_stop(pool, job);
    pthread_cond_broadcast(&pool->work);
    pthread_cond_signal(&pool->tick);
    pf_lock_drop(&pool->lock);
}

void pf_pool_join(struct pf_pool *pool)
{
    pf_pool_close(pool);
    pf_lock_take(&pool->lock);
    while (pool->jobs || pool->extra)
        pf_lock_wait(&pool->lock, &pool->over);
    unsigned threads = pool->threads;
    bool ticks = pool->ticks;
    pool->threads = 0;
    pool->ticks = false;
    pf_lock_drop(&pool->lock);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(pool->thread[i], NULL);
    if (ticks)
        pthread_join(pool->ticker, NULL);
}

void pf_pool_free(struct pf_pool *pool)
{
    if (!pool)
        return;
    pf_pool_join(pool);
    pthread_cond_destroy(&pool->tick);
    pthread_cond_destroy(&pool->over);
    pthread_cond_destroy(&pool->work);
    pf_lock_destroy(&pool->lock);
    free(pool);
}

size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room)
{
    size_t n = 0;
    pf_lock_take(&pool->lock);
    for (struct pf_job *job = pool->jobs; job; job = job->next, n++) {
        if (n >= room)
            continue;
        uint64_t done = atomic_load(&job->pass.done), total = atomic_load(&job->pass.total);
        status[n] = (struct pf_job_status){.running = job->state == PF_JOB_RUNNING};
        memcpy(status[n].what, job->what, sizeof job->what);
        status[n].percent = total ? (unsigned)(100.0 * (double)done / (double)total) : 0;
        for (struct pf_op *op = job->waiters; op; op = op->next)
            status[n].waiters++;
    }
    pf_lock_drop(&pool->lock);
    return n;
}
