/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_H
#define PF_NSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/ids.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/sums.h"
#include "formats/kit/table.h"
#include "formats/sql/sql.h"

/*
 * Nsight Systems exports (`nsys export --type sqlite`), with or without the ranges that Extra-Prof has put into
 * them. The parts, each knowing those before it only:
 *   probe.c       the first pages -> whether it is an export
 *   values.c      values of a row: durations, texts of ranges; adding to the profile's values
 *   partitions.c  threads and streams
 *   lookup.c      numbers of an export -> names, and contexts in bounded memory
 *   paths.c       NVTX ranges, call chains, imported call paths -> contexts
 *   tallies.c     calls and activities added up by context and name
 *   calls.c       ranges and API calls -> times of the CPU
 *   activities.c  activities of GPUs -> times of the GPU, the table "events"
 *   nsight.c      the driver, and the one pass that does all that (PF_PARTITIONED)
 *   folder.c      folders of points that hold exports: an Extra-P experiment
 */

/* ---- the tables of an export --------------------------------------------------------------------- */

enum nsight_table {
    NSIGHT_STRINGS,
    NSIGHT_META,
    NSIGHT_OLD_META,
    NSIGHT_GPUS,
    NSIGHT_OLD_GPUS,
    NSIGHT_THREAD_NAMES,
    NSIGHT_RUNTIME,
    NSIGHT_KERNEL, /* from here on the activities of GPUs, in the order of the events */
    NSIGHT_MEMCPY,
    NSIGHT_MEMSET,
    NSIGHT_SYNC,
    NSIGHT_NVTX,
    NSIGHT_CHAINS,
    NSIGHT_RESOLVED,
    NSIGHT_TABLES
};

enum { STRINGS_ID, STRINGS_VALUE };
enum { META_NAME, META_VALUE };
enum { GPUS_NAME };
enum { THREAD_NAMES_NAME, THREAD_NAMES_TID };
enum { RUNTIME_START, RUNTIME_END, RUNTIME_TID, RUNTIME_CORRELATION, RUNTIME_NAME, RUNTIME_CHAIN };
/* The first seven are the same for all activities of a GPU. */
enum {
    ACTIVITY_START,
    ACTIVITY_END,
    ACTIVITY_DEVICE,
    ACTIVITY_CONTEXT,
    ACTIVITY_STREAM,
    ACTIVITY_CORRELATION,
    ACTIVITY_PID,
    ACTIVITY_WHAT, /* kernel: short name; memcpy: kind; memset: value; sync: type */
    ACTIVITY_MORE, /* kernel: demangled name; memcpy and memset: bytes */
    ACTIVITY_MANGLED
};
enum { NVTX_START, NVTX_END, NVTX_TYPE, NVTX_TEXT, NVTX_TID, NVTX_DOMAIN, NVTX_TEXT_ID };
enum { CHAINS_ID, CHAINS_SYMBOL, CHAINS_DEPTH, CHAINS_UNRESOLVED };
enum { RESOLVED_CORRELATION, RESOLVED_PATH, RESOLVED_DURATION };

/* A text that stands in the row or, in newer exports, in StringIds. NULL: none. 0, or -1 with *error filled. */
int nsight_nvtx_text(struct pf_sql *sql, const struct pf_sql_row *row, const char **text, size_t *size,
                     struct pf_error *error);

/* ---- partitions ---------------------------------------------------------------------------------- */

/* Where the call paths come from, the best first. */
enum nsight_origin {
    NSIGHT_RANGES,   /* NVTX ranges of Extra-Prof */
    NSIGHT_SAMPLED,  /* call chains taken at API calls */
    NSIGHT_IMPORTED, /* paths that an import into Extra-P has left */
    NSIGHT_PATHLESS
};

/* What tells partitions apart, or domains of NVTX. */
struct nsight_key {
    uint64_t word[4];
};

#define NSIGHT_NONE UINT32_MAX

/*
 * What the measurements are partitioned by: the threads by their global ids, then the streams by process, device,
 * context and number; last, if paths are imported ones, what belongs to no known thread.
 */
struct nsight_partitions {
    struct nsight_key *keys; /* sorted: a partition's number is its index */
    uint32_t count;
    size_t room;
    struct pf_strings *streams; /* keys of streams by their first appearance, */
    uint32_t *stream_at;        /* and the partitions that they are in the end */
    struct pf_strings *domains; /* keys of Extra-Prof's ranges: process and NVTX domain */
    enum nsight_origin origin;
    bool by_process; /* correlation ids are told apart by the process that they are of */
};

void nsight_partitions_free(struct nsight_partitions *partitions);

/* A global thread id: from the highest, 16 bits of machine and VM, 24 of process, 24 of thread. */
static inline uint64_t nsight_process_of(int64_t global)
{
    return (uint64_t)global >> 24;
}

/* The stream of an activity, by its first appearance; PF_NO_STRING with *error filled. */
uint32_t nsight_stream_of(struct nsight_partitions *partitions, const struct pf_sql_row *row,
                          struct pf_error *error);

/* Appends the thread of this global id (pf_ordered), which is greater than those before. 0, or -1 with *error filled. */
int nsight_add_thread(struct nsight_partitions *partitions, uint64_t thread, struct pf_error *error);
/* Appends what comes behind the threads, once all activities are read. 0, or -1 with *error filled. */
int nsight_add_streams(struct nsight_partitions *partitions, struct pf_error *error);

/* What the row's correlation id belongs to. */
static inline uint64_t nsight_correlation_process(const struct nsight_partitions *partitions, int64_t global)
{
    return partitions->by_process ? nsight_process_of(global) : 0;
}

/* True if the NVTX row is a visit of a function, as Extra-Prof notes it. */
bool nsight_is_visit(const struct nsight_partitions *partitions, const struct pf_sql_row *row);

/* ---- the profile --------------------------------------------------------------------------------- */

/* The metrics, as numbers and indexes. */
enum {
    NSIGHT_CALLS, /* visits of functions */
    NSIGHT_TIME,
    NSIGHT_TIME_INC,
    NSIGHT_GPU_TIME,
    NSIGHT_BYTES,
    NSIGHT_API_CALLS,
    NSIGHT_GPU_ACTIVITIES,
    NSIGHT_METRICS
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

/* The tables that add up calls and activities; rows from PF_PARTITIONED on. */
enum nsight_sum {
    NSIGHT_SUM_API,
    NSIGHT_SUM_KERNELS, /* from here on in the order of the activities' tables */
    NSIGHT_SUM_MEMCPY,
    NSIGHT_SUM_MEMSET,
    NSIGHT_SUM_SYNC,
    NSIGHT_SUMS
};

struct nsight_state {
    struct pf_sums *sums;
    struct pf_sql *sql;                  /* the export until it is read; then NULL */
    struct nsight_partitions partitions; /* this and the following from PF_PARTITIONED on */
    struct pf_store *events;
    struct pf_table tables[2 + NSIGHT_SUMS];
    struct pf_rows *tallied[NSIGHT_SUMS];
};

static inline struct nsight_state *nsight_state(const struct pf_model *model)
{
    return model->state;
}

/* Hostile exports may overflow a sum. */
static inline int64_t nsight_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

extern const struct pf_driver pf_nsight_driver;
void nsight_probe(struct pf_probe *probe, struct pf_verdict *verdict);

/* The driver's open, for an input that may be one of several of a source. */
int nsight_open(struct pf_model *model, struct pf_input *input, struct pf_error *error);

/* Columns of the thread table after id and name, and of the events. */
enum { NSIGHT_FIELDS = 7, NSIGHT_EVENT_COLUMNS = 10 };
extern const struct pf_column nsight_fields[NSIGHT_FIELDS], nsight_event_columns[NSIGHT_EVENT_COLUMNS];
extern const struct pf_numbered nsight_events;

/* ---- what an export knows by numbers ------------------------------------------------------------- */

/* Names in StringIds: each is looked up in the export once, then known. */
struct nsight_names {
    struct pf_ids ids; /* their numbers in the tree's strings */
    uint64_t left;     /* bytes of further names: to be set to what all together may have */
};

struct nsight_found {
    uint32_t path; /* the context of the call path; PF_NO_CONTEXT: there is none */
    uint32_t call; /* the context of the call itself; PF_NO_CONTEXT: there is none */
};

/*
 * Contexts by the number that an export knows something by: of call chains, of calls by their correlation. As many
 * as there are events, so they are held in a store; those that do not come in order are sorted in bounded memory.
 */
enum { NSIGHT_SLOTS = 16 };

struct nsight_lookup {
    uint64_t limit;           /* bytes to hold in memory */
    struct pf_sorter *sorter; /* while it is built, from when entries do not come in order */
    uint64_t added;           /* to that */
    struct pf_store *store;   /* entries by process and number */
    uint64_t last[2];         /* process and number of the last of these */
    struct pf_store_window window;
    uint64_t count;
    /* By process: where what is looked for next may stand; and whether the last, of this slot, stood there. */
    uint64_t next[NSIGHT_SLOTS];
    unsigned slot;
    bool near;
};

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error);
void nsight_lookup_free(struct nsight_lookup *lookup);

/* Of several entries of one key, the first that has a path counts, else the first. */
int nsight_lookup_add(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                      struct nsight_found found, struct pf_error *error);
int nsight_lookup_finish(struct nsight_lookup *lookup, struct pf_error *error);

/* What there is under a number; both PF_NO_CONTEXT if nothing is. 0, or -1 with *error filled. */
int nsight_lookup_find(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                       struct nsight_found *found, struct pf_error *error);

/* ---- calls and activities added up ---------------------------------------------------------------- */

/* What those of one call path, call, stream and name come to. */
struct nsight_tally {
    struct nsight_tally_key {
        uint32_t sum;    /* enum nsight_sum */
        uint32_t path;   /* context, or PF_NO_CONTEXT */
        uint32_t name;   /* in the tree's strings, or PF_NO_STRING */
        uint32_t call;   /* context of the API call that an activity is due to, or PF_NO_CONTEXT; else 0 */
        uint32_t stream; /* of an activity, by its first appearance; else 0 */
    } key;
    uint32_t context; /* PF_NO_CONTEXT until somebody makes one */
    uint64_t count;
    int64_t bytes, total, least, most; /* durations in ns */
};

struct nsight_tallies {
    struct nsight_tally *items; /* in the order of their first appearance */
    uint32_t count;
    size_t room;
    struct pf_hash_table table;
    uint32_t recent[64]; /* items that were added to, to be found without hashing them */
};

/* Adds one. Returns the tally, valid until the next call; NULL with *error filled. */
struct nsight_tally *nsight_tally(struct nsight_tallies *tallies, const struct nsight_tally_key *key,
                                  int64_t duration, int64_t bytes, struct pf_error *error);
void nsight_tallies_free(struct nsight_tallies *tallies);

/*
 * Makes the tables of sums, by context (rows without one first) and name, and leaves the tallies in that order. -1 with *error filled, and none is made. Their names
 * and columns stand in the array of as many.
 */
int nsight_publish_sums(struct nsight_tallies *tallies, struct pf_strings *strings,
                        struct pf_rows *tables[NSIGHT_SUMS], struct pf_error *error);
extern const struct pf_table nsight_sum_tables[NSIGHT_SUMS];

/* ---- the pass over an export ---------------------------------------------------------------------- */

/* Call paths of the CPU, from whatever an export tells of them. */
struct nsight_paths {
    struct pf_strings *texts; /* paths as they stand in the export */
    uint32_t *contexts;       /* of a text, by its number; PF_NO_CONTEXT: none */
    size_t contexts_room;
    uint64_t text_left; /* bytes that further texts may have */
    bool out_of_text;   /* there were more */

    bool symbols_read, in_symbols; /* the latter: behind the mark that they begin with */
    struct pf_strings *pointers;   /* of functions, as Extra-Prof writes them */
    uint32_t *symbols;             /* names by number of the pointer */
    size_t symbols_room;

    struct nsight_lookup known; /* paths by call chain, or by correlation */
};

/* All owned, until it is handed over to the profile. */
struct nsight_model {
    struct pf_model *model; /* borrowed, as the next two */
    struct pf_sql *sql;
    struct nsight_partitions *partitions;
    uint64_t limit; /* bytes that one part may hold in memory */
    struct pf_tree *tree;
    struct pf_rows *items, *fields; /* of the partitions */
    struct pf_sums *sums;           /* values */
    struct nsight_names names;
    struct nsight_paths paths;
    struct nsight_lookup calls; /* contexts of API calls by process and correlation */
    struct nsight_tallies tallies;
    struct pf_store *events;
    uint64_t bad_times; /* rows whose end is absent or before their start */
    uint64_t untimed;   /* rows of CUPTI that it could not time: see nsight_is_timed */
};

/* The number in the tree's strings of the name of this id, "#ID" if it has none. PF_NO_STRING with *error filled. */
uint32_t nsight_name(struct nsight_model *model, int64_t id, struct pf_error *error);

/* end - start in ns, which stand in the first two columns of all that has times; 0 if that is negative, absent or out of
 * range, which is counted. */
int64_t nsight_duration(struct nsight_model *model, const struct pf_sql_row *row);

/*
 * False if a call or activity was not timed, which CUPTI records as start = end = 0. It then has no duration, not even 0, and is
 * counted in model->untimed.
 */
bool nsight_is_timed(struct nsight_model *model, int64_t start, int64_t end);

/* The context below `parent` (PF_NO_CONTEXT: a root) of this kind and name (in the tree's strings), added if new.
 * PF_NO_CONTEXT with *error filled. */
uint32_t nsight_child(struct pf_tree *tree, uint32_t parent, enum nsight_kind kind, uint32_t name,
                      struct pf_error *error);

/* Finds the domains that ranges are of. 0, or -1 with *error filled; to be freed in any case. */
int nsight_partitions_init(struct nsight_model *model, struct pf_error *error);
/* Adds their rows: id and name, fields. 0, or -1 with *error filled. */
int nsight_publish_partitions(struct nsight_model *model, struct pf_rows *items, struct pf_rows *fields,
                              struct pf_error *error);

int nsight_paths_init(struct nsight_model *model, struct pf_error *error);
/* Reads the tables that paths stand in, but for ranges. */
int nsight_read_paths(struct nsight_model *model, struct pf_error *error);
void nsight_paths_free(struct nsight_paths *paths);

/* The context of the path that an NVTX range stands for; *context is PF_NO_CONTEXT if there is none. */
int nsight_path_of_range(struct nsight_model *model, const struct pf_sql_row *row, uint32_t *context,
                         struct pf_error *error);

/* The context of an API call's path as far as chains or imported paths tell. */
int nsight_path_of_call(struct nsight_model *model, const struct pf_sql_row *row, uint32_t *context,
                        struct pf_error *error);

/* That of an imported row, which is a call's or a function's: PF_NO_CONTEXT if there is none, or the call has no correlation. */
int nsight_imported_path(struct nsight_model *model, const struct pf_sql_row *row, bool *call,
                         uint32_t *context, struct pf_error *error);

/* Adds to a value. */
int nsight_add(struct nsight_model *model, uint32_t partition, uint32_t context, uint32_t metric,
               int64_t value, struct pf_error *error);

/* Reads ranges and API calls: the threads, their values, contexts of calls. */
int nsight_read_calls(struct nsight_model *model, struct pf_error *error);
/* Reads the visits of imported paths, whose thread, the last partition, is not known. */
int nsight_read_imported(struct nsight_model *model, struct pf_error *error);

/* Reads what GPUs did: the streams, their values, events; and numbers all partitions. */
int nsight_read_activities(struct nsight_model *model, struct pf_error *error);

#endif
