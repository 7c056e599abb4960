/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_LOOKUP_H
#define PF_NSIGHT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/kit/sorter.h"
#include "formats/kit/store.h"

/*
 * Contexts by the number that an export knows something by: of call chains, of calls by their correlation. As many
 * as there are events, so they are sorted in bounded memory and held in a store. Building is for one thread;
 * finding is for all.
 */
struct nsight_found {
    uint32_t path; /* the context of the call path; PF_NO_CONTEXT: there is none */
    uint32_t call; /* the context of the call itself; PF_NO_CONTEXT: there is none */
};

struct nsight_lookup {
    struct pf_sorter *sorter; /* while it is built */
    struct pf_store *store;   /* entries by process and number */
    uint64_t count, added;
    struct nsight_fence *fences; /* every step-th entry's key */
    uint32_t n_fences;
    uint64_t step;
};

/* Entries that a finder has at hand: one for each thread; zeroed at first. */
struct nsight_window {
    uint64_t first, count;
    uint64_t *entries; /* owned */
};

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error);
void nsight_lookup_free(struct nsight_lookup *lookup);

/* Of several entries of one key, the first that has a path counts, else the first. */
int nsight_lookup_add(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                      struct nsight_found found, struct pf_error *error);
int nsight_lookup_finish(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error);

/* What there is under a number; both PF_NO_CONTEXT if nothing is. 0, or -1 with *error filled. */
int nsight_lookup_find(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t process,
                       int64_t number, struct nsight_found *found, struct pf_error *error);
void nsight_window_free(struct nsight_window *window);

#endif
