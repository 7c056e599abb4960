/* SPDX-License-Identifier: MIT */
#ifndef PF_PROFILE_H
#define PF_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/cache/cache.h"
#include "fs/profile/names.h"
#include "fs/profile/table_sizes.h"
#include "fs/sums/aggregate.h"
#include "fs/text/blocks.h"
#include "fs/text/buf.h"
#include "fs/text/text.h"
#include "fs/work.h"

/* State shared by all profiles of a process; owned by struct pf_fs. Immutable except for the atomics. */
struct pf_env {
    struct pf_pool *pool;
    struct pf_blocks *blocks;
    struct pf_options options;
    int root;                   /* SOURCE if it is a directory, otherwise the directory that contains it */
    struct pf_folder *top;      /* `root` as a folder, or the archive if SOURCE is one */
    char *root_name;            /* NULL: SOURCE is `top`; otherwise the name of SOURCE in `root` */
    struct pf_cache *cache;     /* NULL: no cache between mounts */
    uid_t reader;               /* user id that the process runs as */
    bool others;                /* users other than the mounter may read */
    atomic_bool ending;         /* SOURCE must not be accessed any more */
    _Atomic uint64_t next_text; /* id of the next text */
    _Atomic uint64_t passes;    /* number of passes run */
    _Atomic uint64_t opened;    /* number of attempts to open a profile */
};

/*
 * A profile: the loaded stages of the model, and the results of passes. Reference-counted and thread-safe.
 *
 * Functions that take a pf_op start or join the pass that they need and wait for it. They return 0, or -1 with
 * op->error filled. Call them without any lock of fs/ held.
 */
struct pf_profile;

/*
 * Creates the profile at a path below SOURCE ("": SOURCE itself). st: the attributes just read for that path, or NULL.
 * If st is not NULL and the database holds the profile's tree (pf_cached), the profile stays closed while the tree can
 * answer; otherwise it is opened at once. If inputs is not NULL and not empty (pf_profile_inputs), the profile must have the same inputs.
 * Returns a reference, or NULL with *error filled: ESTALE if the inputs differ.
 */
struct pf_profile *pf_profile_at(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                 const struct stat *st, const struct pf_buf *inputs, struct pf_error *error);

/*
 * Restores the cached names of a version that is no longer on disk, for pf_node_parent and pf_profile_parent_ready.
 * Returns a reference to a profile that cannot be opened, or NULL if the names are not cached.
 */
struct pf_profile *pf_profile_old_names(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                        const struct stat *st, const struct pf_buf *inputs);

/*
 * Opens the profile if it is not open, for callers that need its model (pf_profile_model) but no later stage. 0, or -1 with
 * op->error filled.
 */
int pf_profile_open(struct pf_profile *profile, struct pf_op *op);

struct pf_profile *pf_profile_hold(struct pf_profile *profile);
/*
 * Drops a reference (NULL: no-op). Call without any lock of fs/ held unless other references remain: dropping the last one
 * saves results and closes the files.
 */
void pf_profile_release(struct pf_profile *profile);
/* Writes uncached results to the cache. Call without any lock of fs/ held. */
void pf_profile_save(struct pf_profile *profile);

/* The number of contexts; 0 until the model is loaded. */
uint32_t pf_profile_context_count(struct pf_profile *profile);

/*
 * True if the profile should be loaded again: a transient error has left a stage unloaded and its back-off is over, or
 * aggregates that were spilled to disk are lost. *success: a stage after PF_OPENED is loaded and none has failed.
 */
bool pf_profile_must_reload(struct pf_profile *profile, bool *success);

/* True if a job of the profile is queued or running. Jobs of its texts do not count. */
bool pf_profile_busy(struct pf_profile *profile);

/* True if the file at the profile's path is the profile's only input so far. */
bool pf_profile_is_one_file(struct pf_profile *profile);

/* The access rights common to all inputs read so far. */
struct pf_access pf_profile_access(struct pf_profile *profile);

/*
 * pf_profile_hold_files keeps the profile's files open until pf_profile_release_files, and reopens those that
 * pf_profile_close_files has closed. It opens nothing of a profile that has not been opened yet. 0, or -1 with *error
 * filled: ESTALE if an input has changed. Every read requires such a hold; a pass relies on the hold of the operation that
 * waits for it.
 */
int pf_profile_hold_files(struct pf_profile *profile, struct pf_error *error);
void pf_profile_release_files(struct pf_profile *profile);
/* Closes the files unless they are held. The model stays loaded. May block on a file server. */
void pf_profile_close_files(struct pf_profile *profile);

/* Appends the inputs read so far to out, in the form that pf_profile_at takes. */
void pf_profile_inputs(const struct pf_profile *profile, struct pf_buf *out);

/* The model of a profile that is open; borrowed. */
struct pf_model *pf_profile_model(struct pf_profile *profile);

/* Compares the inputs with the disk. 0 if unchanged; -1 with *error filled: ESTALE if changed. */
int pf_profile_check(struct pf_profile *profile, struct pf_error *error);
/* True if all bytes read so far belong to one version, and no aggregates that were spilled to disk are lost. */
bool pf_profile_intact(struct pf_profile *profile);

/* A file, link or folder inside a profile: a kind (views.h) and an item of that kind. A plain value. */
struct pf_node {
    unsigned kind;
    uint32_t item;
};

/* Loads the model up to a stage. */
int pf_profile_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_op *op);

/* Loads everything that searching a folder or walking a file needs, except aggregates. */
int pf_profile_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op);

/*
 * Loads everything that pf_node_parent needs for a node. pf_profile_ready is not enough, since it loads nothing for a
 * folder with a cached listing, and the listing does not contain the folder's own name.
 */
int pf_profile_parent_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op);

/* Sets of items that have folders, files or links of their own, named after names in the profile. */
enum pf_named {
    PF_NAMED_PARTITIONS,
    PF_NAMED_METRICS,
    PF_NAMED_CONTEXTS,
    PF_NAMED_KEYS,
    PF_NAMED_BLOBS,
    PF_NAMED_LINKS,
    PF_NAMED
};

/*
 * The file names of a set of items; borrowed. They are available once a stage is loaded: PF_PARTITIONED for partitions,
 * pf_metrics_stage for metrics, PF_MODELLED for keys, PF_OPENED for blobs and links. Names of contexts are available once a
 * folder of contexts or contexts.csv is ready (pf_profile_ready).
 */
const struct pf_dirnames *pf_profile_names(const struct pf_profile *profile, enum pf_named named);

/*
 * Writes the path of a context's folder below contexts/ into out[PF_CONTEXT_DIR_MAX + 1]. Returns its length, or 0 if
 * the path is longer than PF_CONTEXT_DIR_MAX bytes.
 */
enum { PF_CONTEXT_DIR_MAX = 4095 };
size_t pf_profile_context_dir(const struct pf_profile *profile, uint32_t context, char *out);

/*
 * Returns the aggregates of all metrics (metric < 0), or any aggregates that include the metric; NULL if not computed
 * yet. Borrowed from the profile.
 */
struct pf_aggregate *pf_profile_aggregate_now(struct pf_profile *profile, int metric);

/*
 * pf_profile_table_sizes measures the sizes of a table's files. pf_profile_aggregate computes the aggregates of all
 * metrics (metric < 0), or at least those of one metric and the metrics that its views need. If pf_aggregate_is_large,
 * each metric has its own pass and aggregates. Exception: if the table of values has PF_SKIMS_METRIC, only the first metric
 * requested has its own pass, and the next request aggregates all metrics. Results are borrowed from the profile.
 *
 * pf_profile_aggregate_one is for a profile of which other metrics are unlikely to be requested: if the pass can skip their
 * data, it aggregates one metric even if the aggregates are small.
 */
int pf_profile_table_sizes(struct pf_profile *profile, size_t table, struct pf_table_sizes **sizes,
                           struct pf_op *op);
int pf_profile_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate **aggregate,
                         struct pf_op *op);
int pf_profile_aggregate_one(struct pf_profile *profile, unsigned metric, struct pf_aggregate **aggregate,
                             struct pf_op *op);

/*
 * An excerpt holds the data of one profile for tables over many profiles. It is stored in the database, and valid while
 * the profile's inputs are unchanged. `path` (below SOURCE) and *st identify the profile. pf_datum_get_excerpt returns a
 * copy owned by the caller, or NULL if nothing valid is cached. Call without any lock of fs/ held.
 */
char *pf_datum_get_excerpt(struct pf_env *env, const struct pf_driver *driver, const char *path,
                           const struct stat *st, size_t *size);
void pf_datum_put_excerpt(struct pf_profile *profile, const struct stat *st, const struct pf_buf *excerpt);

/* ---- files --------------------------------------------------------------------- */

/* The exact size of a generated file, in bytes. */
int pf_profile_size(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op);
/* Stores the exact size in *size if that needs no pass; otherwise returns false. */
bool pf_profile_size_now(struct pf_profile *profile, struct pf_node node, uint64_t *size);

/* The target of a symbolic link, allocated for the caller. */
int pf_profile_link(struct pf_profile *profile, struct pf_node node, char **target, struct pf_op *op);

/*
 * Opens a walk over a file that is read once from start to end, without computing its size. Returns 0 with *walk set
 * to the walk, which borrows the profile. *walk is NULL if the file must be opened by pf_file_open instead: its size
 * is already known, or its rows may depend on facts that only a complete pass finds. -1 with op->error filled on
 * failure.
 */
struct pf_walk;
int pf_file_walk(struct pf_profile *profile, struct pf_node node, struct pf_walk **walk, struct pf_op *op);

/* An open file. Reference-counted. */
struct pf_file;
int pf_file_open(struct pf_profile *profile, struct pf_node node, struct pf_file **file, struct pf_op *op);
struct pf_file *pf_file_hold(struct pf_file *file);
void pf_file_close(struct pf_file *file); /* drops a reference */
struct pf_profile *pf_file_profile(const struct pf_file *file);
struct pf_node pf_file_node(const struct pf_file *file);

/*
 * *size: the size of the file. Returns true if the whole contents are in memory; *bytes is then valid until the file is
 * closed.
 */
bool pf_file_bytes(const struct pf_file *file, const char **bytes, size_t *size);

/*
 * Reads a range of the file as spans of cached blocks; release each with pf_blocks_release. *n: number of spans, 0 at
 * the end of the file.
 */
int pf_file_read(struct pf_file *file, uint64_t offset, size_t size, struct pf_span spans[PF_SPANS], int *n,
                 struct pf_op *op);

#endif
