/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_H
#define PF_NSIGHT_H

#include "formats/kit/fold.h"
#include "formats/nsight/db.h"
#include "formats/nsight/keys.h"
#include "formats/nsight/lookup.h"
#include "formats/nsight/names.h"
#include "formats/nsight/partitions.h"

/*
 * Nsight Systems exports (`nsys export --type sqlite`), with or without the ranges that Extra-Prof has put into
 * them. The parts, each knowing those before it only:
 *   vfs.c         an input -> a file that SQLite can open
 *   schema.c      which tables and columns there are
 *   db.c          connections and rows
 *   keys.c, sorter.c, lookup.c    numbering keys, sorting, finding in bounded memory
 *   names.c       StringIds -> names
 *   partitions.c  threads and streams (PF_PARTITIONED)
 *   paths.c       NVTX ranges, call chains, resolved call paths -> contexts
 *   sums.c        activities added up by context and name
 *   calls.c       ranges and API calls -> times of the CPU
 *   activities.c  what GPUs did -> times of the GPU
 *   model.c       all that together (PF_MODELLED)
 *   events.c      the table "events"
 *   probe.c       the first pages -> whether it is an export
 *   nsight.c      the driver
 *   folder.c, folder_read.c   folders of points that hold exports: an Extra-P experiment
 */

/* Measures of a context in a partition, in the fold. Times in ns. */
enum {
    NSIGHT_CALLS, /* visits of functions */
    NSIGHT_API_CALLS,
    NSIGHT_TIME,
    NSIGHT_TIME_INC,
    NSIGHT_TIMED, /* not zero: there is a NSIGHT_TIME_INC */
    NSIGHT_GPU_TIME,
    NSIGHT_GPU_CALLS,
    NSIGHT_BYTES,
    NSIGHT_MEASURES
};

/* Kinds of contexts. */
enum nsight_kind {
    NSIGHT_FUNCTION,
    NSIGHT_API,
    NSIGHT_A_KERNEL,
    NSIGHT_A_MEMCPY,
    NSIGHT_A_MEMSET,
    NSIGHT_KINDS
};
extern const char *const nsight_context_kinds[];

/* The tables that add up activities; rows from PF_MODELLED on. */
enum nsight_sum {
    NSIGHT_SUM_API,
    NSIGHT_SUM_KERNELS,
    NSIGHT_SUM_MEMCPY,
    NSIGHT_SUM_MEMSET,
    NSIGHT_SUM_SYNC,
    NSIGHT_SUMS
};

/* The metrics, in the order of their numbers. */
enum { NSIGHT_METRICS = 7 };

/* Where a table ended before its end, for each table: told when the pass is over, which may be made again. */
struct nsight_damage {
    bool damaged, started;
    int64_t rowid; /* of the last row, if it has started */
};

struct nsight_state {
    struct pf_fold_state fold; /* first: see fold.h */
    struct pf_input *input;
    struct nsight_pool pool;
    struct nsight_partitions partitions; /* from PF_PARTITIONED on */
    struct nsight_names names;           /* from PF_MODELLED on: of all that activities are called by */
    struct nsight_lookup calls;          /* likewise: contexts of API calls by process and correlation */
    struct nsight_damage damage[NSIGHT_TABLES]; /* likewise */
    struct pf_table tables[2 + NSIGHT_SUMS];
    struct pf_rows *sums[NSIGHT_SUMS];
};

static inline struct nsight_state *nsight_state(const struct pf_profile *profile)
{
    return profile->state;
}

extern const struct pf_driver pf_nsight_driver;
void nsight_probe(struct pf_probe *probe, struct pf_verdict *verdict);

/* The driver's open, for an input that may be one of several of a source. */
int nsight_open(struct pf_profile *profile, struct pf_input *input, struct pf_error *error);

/* The stages. Each leaves the profile as it was if it fails. */
int nsight_load_partitions(struct pf_profile *profile, struct nsight_db *db, struct pf_error *error);
int nsight_load_model(struct pf_profile *profile, struct nsight_db *db, struct pf_error *error);

static inline void nsight_note_damage(struct nsight_damage damage[NSIGHT_TABLES],
                                      const struct nsight_scan *scan)
{
    if (scan->damaged)
        damage[scan->table] = (struct nsight_damage){true, scan->started, scan->rowid};
}

extern const struct pf_cursor_ops nsight_events_cursor;

/* Columns of the events. */
enum {
    EVENTS_THREAD,
    EVENTS_KIND,
    EVENTS_START,
    EVENTS_END,
    EVENTS_DEVICE,
    EVENTS_STREAM,
    EVENTS_CORRELATION,
    EVENTS_CONTEXT,
    EVENTS_BYTES,
    EVENTS_NAME,
    EVENTS_COLUMNS
};

/* The tables of activities of GPUs, in the order of the events. */
enum { NSIGHT_ACTIVITIES = 4 };
extern const enum nsight_table nsight_activities[NSIGHT_ACTIVITIES];

/* The number of the name that a kernel goes by: the short one, else what the export has. */
int64_t nsight_kernel_id(const struct nsight_scan *scan);

/* The contexts of the API call that an activity is due to. window: the caller's own. 0, or -1 with *error filled. */
int nsight_find_call(const struct nsight_lookup *calls, struct nsight_window *window,
                     const struct nsight_partitions *partitions, const struct nsight_scan *scan,
                     struct nsight_found *found, struct pf_error *error);

/* The words for a kind of copy or of synchronisation; absent for numbers that have none. */
struct pf_cell nsight_copy_kind(int64_t kind);
struct pf_cell nsight_sync_type(int64_t type);

/* Columns of the thread table after id and name. */
enum {
    NSIGHT_FIELD_KIND,
    NSIGHT_FIELD_PID,
    NSIGHT_FIELD_TID,
    NSIGHT_FIELD_DEVICE,
    NSIGHT_FIELD_CONTEXT,
    NSIGHT_FIELD_STREAM,
    NSIGHT_FIELD_THREAD_NAME,
    NSIGHT_FIELDS
};

#endif
