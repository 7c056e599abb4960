/* SPDX-License-Identifier: MIT */
#ifndef PF_LOCK_H
#define PF_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * Mutexes with a rank. Threads take locks in ascending rank, which rules out deadlocks. docs/locking.md lists what each
 * lock guards and what its holder may do.
 *
 * With -DPF_CHECK_LOCKS (all builds except the optimised one), taking a lock out of order, dropping a lock that the
 * thread does not hold, and a failed assertion print the thread's locks and abort the process. Otherwise the checks
 * compile to nothing.
 *
 * PF_LOCKS has a row per lock: the enumerator after PF_RANK_, the rank, and the name in docs/locking.md. The holder of
 * a lock of rank PF_RANK_NO_BLOCKING or more must neither wait for SOURCE nor use the database.
 */
#define PF_LOCKS(LOCK)                                                                                       \
    LOCK(ARCHIVES, 14, "archives")                                                                           \
    LOCK(ARCHIVE, 15, "archive")                                                                             \
    LOCK(UNPACKED, 16, "unpacked")                                                                           \
    LOCK(UNPACKINGS, 17, "unpackings")                                                                       \
    LOCK(INFLATE, 18, "inflate")                                                                             \
    LOCK(REQUESTS, 30, "requests")                                                                           \
    LOCK(FS, 31, "fs")                                                                                       \
    LOCK(SNAPSHOTS, 32, "snapshots")                                                                         \
    LOCK(CONTROL, 33, "control")                                                                             \
    LOCK(SOURCE, 34, "source")                                                                               \
    LOCK(FOREIGN, 35, "foreign")                                                                             \
    LOCK(PROFILE, 40, "profile")                                                                             \
    LOCK(TEXT, 41, "text")                                                                                   \
    LOCK(SUMS, 42, "sums")                                                                                   \
    LOCK(CACHED, 43, "cached")                                                                               \
    LOCK(PROBE_RESULTS, 44, "probe results")                                                                 \
    LOCK(BLOCKS, 50, "blocks")                                                                               \
    LOCK(POOL, 60, "pool")                                                                                   \
    LOCK(DB, 70, "db")                                                                                       \
    LOCK(STORE, 80, "store")                                                                                 \
    LOCK(GUARDS, 90, "guards")

enum pf_rank {
#define PF_LOCK_ENUMERATOR(id, rank, name) PF_RANK_##id = (rank),
    PF_LOCKS(PF_LOCK_ENUMERATOR)
#undef PF_LOCK_ENUMERATOR
        PF_RANK_NO_BLOCKING = 30,
};

struct pf_lock {
    pthread_mutex_t mutex;
    enum pf_rank rank;
};

#define PF_LOCK_INITIALIZER(rank)                                                                            \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, (rank)                                                                    \
    }
void pf_lock_init(struct pf_lock *lock, enum pf_rank rank);
void pf_lock_destroy(struct pf_lock *lock);

#ifdef PF_CHECK_LOCKS

/* Locks the mutex. Aborts unless its rank is above the ranks of all locks that the thread holds; two locks of rank
 * PF_RANK_UNPACKED may be nested. */
void pf_lock_take(struct pf_lock *lock);
/* Locks the mutex if it is free, without a check of the order. Returns false if another thread holds it. */
bool pf_lock_try(struct pf_lock *lock);
void pf_lock_drop(struct pf_lock *lock);
/* Waits on a condition variable with the lock, which the thread must hold. */
void pf_lock_wait(struct pf_lock *lock, pthread_cond_t *changed);
/* Like pf_lock_wait, with a timeout: an absolute time of CLOCK_MONOTONIC. Returns 0 or ETIMEDOUT. */
int pf_lock_wait_until(struct pf_lock *lock, pthread_cond_t *changed, const struct timespec *until);

/* Aborts unless the calling thread holds the lock. */
void pf_assert_held(const struct pf_lock *lock);
/*
 * Aborts if the calling thread holds a lock of rank PF_RANK_NO_BLOCKING or more. Call before an operation that may wait
 * for SOURCE or that uses the database.
 */
void pf_may_block(void);

#else

static inline void pf_lock_take(struct pf_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

static inline bool pf_lock_try(struct pf_lock *lock)
{
    return !pthread_mutex_trylock(&lock->mutex);
}

static inline void pf_lock_drop(struct pf_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

static inline void pf_lock_wait(struct pf_lock *lock, pthread_cond_t *changed)
{
    pthread_cond_wait(changed, &lock->mutex);
}

static inline int pf_lock_wait_until(struct pf_lock *lock, pthread_cond_t *changed, const struct timespec *until)
{
    return pthread_cond_clockwait(changed, &lock->mutex, CLOCK_MONOTONIC, until);
}

static inline void pf_assert_held(const struct pf_lock *lock)
{
    (void)lock;
}

static inline void pf_may_block(void)
{
}

#endif
#endif
