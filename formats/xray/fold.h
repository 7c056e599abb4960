/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_FOLD_H
#define PF_XRAY_FOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/runtime/numbered.h"

/*
 * A fold adds up events. It has one record for each context with events in each partition, and serves the records as
 * the table "values" (partition, context, metric, value, name). Partitions are processed one after another. One record
 * per context is held in memory, and completed partitions spill to disk. One thread fills a fold. Afterwards any number
 * of threads may read it.
 */

/* A measure of a record. A record has at most PF_MEASURES_MAX measures. */
#define PF_MEASURES_MAX 8
union xray_measure {
    int64_t i;
    double d;
};

/* Private to the functions below. */
struct xray_fold {
    unsigned measures;
    const struct pf_derivation *derivations;
    size_t metrics;
    struct pf_store *store;
    uint64_t *starts; /* first record of each partition, and the number of records: partitions + 1 items */
    size_t partitions, starts_room;

    union xray_measure *open; /* measures of each context's record in the open partition */
    bool *is_touched;       /* whether each context has a record in the open partition */
    uint32_t *touched;      /* the contexts with a record, in the order of their first touch */
    /* Items of open[]; of is_touched[] and of touched[]; used items of touched[]. */
    uint32_t room, touched_room, n_touched;

    /* First record of the completed partition that is kept in open[] instead of the store; UINT64_MAX: none is. */
    uint64_t kept;
};

/* How a metric's value is computed from a record. */
struct pf_derivation {
    unsigned measure; /* index of the measure */
    bool real;        /* the measure is a double */
    unsigned present; /* index of an integer measure; if it and `measure` are zero, there is no value */
    double scale;     /* 0: the value is the measure itself; otherwise, measure * scale / divisor */
    double divisor;
};

/*
 * Creates a fold, which holds up to `limit` bytes of completed partitions in memory. Borrows `derivations`, one per metric.
 * Returns NULL if memory runs out.
 */
struct xray_fold *xray_fold_new(unsigned measures, const struct pf_derivation *derivations, size_t metrics,
                                uint64_t limit);
void xray_fold_free(struct xray_fold *fold);

/* Makes room for the record of a context. Returns 0, or -1 with *error filled. */
int xray_fold_grow(struct xray_fold *fold, uint32_t context, struct pf_error *error);

/*
 * Returns the record of a context in the open partition, and adds a zeroed one if there is none; NULL with *error
 * filled. The record is valid until the next call.
 */
static inline union xray_measure *xray_fold_at(struct xray_fold *fold, uint32_t context, struct pf_error *error)
{
    if (context >= fold->room && xray_fold_grow(fold, context, error))
        return NULL;
    union xray_measure *measures = fold->open + (size_t)context * fold->measures;
    if (!fold->is_touched[context]) {
        fold->is_touched[context] = true;
        fold->touched[fold->n_touched++] = context;
        memset(measures, 0, fold->measures * sizeof *measures);
    }
    return measures;
}

/* Prefetches the record of a context for a later call of xray_fold_at. */
static inline void xray_fold_expect(const struct xray_fold *fold, uint32_t context)
{
    if (context < fold->room)
        __builtin_prefetch(fold->open + (size_t)context * fold->measures, 1);
}

/*
 * Ends the open partition and begins the next one. To be called once per partition, also for partitions without events.
 * Returns 0, or -1 with *error filled.
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

/* Columns of the table "values". */
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
