/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_TALLIES_H
#define PF_XRAY_TALLIES_H

#include "formats/xray/lists.h"
#include "formats/xray/stack.h"

/*
 * Counts, extremes and sums of the durations of completed calls while the model pass runs: of each function
 * in the thread that is being read, and in all threads read before.
 */
struct xray_tally {
    uint64_t count;
    uint64_t min, max; /* ticks; min is UINT64_MAX where there are no calls */
    xray_uint128 sum;
};

/* Zero-initialised: no functions. */
struct xray_tallies {
    struct xray_tally_pair {
        struct xray_tally thread, all;
    } * items;         /* by the stack's numbers of functions; owned */
    uint32_t *touched; /* numbers of the functions with calls in this thread; owned */
    uint32_t n_touched;
    struct xray_function *list; /* room for a thread's list; owned */
    size_t count, room;
};

void xray_tallies_free(struct xray_tallies *tallies);

/* Makes room for functions up to this number. 0, or -1 with ENOMEM in *error. */
int xray_tallies_reach(struct xray_tallies *tallies, uint32_t number, struct pf_error *error);

static inline void xray_tally_add(struct xray_tally *tally, const struct xray_tally *more)
{
    tally->count += more->count;
    tally->sum += more->sum;
    if (more->min < tally->min)
        tally->min = more->min;
    if (more->max > tally->max)
        tally->max = more->max;
}

/* Counts completed calls in the thread, if there are any, of a function whose number has been reached. */
static inline void xray_tallies_take(struct xray_tallies *tallies, uint32_t number,
                                     const struct xray_tally *calls)
{
    struct xray_tally *tally = &tallies->items[number].thread;
    if (!calls->count)
        return;
    if (!tally->count)
        tallies->touched[tallies->n_touched++] = number;
    xray_tally_add(tally, calls);
}

/* Ends a thread: its functions are the next list. seen: the functions by number. 0, or -1 with *error filled. */
int xray_tallies_end_thread(struct xray_tallies *tallies, const struct xray_functions *seen,
                            struct xray_lists *lists, struct pf_error *error);

/* The functions with completed calls in the threads that have ended, by id, for the caller to free. NULL with
 * *error filled. */
struct xray_function *xray_tallies_all(const struct xray_tallies *tallies, const struct xray_functions *seen,
                                       uint32_t *count, struct pf_error *error);

#endif
