/* SPDX-License-Identifier: MIT */
#ifndef CPU_LIMIT_H
#define CPU_LIMIT_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Calls run(arg) in a child process that may use this many seconds of processor time. Returns whether the call returned. Waiting for
 * other processes takes no processor time, so a busy machine does not fail a test.
 */
static bool returns_within(unsigned cpu_seconds, void (*run)(void *), void *arg)
{
    struct rlimit limit = {cpu_seconds, cpu_seconds};
    int status;
    pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_CPU, &limit);
        run(arg);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

#endif
