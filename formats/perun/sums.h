/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_SUMS_H
#define PF_PERUN_SUMS_H

#include <math.h>

#include "formats/kit/cell.h"
#include "formats/kit/store.h"

/*
 * Adds up values by snapshot, context and metric, in memory up to a limit and through sorted runs beyond, and keeps
 * the sums in that order and by context. Adding is for one thread; reading afterwards for all.
 */
struct perun_sums;

/*
 * A sum while it grows: integers exactly, doubles with what rounding has left out (Neumaier). Zeroed, it is the sum of
 * nothing.
 */
struct perun_total {
    pf_int128 whole;
    double real, rest;
    bool has_real; /* a double was added, or the integers are too many for 128 bits */
};

static inline void perun_total_add_real(struct perun_total *total, double value)
{
    double sum = total->real + value;
    total->rest += fabs(total->real) >= fabs(value) ? total->real - sum + value : value - sum + total->real;
    total->real = sum;
    total->has_real = true;
}

static inline void perun_total_add_whole(struct perun_total *total, pf_int128 value)
{
    pf_int128 sum;
    if (__builtin_add_overflow(total->whole, value, &sum))
        perun_total_add_real(total, (double)value);
    else
        total->whole = sum;
}

/* The cell is a number. */
static inline void perun_total_add(struct perun_total *total, const struct pf_cell *value)
{
    if (value->type == PF_DOUBLE)
        perun_total_add_real(total, value->d);
    else
        perun_total_add_whole(total, value->type == PF_WIDE   ? *value->wide
                                     : value->type == PF_UINT ? (pf_int128)value->u
                                                              : (pf_int128)value->i);
}

struct perun_sum {
    uint32_t snapshot, context, metric;
    struct pf_cell value; /* an integer up to 64 bits or a double */
};

struct perun_sums *perun_sums_new(uint64_t limit); /* NULL: out of memory */
void perun_sums_free(struct perun_sums *sums);

/* The cell is a number. */
int perun_sums_add(struct perun_sums *sums, uint32_t snapshot, uint32_t context, uint32_t metric,
                   const struct pf_cell *value, struct pf_error *error);

/* The same for many values at once. */
int perun_sums_add_total(struct perun_sums *sums, uint32_t snapshot, uint32_t context, uint32_t metric,
                         const struct perun_total *total, struct pf_error *error);

/* Once, when all is added. snapshots, contexts: how many there are. */
int perun_sums_finish(struct perun_sums *sums, uint32_t snapshots, uint32_t contexts, struct pf_error *error);

uint64_t perun_sums_count(const struct perun_sums *sums);
/* Where the sums of a snapshot start and end; of a context, in the list of these. */
void perun_sums_of_snapshot(const struct perun_sums *sums, uint32_t snapshot, uint64_t *start, uint64_t *end);
void perun_sums_of_context(const struct perun_sums *sums, uint32_t context, uint64_t *start, uint64_t *end);
/* Sum i; or sum i of the list by context. */
int perun_sums_at(const struct perun_sums *sums, bool by_context, uint64_t i, struct perun_sum *sum,
                  struct pf_error *error);

#endif
