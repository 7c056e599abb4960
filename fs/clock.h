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

#endif
