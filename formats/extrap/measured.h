/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_MEASURED_H
#define PF_EXTRAP_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/extrap/experiment.h"
#include "formats/kit/store.h"

/*
 * What was measured, of formats that have it in any order or packed: collected in the pass over the file,
 * sorted by series and point, and held in a store, which spills. A composite of several files collects here as well.
 *
 * The unit is a record: some values of one (series, point), or the figures that the file has instead or beside
 * them. A measurement is one or more records behind each other.
 */
enum pf_record_flags {
    PF_RECORD_STARTS = 1,          /* a measurement of its own; else it goes on with the one before */
    PF_RECORD_FIGURES = 2,         /* PF_STATISTICS doubles come before the values */
    PF_RECORD_NO_REPETITIONS = 4,  /* their number is not known */
    PF_RECORD_HAS_FIGURE = 1 << 8, /* and the bits above: which of the figures are known, mean first */
};

/* In the store: this, the figures, the values. */
struct pf_record {
    uint32_t series, point;
    uint32_t values;      /* how many */
    uint32_t flags;       /* enum pf_record_flags */
    uint64_t repetitions; /* only the sum over a measurement's records counts */
};

/* Most values of a record. */
enum { PF_RECORD_VALUES = 1024 };

/* Where the records of a series are. */
struct pf_run {
    uint64_t start, end;
    uint64_t points; /* different ones that they are of */
};

struct pf_measured {
    struct pf_store *store;
    struct pf_run *runs; /* of each series; made by pf_measured_finish */
    size_t n_runs;
    uint64_t values; /* of all records */
    bool figures;    /* some record has them */

    /* While collecting: */
    bool unsorted;
    uint64_t last_key; /* of the last record in the store */
    struct {
        struct pf_record record;
        double numbers[PF_STATISTICS + PF_RECORD_VALUES];
    } open;               /* the record being collected; series PF_NO_SERIES: there is none */
    size_t filled;        /* of its numbers */
    uint64_t repetitions; /* in earlier records of the measurement */
};

struct pf_measured *pf_measured_new(void); /* NULL: out of memory */
void pf_measured_free(struct pf_measured *measured);

/*
 * The following numbers belong to this series and point. `starts`: they are a measurement of their own, else further
 * repetitions. 0, or -1 with *error filled.
 */
int pf_measured_begin(struct pf_measured *measured, uint32_t series, uint32_t point, bool starts,
                      struct pf_error *error);

/* Ends a full record and begins one that goes on with its measurement. For pf_measured_add. */
int pf_measured_go_on(struct pf_measured *measured, struct pf_error *error);

/* Adds a value, which is a repetition. */
static inline int pf_measured_add(struct pf_measured *measured, double value, struct pf_error *error)
{
    if (measured->open.record.values == PF_RECORD_VALUES && pf_measured_go_on(measured, error) < 0)
        return -1;
    measured->open.numbers[measured->filled++] = value;
    measured->open.record.values++;
    measured->open.record.repetitions++;
    return 0;
}

/*
 * Gives the measurement that was just begun figures (and no values yet). has: bit i says that figures[i] is
 * known.
 */
void pf_measured_figures(struct pf_measured *measured, const double figures[PF_STATISTICS], unsigned has);

/* The measurement has so many repetitions, whatever the number of its values (-1: not known). To be called behind
 * its values. */
void pf_measured_repetitions(struct pf_measured *measured, int64_t repetitions);

/*
 * Sorts what was collected, finds where each series is, and notes gaps and doubled points with the experiment. 0, or
 * -1 with *error filled (ECANCELED: nobody waits for the pass any more).
 */
int pf_measured_finish(struct pf_measured *measured, struct pf_experiment *experiment, struct pf_pass *pass,
                       struct pf_error *error);

/* ---- reading ------------------------------------------------------------------------------------ */

/* Reads records one after the other. Given a store and where to read, it is ready. */
struct pf_records {
    struct pf_store_window window;
    uint64_t at, end; /* next record; where to stop */
};

static inline struct pf_records pf_records_of(const struct pf_store *store, uint64_t at, uint64_t end)
{
    return (struct pf_records){.window = {.store = store}, .at = at, .end = end};
}

/*
 * The record at records->at, and its numbers, aligned and good until the next call. Does not move on: add
 * pf_record_size to records->at for that. 1; 0: there is none; -1: *error filled.
 */
int pf_records_peek(struct pf_records *records, struct pf_record *record, const double **numbers,
                    struct pf_error *error);

static inline size_t pf_record_figures(const struct pf_record *record)
{
    return record->flags & PF_RECORD_FIGURES ? PF_STATISTICS : 0;
}

static inline size_t pf_record_size(const struct pf_record *record)
{
    return sizeof *record + (pf_record_figures(record) + record->values) * sizeof(double);
}

static inline uint64_t pf_record_key(const struct pf_record *record)
{
    return (uint64_t)record->series << 32 | record->point;
}

/* Bytes of records held in memory before they spill. */
#define PF_RECORDS_HELD ((uint64_t)4 << 20)

#endif
