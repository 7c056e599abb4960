/* SPDX-License-Identifier: MIT */
#include "fs/fuse/interrupt.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

/* ---- masks -------------------------------------------------------------------------------------- */

static unsigned long long bit(int signal)
{
    return 1ULL << (signal - 1);
}

static const int deadly[] = {SIGALRM, SIGUSR1, SIGPIPE, SIGSEGV, SIGXCPU, SIGVTALRM};
static const int requests[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
static const int harmless[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};

enum { PENDING, BLOCKED, IGNORED, CAUGHT };

/* True if each of the signals, pending together with a further mask, ends a wait or not, as expected. */
static bool all(const int *signals, size_t n, int mask, bool ends)
{
    for (size_t i = 0; i < n / sizeof *signals; i++) {
        unsigned long long masks[4] = {bit(signals[i])};
        masks[mask] |= bit(signals[i]);
        if (pf_signals_end_wait(masks[PENDING], masks[BLOCKED], masks[IGNORED], masks[CAUGHT]) != ends)
            return false;
    }
    return true;
}

static void test_masks(void)
{
    ok(!pf_signals_end_wait(0, 0, 0, 0), "no signal, no end");
    ok(all(deadly, sizeof deadly, PENDING, true), "a signal that will kill ends the wait");
    ok(all(requests, sizeof requests, PENDING, true), "so does a request to stop");
    ok(all(requests, sizeof requests, CAUGHT, true), "also if the program has a handler for it");
    ok(all(deadly, sizeof deadly, CAUGHT, false), "other signals that have a handler do not: a timer ticks");
    ok(all(harmless, sizeof harmless, PENDING, false), "nor do those that stop, resume or mean nothing");
    ok(all(harmless, sizeof harmless, CAUGHT, false), "caught or not");
    ok(all(deadly, sizeof deadly, BLOCKED, false) && all(requests, sizeof requests, BLOCKED, false),
       "a blocked signal waits itself");
    ok(all(deadly, sizeof deadly, IGNORED, false) && all(requests, sizeof requests, IGNORED, false),
       "an ignored one is none");
    ok(pf_signals_end_wait(bit(SIGKILL), ~0ULL, ~0ULL, ~0ULL), "KILL always ends it");
    ok(pf_signals_end_wait(bit(SIGALRM) | bit(SIGINT), bit(SIGALRM), 0, bit(SIGINT)),
       "one that ends it is enough");
    ok(pf_signals_end_wait(bit(64), 0, 0, 0) && !pf_signals_end_wait(bit(64), 0, 0, bit(64)),
       "real-time signals are like others");
}

/* ---- real threads ------------------------------------------------------------------------------- */

static void on_tick(int signal)
{
    (void)signal;
}

/* A signal sent to a stopped child stays pending; returns whether it would end the child's wait. */
static bool ends_wait_of_child(int signal, void (*handler)(int))
{
    pid_t child = fork();
    if (child == 0) {
        sigaction(signal, &(struct sigaction){.sa_handler = handler}, NULL);
        raise(SIGSTOP);
        for (;;)
            pause();
    }
    int status;
    waitpid(child, &status, WUNTRACED);
    kill(child, signal);
    bool ends = pf_signal_ends_wait(child) == PF_YES;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return ends;
}

static void test_processes(void)
{
    ok(pf_signal_ends_wait((pid_t)syscall(SYS_gettid)) == PF_NO, "a thread without signals waits on");
    ok(pf_signal_ends_wait(0) == PF_UNKNOWN && pf_signal_ends_wait(-1) == PF_UNKNOWN,
       "of a thread that can't be seen nothing is known");
    ok(ends_wait_of_child(SIGINT, SIG_DFL), "a process with INT pending does not wait on");
    ok(ends_wait_of_child(SIGINT, on_tick), "nor one that handles INT");
    ok(!ends_wait_of_child(SIGALRM, on_tick), "one with a timer does");
    ok(!ends_wait_of_child(SIGINT, SIG_IGN), "and one that ignores INT");
}

int main(void)
{
    test_masks();
    test_processes();
    return done();
}
