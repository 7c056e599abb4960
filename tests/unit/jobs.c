/* SPDX-License-Identifier: MIT */
#include "fs/jobs_private.h"

#include <limits.h>

#include "tests/unit/tap.h"
#include "tests/unit/workload.h"

/* Tests the pool of threads that run jobs: its status, stalled jobs, parallel loops and shutdown. */

static void test_status(void)
{
    struct pf_pool *pool = pf_pool_new(1);
    struct workload first, second;
    struct asking a, b;
    struct pf_job_status status[4];
    workload_init(&first, pool, false);
    workload_init(&second, pool, true);
    ok(pf_pool_status(pool, status, 4) == 0, "an idle pool has no jobs");
    ask_start(&a, &gated, &first, 0);
    gate_await(&first.gate, 1);
    ask_start(&b, &gated, &second, 0);
    await_jobs(pool, 2);
    ok(pf_pool_status(pool, status, 4) == 2 && status[0].running && !status[1].running,
       "status counts running and queued jobs");
    ok(status[0].waiters == 1 && status[1].waiters == 1,
       "status counts the waiters of running and queued jobs");
    ok(pf_pool_status(pool, status, 1) == 2, "status counts jobs beyond the given list");
    gate_open(&first.gate);
    ok(!ask_result(&a) && !ask_result(&b), "two jobs on one thread both succeed");
    ok(pf_pool_status(pool, status, 4) == 0, "finished jobs are removed");
    pf_pool_free(pool);
}

/* ---- jobs without progress ---------------------------------------------------------------------- */

/* Returns a pool whose timer never fires, because the test calls the tick itself. */
static struct pf_pool *new_unticked_pool(unsigned threads)
{
    struct pf_pool *pool = pf_pool_new(threads);
    pool->tick_ms = UINT_MAX;
    return pool;
}

static void test_stalled(void)
{
    struct pf_pool *pool = new_unticked_pool(2);
    struct workload hung[2], next[5], step, queued;
    struct asking of_hung[2], of_next[5], of_step, of_queued;
    for (int i = 0; i < 2; i++) {
        workload_init(&hung[i], pool, false);
        ask_start(&of_hung[i], &gated, &hung[i], 0);
        gate_await(&hung[i].gate, 1);
    }
    for (int i = 0; i < 5; i++)
        workload_init(&next[i], pool, false);
    for (unsigned i = 0; i < 4; i++) {
        ask_start(&of_next[i], &gated, &next[i], 0);
        await_jobs(pool, 3 + i);
    }
    pf_pool_tick(pool);
    usleep(20000);
    ok(next[0].gate.arrived == 0, "a job that has just begun is not stalled");
    pf_pool_tick(pool);
    bool arrived = true;
    for (int i = 0; i < 4; i++)
        arrived &= gate_await(&next[i].gate, 1);
    ok(arrived, "if all running passes are stalled, each queued one gets a thread");
    pf_pool_tick(pool);
    pf_pool_tick(pool);
    ask_start(&of_next[4], &gated, &next[4], 0);
    ok(gate_await(&next[4].gate, 1), "if all running passes are stalled, a new job gets a thread at once");
    int failed = 0;
    for (int i = 0; i < 5; i++)
        gate_open(&next[i].gate);
    for (int i = 0; i < 5; i++)
        failed += ask_result(&of_next[i]) != 0;
    ok(!failed && hung[0].ended + hung[1].ended == 0, "queued jobs end while the stalled ones wait");
    gate_open(&hung[0].gate);
    ask_result(&of_hung[0]);
    workload_init(&step, pool, true);
    workload_init(&queued, pool, true);
    ask_start(&of_step, &endless, &step, 0);
    gate_await(&step.gate, 1);
    ask_start(&of_queued, &gated, &queued, 0);
    await_jobs(pool, 3);
    for (int i = 0; i < 5; i++) {
        pf_pool_tick(pool);
        await_step(&step);
    }
    ok(queued.runs == 0, "queued jobs wait while a running job makes progress");
    gate_open(&hung[1].gate);
    ok(!ask_result(&of_queued) && !ask_result(&of_hung[1]), "a queued job runs when a thread is free");
    pf_pool_join(pool);
    ok(ask_result(&of_step) == ECANCELED && step.ended == 1,
       "all jobs have ended when the threads are joined");
    pf_pool_free(pool);
}

static const struct pf_work needed = {"needed", PF_WORK_OPEN, NULL, run_endless};

static int run_needing(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct workload *load = (struct workload *)owner;
    struct pf_op op = PF_OP;
    (void)number;
    int result = pf_need(&op, &needed, &((struct workload *)load->more)->owner, 0);
    *error = op.error;
    return end_run(load, result, error);
}

/* A job waits for another job that makes progress. */
static void test_stalled_by_waiting(void)
{
    const struct pf_work needing = {"needing", PF_WORK_SIZES, NULL, run_needing};
    struct pf_pool *pool = new_unticked_pool(2);
    struct workload inner, outer[2], queued;
    struct asking of_outer[2], of_queued;
    workload_init(&inner, pool, true);
    workload_init(&queued, pool, true);
    for (int i = 0; i < 2; i++) {
        workload_init(&outer[i], pool, true);
        outer[i].more = &inner;
        ask_start(&of_outer[i], &needing, &outer[i], 0);
    }
    await_jobs(pool, 3);
    ask_start(&of_queued, &gated, &queued, 0);
    await_jobs(pool, 4);
    for (int i = 0; i < 5; i++) {
        pf_pool_tick(pool);
        await_step(&inner);
    }
    ok(queued.runs == 0, "a job is not stalled while the job that it waits for makes progress");
    pf_pool_join(pool);
    for (int i = 0; i < 2; i++)
        ask_result(&of_outer[i]);
    ok(ask_result(&of_queued) == ECANCELED && queued.runs == 0,
       "a job that is queued when the pool is closed does not run");
    pf_pool_free(pool);
}

static void test_ticking(void)
{
    struct pf_pool *pool = pf_pool_new(1);
    struct workload hung, next;
    struct asking of_hung, of_next;
    pool->tick_ms = 5;
    workload_init(&hung, pool, false);
    workload_init(&next, pool, false);
    ask_start(&of_hung, &gated, &hung, 0);
    gate_await(&hung.gate, 1);
    ask_start(&of_next, &gated, &next, 0);
    ok(gate_await(&next.gate, 1), "the pool finds stalled passes by itself");
    gate_open(&next.gate);
    ok(!ask_result(&of_next) && hung.ended == 0, "a queued job ends while the stalled one does not");
    gate_open(&hung.gate);
    ok(!ask_result(&of_hung), "a stalled job that continues succeeds");
    pf_pool_free(pool);
}

/* ---- parallel loops ----------------------------------------------------------------------------- */

enum { PIECES = 1000 };

struct shared_loop {
    struct workload load; /* first member, for casts */
    size_t n;
    atomic_int calls[PIECES];
    struct gate meeting; /* piece 0 waits here for piece 1 if `meet` */
    bool meet;
    atomic_int met, after;
    struct pf_turns turns;
    size_t order[PIECES], ordered; /* pieces in the order of their turns; guarded by the turns */
};

static void run_piece(void *arg, size_t i)
{
    struct shared_loop *loop = arg;
    atomic_fetch_add(&loop->calls[i], 1);
    pf_turn_begin(loop->load.owner.pool, &loop->turns, i);
    loop->order[loop->ordered++] = i;
    pf_turn_end(loop->load.owner.pool, &loop->turns);
}

/* Piece 0 waits until piece 1 runs, so that two threads are needed. */
static void run_meeting(void *arg, size_t i)
{
    struct shared_loop *loop = arg;
    atomic_fetch_add(&loop->calls[i], 1);
    if (i == 1)
        gate_open(&loop->meeting);
    else if (gate_pass(&loop->meeting))
        atomic_fetch_add(&loop->met, 1);
}

static int run_split(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct shared_loop *loop = (struct shared_loop *)owner;
    (void)number, (void)error;
    pf_pool_split(owner->pool, loop->n, loop->meet ? run_meeting : run_piece, loop);
    for (size_t i = 0; i < loop->n; i++)
        atomic_fetch_add(&loop->after, loop->calls[i]);
    return 0;
}

static const struct pf_work split = {"split", PF_WORK_SIZES, NULL, run_split};

static void test_split(void)
{
    static struct shared_loop loops[4], meeting = {.n = 2, .meet = true, .meeting = GATE_CLOSED}, empty;
    struct pf_pool *pool = pf_pool_new(3);
    struct asking asking[4];
    for (int j = 0; j < 4; j++) {
        workload_init(&loops[j].load, pool, true);
        loops[j].n = PIECES;
        loops[j].turns = (struct pf_turns)PF_TURNS;
        ask_start(&asking[j], &split, &loops[j].load, 0);
    }
    int wrong = 0, seen = 0, astray = 0;
    for (int j = 0; j < 4; j++) {
        ask_result(&asking[j]);
        for (int i = 0; i < PIECES; i++) {
            wrong += loops[j].calls[i] != 1;
            astray += loops[j].order[i] != (size_t)i;
        }
        seen += loops[j].after;
    }
    ok(wrong == 0, "a parallel loop runs every piece exactly once");
    ok(seen == 4 * PIECES, "a parallel loop returns after all its pieces have returned");
    ok(astray == 0, "turns of a parallel loop are taken in the order of the pieces");
    struct pf_op op = PF_OP;
    workload_init(&meeting.load, pool, true);
    workload_init(&empty.load, pool, true);
    pf_need(&op, &split, &meeting.load.owner, 0);
    ok(meeting.met == 1, "idle threads run pieces of a parallel loop");
    ok(!pf_need(&op, &split, &empty.load.owner, 0), "a parallel loop without pieces returns at once");
    pf_pool_free(pool);
}

/* ---- shutdown ----------------------------------------------------------------------------------- */

static void test_free_stops(void)
{
    struct pf_pool *pool = pf_pool_new(2);
    struct workload loads[6], late;
    struct asking asking[6];
    for (unsigned i = 0; i < 6; i++) {
        workload_init(&loads[i], pool, true);
        ask_start(&asking[i], &endless, &loads[i], 0);
        await_jobs(pool, i + 1);
    }
    gate_await(&loads[0].gate, 1);
    pf_pool_close(pool);
    int ended = 0;
    for (int i = 0; i < 6; i++)
        ended += ask_result(&asking[i]) == ECANCELED;
    ok(ended == 6, "closing the pool ends running and queued jobs, and all waits for them");
    struct pf_op op = PF_OP;
    workload_init(&late, pool, true);
    ok(pf_need(&op, &gated, &late.owner, 0) == -1 && op.error.code == ECANCELED && late.runs == 0,
       "a closed pool runs no further jobs");
    pf_pool_free(pool);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_status();
    test_stalled();
    test_stalled_by_waiting();
    test_ticking();
    test_split();
    test_free_stops();
    return done();
}
