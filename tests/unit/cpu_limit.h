/* SPDX-License-Identifier: MIT */
#ifndef CPU_LIMIT_H
#define CPU_LIMIT_H

#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Calls run(arg) in a child process that may use this many seconds of processor time in user mode: SIGVTALRM ends it otherwise. Returns
 * whether the call returned. Neither other processes nor the kernel's work count, so a busy machine does not fail a test.
 */
static bool returns_within(unsigned seconds, void (*run)(void *), void *arg)
{
    struct itimerval limit = {.it_value.tv_sec = seconds};
    int status;
    pid_t child = fork();
    if (!child) {
        setitimer(ITIMER_VIRTUAL, &limit, NULL);
        run(arg);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

#endif
