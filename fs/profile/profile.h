/* SPDX-License-Identifier: MIT */
#ifndef PF_PROFILE_H
#define PF_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "fs/cache/cache.h"
#include "fs/profile/family.h"
#include "fs/profile/names.h"
#include "fs/sums/aggregate.h"
#include "fs/text/blocks.h"
#include "fs/text/buf.h"
#include "fs/text/text.h"
#include "fs/work.h"

/* What all profiles of a process share. */
struct pf_core {
    struct pf_pool *pool;
    struct pf_blocks *blocks;
    struct pf_options options;
    int root;                   /* the directory SOURCE, or the one it stands in; borrowed */
    struct pf_folder *top;      /* the same as a folder of sources; borrowed */
    const char *root_name;      /* NULL: SOURCE is `root`; else its name there */
    struct pf_cache *cache;     /* NULL: nothing is kept between mounts */
    uid_t reader;               /* whose rights the process has */
    bool others;                /* others than the mounter will read */
    atomic_bool ending;         /* SOURCE is not to be touched any more */
    _Atomic uint64_t next_text; /* ids of texts */
    _Atomic uint64_t passes;    /* how many have run */
    _Atomic uint64_t opened;    /* how many profiles have been opened, known ones not counted */
};

/*
 * An open profile: the model as far as it has been loaded, and what passes have found. Reference-counted.
 *
 * Functions that take an operation start the pass that they need, or join one, and wait for it. They return 0, or -1 with op->error
 * filled. No lock of fs/ may be held.
 */
struct pf_profile;

/*
 * The profile at a path below SOURCE ("": SOURCE itself), whose attributes were seen to be *st. If enough is known of it from an
 * earlier time, it is not opened before somebody asks for more; st NULL: it is opened at once. It must be made from the same inputs as another was (NULL: as any). NULL with *error filled, ESTALE if it
 * is not.
 */
struct pf_profile *pf_profile_at(struct pf_core *core, const struct pf_driver *driver, const char *path,
                                 const struct stat *st, const struct pf_buf *inputs, struct pf_error *error);

/*
 * A version that is not there any more, as far as the cache holds its names: for pf_node_parent and pf_profile_parent_ready. Nothing of
 * it can be opened. NULL: the cache does not hold them.
 */
struct pf_profile *pf_profile_recall_version(struct pf_core *core, const struct pf_driver *driver, const char *path,
                                             const struct stat *st, const struct pf_buf *inputs);

/* Opens the profile unless it is open: for callers of pf_profile_model that need no stage. 0, or -1 with op->error filled. */
int pf_profile_wake(struct pf_profile *profile, struct pf_op *op);

struct pf_profile *pf_profile_hold(struct pf_profile *profile);
void pf_profile_release(struct pf_profile *profile);
/* Puts into the cache what has been found out and is not there yet; so does the last release. */
void pf_profile_save(struct pf_profile *profile);

/* How many contexts there are; 0 as long as the model is not loaded. */
uint32_t pf_profile_context_count(struct pf_profile *profile);

/*
 * True if a stage could not be loaded for want of memory or the like: opened anew, the profile may be whole. *loaded: a stage
 * has been loaded, and nothing has failed since it was opened.
 */
bool pf_profile_is_spoilt(struct pf_profile *profile, bool *loaded);

/* A pass is queued or running for it. */
bool pf_profile_busy(struct pf_profile *profile);

/* All that it was made from so far is the one file at its path. */
bool pf_profile_is_one_file(struct pf_profile *profile);

/* Who may read everything that it was made from so far. */
struct pf_access pf_profile_access(struct pf_profile *profile);

/*
 * Between these two the profile's files stay open; pf_profile_acquire opens them again if they were closed: 0, or -1 with *error filled,
 * ESTALE if an input has changed. All that reads needs it, except passes of a profile that somebody has acquired.
 */
int pf_profile_acquire(struct pf_profile *profile, struct pf_error *error);
void pf_profile_unacquire(struct pf_profile *profile);
/* Closes the files unless the profile is acquired. The model stays. May wait for a file server. */
void pf_profile_close_files(struct pf_profile *profile);

/* Appends the inputs that it was made from so far, for pf_profile_at. */
void pf_profile_inputs(const struct pf_profile *profile, struct pf_buf *out);

/* The profile, which has been opened. */
struct pf_model *pf_profile_model(struct pf_profile *profile);

/* 0 if the inputs are unchanged; -1 with ESTALE. */
int pf_profile_check(struct pf_profile *profile, struct pf_error *error);
/* True if bytes read so far were all of one version, and the disk has lost nothing that they were made from. */
bool pf_profile_intact(struct pf_profile *profile);

/* A file, link or folder inside a profile (kinds: views.h) is a kind and an item of that kind; nothing is stored for it. */
struct pf_node {
    unsigned kind;
    uint32_t item;
};

/* Ask for the model up to a stage. */
int pf_profile_stage(struct pf_profile *profile, enum pf_stage stage, struct pf_op *op);

/* Ask for what must be there before a folder can be searched, or a file's walk be made; but for aggregates. */
int pf_profile_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op);

/* Ask for what pf_node_parent needs: a folder's own listing may be known from an earlier time, but not its name. */
int pf_profile_parent_ready(struct pf_profile *profile, struct pf_node node, struct pf_op *op);

/* What has folders, files or links of its own, each under a name made of what the profile calls it. */
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
 * Their names; from PF_PARTITIONED, metrics_stage, PF_MODELLED and (the last two) PF_OPENED on; of contexts, once one of their
 * folders or contexts.csv is ready.
 */
const struct pf_dirnames *pf_profile_names(const struct pf_profile *profile, enum pf_named named);

/*
 * The path of a context's folder below contexts/, into out[PF_CONTEXT_DIR_MAX + 1]; returns its length, 0 if
 * it is longer than PF_CONTEXT_DIR_MAX bytes.
 */
enum { PF_CONTEXT_DIR_MAX = 4095 };
size_t pf_profile_context_dir(const struct pf_profile *profile, uint32_t context, char *out);

/* Aggregates if they are there, else NULL: those of all metrics (metric < 0), or any that one metric's views can be made from. */
struct pf_aggregate *pf_profile_aggregate_now(struct pf_profile *profile, int metric);

/*
 * Ask for the sizes of a table's files, or for aggregates: of all metrics (metric < 0), or of at least those that one metric's
 * views are made from. Where contexts are many, each metric has a pass and aggregates of its own, but where the values are only skimmed
 * for it (PF_SKIMS_METRIC) the first one alone.
 */
int pf_profile_family(struct pf_profile *profile, size_t table, struct pf_family **family, struct pf_op *op);
int pf_profile_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate **aggregate,
                         struct pf_op *op);

/*
 * Bytes that whoever spans profiles keeps of one between mounts, as long as its inputs are unchanged: of the profile that was found
 * at a path below SOURCE with the attributes *st. pf_profile_recall_part gives a copy to the caller, NULL if there are none.
 */
char *pf_profile_recall_part(struct pf_core *core, const struct pf_driver *driver, const char *path,
                             const struct stat *st, size_t *size);
void pf_profile_keep_part(struct pf_profile *profile, const struct stat *st, const struct pf_buf *part);

/* ---- files --------------------------------------------------------------------- */

/* The exact size of a generated file. */
int pf_profile_size(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op);
/* The same if it is known without any work. */
bool pf_profile_known_size(struct pf_profile *profile, struct pf_node node, uint64_t *size);

/* The target of a symbolic link, allocated for the caller. */
int pf_profile_link(struct pf_profile *profile, struct pf_node node, char **target, struct pf_op *op);

/*
 * A walk over a file, without its size: for who reads it once, from its start to its end. 0: *lines
 * is the walk (it borrows the profile), or NULL if the file must be opened as any other: its size is known already, or
 * its rows may be made from facts that only a whole pass finds out.
 */
struct pf_lines;
int pf_file_walk(struct pf_profile *profile, struct pf_node node, struct pf_lines **lines, struct pf_op *op);

/* A handle on a file. */
struct pf_file;
int pf_file_open(struct pf_profile *profile, struct pf_node node, struct pf_file **file, struct pf_op *op);
struct pf_file *pf_file_hold(struct pf_file *file);
void pf_file_close(struct pf_file *file); /* by its last holder */
struct pf_profile *pf_file_live(const struct pf_file *file);
struct pf_node pf_file_node(const struct pf_file *file);

/* *size: the file's. If the whole file is at hand: true, and its bytes, which stay until the file is closed. */
bool pf_file_bytes(const struct pf_file *file, const char **bytes, size_t *size);

/* Bytes of the file as pieces of cached blocks (release each with pf_blocks_release). *n: how many; 0 at the
 * end. */
int pf_file_read(struct pf_file *file, uint64_t offset, size_t size, struct pf_piece pieces[PF_PIECES],
                 int *n, struct pf_op *op);

#endif
