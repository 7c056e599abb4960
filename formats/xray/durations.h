/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_DURATIONS_H
#define PF_XRAY_DURATIONS_H

#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/* A call that has ended. */
struct xray_duration {
    uint64_t ticks;
    uint32_t function; /* its number in the stack */
};

enum { XRAY_DURATIONS_AT_ONCE = 1024 };

/*
 * A walk over the completed calls of threads, for their durations alone: calls are closed by the rules of the
 * model pass (see calls.c), but no contexts are made.
 */
struct xray_durations {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t done; /* bytes of ranges */
    /* Called for calls in the order in which they end, some at a time. 0, or -1 with *error filled. */
    int (*take)(struct xray_durations *durations, const struct xray_duration *calls, size_t n,
                struct pf_error *error);

    struct xray_decoder decoder;
    struct xray_stack stack;
    uint64_t *entered; /* by depth in the stack, from 1 on; owned */
    size_t entered_room;
    size_t n_ended;
    struct xray_duration ended[XRAY_DURATIONS_AT_ONCE]; /* not yet handed to take */
};

/* state, pass and take are set; the rest is zero. */
void xray_durations_init(struct xray_durations *durations);
void xray_durations_free(struct xray_durations *durations);

/* Walks over one thread's calls. 0, or -1 with *error filled. */
int xray_durations_read(struct xray_durations *durations, size_t thread, struct pf_error *error);

/*
 * Tells the pass how far the walk is, `done` bytes of the range that it is in included. 0, or -1 with
 * ECANCELED in *error: nobody waits any more.
 */
int xray_durations_step(const struct xray_durations *durations, uint64_t done, struct pf_error *error);

#endif
