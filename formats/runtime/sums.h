/* SPDX-License-Identifier: MIT */
#ifndef PF_SUMS_H
#define PF_SUMS_H

#include <math.h>

#include "formats/runtime/numbered.h"

/*
 * Sums values by (partition, context, metric). Values may be added in any order. Sums are in memory up to a limit and go through an
 * external sort beyond it. A cursor serves all sums, or those that match a restriction, as the table "values" (partition, context,
 * metric, value, name), sorted by partition, context and metric. One thread adds; then any number of threads may read.
 */
struct pf_sums;

/*
 * A sum under construction. Integers are added exactly, doubles with Neumaier's compensation of rounding errors. A
 * zero-initialized struct is an empty sum.
 */
struct pf_total {
    pf_int128 whole;
    double real, rest;
    bool has_real; /* a double was added, or the sum of the integers exceeds 128 bits */
};

static inline void pf_total_add_real(struct pf_total *total, double value)
{
    double sum = total->real + value;
    total->rest += fabs(total->real) >= fabs(value) ? total->real - sum + value : value - sum + total->real;
    total->real = sum;
    total->has_real = true;
}

static inline void pf_total_add_whole(struct pf_total *total, pf_int128 value)
{
    pf_int128 sum;
    if (__builtin_add_overflow(total->whole, value, &sum))
        pf_total_add_real(total, (double)value);
    else
        total->whole = sum;
}

/* Adds a cell, which must be a number. */
static inline void pf_total_add(struct pf_total *total, const struct pf_cell *value)
{
    if (value->type == PF_DOUBLE)
        pf_total_add_real(total, value->d);
    else
        pf_total_add_whole(total, value->type == PF_WIDE   ? *value->wide
                                  : value->type == PF_UINT ? (pf_int128)value->u
                                                           : (pf_int128)value->i);
}

/* limit: bytes in memory before spilling. zeros: true if sums that are 0 become rows. NULL: out of memory. */
struct pf_sums *pf_sums_new(uint64_t limit, bool zeros);
void pf_sums_free(struct pf_sums *sums);

/* Adds a value; the cell must be a number. Returns 0, or -1 with *error filled. */
int pf_sums_add(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                const struct pf_cell *value, struct pf_error *error);

/*
 * Finishes the sums; called once, after all values have been added. `partitions` and `contexts` are the numbers of partitions and
 * contexts, which exceed every index that was added. Returns 0, or -1 with *error filled.
 */
int pf_sums_finish(struct pf_sums *sums, uint32_t partitions, uint32_t contexts, struct pf_error *error);

/*
 * The cursor of the table, whose columns must be: partition, context, metric, value, name of the context. A value is an
 * integer of up to 128 bits or a double. The table's `data` is the address of a struct pf_sums *, its flags are
 * PF_SUMS_FLAGS.
 */
extern const struct pf_numbered pf_sums_cursor;

#define PF_SUMS_FLAGS (PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT)
enum { PF_SUMS_PARTITION, PF_SUMS_CONTEXT, PF_SUMS_METRIC, PF_SUMS_VALUE, PF_SUMS_NAME, PF_SUMS_COLUMNS };

#endif
