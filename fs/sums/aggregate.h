/* SPDX-License-Identifier: MIT */
#ifndef PF_AGGREGATE_H
#define PF_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/sums/units.h"
#include "fs/text/lines.h"

/*
 * Aggregates of a profile's values, made in one pass over profile->cells for all metrics at once, and the
 * views of them under metrics/. Sums follow each metric's over_contexts and over_partitions; they run in the
 * table's order, so the text never depends on scheduling. Integers are added as integers (128 bits), doubles
 * with compensation. Immutable once made. In memory all aggregates of the process and the orders that their views are walked in
 * take options->cache bytes together, and each of them a small share of that in any case; sums beyond are in mapped unlinked files.
 */
struct pf_aggregate;

/* NULL with *error filled (ECANCELED if the pass was stopped). The profile must be loaded as far as
 * cells->stage and PF_MODELLED. */
struct pf_aggregate *pf_aggregate_new(struct pf_model *model, struct pf_error *error);
/*
 * The same for one metric alone and those that its views are made from, if the table of values skips the data of others: these
 * then seem to have no values.
 */
struct pf_aggregate *pf_aggregate_of(struct pf_model *model, unsigned metric, struct pf_error *error);
void pf_aggregate_free(struct pf_aggregate *aggregate);

/* 0; -1 with EIO in *error if the disk has lost some of a spilled aggregate: what was read of it is worth nothing, and it is to be
 * made again. To be asked after reading. */
int pf_aggregate_check(const struct pf_aggregate *aggregate, struct pf_error *error);

/*
 * True once after sums of this process had to spill although -o cache would have had room for them alone: those of profiles that
 * nobody uses should be freed.
 */
bool pf_sums_are_pressed(void);

/* True if the table of values skips other metrics' data: it seeks or skims. */
bool pf_aggregate_skips(const struct pf_model *model);

/*
 * True if aggregates of all metrics at once may take long, or a good part of the memory that is allowed for them, and the table
 * of values skips other metrics' data. Its contexts must be loaded.
 */
bool pf_aggregate_is_large(const struct pf_model *model);

/* The other metric that a metric's views are made from, which pf_aggregate_of adds up with it; PF_NO_PARTNER if there is none. */
int pf_aggregate_partner(const struct pf_model *model, unsigned metric);

/*
 * For the cache file: appends the aggregate to `out`, unless it would take more than `limit` bytes (false; out is
 * then as before). pf_aggregate_unpack makes it again, for the same profile loaded as far; NULL if the bytes do
 * not fit the profile or memory runs out: then the values have to be gone through anew.
 */
bool pf_aggregate_pack(const struct pf_aggregate *aggregate, uint64_t limit, struct pf_buf *out);
struct pf_aggregate *pf_aggregate_unpack(const struct pf_model *model, const void *bytes, size_t size);

/* True if the metric adds up over contexts and over partitions. */
bool pf_adds_up(const struct pf_metric *metric);

/*
 * What the metric adds up to over contexts and partitions; absent if it does not add up over one of them.
 * The cell may point to *wide, which is the caller's.
 */
struct pf_cell pf_aggregate_total(const struct pf_aggregate *aggregate, unsigned metric, pf_int128 *wide);

/*
 * True if something holds more than 100 % of the metric: values are negative, have wrapped around or run backwards, or
 * calls form cycles that no tree tells apart. Not told of a metric whose partner before it is one; to be asked of an aggregate of
 * all metrics.
 */
bool pf_aggregate_beyond(const struct pf_aggregate *aggregate, unsigned metric);

/*
 * One metric in one context, over the partitions that have a value. What is not known (everything if count is
 * 0; sum if the metric does not add up over partitions) is absent. Cells may point into wide[]: not to be
 * copied.
 */
struct pf_statistics {
    uint64_t count;
    struct pf_cell sum; /* follows over_partitions: a sum, minimum, maximum, or one partition's value */
    struct pf_cell mean, min, max;
    struct pf_cell stddev; /* of the population */
    /*
     * max x n / sum, n being the threads that hold any value of the metric: 1 is balance, n that one has it all. Absent
     * where partitions are no threads or the metric does not add up over them.
     */
    struct pf_cell imbalance;
    pf_int128 wide[4];
};

/* Fills *statistics; metric and context are below the profile's numbers of them. */
void pf_aggregate_context(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                          struct pf_statistics *statistics);

/* The views of one metric. */
enum pf_metric_view {
    PF_METRIC_CONTEXTS,   /* contexts.csv: context,sum,mean,min,max,stddev,imbalance,count,name */
    PF_METRIC_PARTITIONS, /* threads.csv (points.csv, ...): thread,sum,contexts */
    PF_METRIC_FUNCTIONS,  /* functions.csv: kind,contexts,exclusive,inclusive,the percents,unit,name,file */
    PF_METRIC_MODULES,    /* modules.csv: functions,exclusive,exclusive_percent,unit,module */
    PF_METRIC_FILES,      /* files.csv: functions,exclusive,exclusive_percent,unit,file */
    PF_METRIC_LINES,      /* lines.csv: exclusive,exclusive_percent,unit,line,name,file */
    PF_METRIC_GROUPS,     /* groups.csv: column,partitions,sum,sum_percent,value */
    PF_METRIC_CALLERS,    /* callers.csv: contexts,exclusive,inclusive,caller,callee */
    PF_METRIC_HOT,        /* hot.txt */
    PF_METRIC_TREE,       /* tree.txt */
    PF_METRIC_BOTTOM_UP,  /* bottom_up.txt */
    PF_METRIC_FOLDED,     /* stacks.folded */
    PF_METRIC_VIEWS
};

/*
 * The unit of a metric's folded stacks, which are whole numbers: times in ns, other integers as they are, other values
 * in millionths of their unit; always, so that two runs can be compared.
 */
struct pf_folding {
    int64_t factor;   /* times the value */
    const char *part; /* "" or "1e-6": what stands before the unit */
    const char *unit;
    bool loses;     /* rounding may leave positive values out */
    bool saturates; /* values may be beyond 64 bits */
};
struct pf_folding pf_folding(const struct pf_model *model, unsigned metric);

/* How many contexts' positive values rounding leaves out of the folded stacks. 0, or -1 with *error filled. */
int pf_folded_left_out(struct pf_aggregate *aggregate, unsigned metric, uint64_t *left_out,
                       struct pf_error *error);

/*
 * A walk over one view. The result borrows profile and aggregate, and is freed by its close. NULL with *error
 * filled. Any number of walks may run side by side.
 */
struct pf_lines *pf_metric_lines(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                 enum pf_metric_view view, struct pf_error *error);

/*
 * The metric that speaks for the profile: `metric` by name if given and known, else `time`, else the first exclusive
 * one with a time unit, else the first exclusive one, else the first; those that hold values before those that are
 * known not to. -1 if there are none.
 */
int pf_primary_metric(const struct pf_metric *metrics, size_t n, const char *metric);

#endif
