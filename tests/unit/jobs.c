/* SPDX-License-Identifier: MIT */
#include "fs/jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/driver.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* ---- passes and waiters that note what happens to them ------------------------------------------ */

/* A pass that waits at its gate and then does one step. */
struct work {
    struct gate gate;
    atomic_int runs, stopped, over;
};

static int run_gated(void *arg, struct pf_error *error)
{
    struct work *work = arg;
    gate_pass(&work->gate);
    atomic_fetch_add(&work->runs, 1);
    if (!pf_pass_step(1, 2, error))
        return 0;
    atomic_fetch_add(&work->stopped, 1);
    return -1;
}

/* A pass that never ends by itself. */
static int run_endless(void *arg, struct pf_error *error)
{
    struct work *work = arg;
    gate_pass(&work->gate);
    atomic_fetch_add(&work->runs, 1);
    while (!pf_pass_step(0, 0, error))
        usleep(100);
    atomic_fetch_add(&work->stopped, 1);
    return -1;
}

static void note_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct work *work = arg;
    (void)job, (void)error;
    atomic_fetch_add(&work->over, 1);
}

/* A thread that waits for a job. */
struct waiting {
    pthread_t thread;
    struct pf_job *job;
    struct pf_op op;
    struct work *work; /* the pass's, which must be over when the waiter goes on; NULL: is not looked at */
    int result;
    bool early;
};

static void *wait_for_job(void *arg)
{
    struct waiting *waiting = arg;
    waiting->result = pf_job_wait(waiting->job, &waiting->op);
    waiting->early = waiting->work && !atomic_load(&waiting->work->over);
    return NULL;
}

/* Starts it; returns when it is listed as the n-th waiter of the oldest job, or the job is over. */
static void start_waiting(struct waiting *waiting, struct pf_pool *pool, struct pf_job *job, unsigned n)
{
    struct pf_job_status status;
    waiting->op = (struct pf_op)PF_OP;
    waiting->job = job;
    pthread_create(&waiting->thread, NULL, wait_for_job, waiting);
    while (pf_pool_status(pool, &status, 1) && status.waiters < n)
        usleep(100);
}

static int result_of(struct waiting *waiting)
{
    pthread_join(waiting->thread, NULL);
    return waiting->result;
}

#define WORK                                                                                                 \
    {                                                                                                        \
        .gate = GATE_CLOSED                                                                                  \
    }

static struct gate open_gate(void)
{
    struct gate gate = GATE_CLOSED;
    gate.open = true;
    return gate;
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static void test_waking(void)
{
    struct pf_pool *pool = pf_pool_new(1, 2);
    struct work work = WORK;
    static struct waiting waiting[20];
    struct pf_job *job = pf_job_start(pool, "one", run_gated, note_over, &work);
    for (unsigned i = 0; i < 20; i++) {
        waiting[i].work = &work;
        start_waiting(&waiting[i], pool, job, i + 1);
    }
    gate_open(&work.gate);
    int ended = 0, early = 0;
    for (int i = 0; i < 20; i++) {
        ended += result_of(&waiting[i]) == 0;
        early += waiting[i].early;
    }
    ok(ended == 20, "all waiters go on when the job is over");
    ok(early == 0, "none before the pass has been unlisted");
    struct pf_op late = PF_OP;
    ok(!pf_job_join(job, &late) && pf_job_wait(job, &late) == 0, "a job that is over is not waited for");
    ok(work.runs == 1 && work.over == 1 && work.stopped == 0, "the pass runs once, to its end");
    pf_job_release(job);
    pf_pool_free(pool);
}

static void test_leaving(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = {.gate = open_gate()};
    struct waiting a = {0}, b = {0};
    struct pf_job *job = pf_job_start(pool, "endless", run_endless, note_over, &work);
    start_waiting(&a, pool, job, 1);
    start_waiting(&b, pool, job, 2);
    gate_await(&work.gate, 1);
    pf_op_interrupt(pool, &a.op);
    ok(result_of(&a) == -1 && a.op.error.code == EINTR, "a waiter can be interrupted");
    ok(!pf_job_leave(job, &a.op), "it is listed no more then");
    usleep(5000);
    ok(work.stopped == 0, "a pass that has another waiter goes on");
    ok(pf_job_wait(job, &a.op) == -1 && a.op.error.code == EINTR,
       "an interrupted waiter does not wait again");
    ok(work.stopped == 0, "nor does that stop the pass");
    pf_op_interrupt(pool, &b.op);
    ok(result_of(&b) == -1 && b.op.error.code == EINTR, "the last waiter can be interrupted");
    pf_job_block(job);
    ok(work.stopped == 1, "a pass that has lost its last waiter is stopped");
    pf_op_interrupt(pool, &b.op);
    ok(pf_job_wait(job, &b.op) == -1 && b.op.error.code == ECANCELED,
       "a job that is over is over for an interrupted waiter, too");
    pf_job_release(job);
    pf_pool_free(pool);
}

static void test_wanted_again(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = WORK;
    struct pf_op a = PF_OP, b = PF_OP;
    struct pf_job *job = pf_job_start(pool, "twice", run_gated, note_over, &work);
    pf_job_join(job, &a);
    gate_await(&work.gate, 1);
    pf_job_leave(job, &a);
    ok(pf_job_join(job, &b), "a pass that is told to stop can be wanted again");
    gate_open(&work.gate);
    pf_job_block(job);
    ok(work.stopped == 0, "and goes on if it has not noticed yet");
    ok(!pf_job_leave(job, &b), "the waiter of a job that is over is not listed");
    pf_job_release(job);
    pf_pool_free(pool);
}

/* ---- blocking and looking on -------------------------------------------------------------------- */

/* An operation that opens a gate once it has seen progress. */
struct watching {
    struct pf_op op;
    struct work *work;
};

static void let_go(const struct pf_pass *pass, struct pf_op *op)
{
    (void)pass;
    gate_open(&((struct watching *)op)->work->gate);
}

static void test_progress(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = WORK;
    struct pf_job *job = pf_job_start(pool, "blocked on", run_gated, note_over, &work);
    struct watching watching = {.op = PF_OP, .work = &work};
    watching.op.progress = let_go;
    ok(pf_job_wait(job, &watching.op) == 0 && work.over == 1,
       "an operation sees progress until the pass is over");
    pf_job_release(job);
    pf_pool_free(pool);
}

static void test_status(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work first = WORK, second = WORK;
    struct pf_op waiter = PF_OP;
    struct pf_job_status status[4];
    ok(pf_pool_status(pool, status, 4) == 0, "an idle pool has no passes");
    struct pf_job *a = pf_job_start(pool, "first", run_gated, note_over, &first);
    gate_await(&first.gate, 1);
    struct pf_job *b = pf_job_start(pool, "second", run_gated, note_over, &second);
    pf_job_join(b, &waiter);
    ok(pf_pool_status(pool, status, 4) == 2, "status counts running and queued passes");
    ok(!strcmp(status[0].what, "first") && status[0].running && status[0].waiters == 0,
       "the oldest first, and that it runs");
    ok(!strcmp(status[1].what, "second") && !status[1].running && status[1].waiters == 1,
       "one thread runs one pass: the second is queued, with its waiter");
    ok(pf_pool_status(pool, status, 1) == 2, "what does not fit is counted all the same");
    gate_open(&first.gate);
    gate_open(&second.gate);
    pf_job_block(b);
    ok(pf_pool_status(pool, status, 4) == 0, "passes that are over are gone");
    pf_job_release(a);
    pf_job_release(b);
    pf_pool_free(pool);
}

/* ---- passes that make no step -------------------------------------------------------------------- */

static void test_stalled(void)
{
    struct pf_pool *pool = pf_pool_new(2, 1);
    struct work hung[2] = {WORK, WORK}, next[5] = {WORK, WORK, WORK, WORK, WORK};
    struct pf_job *jobs[7];
    for (int i = 0; i < 2; i++) {
        jobs[i] = pf_job_start(pool, "hung", run_gated, note_over, &hung[i]);
        gate_await(&hung[i].gate, 1);
    }
    for (int i = 0; i < 4; i++)
        jobs[2 + i] = pf_job_start(pool, "next", run_gated, note_over, &next[i]);
    pf_pool_tick(pool);
    usleep(20000);
    ok(next[0].gate.arrived == 0, "a pass that has just begun is not stalled");
    pf_pool_tick(pool);
    bool arrived = true;
    for (int i = 0; i < 4; i++)
        arrived &= gate_await(&next[i].gate, 1);
    ok(arrived, "if all running passes are stalled, each queued one gets a thread");
    pf_pool_tick(pool);
    pf_pool_tick(pool);
    jobs[6] = pf_job_start(pool, "late", run_gated, note_over, &next[4]);
    ok(gate_await(&next[4].gate, 1), "and so does a new one at once");
    for (int i = 0; i < 5; i++)
        gate_open(&next[i].gate);
    for (int i = 2; i < 7; i++) {
        pf_job_block(jobs[i]);
        pf_job_release(jobs[i]);
    }
    ok(hung[0].runs + hung[1].runs == 0, "they end while the stalled ones stand still");
    struct work step = {.gate = open_gate()}, queued = WORK;
    gate_open(&hung[0].gate);
    pf_job_block(jobs[0]);
    struct pf_job *endless = pf_job_start(pool, "endless", run_endless, note_over, &step);
    gate_await(&step.gate, 1);
    struct pf_job *last = pf_job_start(pool, "queued", run_gated, note_over, &queued);
    for (int i = 0; i < 5; i++) {
        pf_pool_tick(pool);
        usleep(20000);
    }
    ok(queued.gate.arrived == 0, "while one makes steps, others queue");
    gate_open(&hung[1].gate);
    gate_open(&queued.gate);
    pf_job_block(last);
    pf_job_release(jobs[0]);
    pf_job_release(jobs[1]);
    pf_job_release(last);
    pf_job_release(endless);
    pf_pool_free(pool);
    ok(step.over == 1 && queued.over == 1, "all have ended when the pool is freed");
}

/* ---- loops that are shared out ------------------------------------------------------------------ */

enum { PIECES = 1000 };

struct shared_loop {
    struct pf_pool *pool;
    size_t n;
    atomic_int calls[PIECES];
    struct gate meeting; /* pieces 0 and 1 wait for one another if `meet` */
    bool meet;
    atomic_int met, after;
    struct pf_turns turns;
    size_t order[PIECES], ordered; /* of turns; guarded by them */
};

static void run_piece(void *arg, size_t i)
{
    struct shared_loop *loop = arg;
    atomic_fetch_add(&loop->calls[i], 1);
    pf_turn_begin(loop->pool, &loop->turns, i);
    loop->order[loop->ordered++] = i;
    pf_turn_end(loop->pool, &loop->turns);
}

/* Two pieces that wait for one another: only two threads can end them. */
static void run_meeting(void *arg, size_t i)
{
    struct shared_loop *loop = arg;
    atomic_fetch_add(&loop->calls[i], 1);
    if (i == 1)
        gate_open(&loop->meeting);
    else if (gate_pass(&loop->meeting))
        atomic_fetch_add(&loop->met, 1);
}

static int run_split(void *arg, struct pf_error *error)
{
    struct shared_loop *loop = arg;
    (void)error;
    pf_pool_split(loop->pool, loop->n, loop->meet ? run_meeting : run_piece, loop);
    for (size_t i = 0; i < loop->n; i++)
        atomic_fetch_add(&loop->after, loop->calls[i]);
    return 0;
}

static void no_more(void *arg, struct pf_job *job, const struct pf_error *error)
{
    (void)arg, (void)job, (void)error;
}

static void test_split(void)
{
    static struct shared_loop loops[4];
    struct pf_pool *pool = pf_pool_new(3, 1);
    struct pf_job *jobs[4];
    for (int j = 0; j < 4; j++) {
        loops[j].pool = pool;
        loops[j].n = PIECES;
        loops[j].turns = (struct pf_turns)PF_TURNS;
        jobs[j] = pf_job_start(pool, "split", run_split, no_more, &loops[j]);
    }
    int wrong = 0, seen = 0, astray = 0;
    for (int j = 0; j < 4; j++) {
        pf_job_block(jobs[j]);
        pf_job_release(jobs[j]);
        for (int i = 0; i < PIECES; i++) {
            wrong += loops[j].calls[i] != 1;
            astray += loops[j].order[i] != (size_t)i;
        }
        seen += loops[j].after;
    }
    ok(wrong == 0, "a shared loop runs every piece exactly once");
    ok(seen == 4 * PIECES, "and returns when all have returned");
    ok(astray == 0, "its pieces take turns in order");
    static struct shared_loop meeting = {.n = 2, .meet = true, .meeting = GATE_CLOSED};
    static struct shared_loop empty;
    meeting.pool = empty.pool = pool;
    struct pf_job *job = pf_job_start(pool, "meeting", run_split, no_more, &meeting);
    pf_job_block(job);
    pf_job_release(job);
    ok(meeting.met == 1, "idle threads help with a shared loop");
    job = pf_job_start(pool, "empty", run_split, no_more, &empty);
    pf_job_block(job);
    pf_job_release(job);
    ok(empty.after == 0, "a loop of no pieces returns");
    pf_pool_free(pool);
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void test_free_stops(void)
{
    struct pf_pool *pool = pf_pool_new(2, 1);
    struct work works[6];
    static struct waiting waiting[6];
    for (int i = 0; i < 6; i++) {
        works[i] = (struct work){.gate = open_gate()};
        struct pf_job *job = pf_job_start(pool, "endless", run_endless, note_over, &works[i]);
        start_waiting(&waiting[i], pool, job, 0);
    }
    gate_await(&works[0].gate, 1);
    pf_pool_close(pool);
    int over = 0, gone_on = 0;
    for (int i = 0; i < 6; i++) {
        gone_on += result_of(&waiting[i]) == -1 && waiting[i].op.error.code == ECANCELED;
        over += works[i].over == 1;
        pf_job_release(waiting[i].job);
    }
    ok(over == 6, "closing the pool ends running and queued passes");
    ok(gone_on == 6, "and all who wait for them go on");
    struct work late = {.gate = open_gate()};
    ok(!pf_job_start(pool, "late", run_endless, note_over, &late),
       "a pool that is closed refuses further passes");
    ok(late.runs == 0, "and runs none");
    pf_pool_free(pool);
}

struct chore {
    struct pf_errand errand;
    atomic_int runs;
    struct gate *done;
};

static void run_chore(struct pf_errand *errand)
{
    struct chore *chore = (struct chore *)errand;
    atomic_fetch_add(&chore->runs, 1);
    if (chore->done)
        gate_pass(chore->done);
}

static void test_errand(void)
{
    struct gate done = open_gate();
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct chore first = {.errand = {.run = run_chore}, .done = &done}, last = {.errand = {.run = run_chore}};
    ok(pf_pool_errand(pool, &first.errand) && gate_await(&done, 1), "an errand is run without a pass");
    ok(pf_pool_errand(pool, &last.errand), "another is taken");
    pf_pool_free(pool);
    ok(first.runs == 1 && last.runs == 1, "and each is run once, also when the pool is freed");
}

/* ---- many at once ------------------------------------------------------------------------------- */

enum { JOBS = 400, WAITERS = 3 };

struct storm {
    struct pf_pool *pool;
    unsigned seed;
    int over, wrong, early;
};

static void storm_one(struct storm *storm)
{
    struct work work = {.gate = open_gate()};
    struct waiting waiting[WAITERS] = {0};
    bool interrupted[WAITERS] = {0}, left = false;
    struct pf_job *job = pf_job_start(storm->pool, "storm", run_gated, note_over, &work);
    for (int w = 0; w < WAITERS; w++) {
        waiting[w].work = &work;
        start_waiting(&waiting[w], storm->pool, job, 0);
    }
    for (int w = 0; w < WAITERS; w++)
        if ((interrupted[w] = rand_r(&storm->seed) % 2))
            pf_op_interrupt(storm->pool, &waiting[w].op);
    for (int w = 0; w < WAITERS; w++)
        left |= interrupted[w];
    for (int w = 0; w < WAITERS; w++) {
        int result = result_of(&waiting[w]);
        /* A pass that has lost all its waiters is stopped, also for one that joins it after that. */
        bool stopped = left && waiting[w].op.error.code == ECANCELED;
        storm->wrong += result && !stopped && !(interrupted[w] && waiting[w].op.error.code == EINTR);
        storm->early += !result && waiting[w].early;
    }
    pf_job_block(job);
    pf_job_release(job);
    storm->over += work.over == 1;
}

static void test_storm(void)
{
    struct storm storm = {.pool = pf_pool_new(3, 2), .seed = 1};
    for (int j = 0; j < JOBS; j++)
        storm_one(&storm);
    pf_pool_free(storm.pool);
    ok(storm.over == JOBS, "of hundreds of passes each ends once");
    ok(storm.wrong == 0, "every waiter that is not interrupted waits to the end");
    ok(storm.early == 0, "and no longer than its pass has run");
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_waking();
    test_leaving();
    test_wanted_again();
    test_progress();
    test_status();
    test_stalled();
    test_split();
    test_free_stops();
    test_errand();
    test_storm();
    return done();
}
