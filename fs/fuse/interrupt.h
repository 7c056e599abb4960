/* SPDX-License-Identifier: MIT */
#ifndef PF_INTERRUPT_H
#define PF_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * FUSE reports only the first signal for the caller of a request, and not the signal's number. Only some signals should end a wait:
 * fatal ones, and those that ask a process to stop (INT, TERM, QUIT, HUP), even if they are caught. A timer's signal should not.
 * pf_signal_ends_wait returns whether a signal that should end a wait is pending for the thread `tid`; PF_UNKNOWN if /proc does not
 * show the thread.
 */
enum pf_answer { PF_NO, PF_YES, PF_UNKNOWN };
enum pf_answer pf_signal_ends_wait(pid_t tid);

/* Returns true if a signal that should end a wait is pending, given the signal masks of /proc/TID/status, in which bit n - 1 stands
 * for signal n. Public for tests. */
bool pf_signals_end_wait(unsigned long long pending, unsigned long long blocked, unsigned long long ignored,
                         unsigned long long caught);

#endif
