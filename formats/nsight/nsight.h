/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_H
#define PF_NSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/table.h"
#include "formats/runtime/build.h"
#include "formats/sql/sql.h"

/*
 * Nsight Systems exports (`nsys export --type sqlite`), with or without the NVTX ranges that Extra-Prof writes, one for
 * each call of a function. Each of these files depends only on the files above it:
 *   probe.c       format detection from the first pages
 *   values.c      values of a row: durations, texts of ranges
 *   partitions.c  threads and streams
 *   lookup.c      numbers of an export -> names, and contexts of calls and call chains in bounded memory
 *   paths.c       NVTX ranges, call chains, imported call paths -> contexts
 *   tallies.c     sums of calls and activities by context and name
 *   calls.c       ranges and API calls -> times of the CPU
 *   activities.c  activities of GPUs -> times of the GPU, the table "events"
 *   nsight.c      the driver, and the single pass that loads everything (PF_PARTITIONED)
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
    NSIGHT_KERNEL, /* the first table of GPU activities; struct event counts kinds from it */
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
/* The first seven columns are common to all tables of GPU activities. */
enum {
    ACTIVITY_START,
    ACTIVITY_END,
    ACTIVITY_DEVICE,
    ACTIVITY_CONTEXT,
    ACTIVITY_STREAM,
    ACTIVITY_CORRELATION,
    ACTIVITY_PID,
    ACTIVITY_WHAT, /* short name of a kernel, kind of a memcpy, value of a memset, type of a sync */
    ACTIVITY_MORE, /* demangled name of a kernel, bytes of a memcpy or memset */
    ACTIVITY_MANGLED
};
enum { NVTX_START, NVTX_END, NVTX_TYPE, NVTX_TEXT, NVTX_TID, NVTX_DOMAIN, NVTX_TEXT_ID };
enum { CHAINS_ID, CHAINS_SYMBOL, CHAINS_DEPTH, CHAINS_UNRESOLVED };
enum { RESOLVED_CORRELATION, RESOLVED_PATH, RESOLVED_DURATION };

/* ---- partitions ---------------------------------------------------------------------------------- */

/* The source from which an export's call paths are taken. If an export has several, the first of this list is used. */
enum nsight_origin {
    NSIGHT_RANGES,   /* NVTX ranges of Extra-Prof */
    NSIGHT_SAMPLED,  /* call chains taken at API calls */
    NSIGHT_IMPORTED, /* paths that an import into Extra-P wrote into the export */
    NSIGHT_PATHLESS
};

/* The key of a partition or of an NVTX domain; partitions.c defines its words. Unused words are 0. */
struct nsight_key {
    uint64_t word[4];
};

#define NSIGHT_NONE UINT32_MAX

/*
 * The partitions are first the threads, sorted by global id, then the streams, sorted by process, device, GPU context and number. If the
 * paths are imported, a last partition has the function visits, because their threads are unknown.
 */
struct nsight_partitions {
    PF_LIST(struct nsight_key) keys; /* indexed by partition, once all are known */
    struct pf_strings *streams;      /* keys of streams in order of first appearance */
    struct pf_strings *domains;      /* keys of the NVTX domains of Extra-Prof, each a process and a domain */
    enum nsight_origin origin;
    bool by_process; /* correlation ids are unique within a process, but not in the export */
};

/*
 * Returns the process part of a global id. From the highest bit, such an id has 16 bits for the machine and VM, 24 for the process and 24
 * for the thread.
 */
static inline uint64_t nsight_process_of(int64_t global)
{
    return (uint64_t)global >> 24;
}

/* Returns the process that a correlation id is looked up with; 0 if these ids are unique in the whole export. */
static inline uint64_t nsight_correlation_process(const struct nsight_partitions *partitions, int64_t global)
{
    return partitions->by_process ? nsight_process_of(global) : 0;
}

/* Returns true if the NVTX row is a function visit written by Extra-Prof. */
bool nsight_is_visit(const struct nsight_partitions *partitions, const struct pf_sql_row *row);

/* ---- the profile --------------------------------------------------------------------------------- */

/* The ids of the metrics, which are also their indexes. */
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
    NSIGHT_KIND_FUNCTION,
    NSIGHT_KIND_API,
    NSIGHT_KIND_KERNEL,
    NSIGHT_KIND_MEMCPY,
    NSIGHT_KIND_MEMSET,
    NSIGHT_KINDS
};

/* The tables in addition to "values": the events, then the sums of calls and activities. */
enum nsight_own_table {
    NSIGHT_EVENTS,
    NSIGHT_SUM_API,
    NSIGHT_SUM_KERNELS, /* the first of the sums of activities, in the order of enum nsight_table */
    NSIGHT_SUM_MEMCPY,
    NSIGHT_SUM_MEMSET,
    NSIGHT_SUM_SYNC,
    NSIGHT_OWN_TABLES
};

/* The state that the model keeps after the pass. */
struct nsight_state {
    struct pf_store *events;
    uint32_t *stream_at; /* index in nsight_partitions.streams -> partition */
};

/* Adds with wrap-around, because a hostile export can overflow a sum, and signed overflow is undefined behaviour. */
static inline int64_t nsight_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

extern const struct pf_driver pf_nsight_driver;
void nsight_probe(struct pf_probe *probe, struct pf_probe_result *result);

/* Columns of the threads' table after id and name, columns of the table "events", and the numbers of these columns. */
enum { NSIGHT_FIELDS = 7, NSIGHT_EVENT_COLUMNS = 10 };
extern const struct pf_column nsight_fields[NSIGHT_FIELDS], nsight_event_columns[NSIGHT_EVENT_COLUMNS];
extern const struct pf_numbered nsight_events;

/* ---- look-up by the numbers of an export --------------------------------------------------------- */

/* Cache of names from the export's table StringIds. */
struct nsight_names {
    struct pf_ids ids; /* id in StringIds -> number in the tree's strings */
    uint64_t left;     /* bytes left for further names; the owner sets the limit */
};

/* The contexts of an API call, or the path of a call chain. A member is PF_NO_CONTEXT if it is unknown. */
struct nsight_found {
    uint32_t path; /* context of the call path */
    uint32_t call; /* context of the call itself */
};

enum { NSIGHT_SLOTS = 16 };

/*
 * A map from a process and a number to contexts. The numbers are ids of call chains or correlation ids of calls. The map can have
 * as many entries as the export has events, so it is not held in memory. It is a store of entries, sorted by key. Entries that do
 * not arrive in order pass through a sorter first.
 */
struct nsight_lookup {
    uint64_t limit;           /* bytes that the store may hold in memory, and as many for the sorter */
    struct pf_sorter *sorter; /* while the map is built, once an entry arrived out of order; otherwise NULL */
    uint64_t added;           /* entries given to the sorter */
    struct pf_store *store;   /* entries sorted by process and number */
    uint64_t last[2];         /* process and number of the last entry in the store */
    struct pf_store_window window;
    uint64_t count; /* entries in the store */
    /* Index of the entry after the last one that was found, by process modulo NSIGHT_SLOTS. The next search begins there. */
    uint64_t next[NSIGHT_SLOTS];
    unsigned slot; /* slot in `next` of the last search */
    bool near;     /* that search was short, so the next one in this slot reads through the window */
};

/* Makes an empty map, which the end of the run frees. */
void nsight_lookup_begin(struct pf_run *run, struct nsight_lookup *lookup, uint64_t limit);

/*
 * nsight_lookup_add adds an entry, and nsight_lookup_finish completes the map. Of several entries with the same key, the map keeps
 * the first one that has a path, or the first one if none has.
 */
void nsight_lookup_add(struct pf_run *run, struct nsight_lookup *lookup, uint64_t process, int64_t number,
                       struct nsight_found found);
void nsight_lookup_finish(struct pf_run *run, struct nsight_lookup *lookup);

/* Looks up a key. If the map does not have it, both members of the result are PF_NO_CONTEXT. Not thread-safe. */
struct nsight_found nsight_lookup_find(struct pf_run *run, struct nsight_lookup *lookup, uint64_t process,
                                       int64_t number);

/* ---- calls and activities added up ---------------------------------------------------------------- */

/* The sums of all calls or activities that have the same key. */
struct nsight_tally {
    /* `call` and `stream` are 0 in tallies of calls. */
    struct nsight_tally_key {
        uint32_t sum;    /* the table, enum nsight_own_table */
        uint32_t path;   /* context of the call path, or PF_NO_CONTEXT */
        uint32_t name;   /* string of the tree, or PF_NO_STRING */
        uint32_t call;   /* context of the API call that caused the activities, or PF_NO_CONTEXT */
        uint32_t stream; /* index in partitions.streams */
    } key;
    uint32_t context; /* context of the activities; PF_NO_CONTEXT until the caller sets it */
    uint64_t count;
    int64_t bytes;
    int64_t total, least, most; /* durations in ns */
};

struct nsight_tallies {
    /* In order of first appearance, until nsight_publish_sums sorts them. */
    PF_LIST(struct nsight_tally) items;
    struct pf_hash_table table; /* finds an item by its key */
    uint32_t recent[64];        /* the last used item, by a hash of its key; saves look-ups in `table` */
};

/* ---- the pass over an export ---------------------------------------------------------------------- */

/* Call paths of the CPU, from any of the sources of enum nsight_origin. */
struct nsight_paths {
    struct pf_strings *texts;   /* texts of paths, as in the export */
    PF_LIST(uint32_t) contexts; /* the context of each text */
    uint64_t text_left;         /* bytes that further texts and symbols may have */
    bool out_of_text;           /* at least one text was skipped because it exceeded text_left */

    bool symbols_read;           /* the table StringIds has been scanned for symbols */
    bool in_symbols;             /* the scan has passed the string EXTRA_PROF_SYMBOLS */
    struct pf_strings *pointers; /* addresses of functions, as Extra-Prof writes them */
    PF_LIST(uint32_t) symbols;   /* the name of the function at each pointer; a string of the tree */

    struct nsight_lookup known; /* paths by call chain (if sampled) or by correlation id (if imported) */
};

/* The state of the pass; build->run owns it. */
struct nsight_pass {
    struct pf_build *build;
    struct nsight_state *state;
    struct pf_sql *sql;
    uint64_t limit; /* maximum number of bytes in memory per store or sorter */
    struct nsight_partitions partitions;
    struct nsight_names names;
    struct nsight_paths paths;
    struct nsight_lookup calls; /* contexts of API calls by process and correlation */
    struct nsight_tallies tallies;
    uint64_t bad_times; /* rows whose end is absent or before their start */
    uint64_t untimed;   /* rows that CUPTI could not time, see nsight_is_timed */
};

/* Adds to the value of a metric. */
static inline void nsight_add(struct nsight_pass *pass, uint32_t partition, uint32_t context, uint32_t metric,
                              int64_t value)
{
    pf_build_add(pass->build, partition, context, metric, pf_int(value));
}

/*
 * Returns the text of an NVTX row, which newer exports have in StringIds instead of the row. The slice is valid until the next read
 * from pass->sql. Its `at` is NULL if the row has no text.
 */
struct pf_slice nsight_nvtx_text(struct nsight_pass *pass, const struct pf_sql_row *row);

/*
 * Returns the time from the start to the end of a row in ns. Start and end are the first two columns of every table
 * that has times. If one is absent, or if their difference is negative or out of range, returns 0 and counts the row in
 * pass->bad_times.
 */
int64_t nsight_duration(struct nsight_pass *pass, const struct pf_sql_row *row);

/*
 * Returns false if a call or activity was not timed, and counts it in pass->untimed. CUPTI records such a call with start and end
 * 0, although its duration is unknown.
 */
bool nsight_is_timed(struct nsight_pass *pass, int64_t start, int64_t end);

/* Reads the NVTX domains of Extra-Prof. */
void nsight_begin_partitions(struct nsight_pass *pass);
/* Appends a thread, given as pf_ordered of its global id. Threads must come in ascending order. */
void nsight_add_thread(struct nsight_pass *pass, uint64_t thread);
/* Returns the number of an activity's stream in partitions.streams. Adds the stream if it is new. */
uint32_t nsight_stream_of(struct nsight_pass *pass, const struct pf_sql_row *row);
/* Appends the streams to the threads, and the partition of unknown threads if paths are imported. Sorts the
 * partitions and fills state->stream_at. All activities must have been read. */
void nsight_add_streams(struct nsight_pass *pass);
/* Adds the partitions to the model. */
void nsight_publish_partitions(struct nsight_pass *pass);

/*
 * Returns the name with this id in StringIds, as a string of the tree. If the name is missing or longer than names.left, returns
 * "#" and the id instead.
 */
uint32_t nsight_name(struct nsight_pass *pass, int64_t id);

/* Returns the child of `parent` with this kind and name. Adds the child if it is new. The parent of roots is PF_NO_CONTEXT. */
uint32_t nsight_child(struct nsight_pass *pass, uint32_t parent, enum nsight_kind kind, uint32_t name);

void nsight_begin_paths(struct nsight_pass *pass);
/* Reads the call chains or the imported paths if partitions.origin is NSIGHT_SAMPLED or NSIGHT_IMPORTED. */
void nsight_read_paths(struct nsight_pass *pass);

/* Returns the context of an NVTX range's call path; PF_NO_CONTEXT if the range has no path. */
uint32_t nsight_path_of_range(struct nsight_pass *pass, const struct pf_sql_row *row);

/* Returns the context of an API call's path, from call chains or imported paths; PF_NO_CONTEXT if it is unknown. */
uint32_t nsight_path_of_call(struct nsight_pass *pass, const struct pf_sql_row *row);

/*
 * Returns the context of an imported row's path; PF_NO_CONTEXT if the row has no path, or if it is a call whose correlation id is 0.
 * Sets *call to true for an API call, and to false for a function visit.
 */
uint32_t nsight_imported_path(struct nsight_pass *pass, const struct pf_sql_row *row, bool *call);

/*
 * Adds a call or activity of this duration in ns to the tally of its key. A new key gets a new tally. Returns the tally, which is
 * valid until the next call.
 */
struct nsight_tally *nsight_tally(struct nsight_pass *pass, const struct nsight_tally_key *key,
                                  int64_t duration, int64_t bytes);
/*
 * Adds the rows of the tables of sums, ordered by the context of the call path, then by name. Rows without a context
 * come first. Sorts the tallies in place.
 */
void nsight_publish_sums(struct nsight_pass *pass);

/* Reads ranges and API calls. Adds the threads, their values, and the contexts of calls. */
void nsight_read_calls(struct nsight_pass *pass);
/* Reads the function visits of imported paths into the last partition. */
void nsight_read_imported(struct nsight_pass *pass);

/* Reads the activities of GPUs. Adds the streams to the partitions, their values, and the events. */
void nsight_read_activities(struct nsight_pass *pass);

#endif
