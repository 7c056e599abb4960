/* SPDX-License-Identifier: MIT */
#include "formats/kit/lock.h"

void pf_lock_init(struct pf_lock *lock, enum pf_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

void pf_lock_destroy(struct pf_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

#ifdef PF_CHECK_LOCKS

#include <stdio.h>
#include <stdlib.h>

/* Maximum number of locks that a thread holds at a time. */
enum { HELD_MAX = 16 };

static _Thread_local const struct pf_lock *held[HELD_MAX];
static _Thread_local size_t held_count;

static const char *rank_name(enum pf_rank rank)
{
    switch (rank) {
#define NAME(id, number, name)                                                                               \
    case PF_RANK_##id:                                                                                       \
        return name;
        PF_LOCKS(NAME)
#undef NAME
    default:
        return "a lock without a rank";
    }
}

_Noreturn static void abort_for_locks(const char *what, const char *name)
{
    fprintf(stderr, "profilefs: %s%s%s; the thread holds", what, name ? " " : "", name ? name : "");
    for (size_t i = 0; i < held_count; i++)
        fprintf(stderr, "%s %s (%d)", i ? "," : "", rank_name(held[i]->rank), (int)held[i]->rank);
    fprintf(stderr, "%s\n", held_count ? "" : " no lock");
    abort();
}

/* True if a lock may be taken while the thread holds another. Two locks of rank PF_RANK_UNPACKED may be nested, since a
 * compressed member is unpacked from its archive's unpacked bytes. */
static bool is_in_order(const struct pf_lock *before, const struct pf_lock *lock)
{
    return before->rank < lock->rank ||
           (before->rank == PF_RANK_UNPACKED && lock->rank == PF_RANK_UNPACKED && before != lock);
}

static void push_held(const struct pf_lock *lock)
{
    if (held_count == HELD_MAX)
        abort_for_locks("too many locks before", rank_name(lock->rank));
    held[held_count++] = lock;
}

static void remove_held(const struct pf_lock *lock)
{
    size_t i = held_count;
    while (i > 0 && held[i - 1] != lock)
        i--;
    if (!i)
        abort_for_locks("a thread drops a lock that it does not hold:", rank_name(lock->rank));
    for (held_count--; i <= held_count; i++)
        held[i - 1] = held[i];
}

void pf_lock_take(struct pf_lock *lock)
{
    for (size_t i = 0; i < held_count; i++)
        if (!is_in_order(held[i], lock))
            abort_for_locks("a thread takes a lock out of order:", rank_name(lock->rank));
    pthread_mutex_lock(&lock->mutex);
    push_held(lock);
}

bool pf_lock_try(struct pf_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex))
        return false;
    push_held(lock);
    return true;
}

void pf_lock_drop(struct pf_lock *lock)
{
    remove_held(lock);
    pthread_mutex_unlock(&lock->mutex);
}

void pf_lock_wait(struct pf_lock *lock, pthread_cond_t *changed)
{
    remove_held(lock);
    pf_may_block();
    pthread_cond_wait(changed, &lock->mutex);
    push_held(lock);
}

int pf_lock_wait_until(struct pf_lock *lock, pthread_cond_t *changed, const struct timespec *until)
{
    remove_held(lock);
    pf_may_block();
    int result = pthread_cond_clockwait(changed, &lock->mutex, CLOCK_MONOTONIC, until);
    push_held(lock);
    return result;
}

void pf_assert_held(const struct pf_lock *lock)
{
    size_t i = 0;
    while (i < held_count && held[i] != lock)
        i++;
    if (i == held_count)
        abort_for_locks("a function is called without the lock", rank_name(lock->rank));
}

void pf_may_block(void)
{
    for (size_t i = 0; i < held_count; i++)
        if (held[i]->rank >= PF_RANK_NO_BLOCKING)
            abort_for_locks("a thread may wait for SOURCE", NULL);
}

#endif
