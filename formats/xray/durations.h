/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_DURATIONS_H
#define PF_XRAY_DURATIONS_H

#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/*
 * A walk over the completed calls of threads, for their durations alone: calls are closed by the rules of the
 * model pass (see calls.c), but no contexts are made.
 */
struct xray_durations {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t done; /* bytes of ranges */
    /* Called for each call that ends; function: its number in the stack. 0, or -1 with *error filled. */
    int (*take)(struct xray_durations *durations, uint32_t function, uint64_t duration,
                struct pf_error *error);

    struct xray_decoder decoder;
    struct xray_stack stack;
    uint64_t *entered; /* by depth in the stack; owned */
    size_t entered_room;
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
