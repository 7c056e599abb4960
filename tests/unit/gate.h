/* SPDX-License-Identifier: MIT */
#ifndef GATE_H
#define GATE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* Threads wait at a gate until the test opens it, so that tests of concurrency do not depend on sleeping. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool open;
    unsigned arrived; /* number of threads that have reached the gate */
};

#define GATE_CLOSED                                                                                          \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER                                 \
    }

/* Timeouts of waits in seconds, so that a hang fails the test. */
enum { GATE_SECONDS = 20, HANG_SECONDS = 240 };

__attribute__((unused)) static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

static struct timespec gate_deadline(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GATE_SECONDS;
    return until;
}

/* Waits until the gate is opened. Returns false on a timeout. */
__attribute__((unused)) static bool gate_pass(struct gate *gate)
{
    struct timespec until = gate_deadline();
    pthread_mutex_lock(&gate->lock);
    gate->arrived++;
    pthread_cond_broadcast(&gate->moved);
    while (!gate->open && pthread_cond_timedwait(&gate->moved, &gate->lock, &until) != ETIMEDOUT)
        ;
    bool open = gate->open;
    pthread_mutex_unlock(&gate->lock);
    return open;
}

/* Waits until this number of threads has reached the gate. Returns false on a timeout. */
__attribute__((unused)) static bool gate_await(struct gate *gate, unsigned arrived)
{
    struct timespec until = gate_deadline();
    pthread_mutex_lock(&gate->lock);
    while (gate->arrived < arrived && pthread_cond_timedwait(&gate->moved, &gate->lock, &until) != ETIMEDOUT)
        ;
    bool enough = gate->arrived >= arrived;
    pthread_mutex_unlock(&gate->lock);
    return enough;
}

#endif
