/* SPDX-License-Identifier: MIT */
#ifndef CPU_LIMIT_H
#define CPU_LIMIT_H

#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Calls run(arg) in a child process, which SIGVTALRM kills after this many seconds of user CPU time. Returns true if run() returned in
 * time. Other processes and kernel time do not count, so a busy machine does not fail a test.
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
