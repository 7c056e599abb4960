/* SPDX-License-Identifier: MIT */
#ifndef FAULTS_H
#define FAULTS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Replaces the allocator and the clock of a test program, so that a test can make an allocation fail and advance the coarse clock.
 * Include it in only one source file of the program.
 */

/* ---- allocations; those of programs with a sanitizer's allocator never fail ---------------------- */

static atomic_int allocations_left; /* n > 0: the n-th allocation from now fails; 0: none fails */
static atomic_bool allocation_failed;

/* Makes the n-th allocation from now fail, counted over all threads. */
static void faults_arm(int n)
{
    atomic_store(&allocation_failed, false);
    atomic_store(&allocations_left, n);
}

/* Lets all allocations succeed again. */
static void faults_disarm(void)
{
    atomic_store(&allocations_left, 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

#if OWN_ALLOCATOR

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool fails_now(void)
{
    if (!atomic_load(&allocations_left) || atomic_fetch_sub(&allocations_left, 1) != 1)
        return false;
    atomic_store(&allocation_failed, true);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails_now() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __libc_realloc(old, size);
}

#endif

/* ---- the clock ------------------------------------------------------------------------------------ */

static atomic_ullong clock_offset; /* in ms */

/* Advances CLOCK_MONOTONIC_COARSE, which fs/clock.h reads, but not CLOCK_MONOTONIC, which deadlines of waits use. */
static void clock_advance(unsigned ms)
{
    atomic_fetch_add(&clock_offset, ms);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, clock, now))
        return -1;
    if (clock == CLOCK_MONOTONIC_COARSE) {
        unsigned long long ms = atomic_load(&clock_offset) + (unsigned long long)now->tv_nsec / 1000000;
        now->tv_sec += (time_t)(ms / 1000);
        now->tv_nsec = (long)(ms % 1000) * 1000000 + now->tv_nsec % 1000000;
    }
    return 0;
}

#endif
