/* SPDX-License-Identifier: MIT */
#include "fs/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Passes yield the processor to threads that answer requests. */
enum { PASS_NICE = 5 };

enum state { QUEUED, RUNNING, OVER };

struct pf_job {
    struct pf_pool *pool;
    struct pf_job *next; /* in the pool's list of all jobs, oldest first */
    unsigned references; /* the pool's own until the job is over, and everybody's who holds it */
    enum state state;
    bool stalled; /* running, and without a step between the last two ticks */
    char what[64];
    pf_job_run *run;
    void (*over)(void *arg, struct pf_job *job, const struct pf_error *error);
    void *arg;
    struct pf_pass pass;
    struct pf_op *waiters;
    int result; /* once it is over */
    struct pf_error error;
};

/* A loop that a running pass has opened for others to help with; stands on that pass's stack. */
struct split {
    struct split *next;
    size_t n, taken, finished;
    void (*piece)(void *arg, size_t i);
    void *arg;
    struct pf_pass *pass; /* of the thread that has opened it */
};

struct pf_pool {
    struct pf_lock lock;
    pthread_cond_t work;   /* for pass threads: a job or a split */
    pthread_cond_t errand; /* for short threads */
    pthread_cond_t over;   /* a job or a split piece is over */
    struct pf_job *jobs;
    struct split *splits;
    struct pf_errand *errands, **errands_end;
    bool closing;
    unsigned wanted, for_passes; /* threads; the first ones run passes */
    unsigned threads;            /* that have been started */
    unsigned running, stalled;   /* jobs */
    unsigned extra;              /* threads for jobs that would otherwise queue behind stalled ones */
    pthread_t thread[];
};

/* ---- splits ------------------------------------------------------------------------------------- */

/* Runs one untaken piece, without the lock. */
static void run_piece(struct pf_pool *pool, struct split *split)
{
    pf_assert_held(&pool->lock);
    size_t i = split->taken++;
    pf_lock_drop(&pool->lock);
    struct pf_pass *before = pf_pass_enter(split->pass);
    split->piece(split->arg, i);
    pf_pass_leave(before);
    pf_lock_take(&pool->lock);
    if (++split->finished == split->n)
        pthread_cond_broadcast(&pool->over);
}

void pf_pool_split(struct pf_pool *pool, size_t n, void (*piece)(void *arg, size_t i), void *arg)
{
    struct split split = {.n = n, .piece = piece, .arg = arg, .pass = pf_pass_now()};
    if (n == 0)
        return;
    pf_lock_take(&pool->lock);
    split.next = pool->splits;
    /* cppcheck-suppress autoVariables ; taken off before this function returns */
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

/* ---- threads ------------------------------------------------------------------------------------ */

static struct pf_job *queued_job(const struct pf_pool *pool)
{
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        if (job->state == QUEUED)
            return job;
    return NULL;
}

static void push_errand(struct pf_pool *pool, struct pf_errand *errand)
{
    errand->next = NULL;
    *pool->errands_end = errand;
    pool->errands_end = &errand->next;
    pthread_cond_signal(&pool->errand);
}

static void drop(struct pf_job *job)
{
    if (--job->references == 0)
        free(job);
}

/* Ends a job and wakes its waiters. */
static void finish(struct pf_pool *pool, struct pf_job *job)
{
    pf_assert_held(&pool->lock);
    job->state = OVER;
    struct pf_job **at = &pool->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    for (struct pf_op *waiter = job->waiters; waiter; waiter = waiter->next)
        pthread_cond_signal(&waiter->changed);
    job->waiters = NULL;
    pthread_cond_broadcast(&pool->over);
    drop(job);
}

static void run_job(struct pf_pool *pool, struct pf_job *job)
{
    job->state = RUNNING;
    atomic_store(&job->pass.stepped, true);
    pool->running++;
    pf_lock_drop(&pool->lock);
    struct pf_pass *before = pf_pass_enter(&job->pass);
    job->result = job->run(job->arg, &job->error);
    pf_pass_leave(before);
    job->over(job->arg, job, &job->error);
    pf_lock_take(&pool->lock);
    pool->running--;
    pool->stalled -= job->stalled;
    finish(pool, job);
}

static void *pass_thread(void *arg)
{
    struct pf_pool *pool = arg;
    setpriority(PRIO_PROCESS, 0, PASS_NICE); /* on Linux, of the calling thread only */
    pf_lock_take(&pool->lock);
    for (;;) {
        struct pf_job *job = queued_job(pool);
        struct split *split = open_split(pool);
        if (job)
            run_job(pool, job);
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

/* Runs a job, and then others while fewer than usual make progress. */
static void *extra_thread(void *arg)
{
    struct pf_pool *pool = arg;
    struct pf_job *job;
    setpriority(PRIO_PROCESS, 0, PASS_NICE);
    pf_lock_take(&pool->lock);
    do {
        if ((job = queued_job(pool)))
            run_job(pool, job);
    } while (job && pool->running - pool->stalled < pool->for_passes);
    pool->extra--;
    pthread_cond_broadcast(&pool->over);
    pf_lock_drop(&pool->lock);
    return NULL;
}

/* Starts a thread for a queued job. If no thread can be had, the job waits for the next tick. */
static void start_extra_thread(struct pf_pool *pool)
{
    pf_assert_held(&pool->lock);
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

void pf_pool_tick(struct pf_pool *pool)
{
    size_t queued = 0;
    pf_lock_take(&pool->lock);
    pool->stalled = 0;
    for (struct pf_job *job = pool->jobs; job; job = job->next) {
        queued += job->state == QUEUED;
        job->stalled = job->state == RUNNING && !atomic_exchange(&job->pass.stepped, false);
        pool->stalled += job->stalled;
    }
    if (all_are_stalled(pool))
        while (queued-- > 0)
            start_extra_thread(pool);
    pf_lock_drop(&pool->lock);
}

static void *short_thread(void *arg)
{
    struct pf_pool *pool = arg;
    pf_lock_take(&pool->lock);
    for (;;) {
        struct pf_errand *errand = pool->errands;
        if (errand) {
            pool->errands = errand->next;
            if (!pool->errands)
                pool->errands_end = &pool->errands;
            pf_lock_drop(&pool->lock);
            errand->run(errand);
            pf_lock_take(&pool->lock);
        } else if (pool->closing && !pool->jobs) {
            break;
        } else {
            pf_lock_wait(&pool->lock, &pool->errand);
        }
    }
    pf_lock_drop(&pool->lock);
    return NULL;
}

struct pf_pool *pf_pool_new(unsigned pass_threads, unsigned short_threads)
{
    unsigned threads = pass_threads + short_threads;
    struct pf_pool *pool = calloc(1, sizeof *pool + threads * sizeof *pool->thread);
    if (!pool)
        return NULL;
    pf_lock_init(&pool->lock, PF_RANK_POOL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->errand, NULL);
    pthread_cond_init(&pool->over, NULL);
    pool->errands_end = &pool->errands;
    pool->wanted = threads;
    pool->for_passes = pass_threads;
    return pool;
}

static int start_threads(struct pf_pool *pool)
{
    pf_assert_held(&pool->lock);
    for (; pool->threads < pool->wanted; pool->threads++) {
        void *(*body)(void *) = pool->threads < pool->for_passes ? pass_thread : short_thread;
        if (pthread_create(&pool->thread[pool->threads], NULL, body, pool))
            return -1;
    }
    return 0;
}

int pf_pool_start(struct pf_pool *pool)
{
    pf_lock_take(&pool->lock);
    int result = start_threads(pool);
    pf_lock_drop(&pool->lock);
    return result;
}

void pf_pool_close(struct pf_pool *pool)
{
    pf_lock_take(&pool->lock);
    pool->closing = true;
    for (struct pf_job *job = pool->jobs; job; job = job->next)
        atomic_store(&job->pass.stop, true);
    pthread_cond_broadcast(&pool->work);
    pf_lock_drop(&pool->lock);
}

void pf_pool_free(struct pf_pool *pool)
{
    if (!pool)
        return;
    pf_pool_close(pool);
    pf_lock_take(&pool->lock);
    while (pool->jobs || pool->extra)
        pf_lock_wait(&pool->lock, &pool->over);
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->errand);
    pf_lock_drop(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++)
        pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->over);
    pthread_cond_destroy(&pool->errand);
    pthread_cond_destroy(&pool->work);
    pf_lock_destroy(&pool->lock);
    free(pool);
}

/* ---- jobs --------------------------------------------------------------------------------------- */

struct pf_job *pf_job_start(struct pf_pool *pool, const char *what, pf_job_run *run,
                            void (*over)(void *arg, struct pf_job *job, const struct pf_error *error),
                            void *arg)
{
    struct pf_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->pool = pool;
    job->references = 2;
    job->run = run;
    job->over = over;
    job->arg = arg;
    snprintf(job->what, sizeof job->what, "%s", what);
    pf_lock_take(&pool->lock);
    /* No job while closing: waiters would start again the passes that have been stopped. */
    if (pool->closing || start_threads(pool)) {
        pf_lock_drop(&pool->lock);
        free(job);
        return NULL;
    }
    struct pf_job **end = &pool->jobs;
    while (*end)
        end = &(*end)->next;
    *end = job;
    if (all_are_stalled(pool))
        start_extra_thread(pool);
    pthread_cond_signal(&pool->work);
    pf_lock_drop(&pool->lock);
    return job;
}

struct pf_job *pf_job_hold(struct pf_job *job)
{
    pf_lock_take(&job->pool->lock);
    job->references++;
    pf_lock_drop(&job->pool->lock);
    return job;
}

void pf_job_release(struct pf_job *job)
{
    struct pf_pool *pool = job->pool;
    pf_lock_take(&pool->lock);
    drop(job);
    pf_lock_drop(&pool->lock);
}

bool pf_pool_errand(struct pf_pool *pool, struct pf_errand *errand)
{
    pf_lock_take(&pool->lock);
    bool taken = !pool->closing && !start_threads(pool);
    if (taken)
        push_errand(pool, errand);
    pf_lock_drop(&pool->lock);
    return taken;
}

static bool join(struct pf_job *job, struct pf_op *op)
{
    pf_assert_held(&job->pool->lock);
    if (job->state == OVER)
        return false;
    op->next = job->waiters;
    job->waiters = op;
    /* The pass may have been stopped, and not have noticed, when its last waiter left. */
    if (!job->pool->closing)
        atomic_store(&job->pass.stop, false);
    return true;
}

static bool leave(struct pf_job *job, const struct pf_op *op)
{
    pf_assert_held(&job->pool->lock);
    struct pf_op **at = &job->waiters;
    while (*at && *at != op)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = op->next;
    if (!job->waiters)
        atomic_store(&job->pass.stop, true);
    return true;
}

bool pf_job_join(struct pf_job *job, struct pf_op *op)
{
    pf_lock_take(&job->pool->lock);
    bool joined = join(job, op);
    pf_lock_drop(&job->pool->lock);
    return joined;
}

bool pf_job_leave(struct pf_job *job, struct pf_op *op)
{
    pf_lock_take(&job->pool->lock);
    bool left = leave(job, op);
    pf_lock_drop(&job->pool->lock);
    return left;
}

/* Waits until the operation is signalled, or a tenth of a second; then calls the callback, without the lock. */
static void wait_and_show(struct pf_job *job, struct pf_op *op)
{
    pf_assert_held(&job->pool->lock);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pf_lock_wait_until(&job->pool->lock, &op->changed, &until) == ETIMEDOUT) {
        pf_lock_drop(&job->pool->lock);
        op->progress(&job->pass, op);
        pf_lock_take(&job->pool->lock);
    }
}

int pf_job_wait(struct pf_job *job, struct pf_op *op)
{
    pf_may_block();
    struct pf_pool *pool = job->pool;
    pf_lock_take(&pool->lock);
    bool joined = join(job, op);
    while (job->state != OVER && !op->interrupted)
        if (op->progress)
            wait_and_show(job, op);
        else
            pf_lock_wait(&pool->lock, &op->changed);
    int result = joined && leave(job, op) ? pf_fail(&op->error, EINTR, "interrupted") : job->result;
    if (result && job->state == OVER)
        op->error = job->error;
    pf_lock_drop(&pool->lock);
    return result ? -1 : 0;
}

void pf_op_interrupt(struct pf_pool *pool, struct pf_op *op)
{
    pf_lock_take(&pool->lock);
    op->interrupted = true;
    pthread_cond_signal(&op->changed);
    pf_lock_drop(&pool->lock);
}

void pf_job_block(struct pf_job *job)
{
    struct pf_pool *pool = job->pool;
    pf_lock_take(&pool->lock);
    while (job->state != OVER)
        pf_lock_wait(&pool->lock, &pool->over);
    pf_lock_drop(&pool->lock);
}

size_t pf_pool_status(struct pf_pool *pool, struct pf_job_status *status, size_t room)
{
    size_t n = 0;
    pf_lock_take(&pool->lock);
    for (struct pf_job *job = pool->jobs; job; job = job->next, n++) {
        if (n >= room)
            continue;
        uint64_t done = atomic_load(&job->pass.done), total = atomic_load(&job->pass.total);
        status[n] = (struct pf_job_status){.running = job->state == RUNNING};
        memcpy(status[n].what, job->what, sizeof job->what);
        status[n].percent = total ? (unsigned)(100.0 * (double)done / (double)total) : 0;
        for (struct pf_op *waiter = job->waiters; waiter; waiter = waiter->next)
            status[n].waiters++;
    }
    pf_lock_drop(&pool->lock);
    return n;
}
