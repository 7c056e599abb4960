/* SPDX-License-Identifier: MIT */
#include "fs/work.h"

#include "tests/unit/tap.h"
#include "tests/unit/workload.h"

/* Tests how keyed jobs are started, joined and stopped, and how long the failure of a job is repeated. */

/* ---- starting and joining ------------------------------------------------------------------------ */

static void test_joining(void)
{
    enum { OPERATIONS = 20 };
    static struct workload load;
    static struct asking asking[OPERATIONS];
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    for (unsigned i = 0; i < OPERATIONS; i++)
        ask_start(&asking[i], &gated, &load, 1);
    await_waiters(pool, OPERATIONS);
    ok(load.owner.references == 2, "the owner is held while a job runs");
    gate_open(&load.gate);
    int failed = 0, early = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        failed += ask_result(&asking[i]) != 0;
        early += asking[i].early;
    }
    ok(failed == 0 && early == 0, "all operations wait until the job has ended");
    ok(load.runs == 1, "a job that many operations wait for runs once");
    struct pf_op op = PF_OP;
    ok(!pf_need(&op, &gated, &load.owner, 2) && load.runs == 2, "a job with another number is another job");
    ok(!pf_need(&op, &gated, &load.owner, 1) && load.runs == 3,
       "a job that has succeeded is no longer listed");
    pf_pool_free(pool);
    ok(load.owner.references == 1, "the owner is released when its jobs have ended");
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void test_failing(void)
{
    struct workload load;
    struct asking asking[3];
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    load.code = EINVAL;
    for (int i = 0; i < 3; i++)
        ask_start(&asking[i], &gated, &load, 0);
    await_waiters(pool, 3);
    gate_open(&load.gate);
    int told = 0;
    for (int i = 0; i < 3; i++)
        told += ask_result(&asking[i]) == EINVAL;
    ok(told == 3 && load.runs == 1, "a failing job with three waiters runs once, and all get its error");
    struct pf_op op = PF_OP;
    ok(pf_need(&op, &gated, &load.owner, 0) == -1 && op.error.code == EINVAL && load.runs == 1,
       "a permanent failure is repeated without another attempt");
    ok(!pf_owner_is_busy(&load.owner), "a failure holds no reference to its owner");

    load.code = EMFILE;
    for (int i = 0; i < 2; i++)
        pf_need(&op, &gated, &load.owner, 1);
    ok(op.error.code == EMFILE && load.runs == 3, "a job that ran out of descriptors is repeated at once");
    load.code = ESTALE;
    for (int i = 0; i < 2; i++)
        pf_need(&op, &gated, &load.owner, 2);
    ok(op.error.code == ESTALE && load.runs == 5, "a job whose file has changed is repeated at once");
    load.code = ENOMEM;
    for (int i = 0; i < 2; i++)
        pf_need(&op, &gated, &load.owner, 3);
    ok(op.error.code == ENOMEM && load.runs == 6, "a transient error is repeated for a short time");
    sleep(3);
    load.code = 0;
    ok(!pf_need(&op, &gated, &load.owner, 3) && load.runs == 7,
       "a job with a transient error is attempted again after that time");

    load.code = EINVAL;
    for (uint64_t i = 10; i < 30; i++)
        pf_need(&op, &gated, &load.owner, i);
    int before = load.runs;
    pf_need(&op, &gated, &load.owner, 29);
    ok(load.runs == before, "the latest failures are cached");
    pf_need(&op, &gated, &load.owner, 10);
    ok(load.runs == before + 1, "the number of cached failures is limited");
    pf_owner_end(&load.owner);
    ok(!load.owner.jobs, "the end of the owner removes cached failures");
    pf_pool_free(pool);
}

/* ---- interrupting -------------------------------------------------------------------------------- */

static void test_interrupting(void)
{
    struct workload load;
    struct asking a, b;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, true);
    ask_start(&a, &endless, &load, 0);
    ask_start(&b, &endless, &load, 0);
    await_waiters(pool, 2);
    ask_interrupt(&a);
    ok(ask_result(&a) == EINTR, "an operation can be interrupted while it waits");
    await_step(&load); /* a job that is stopped while it is queued would never run */
    ok(load.stopped == 0, "a job with other waiters continues");
    ok(pf_need(&a.background.op, &endless, &load.owner, 0) == -1 && a.background.op.error.code == EINTR,
       "an interrupted operation no longer waits");
    await_step(&load);
    ok(load.stopped == 0, "an interrupted operation does not stop a job with other waiters");
    ask_interrupt(&b);
    ok(ask_result(&b) == EINTR, "the last waiter can be interrupted");
    while (pf_owner_is_busy(&load.owner))
        usleep(100);
    ok(load.stopped == 1, "the interrupt of the last waiter stops the job");
    ok(!load.owner.jobs, "a job that was stopped is not a failure");
    pf_pool_free(pool);
}

static void test_wanted_again(void)
{
    struct workload load;
    struct asking a, b;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    ask_start(&a, &gated, &load, 0);
    gate_await(&load.gate, 1);
    ask_interrupt(&a);
    ask_result(&a);
    ask_start(&b, &gated, &load, 0);
    await_waiters(pool, 1);
    gate_open(&load.gate);
    ok(ask_result(&b) == 0 && load.runs == 1,
       "a stopped job that has not noticed it can be joined again");
    pf_pool_free(pool);
}

/* A job whose first run waits until it is stopped, then waits at the gate, where another operation can join it, and fails. */
static int run_noticing(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct workload *load = (struct workload *)owner;
    (void)number;
    if (atomic_fetch_add(&load->runs, 1))
        return 0;
    while (!pf_pass_check(error))
        usleep(100);
    gate_pass(&load->gate);
    return -1;
}

static void test_stopped_too_late(void)
{
    const struct pf_work noticing = {"noticing", PF_WORK_SIZES, NULL, run_noticing};
    struct workload load;
    struct asking a, b;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    ask_start(&a, &noticing, &load, 0);
    await_waiters(pool, 1);
    while (!load.runs)
        usleep(100);
    ask_interrupt(&a);
    ask_result(&a);
    gate_await(&load.gate, 1);
    ask_start(&b, &noticing, &load, 0);
    await_waiters(pool, 1);
    gate_open(&load.gate);
    ok(ask_result(&b) == 0 && load.runs == 2,
       "an operation that joins a job after it was stopped runs it again");
    pf_pool_free(pool);
}

/* ---- short jobs ---------------------------------------------------------------------------------- */

static bool always(struct pf_owner *owner, uint64_t number)
{
    (void)owner, (void)number;
    return true;
}

static int note_thread(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    *(pthread_t *)((struct workload *)owner)->more = pthread_self();
    return run_gated(owner, number, error);
}

static void test_short(void)
{
    const struct pf_work brief = {"brief", PF_WORK_SIZES, always, note_thread};
    const struct pf_work long_and_short = {"endless", PF_WORK_SIZES, always, run_endless};
    struct workload load;
    struct asking a, b;
    pthread_t thread;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    load.more = &thread;
    ask_start(&a, &brief, &load, 0);
    gate_await(&load.gate, 1);
    ask_start(&b, &brief, &load, 0);
    await_waiters(pool, 2);
    ask_interrupt(&a);
    gate_open(&load.gate);
    ok(ask_result(&b) == 0 && load.runs == 1, "other operations wait for a short job");
    ask_result(&a);
    ok(pthread_equal(thread, a.background.thread),
       "a short job runs on the thread of the first operation that needs it");
    ask_start(&a, &long_and_short, &load, 0);
    while (load.runs < 2)
        usleep(100);
    ask_interrupt(&a);
    ok(ask_result(&a) == EINTR && load.stopped == 1, "an interrupt stops a job that the operation runs itself");
    pf_pool_free(pool);
}

/* ---- jobs that need jobs ------------------------------------------------------------------------- */

static const struct pf_work inner = {"inner", PF_WORK_OPEN, NULL, note_thread};

/* A job that needs the inner job of another owner. */
static int run_outer(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct workload *load = (struct workload *)owner, *other = load->more;
    struct pf_op op = PF_OP;
    (void)number;
    atomic_fetch_add(&load->runs, 1);
    int result = pf_need(&op, &inner, &other->owner, 0);
    *error = op.error;
    return end_run(load, result, error);
}

static const struct pf_work outer = {"outer", PF_WORK_SIZES, NULL, run_outer};

static void test_nesting(void)
{
    struct workload first, second, needed;
    struct asking a, b, direct;
    pthread_t thread;
    struct pf_op op = PF_OP;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&first, pool, true);
    workload_init(&second, pool, true);
    workload_init(&needed, pool, true);
    first.more = second.more = &needed;
    needed.more = &thread;
    ok(!pf_need(&op, &outer, &first.owner, 0) && needed.runs == 1,
       "the only thread for passes also runs the jobs that its job needs");

    /* The only thread is busy, so that the needed job is queued. */
    struct workload busy;
    workload_init(&busy, pool, false);
    struct asking blocker;
    ask_start(&blocker, &gated, &busy, 0);
    gate_await(&busy.gate, 1);
    ask_start(&a, &outer, &first, 0);
    await_jobs(pool, 2);
    ask_start(&direct, &inner, &needed, 0);
    await_jobs(pool, 3);
    gate_open(&busy.gate);
    ok(!ask_result(&a) && !ask_result(&direct) && needed.runs == 2,
       "a queued job is run by the job that needs it");
    ask_result(&blocker);
    pf_pool_free(pool);

    pool = pf_pool_new(2);
    workload_init(&first, pool, true);
    workload_init(&second, pool, true);
    workload_init(&needed, pool, false);
    first.more = second.more = &needed;
    needed.more = &thread;
    ask_start(&a, &outer, &first, 0);
    gate_await(&needed.gate, 1);
    ask_start(&b, &outer, &second, 0);
    while (!second.runs)
        usleep(100);
    ask_interrupt(&b);
    ok(ask_result(&b) == EINTR, "a job that waits for another job can be stopped");
    while (pf_owner_is_busy(&second.owner))
        usleep(100);
    ok(second.stopped == 1 && needed.stopped == 0, "stopping a job does not stop a job that others need");
    ask_interrupt(&a);
    ok(ask_result(&a) == EINTR, "the last operation that needs a nested job can be interrupted");
    gate_open(&needed.gate);
    while (pf_owner_is_busy(&first.owner))
        usleep(100);
    ok(needed.stopped == 1 && first.stopped == 1, "the interrupt of the last operation stops the nested job");
    pf_pool_free(pool);
}

/* ---- progress ------------------------------------------------------------------------------------ */

/* An operation that opens a gate as soon as it has seen progress. */
struct watching {
    struct pf_op op;
    struct gate *gate;
};

static void let_pass(const struct pf_pass *pass, struct pf_op *op)
{
    (void)pass;
    gate_open(((struct watching *)op)->gate);
}

static void test_progress(void)
{
    struct workload load;
    struct pf_pool *pool = pf_pool_new(1);
    workload_init(&load, pool, false);
    struct watching watching = {.op = PF_OP, .gate = &load.gate};
    watching.op.progress = let_pass;
    ok(!pf_need(&watching.op, &gated, &load.owner, 0) && load.ended == 1,
       "an operation sees progress until the job ends");
    pf_pool_free(pool);
}

/* ---- many at once -------------------------------------------------------------------------------- */

enum { JOBS = 400, WAITERS = 3 };

struct storm {
    struct pf_pool *pool;
    unsigned seed;
    int wrong, early;
};

static void storm_one(struct storm *storm)
{
    struct workload load;
    struct asking asking[WAITERS];
    bool interrupted[WAITERS];
    workload_init(&load, storm->pool, true);
    for (int w = 0; w < WAITERS; w++)
        ask_start(&asking[w], &gated, &load, 0);
    for (int w = 0; w < WAITERS; w++)
        if ((interrupted[w] = rand_r(&storm->seed) % 2))
            ask_interrupt(&asking[w]);
    for (int w = 0; w < WAITERS; w++) {
        int code = ask_result(&asking[w]);
        storm->wrong += code && !(interrupted[w] && code == EINTR);
        storm->early += asking[w].early;
    }
    while (atomic_load(&load.owner.references) > 1) /* the owner's last job may still hold a reference */
        usleep(100);
    pf_owner_end(&load.owner);
}

static void test_storm(void)
{
    struct storm storm = {.pool = pf_pool_new(3), .seed = 1};
    for (int j = 0; j < JOBS; j++)
        storm_one(&storm);
    pf_pool_free(storm.pool);
    ok(storm.wrong == 0, "each of hundreds of jobs ends for all waiters that are not interrupted");
    ok(storm.early == 0, "no waiter returns before its job has run");
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_joining();
    test_failing();
    test_interrupting();
    test_wanted_again();
    test_stopped_too_late();
    test_short();
    test_nesting();
    test_progress();
    test_storm();
    return done();
}
