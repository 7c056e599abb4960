/* SPDX-License-Identifier: MIT */
#ifndef PF_CLOCK_H
#define PF_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic time in seconds. */
static inline uint64_t pf_monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec;
}

/* Monotonic time in milliseconds, with the resolution of the kernel's tick. */
static inline uint64_t pf_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Monotonic time in nanoseconds, for durations. */
static inline uint64_t pf_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The monotonic time in `ms` milliseconds from now, for pf_lock_wait_until. */
static inline struct timespec pf_monotonic_after(unsigned ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

#endif
