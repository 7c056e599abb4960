/* SPDX-License-Identifier: MIT */
/* XRay logs: threads that are read side by side are handed over as if one after the other. */
#include <stdatomic.h>

#include "formats/kit/pass.h"
#include "formats/xray/reading.h"
#include "tests/unit/xray_log.h"

enum { THREADS = 23, BUFFERS = 200, CALLS = 8 };

/*
 * A log of about 800 KB: buffers of all threads mixed. In thread t a call of 100 + t holds all others; now
 * and then a record is of no known kind. Longer threads come first, so that helpers are ready before.
 */
static void put_threads(struct log *log)
{
    put_header(log, 5, 0, 4096);
    for (unsigned b = 0; b < BUFFERS; b++)
        for (int t = 0; t < THREADS; t++) {
            if (b * THREADS > BUFFERS * (unsigned)(THREADS - t) || log->size + 4096 > sizeof log->bytes)
                continue;
            open_buffer(log, 10 + t, b, 1000 * b);
            if (!b)
                put_function(log, ENTER, 100 + (uint32_t)t, 0);
            for (uint32_t call = 0; call < CALLS; call++) {
                put_function(log, ENTER, 1 + (b + call) % 5, 3);
                put_function(log, ENTER, 10 + (b * call) % 7, 2);
                put_function(log, EXIT, 10 + (b * call) % 7, b);
                put_function(log, EXIT, 1 + (b + call) % 5, 1);
            }
            if (b % 16 == 5)
                put_metadata(log, 99);
            close_buffer(log);
        }
}

/* Compares what is handed over with what each thread comes to when it is read alone. */
struct check {
    const struct xray_state *state;
    size_t next;    /* thread that is due */
    size_t fail_at; /* refuse this one */
    bool same;
};

static bool same_contexts(const struct xray_contexts *a, const struct xray_contexts *b)
{
    return a->count == b->count && a->depth == b->depth && a->max_depth == b->max_depth &&
           a->unmatched == b->unmatched && a->implicit == b->implicit &&
           !memcmp(a->items, b->items, a->count * sizeof *a->items);
}

static bool same_notes(const struct xray_notes *a, const struct xray_notes *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->items[i].kind == b->items[i].kind && a->items[i].offset == b->items[i].offset;
    return same;
}

static int check_thread(void *arg, size_t thread, struct xray_reading *reading, struct pf_error *error)
{
    struct check *check = arg;
    struct xray_reading alone;
    _Atomic uint64_t done = 0;
    if (thread == check->fail_at)
        return pf_fail(error, EDOM, "refused");
    if (xray_read_thread(&alone, check->state, &check->state->index.threads[thread], NULL, &done, error))
        return -1;
    check->same &= thread == check->next++ && reading->events == alone.events &&
                   reading->first_tsc == alone.first_tsc && reading->last_tsc == alone.last_tsc &&
                   same_contexts(&reading->contexts, &alone.contexts) &&
                   same_notes(&reading->notes, &alone.notes);
    xray_reading_free(&alone);
    return 0;
}

static struct check check_of(const struct opened *opened)
{
    return (struct check){.state = xray_state(&opened->profile), .fail_at = SIZE_MAX, .same = true};
}

static void keeps_order(struct opened *opened)
{
    struct pf_pass pass = {0};
    for (int turn = 0; turn < 20; turn++) {
        struct check check = check_of(opened);
        int failed = xray_read_threads(check.state, &pass, check_thread, &check, &opened->error);
        if (failed || !check.same || check.next != THREADS) {
            ok(false, "turn %d: each thread comes in its turn, and to what it comes to alone", turn);
            return;
        }
    }
    ok(true, "each thread comes in its turn, and to what it comes to alone");
    ok(pass.done == pass.total && pass.total == xray_state(&opened->profile)->index.bytes,
       "the pass has come to its end");
}

static void stops_early(struct opened *opened)
{
    struct check check = check_of(opened);
    check.fail_at = 3;
    int failed = xray_read_threads(check.state, NULL, check_thread, &check, &opened->error);
    ok(failed && opened->error.code == EDOM && check.next == 3 && check.same,
       "a thread that is not taken ends the reading");
    struct pf_pass stopped = {.stop = true};
    check = check_of(opened);
    failed = xray_read_threads(check.state, &stopped, check_thread, &check, &opened->error);
    ok(failed && opened->error.code == ECANCELED && !check.next, "a pass that nobody waits for stops");
}

/* The order of first entries, thread by thread: 0 is thread 0's outermost call. */
static void numbers_contexts(struct opened *opened)
{
    const struct pf_tree *tree = opened->profile.contexts;
    bool by_thread = tree->roots == THREADS, upwards = true;
    for (uint32_t i = 0; i < tree->roots; i++)
        by_thread &= tree->key[tree->root[i]] == 100 + i;
    for (uint32_t i = 0; i < tree->count; i++)
        upwards &= tree->parent[i] == PF_NO_CONTEXT || tree->parent[i] < i;
    ok(by_thread && upwards, "contexts are numbered by their first entry, thread by thread");
}

int main(void)
{
    static struct log log;
    struct opened opened;
    put_threads(&log);
    ok(!open_log(&opened, &log, PF_MODELLED) && opened.profile.contexts, "a log of many threads opens");
    ok(xray_state(&opened.profile)->index.bytes > 400 * 1024 &&
           xray_state(&opened.profile)->index.n_threads == THREADS,
       "it is large enough to be read by several");
    keeps_order(&opened);
    stops_early(&opened);
    numbers_contexts(&opened);
    close_log(&opened);
    return done();
}
