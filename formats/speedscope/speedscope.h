/* SPDX-License-Identifier: MIT */
#ifndef PF_SPEEDSCOPE_H
#define PF_SPEEDSCOPE_H

#include "formats/json/walk.h"
#include "formats/kit/samples.h"
#include "formats/kit/spans.h"

/* Amounts are held in 10^-12 of a unit (of a ns, where it is a time): exactly, whatever decimals they have. */
enum { PLACES = 12 };
#define ONE ((pf_int128)1000000000000)

struct scope_unit {
    const char *name, *metric, *unit;
    int places; /* what it is called in the file is 10^places of the metric's unit */
};
/* A frame that has begun. */
struct scope_open_frame {
    uint32_t context;
    uint64_t frame, row;
    pf_int128 begin;
};

struct scope_state {
    struct pf_samples samples; /* first: the kit looks here */
    struct pf_spans *spans;
    struct pf_json *json, *weights; /* the second one reads weights beside samples */
    uint32_t *frames;               /* of the kit, by their numbers in the file */
    size_t n_frames, frames_room;
    uint32_t *open_counts; /* how often each is open */
    size_t counts_room;
    struct scope_open_frame *stack;
    size_t depth, room;
    struct pf_pass *pass;
};

/* A member of `profiles`. */
struct scope_one {
    uint32_t number; /* the partition, too */
    const struct scope_unit *unit;
    int metric;
    bool sampled, evented, cut;
    pf_int128 start, end;
    bool ends;
    struct pf_json_place samples, weights, events;
};

static inline struct scope_state *scope_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* A row of warnings. 0, or -1 with *error filled; so are the following. */
int scope_warn(struct pf_profile *profile, const struct pf_json_token *at, const char *code, const char *what,
               struct pf_error *error);

/* A number of this unit. False if it is none, or beyond what sums may hold. */
bool scope_amount(const struct pf_json_token *token, const struct scope_unit *unit, pf_int128 *amount);

/* Adds the values and rows of a profile, from what stands at its places. */
int scope_read_samples(struct pf_profile *profile, const struct scope_one *one, struct pf_error *error);
int scope_read_events(struct pf_profile *profile, const struct scope_one *one, struct pf_error *error);

#endif
