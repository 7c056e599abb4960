/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_FOLD_H
#define PF_XRAY_FOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/kit/numbered.h"

/*
 * The aggregator for formats whose values are derived from events: it folds what events add into one record a
 * (partition, context), and serves them as the table "values" (partition, context, metric, value, name),
 * whole or restricted. Partitions are folded one after another in their order; memory: one record a context,
 * the rest spills.
 */

/* A record: one number a measure. */
#define PF_MEASURES_MAX 8
union pf_measure {
    int64_t i;
    double d;
};

/* For the functions below alone. */
struct xray_fold {
    unsigned measures;
    const struct pf_derivation *derivations;
    size_t metrics;
    struct pf_store *store;
    uint64_t *starts; /* record number of each partition's first record; partitions + 1 of them */
    size_t partitions, starts_room;

    union pf_measure *open; /* the partition being folded: a record a context, if that is touched */
    unsigned char *touched;
    uint32_t room, used; /* contexts; used: one past the highest touched */

    /* The number of the first record of a partition that has stayed there, each at its context; UINT64_MAX: none has. */
    uint64_t kept;
};

/* How a metric's value comes from a record. */
struct pf_derivation {
    unsigned measure; /* index of the measure */
    bool real;        /* the measure holds doubles */
    unsigned present; /* index of the (integer) measure that must not be zero for a value of zero to exist */
    double scale;     /* 0: the measure as it is; else the value is the double (measure * scale / divisor) */
    double divisor;
};

/* limit: bytes to hold in memory before spilling. derivations: one a metric, borrowed. NULL: out of memory.
 */
struct xray_fold *xray_fold_new(unsigned measures, const struct pf_derivation *derivations, size_t metrics,
                                uint64_t limit);
void xray_fold_free(struct xray_fold *fold);

/* Makes room for the record of a context. 0, or -1 with *error filled. */
int xray_fold_grow(struct xray_fold *fold, uint32_t context, struct pf_error *error);

/* The record of a context in the partition being folded, zero at first; NULL with *error filled. Valid until
 * the next call. */
static inline union pf_measure *xray_fold_at(struct xray_fold *fold, uint32_t context, struct pf_error *error)
{
    if (context >= fold->room && xray_fold_grow(fold, context, error))
        return NULL;
    union pf_measure *measures = fold->open + (size_t)context * fold->measures;
    if (!fold->touched[context]) {
        fold->touched[context] = 1;
        memset(measures, 0, fold->measures * sizeof *measures);
        if (context >= fold->used)
            fold->used = context + 1;
    }
    return measures;
}

/* Only for speed: have the processor get the record of a context that xray_fold_at will be called for soon. */
static inline void xray_fold_expect(const struct xray_fold *fold, uint32_t context)
{
    if (context < fold->room)
        __builtin_prefetch(fold->open + (size_t)context * fold->measures, 1);
}

/* Ends a partition (call it once for each, in order, also for empty ones). */
int xray_fold_end_partition(struct xray_fold *fold, struct pf_error *error);

/*
 * The cursor of the table "values" over a fold, whose columns are: the partition, the context, the metric, the value and
 * the context's name, in this order. The driver's profile->state begins with a struct xray_fold_state.
 */
struct xray_fold_state {
    struct xray_fold *fold;
};
extern const struct pf_numbered xray_fold_cursor;

/* Column indexes of that table. */
enum {
    XRAY_FOLD_PARTITION,
    XRAY_FOLD_CONTEXT,
    XRAY_FOLD_METRIC,
    XRAY_FOLD_VALUE,
    XRAY_FOLD_NAME,
    XRAY_FOLD_COLUMNS
};

/* Its columns where the partitions are threads. */
extern const struct pf_column xray_fold_thread_columns[XRAY_FOLD_COLUMNS];

#endif
