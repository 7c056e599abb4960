/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_LISTS_H
#define PF_XRAY_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/store.h"
#include "formats/xray/clock.h"

/* What is known of a function after the model pass, about its completed calls: of all threads, or of one. */
struct xray_function {
    uint32_t id;
    uint64_t count;
    uint64_t min, max; /* ticks */
    xray_uint128 sum;
    uint64_t median, p90, p99; /* from PF_DERIVED on */
};

/*
 * The functions of each thread: a list a thread, by id. Threads times functions can be many, so they are held
 * in a store that spills; what is in memory is bounded by the threads.
 */
struct xray_lists {
    struct pf_store *store; /* struct xray_function; owned */
    struct xray_list {
        uint64_t first; /* in the store */
        uint32_t count;
    } * items; /* by thread; owned */
    size_t count, room;
};

/* Lists for so many threads, none of them there yet. 0, or -1 with *error filled; either way to be freed. */
int xray_lists_init(struct xray_lists *lists, size_t threads, struct pf_error *error);
void xray_lists_free(struct xray_lists *lists);

/* Adds the next thread's list (copied). 0, or -1 with *error filled. */
int xray_lists_add(struct xray_lists *lists, const struct xray_function *functions, uint32_t count,
                   struct pf_error *error);

/* A list as a whole: into functions, which has room for its count, or from there. 0, or -1 with *error filled. */
int xray_lists_get(const struct xray_lists *lists, size_t thread, struct xray_function *functions,
                   struct pf_error *error);
int xray_lists_set(struct xray_lists *lists, size_t thread, const struct xray_function *functions,
                   struct pf_error *error);

/* Function i of a thread's list, i below its count. 0, or -1 with *error filled. */
int xray_lists_at(const struct xray_lists *lists, size_t thread, uint32_t i, struct xray_function *function,
                  struct pf_error *error);

#endif
