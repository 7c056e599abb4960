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

static int run_gated(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct work *work = arg;
    gate_pass(&work->gate);
    atomic_fetch_add(&work->runs, 1);
    if (!pf_pass_step(pass, 1, 2, error))
        return 0;
    atomic_fetch_add(&work->stopped, 1);
    return -1;
}

/* A pass that never ends by itself. */
static int run_endless(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct work *work = arg;
    gate_pass(&work->gate);
    atomic_fetch_add(&work->runs, 1);
    while (!pf_pass_step(pass, 0, 0, error))
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

struct waiting {
    struct pf_waiter waiter;
    atomic_int woken;
    struct work *work; /* of the pass, which must be over when the waiter is woken */
    atomic_int early;
    struct gate *done;
};

static void note_wake(struct pf_waiter *waiter)
{
    struct waiting *waiting = (struct waiting *)waiter;
    atomic_fetch_add(&waiting->woken, 1);
    if (waiting->work && !atomic_load(&waiting->work->over))
        atomic_fetch_add(&waiting->early, 1);
    if (waiting->done)
        gate_pass(waiting->done);
}

#define WORK                                                                                                 \
    {                                                                                                        \
        .gate = GATE_CLOSED                                                                                  \
    }
#define WAITING                                                                                              \
    {                                                                                                        \
        .waiter = {.wake = note_wake }                                                                       \
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
    struct waiting waiting[20];
    bool parked = true;
    struct pf_job *job = pf_job_start(pool, "one", run_gated, note_over, &work);
    for (int i = 0; i < 20; i++) {
        waiting[i] = (struct waiting){.waiter = {.wake = note_wake}, .work = &work};
        parked &= pf_job_wait(job, &waiting[i].waiter);
    }
    ok(parked, "waiters park on a pass that is not over");
    gate_open(&work.gate);
    pf_job_block(job, NULL, NULL);
    struct waiting late = WAITING;
    ok(!pf_job_wait(job, &late.waiter), "nobody parks on a pass that is over");
    pf_job_release(job);
    pf_pool_free(pool);
    int once = 0, early = 0;
    for (int i = 0; i < 20; i++) {
        once += waiting[i].woken == 1;
        early += waiting[i].early;
    }
    ok(once == 20, "every waiter is woken exactly once");
    ok(early == 0, "nobody is woken before the pass has been unlisted");
    ok(late.woken == 0, "who was not parked is not woken");
    ok(work.runs == 1 && work.over == 1 && work.stopped == 0, "the pass runs once, to its end");
}

static void test_leaving(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = {.gate = open_gate()};
    struct waiting a = WAITING, b = WAITING;
    struct pf_job *job = pf_job_start(pool, "endless", run_endless, note_over, &work);
    pf_job_wait(job, &a.waiter);
    pf_job_wait(job, &b.waiter);
    gate_await(&work.gate, 1);
    ok(pf_job_leave(job, &a.waiter), "a waiter can be taken back");
    ok(!pf_job_leave(job, &a.waiter), "but only once");
    usleep(5000);
    ok(work.stopped == 0, "a pass that somebody still waits for goes on");
    ok(pf_job_leave(job, &b.waiter), "the last waiter can be taken back");
    pf_job_block(job, NULL, NULL);
    ok(work.stopped == 1, "a pass that has lost its last waiter is stopped");
    pf_job_release(job);
    pf_pool_free(pool);
    ok(a.woken == 0 && b.woken == 0, "who has left is never woken");
}

static void test_wanted_again(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = WORK;
    struct waiting a = WAITING, b = WAITING;
    struct pf_job *job = pf_job_start(pool, "twice", run_gated, note_over, &work);
    pf_job_wait(job, &a.waiter);
    gate_await(&work.gate, 1);
    pf_job_leave(job, &a.waiter);
    ok(pf_job_wait(job, &b.waiter), "a pass that is told to stop can be wanted again");
    gate_open(&work.gate);
    pf_job_block(job, NULL, NULL);
    ok(work.stopped == 0, "and goes on if it has not noticed yet");
    ok(!pf_job_leave(job, &b.waiter), "a waiter that is being woken can't be taken back");
    pf_job_release(job);
    pf_pool_free(pool);
    ok(a.woken == 0 && b.woken == 1, "only who waits at the end is woken");
}

/* ---- blocking and looking on -------------------------------------------------------------------- */

static void count_calls(const struct pf_pass *pass, void *arg)
{
    struct work *work = arg;
    (void)pass;
    gate_open(&work->gate); /* the pass ends only after progress was shown */
}

static void test_block(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = WORK;
    struct pf_job *job = pf_job_start(pool, "blocked on", run_gated, note_over, &work);
    pf_job_block(job, count_calls, &work);
    ok(work.over == 1, "who blocks sees progress and goes on when the pass is over");
    pf_job_block(job, NULL, NULL);
    ok(true, "blocking on a pass that is over returns at once");
    pf_job_release(job);
    pf_pool_free(pool);
}

static void test_status(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work first = WORK, second = WORK;
    struct waiting waiting = WAITING;
    struct pf_job_status status[4];
    ok(pf_pool_status(pool, status, 4) == 0, "an idle pool has no passes");
    struct pf_job *a = pf_job_start(pool, "first", run_gated, note_over, &first);
    gate_await(&first.gate, 1);
    struct pf_job *b = pf_job_start(pool, "second", run_gated, note_over, &second);
    pf_job_wait(b, &waiting.waiter);
    ok(pf_pool_status(pool, status, 4) == 2, "status counts running and queued passes");
    ok(!strcmp(status[0].what, "first") && status[0].running && status[0].waiters == 0,
       "the oldest first, and that it runs");
    ok(!strcmp(status[1].what, "second") && !status[1].running && status[1].waiters == 1,
       "one thread runs one pass: the second is queued, with its waiter");
    ok(pf_pool_status(pool, status, 1) == 2, "what does not fit is counted all the same");
    gate_open(&first.gate);
    gate_open(&second.gate);
    pf_job_block(b, NULL, NULL);
    ok(pf_pool_status(pool, status, 4) == 0, "passes that are over are gone");
    pf_job_release(a);
    pf_job_release(b);
    pf_pool_free(pool);
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
    pf_turn_begin(&loop->turns, i);
    loop->order[loop->ordered++] = i;
    pf_turn_end(&loop->turns);
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

static int run_split(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct shared_loop *loop = arg;
    (void)pass, (void)error;
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
        pf_job_block(jobs[j], NULL, NULL);
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
    pf_job_block(job, NULL, NULL);
    pf_job_release(job);
    ok(meeting.met == 1, "idle threads help with a shared loop");
    job = pf_job_start(pool, "empty", run_split, no_more, &empty);
    pf_job_block(job, NULL, NULL);
    pf_job_release(job);
    ok(empty.after == 0, "a loop of no pieces returns");
    pf_pool_free(pool);
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void test_free_stops(void)
{
    struct pf_pool *pool = pf_pool_new(2, 1);
    struct work works[6];
    struct waiting waiting[6];
    struct pf_job *jobs[6];
    for (int i = 0; i < 6; i++) {
        works[i] = (struct work){.gate = open_gate()};
        waiting[i] = (struct waiting)WAITING;
        jobs[i] = pf_job_start(pool, "endless", run_endless, note_over, &works[i]);
        pf_job_wait(jobs[i], &waiting[i].waiter);
        pf_job_release(jobs[i]);
    }
    gate_await(&works[0].gate, 1);
    pf_pool_free(pool);
    int over = 0, woken = 0;
    for (int i = 0; i < 6; i++) {
        over += works[i].over == 1;
        woken += waiting[i].woken == 1;
    }
    ok(over == 6, "freeing the pool ends running and queued passes");
    ok(woken == 6, "and wakes all who wait for them");
}

/* A request that asks again when it is woken, as one parked on a stopped pass does. */
struct insisting {
    struct pf_waiter waiter;
    struct pf_pool *pool;
    struct work *work;
    atomic_int asked, refused;
};

static void ask(struct insisting *request)
{
    atomic_fetch_add(&request->asked, 1);
    struct pf_job *job = pf_job_start(request->pool, "again", run_endless, note_over, request->work);
    if (!job || !pf_job_wait(job, &request->waiter))
        atomic_fetch_add(&request->refused, 1);
    if (job)
        pf_job_release(job);
}

static void ask_again(struct pf_waiter *waiter)
{
    ask((struct insisting *)waiter);
}

static void test_free_refuses(void)
{
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct work work = {.gate = open_gate()};
    struct insisting request = {.waiter = {.wake = ask_again}, .pool = pool, .work = &work};
    ask(&request);
    gate_await(&work.gate, 1);
    pf_pool_free(pool);
    ok(request.asked >= 2 && request.refused == 1, "a pool that is being freed refuses further passes");
    ok(work.runs == work.over, "and none is left behind");
}

static void test_errand(void)
{
    struct gate done = open_gate();
    struct pf_pool *pool = pf_pool_new(1, 1);
    struct waiting waiting = {.waiter = {.wake = note_wake}, .done = &done};
    ok(pf_pool_errand(pool, &waiting.waiter) && gate_await(&done, 1), "an errand is run without a pass");
    struct waiting last = WAITING;
    ok(pf_pool_errand(pool, &last.waiter), "another is taken");
    pf_pool_free(pool);
    ok(waiting.woken == 1 && last.woken == 1, "and each is run once, also when the pool is freed");
}

/* ---- many at once ------------------------------------------------------------------------------- */

enum { JOBS = 3000, WAITERS = 3 };

struct storm_job {
    struct work work;
    struct waiting waiting[WAITERS];
    bool parked[WAITERS], left[WAITERS];
};

static void storm_one(struct pf_pool *pool, struct storm_job *at, unsigned *seed)
{
    at->work.gate = open_gate();
    struct pf_job *job = pf_job_start(pool, "storm", run_gated, note_over, &at->work);
    for (int w = 0; w < WAITERS; w++) {
        at->waiting[w] = (struct waiting){.waiter = {.wake = note_wake}, .work = &at->work};
        at->parked[w] = pf_job_wait(job, &at->waiting[w].waiter);
    }
    for (int w = 0; w < WAITERS; w++)
        if (at->parked[w] && rand_r(seed) % 2)
            at->left[w] = pf_job_leave(job, &at->waiting[w].waiter);
    pf_job_release(job);
}

static void test_storm(void)
{
    struct storm_job *storm = calloc(JOBS, sizeof *storm);
    struct pf_pool *pool = pf_pool_new(3, 2);
    unsigned seed = 1;
    for (int j = 0; j < JOBS; j++)
        storm_one(pool, &storm[j], &seed);
    pf_pool_free(pool);
    int wrong = 0, early = 0, over = 0;
    for (int j = 0; j < JOBS; j++) {
        over += storm[j].work.over == 1;
        for (int w = 0; w < WAITERS; w++) {
            wrong += storm[j].waiting[w].woken != (storm[j].parked[w] && !storm[j].left[w]);
            early += storm[j].waiting[w].early;
        }
    }
    ok(over == JOBS, "of thousands of passes each ends once");
    ok(wrong == 0, "whoever waited and did not leave is woken once, nobody else");
    ok(early == 0, "and never before its pass is over");
    free(storm);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_waking();
    test_leaving();
    test_wanted_again();
    test_block();
    test_status();
    test_split();
    test_free_stops();
    test_free_refuses();
    test_errand();
    test_storm();
    return done();
}
