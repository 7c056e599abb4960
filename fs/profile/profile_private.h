/* SPDX-License-Identifier: MIT */
#ifndef PF_PROFILE_PRIVATE_H
#define PF_PROFILE_PRIVATE_H

#include "formats/kit/lock.h"
#include "fs/map.h"
#include "fs/profile/cached.h"
#include "fs/profile/failure.h"
#include "fs/profile/profile.h"
#include "fs/profile/views.h"

/* Internals of struct pf_profile, shared by the source files of fs/profile and their unit tests. Other modules include profile.h. */

struct pf_profile {
    struct pf_owner owner; /* first; counts the references */
    struct pf_env *env;
    void (*end)(struct pf_profile *profile); /* called after the last release; set by profile.c */
    const struct pf_driver *driver;
    struct pf_model model;    /* valid once the profile is open */
    struct pf_source *source; /* closed until the profile is open */

    /* False while `cached` answers for the profile. The first caller that needs more opens the profile. */
    atomic_bool opened;
    char *path;              /* below SOURCE; NULL: nothing is cached */
    uint64_t key;            /* cache key of the source; 0: the tree is not cached */
    uint64_t device;         /* device of the source */
    struct pf_access access; /* access rights of the cached tree; immutable */
    char *facts;             /* the driver's cached facts, restored by stage PF_PARTITIONED; immutable once open */
    size_t facts_size;

    struct pf_cached cached;

    struct pf_lock lock; /* guards the members below */
    enum pf_stage stage;
    struct pf_failure failure; /* why the next stage failed; no retry, since the profile may be half loaded */
    struct pf_table_sizes *table_sizes[PF_TABLES_MAX];
    struct pf_aggregate *aggregate;  /* of all metrics */
    struct pf_aggregate **of_metric; /* by metric; mutual partners share one aggregate; NULL: no aggregate */
    bool contexts_named;
    bool sums_stored;       /* `aggregate` is in the cache, or too large for it */
    bool *of_metric_stored; /* by metric: like sums_stored, for of_metric[] */
    struct pf_map texts;    /* struct pf_file_text by node */
    struct pf_map sizes;    /* size by node, for files too short for checkpoints */
    uint64_t unsaved_ns; /* total duration of the passes whose results are not cached yet */
    bool saving;

    /* Names are made when the stage that provides the items is loaded, names of contexts on demand. Immutable afterwards. */
    struct pf_dirnames *names[PF_NAMED];
    uint16_t *context_dir_size; /* length of each context's path in bytes; UINT16_MAX: too long */
};

/* ---- state.c: the current state ----------------------------------------------------------------- */

/*
 * Store and find the size of a file that is too short for checkpoints. pf_put_size returns false if out of memory,
 * pf_find_size if the file has not been measured. Called with profile->lock held.
 */
bool pf_put_size(struct pf_profile *profile, struct pf_node node, uint64_t size);
bool pf_find_size(const struct pf_profile *profile, struct pf_node node, uint64_t *size);
/* The size of a node's file, from the sizes of its table. */
uint64_t pf_size_in_table(const struct pf_table_sizes *sizes, struct pf_node node);
/* Stores the size of a node in *size if that needs no open profile; otherwise returns false. */
bool pf_cached_size(struct pf_profile *profile, struct pf_node node, uint64_t *size);

/* pf_profile_aggregate_now for callers that hold profile->lock. */
struct pf_aggregate *pf_aggregate_now(const struct pf_profile *profile, int metric);
/*
 * True if each of two metrics is the partner of the other: one aggregate serves both. The partner relation need not be
 * symmetric.
 */
bool pf_are_partners(const struct pf_profile *profile, int a, int b);
/*
 * Stores an aggregate of all metrics (-1), or of one metric and its mutual partner. stored: the aggregate is already in
 * the database. Called with profile->lock held; takes ownership on success. 0, or -1 with *error filled.
 */
int pf_put_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate *aggregate, bool stored,
                     struct pf_error *error);
/* Frees all aggregates when the profile is closed. */
void pf_profile_free_aggregates(struct pf_profile *profile);

/*
 * False if the source has changed since it was opened: nothing may be cached. Once env->ending is set, the source is
 * not checked; each pass checked it at its end.
 */
bool pf_profile_may_cache(struct pf_profile *profile);

/* ---- profile_names.c ---------------------------------------------------------------------------- */

/*
 * pf_profile_name makes the names that a stage provides, except those of contexts. pf_profile_name_contexts makes the
 * names of contexts and may be retried after a failure. 0, or -1 with *error filled.
 */
int pf_profile_name(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error);
int pf_profile_name_contexts(struct pf_profile *profile, struct pf_error *error);

/* ---- profile.c ---------------------------------------------------------------------------------- */

/*
 * Counts a finished pass, and caches the results if enough work is uncached. start: pf_monotonic_ns() at the start of
 * the pass. Called without profile->lock.
 */
void pf_profile_count_pass(struct pf_profile *profile, uint64_t start);

/*
 * For tests: pf_profile_new allocates a profile that is not open; NULL with *error filled. pf_profile_open_here opens a
 * profile on this thread; meanwhile, other threads may use `cached` and the members that profile->lock guards. 0, or -1
 * with *error filled.
 */
struct pf_profile *pf_profile_new(struct pf_env *env, const struct pf_driver *driver, struct pf_error *error);
int pf_profile_open_here(struct pf_profile *profile, struct pf_error *error);

/* ---- datum.c: data in the database -------------------------------------------------------------- */

/* The cache key of the profile if its source has this device and inode number. */
uint64_t pf_profile_key(const struct pf_profile *profile, uint64_t device, uint64_t inode);
/* The cache key of an open source, from its first input. Also sets profile->device if that is 0. */
uint64_t pf_profile_open_key(struct pf_profile *profile);

/*
 * Requires the source to have these inputs (in the form of pf_profile_inputs), now and whenever they are opened later.
 * 0, or -1 with *error filled: ESTALE if an input differs.
 */
int pf_profile_expect(struct pf_profile *profile, const char *inputs, size_t size, struct pf_error *error);

/*
 * The head of the profile's data holds everything that generated text depends on, such as driver version and inputs, and
 * the access rights. pf_profile_accepts returns true if a head matches the present versions and inputs; *access then
 * receives the access rights of the inputs. The function modifies the bytes of the head.
 */
void pf_profile_pack_head(struct pf_profile *profile, struct pf_buf *out);
bool pf_profile_accepts(struct pf_profile *profile, const struct pf_buf *head, struct pf_access *access);

/* Functions named pf_datum_* read or write the database. Call them without any lock of fs/ held. */

/*
 * Read and write a datum of the present version. The caller owns the bytes from pf_datum_get; NULL if no valid datum is
 * stored. env->cache must not be NULL.
 */
char *pf_datum_get(struct pf_profile *profile, uint64_t key, enum pf_datum type, uint64_t number,
                   size_t *size, struct pf_access *access);
void pf_datum_put(struct pf_profile *profile, uint64_t key, enum pf_datum type, uint64_t number,
                  const struct pf_buf *value);

/*
 * Reads the tree of the present version into profile->cached, and compares the stored inputs with the disk. False if no
 * tree is stored, or if an input has changed.
 */
bool pf_datum_get_tree(struct pf_profile *profile);
/* Writes profile->cached to the database if it has changed. */
void pf_datum_put_tree(struct pf_profile *profile);
/* Reads the listings of an older version with these inputs into profile->cached. False if there are none. */
bool pf_datum_get_old_names(struct pf_profile *profile, const struct pf_buf *inputs);

/*
 * Put data into profile->cached, but not into the database. pf_profile_put_folder puts the listing of a folder that is ready
 * to be searched, pf_profile_put_file the size of a file and, if text is not NULL, its contents.
 */
void pf_profile_put_folder(struct pf_profile *profile, struct pf_node folder);
void pf_profile_put_file(struct pf_profile *profile, struct pf_node file, uint64_t size, const char *text);

/* ---- passes.c: results of passes in the database ------------------------------------------------ */

/* pf_datum_get_passes restores the stored results of earlier passes. pf_datum_put_passes stores the present ones. */
void pf_datum_get_passes(struct pf_profile *profile);
void pf_datum_put_passes(struct pf_profile *profile);
/*
 * Returns the stored sums that include *metric (-1: those of all metrics), or NULL if none are stored. Sets *metric to -1 if
 * the sums are those of all metrics. The caller owns the result.
 */
struct pf_aggregate *pf_datum_get_sums(struct pf_profile *profile, int *metric);

/* ---- texts.c ------------------------------------------------------------------------------------ */

/*
 * The text of a file. A struct pf_text (fs/text/text.h) is independent of profiles; this struct adds the node, and the owner
 * of the jobs that measure and render. All handles of a file (struct pf_file, file.c) share one pf_file_text. It outlives the
 * handles if measuring has set checkpoints; otherwise only its size is kept.
 */
struct pf_file_text {
    struct pf_owner owner; /* first; counts handles, operations, jobs; see pf_file_text_release */
    struct pf_text text;
    struct pf_profile *profile; /* a reference, while `owner` has references */
    struct pf_node node;
    _Atomic uint64_t until; /* end of the range to be measured */
    bool outlives_handles;  /* set if its checkpoints were expensive */
};

/* The text of a node, created if necessary, with a reference. NULL: out of memory. */
struct pf_file_text *pf_file_text_of(struct pf_profile *profile, struct pf_node node);
void pf_file_text_release(struct pf_file_text *text); /* takes profile->lock */
/* Frees all texts, none of which may have references, and all sizes. */
void pf_file_texts_free(struct pf_profile *profile);

/*
 * For the cache: visits all texts that outlive their handles and have checkpoints of their own, and all sizes. Called with
 * profile->lock held.
 */
void pf_file_texts_each(struct pf_profile *profile,
                        void (*each)(void *arg, struct pf_node node, const struct pf_text *text), void *arg);
/*
 * For the cache: adds a text that an earlier process has measured. Takes ownership of the checkpoints. False if the
 * text is already measured, or out of memory.
 */
bool pf_file_text_restore(struct pf_profile *profile, struct pf_node node, uint64_t size, uint64_t measured,
                          struct pf_checkpoints *checkpoints);

#endif
