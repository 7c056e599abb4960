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

/* Sets each of the signals in masks[PENDING] and masks[mask]. True if it then ends a wait (`ends`) or does not (!`ends`). */
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
    ok(!pf_signals_end_wait(0, 0, 0, 0), "no signal does not end the wait");
    ok(all(deadly, sizeof deadly, PENDING, true), "a fatal signal ends the wait");
    ok(all(requests, sizeof requests, PENDING, true), "a request to terminate ends the wait");
    ok(all(requests, sizeof requests, CAUGHT, true),
       "a request to terminate ends the wait even if the program handles it");
    ok(all(deadly, sizeof deadly, CAUGHT, false),
       "other handled signals, such as a timer's, do not end the wait");
    ok(all(harmless, sizeof harmless, PENDING, false),
       "signals that stop, resume or are ignored by default do not end the wait");
    ok(all(harmless, sizeof harmless, CAUGHT, false),
       "signals that stop, resume or are ignored by default do not end the wait if handled");
    ok(all(deadly, sizeof deadly, BLOCKED, false) && all(requests, sizeof requests, BLOCKED, false),
       "a blocked signal does not end the wait");
    ok(all(deadly, sizeof deadly, IGNORED, false) && all(requests, sizeof requests, IGNORED, false),
       "an ignored signal does not end the wait");
    ok(pf_signals_end_wait(bit(SIGKILL), ~0ULL, ~0ULL, ~0ULL), "SIGKILL always ends the wait");
    ok(pf_signals_end_wait(bit(SIGALRM) | bit(SIGINT), bit(SIGALRM), 0, bit(SIGINT)),
       "one of several signals is sufficient to end the wait");
    ok(pf_signals_end_wait(bit(64), 0, 0, 0) && !pf_signals_end_wait(bit(64), 0, 0, bit(64)),
       "real-time signals are like others");
}

/* ---- real threads ------------------------------------------------------------------------------- */

static void on_tick(int signal)
{
    (void)signal;
}

/* Sends a signal to a stopped child, where it stays pending. Returns true if it would end the child's wait. */
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
    ok(pf_signal_ends_wait((pid_t)syscall(SYS_gettid)) == PF_NO, "a thread without signals keeps waiting");
    ok(pf_signal_ends_wait(0) == PF_UNKNOWN && pf_signal_ends_wait(-1) == PF_UNKNOWN,
       "nothing is known about a thread of another user");
    ok(ends_wait_of_child(SIGINT, SIG_DFL), "a process with pending SIGINT stops waiting");
    ok(ends_wait_of_child(SIGINT, on_tick), "a process that handles SIGINT stops waiting");
    ok(!ends_wait_of_child(SIGALRM, on_tick), "a process that handles a timer's signal keeps waiting");
    ok(!ends_wait_of_child(SIGINT, SIG_IGN), "a process that ignores SIGINT keeps waiting");
}

int main(void)
{
    test_masks();
    test_processes();
    return done();
}
