/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_H
#define PF_NSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/fold.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"
#include "formats/nsight/db.h"

/*
 * Numbers keys of a few words in the order of their first appearance: 0, 1, 2, ... What belongs to a key stands
 * in arrays beside, at its number. Adding is for one thread; finding is for all once adding is over.
 */
enum { NSIGHT_KEY_WORDS = 4 };
#define NSIGHT_NONE UINT32_MAX

struct nsight_key {
    uint64_t word[NSIGHT_KEY_WORDS];
};

struct nsight_keys {
    struct nsight_key *key;
    uint32_t count;
    size_t room;
    struct pf_hash_table table;
};

/* The number of a key, or NSIGHT_NONE. */
uint32_t nsight_keys_find(const struct nsight_keys *keys, const struct nsight_key *key);
/* Its number, added if new (then it is the count before); NSIGHT_NONE with *error filled. */
uint32_t nsight_keys_add(struct nsight_keys *keys, const struct nsight_key *key, struct pf_error *error);
void nsight_keys_free(struct nsight_keys *keys);

/*
 * Contexts by the number that an export knows something by: of call chains, of calls by their correlation. As many
 * as there are events, so they are sorted in bounded memory and held in a store. Building is for one thread;
 * finding is for all.
 */
struct nsight_found {
    uint32_t path; /* the context of the call path; PF_NO_CONTEXT: there is none */
    uint32_t call; /* the context of the call itself; PF_NO_CONTEXT: there is none */
};

struct nsight_lookup {
    struct pf_sorter *sorter; /* while it is built */
    struct pf_store *store;   /* entries by process and number */
    uint64_t count, added;
};

/* Entries that a finder has at hand: one for each thread; zeroed at first. */
struct nsight_window {
    uint64_t first, count;
    uint64_t *entries; /* owned */
};

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error);
void nsight_lookup_free(struct nsight_lookup *lookup);

/* Of several entries of one key, the first that has a path counts, else the first. */
int nsight_lookup_add(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                      struct nsight_found found, struct pf_error *error);
int nsight_lookup_finish(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error);

/* What there is under a number; both PF_NO_CONTEXT if nothing is. 0, or -1 with *error filled. */
int nsight_lookup_find(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t process,
                       int64_t number, struct nsight_found *found, struct pf_error *error);
void nsight_window_free(struct nsight_window *window);

/*
 * What numbers of StringIds stand for: looked up in the export once, then known. Adding is for one thread; what has
 * been added is there for all.
 */
struct nsight_names {
    struct pf_strings *strings; /* borrowed: where the names are */
    struct nsight_keys ids;
    uint32_t *string; /* of an id, by its number in `ids` */
    size_t room;
    uint64_t left; /* bytes of further names: to be set to what all together may have */
};

/* The number in `strings` of the name of this id, "#ID" if it has none. PF_NO_STRING with *error filled. */
uint32_t nsight_name(struct nsight_names *names, struct nsight_db *db, int64_t id, struct pf_error *error);

/* A name that has been asked for before, as a cell; absent for any other. */
struct pf_cell nsight_name_cell(const struct nsight_names *names, int64_t id);

void nsight_names_free(struct nsight_names *names);

/* Where the call paths come from, the best first. */
enum nsight_origin {
    NSIGHT_RANGES,   /* NVTX ranges of Extra-Prof */
    NSIGHT_SAMPLED,  /* call chains taken at API calls */
    NSIGHT_IMPORTED, /* paths that an import into Extra-P has left */
    NSIGHT_PATHLESS
};

/*
 * What the measurements are partitioned by: the threads by their global ids, then the streams by process, device,
 * context and number; last, if paths are imported ones, what belongs to no known thread.
 */
struct nsight_partitions {
    struct nsight_keys keys;    /* a partition's number is its index */
    uint32_t threads;           /* how many of them are threads */
    uint32_t homeless;          /* index of what belongs to no known thread; NSIGHT_NONE: there is none */
    struct nsight_keys domains; /* process and NVTX domain of Extra-Prof's ranges */
    enum nsight_origin origin;
    bool by_process; /* correlation ids are told apart by the process that they are of */
};

void nsight_partitions_free(struct nsight_partitions *partitions);

/* A global thread id: from the highest, 16 bits of machine and VM, 24 of process, 24 of thread. */
static inline uint64_t nsight_process_of(int64_t global)
{
    return (uint64_t)global >> 24;
}

/* The partition of the row that a scan of API calls or ranges, or of activities, stands at. */
uint32_t nsight_thread_of(const struct nsight_partitions *partitions, int64_t global_tid);
uint32_t nsight_stream_of(const struct nsight_partitions *partitions, const struct nsight_scan *scan);

/* What the row's correlation id belongs to. */
static inline uint64_t nsight_correlation_process(const struct nsight_partitions *partitions, int64_t global)
{
    return partitions->by_process ? nsight_process_of(global) : 0;
}

/* True if the NVTX row is a visit of a function, as Extra-Prof notes it. */
bool nsight_is_visit(const struct nsight_partitions *partitions, const struct nsight_scan *scan);

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

/* Hostile exports may overflow a sum. */
static inline int64_t nsight_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

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

/*
 * Call paths of the CPU: their contexts, from whatever an export tells of them. Belongs to the pass that makes the
 * model.
 */
struct nsight_paths {
    struct pf_tree *tree; /* borrowed, as the next four */
    struct nsight_damage *damage;
    struct nsight_names *names;
    const struct nsight_partitions *partitions;
    struct nsight_db *db;

    struct pf_strings *texts; /* paths as they stand in the export */
    uint32_t *contexts;       /* of a text, by its number; PF_NO_CONTEXT: none */
    size_t contexts_room;
    uint64_t text_left; /* bytes that further texts may have */
    bool out_of_text;   /* there were more */

    bool symbols_read, in_symbols; /* the latter: behind the mark that they begin with */
    struct pf_strings *pointers;   /* of functions, as Extra-Prof writes them */
    uint32_t *symbols;             /* names by number of the pointer */
    size_t symbols_room;

    struct pf_sorter *frames;    /* while chains are read */
    struct nsight_lookup *calls; /* while imported paths are: the list that calls go to */
    struct nsight_lookup known;  /* paths by call chain, or by correlation */
    struct nsight_window window;
    struct nsight_own *own; /* by context: what functions took that belong to no known thread */
    size_t own_room;
};

/* Of imported paths. */
struct nsight_own {
    int64_t calls, time; /* time: ns, exclusive */
};

/* The context below `parent` (PF_NO_CONTEXT: a root) of this kind and name (in the tree's strings), added if new.
 * PF_NO_CONTEXT with *error filled. */
uint32_t nsight_child(struct pf_tree *tree, uint32_t parent, enum nsight_kind kind, uint32_t name,
                      struct pf_error *error);

/* Reads the tables that paths stand in, but for ranges. limit: bytes of memory. */
int nsight_paths_init(struct nsight_paths *paths, uint64_t limit, struct pf_error *error);
void nsight_paths_free(struct nsight_paths *paths);

/* The context of the path that an NVTX range stands for; *context is PF_NO_CONTEXT if there is none. */
int nsight_path_of_range(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                         struct pf_error *error);

/* The context of an API call's path as far as chains or imported paths tell. */
int nsight_path_of_call(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                        struct pf_error *error);

/* Adds the paths of activities whose calls are not in the export but whose paths an import has left. */
int nsight_paths_add_calls(struct nsight_paths *paths, struct nsight_lookup *calls, struct pf_error *error);

/*
 * What calls and activities of one call path and one name come to: the tables api, kernels, memcpy, memset and
 * sync. In memory: one entry a path and name.
 */
struct nsight_sums {
    struct nsight_keys keys; /* table, context, name */
    struct nsight_entry *entries;
    size_t room;
};

/* Adds one. context: of the call path, or PF_NO_CONTEXT; name: in `strings`, or PF_NO_STRING; times in ns. */
int nsight_sums_add(struct nsight_sums *sums, enum nsight_sum table, uint32_t context, uint32_t name,
                    int64_t duration, int64_t bytes, struct pf_error *error);

/* Makes the tables, by context (rows without one first) and name. NSIGHT_SUMS of them. -1 with *error filled, and none
 * is made. */
int nsight_sums_publish(const struct nsight_sums *sums, const struct pf_strings *strings,
                        struct pf_rows *tables[NSIGHT_SUMS], struct pf_error *error);
void nsight_sums_free(struct nsight_sums *sums);

/* Their names and columns. */
extern const char *const nsight_sum_names[NSIGHT_SUMS];
extern const struct pf_column *const nsight_sum_columns[NSIGHT_SUMS];
extern const size_t nsight_sum_widths[NSIGHT_SUMS];

/* What is made by the pass over an export. All owned, until it is handed over to the profile. */
struct nsight_model {
    struct pf_profile *profile; /* borrowed, as the next */
    struct nsight_db *db;
    uint64_t limit; /* bytes that one part may hold in memory */
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct nsight_names names;
    struct nsight_paths paths;
    struct nsight_lookup calls;
    struct nsight_sums sums;
    struct nsight_damage damage[NSIGHT_TABLES];
    uint64_t bad_times; /* rows whose end is absent or before their start */
};

/* Reads ranges and API calls: values of the threads, contexts of calls. */
int nsight_read_calls(struct nsight_model *model, struct pf_error *error);

/* Reads what GPUs did: values of the streams. */
int nsight_read_activities(struct nsight_model *model, struct pf_error *error);

#endif
