/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_DURATIONS_H
#define PF_XRAY_DURATIONS_H

#include "formats/quantiles.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/*
 * A walk over the completed calls of threads, for their durations alone: calls are closed by the rules of the
 * model pass (see calls.c), but no contexts are made.
 */
struct xray_durations {
    const struct xray_state *state;
    struct pf_pass *pass; /* NULL: it cannot be stopped */
    uint64_t done;        /* bytes of ranges */
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

/* Quantiles for the durations of functions whose counts are known: function i is group i. NULL with *error
 * filled. */
struct pf_quantiles *xray_quantiles_new(const struct xray_function *functions, uint32_t n,
                                        struct pf_error *error);

/* Sets the percentiles of a function with completed calls. 0, or -1 with *error filled. */
int xray_set_ranks(struct pf_quantiles *quantiles, uint32_t group, struct xray_function *function,
                   struct pf_error *error);

/* What a cell of a row of functions may point into. */
struct xray_function_text {
    char name[XRAY_NAME_MAX];
    pf_int128 sum;
};

/* Fills the cells of a function's row, from XRAY_FUNCTIONS_FUNCTION on. */
void xray_function_cells(const struct xray_state *state, const struct xray_function *function,
                         struct pf_cell *cells, struct xray_function_text *text);

#endif
