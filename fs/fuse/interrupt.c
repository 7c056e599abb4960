/* SPDX-License-Identifier: MIT */
#include "fs/fuse/interrupt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static unsigned long long bit(int signal)
{
    return 1ULL << (signal - 1);
}

bool pf_signals_end_wait(unsigned long long pending, unsigned long long blocked, unsigned long long ignored,
                         unsigned long long caught)
{
    /* Signals whose default action is to ignore, stop or continue. */
    const unsigned long long harmless = bit(SIGCHLD) | bit(SIGURG) | bit(SIGWINCH) | bit(SIGCONT) |
                                        bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
    const unsigned long long requests = bit(SIGINT) | bit(SIGTERM) | bit(SIGQUIT) | bit(SIGHUP);
    if (pending & bit(SIGKILL))
        return true;
    pending &= ~(blocked | ignored);
    return (pending & ~caught & ~harmless) || (pending & caught & requests);
}

enum pf_answer pf_signal_ends_wait(pid_t tid)
{
    char path[64], line[256];
    unsigned long long pending = 0, blocked = 0, ignored = 0, caught = 0, mask;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = tid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return PF_UNKNOWN;
    while (fgets(line, sizeof line, file)) {
        char key[32];
        if (sscanf(line, "%31[^:]: %llx", key, &mask) != 2)
            continue;
        if (!strcmp(key, "SigPnd") || !strcmp(key, "ShdPnd"))
            pending |= mask;
        else if (!strcmp(key, "SigBlk"))
            blocked = mask;
        else if (!strcmp(key, "SigIgn"))
            ignored = mask;
        else if (!strcmp(key, "SigCgt"))
            caught = mask;
    }
    fclose(file);
    return pf_signals_end_wait(pending, blocked, ignored, caught) ? PF_YES : PF_NO;
}
