/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_FOLD_H
#define PF_XRAY_FOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/runtime/numbered.h"

/*
 * Aggregator for formats whose values are derived from events: adds events to one record per (partition, context), and
 * serves the records as the table "values" (partition, context, metric, value, name), whole or restricted. Partitions
 * are processed one after another. Memory is one record per context; completed partitions spill to disk. Not
 * thread-safe while it is filled.
 */

/* A measure of a record. A record has at most PF_MEASURES_MAX. */
#define PF_MEASURES_MAX 8
union pf_measure {
    int64_t i;
    double d;
};

/* Private to the functions below. */
struct xray_fold {
    unsigned measures;
    const struct pf_derivation *derivations;
    size_t metrics;
    struct pf_store *store;
    uint64_t *starts; /* first record of each partition; partitions + 1 entries */
    size_t partitions, starts_room;

    union pf_measure *open; /* the open partition: one record per touched context */
    unsigned char *touched;
    uint32_t room, used; /* in contexts; used: one more than the highest touched context */

    /* Number of the first record of the partition that is kept in open[], not in the store; UINT64_MAX: none. */
    uint64_t kept;
};

/* How a metric's value is computed from a record. */
struct pf_derivation {
    unsigned measure; /* index of the measure */
    bool real;        /* the measure is a double */
    unsigned present; /* index of the integer measure that must be nonzero for a zero value to exist */
    double scale; /* 0: the value is the measure itself; else it is the double (measure * scale / divisor) */
    double divisor;
};

/*
 * Creates a fold. limit: bytes held in memory before spilling. derivations: one per metric, borrowed. Returns NULL if
 * out of memory.
 */
struct xray_fold *xray_fold_new(unsigned measures, const struct pf_derivation *derivations, size_t metrics,
                                uint64_t limit);
void xray_fold_free(struct xray_fold *fold);

/* Makes room for the record of a context. Returns 0, or -1 with *error filled. */
int xray_fold_grow(struct xray_fold *fold, uint32_t context, struct pf_error *error);

/*
 * Returns the record of a context in the open partition, initially zero; NULL with *error filled. Valid until the next
 * call.
 */
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

/* Prefetches the record of a context that xray_fold_at will be called for soon. A hint only. */
static inline void xray_fold_expect(const struct xray_fold *fold, uint32_t context)
{
    if (context < fold->room)
        __builtin_prefetch(fold->open + (size_t)context * fold->measures, 1);
}

/*
 * Ends the open partition. Call once per partition, in order, also for empty partitions. Returns 0, or -1 with *error
 * filled.
 */
int xray_fold_end_partition(struct xray_fold *fold, struct pf_error *error);

/*
 * Cursor of the table "values" over a fold. The table's columns must be partition, context, metric, value and the
 * context's name, in this order. profile->state must begin with a struct xray_fold_state.
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

/* The table's columns if the partitions are threads. */
extern const struct pf_column xray_fold_thread_columns[XRAY_FOLD_COLUMNS];

#endif
