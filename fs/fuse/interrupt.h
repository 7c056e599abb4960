/* SPDX-License-Identifier: MIT */
#ifndef PF_INTERRUPT_H
#define PF_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The kernel tells of any signal to a waiting process, once a request; but only some should end the wait:
 * those that will kill it, and those by which a person or a program asks it to stop (INT, TERM, QUIT, HUP,
 * also if it has a handler). A timer's tick should not. Says whether such a signal is pending for the thread
 * `tid`; PF_UNKNOWN where /proc does not show that thread.
 */
enum pf_answer { PF_NO, PF_YES, PF_UNKNOWN };
enum pf_answer pf_signal_ends_wait(pid_t tid);

/* The same decision for given masks (bit n - 1: signal n), for testing. */
bool pf_signals_end_wait(unsigned long long pending, unsigned long long blocked, unsigned long long ignored,
                         unsigned long long caught);

#endif
