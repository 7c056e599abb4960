/* SPDX-License-Identifier: MIT */
#ifndef PF_VFS_PRIVATE_H
#define PF_VFS_PRIVATE_H

#include "formats/input/archive.h"
#include "formats/input/unpacked.h"
#include "formats/kit/lock.h"
#include "formats/kit/store.h"
#include "formats/probe.h"
#include "fs/map.h"
#include "fs/profile/failure.h"
#include "fs/profile/views.h"
#include "fs/tree/vfs.h"

/* Internals of struct pf_fs, shared by the source files of fs/tree and their unit tests. Other modules include vfs.h. */

/* An entry of SOURCE that has a node number. */
struct pf_entry {
    uint64_t id;
    struct pf_entry *parent;    /* held; NULL: the root */
    char *name;                 /* never changes */
    bool gone;                  /* the name now belongs to another entry; guarded by fs->lock */
    struct pf_entry *same_hash; /* next entry with the same hash of (parent, name) */
    uint64_t hash;
    uint64_t lookups; /* look-up references (pf_fs_forget) */
    unsigned holds;   /* references by children, versions and operations */
    /* The result of the last classification. The probe result is left out to save memory: there may be 100,000 entries. */
    enum pf_entry_type type;
    bool packed, unprobed;
    struct stat st;
    const struct pf_driver *driver;
    struct pf_version *version; /* PROFILE: the current version */
    /*
     * Set by pf_entry_set_plain for a folder: digest of its stamp (0: not plain), when it was listed (monotonic ms), and
     * whether it had folders.
     */
    uint64_t plain, plain_ms;
    bool plain_folders;
};

/*
 * States of a version. Only these transitions exist, all under fs->lock:
 *
 *   UNLOADED -> LOADED  pf_version_attach: a job has loaded the profile
 *   LOADED -> UNLOADED  pf_version_detach: the profile is idle and picked to be unloaded, or must be reloaded
 *   UNLOADED -> BROKEN  pf_version_break: a job could not load the profile, for example damaged data; final
 *
 * In each state, a version is stale once its entry has another version or none (pf_version_is_stale). The profile of a
 * stale version is not loaded any more. When a stale version becomes idle, the reaper unloads the profile, or only closes
 * its files while the version has look-up references. Any version is freed when it has no look-up references, no users and no
 * profile.
 */
enum pf_version_state {
    PF_VERSION_UNLOADED, /* no profile */
    PF_VERSION_LOADED,   /* `profile` is set: it answers from the cache, or its source is open */
    PF_VERSION_BROKEN,   /* `failure` is set: only error.txt is shown */
};

/*
 * A version of a profile. Look-up references keep its number valid, users keep its profile loaded. The members
 * from `access` on are guarded by fs->lock.
 */
struct pf_version {
    /*
     * First member; counts the users: operations, handles, directories and jobs. pf_version_release drops a reference
     * under fs->lock.
     */
    struct pf_owner owner;
    struct pf_fs *fs;
    uint32_t id;
    struct pf_entry *entry; /* held */
    const struct pf_driver *driver;
    struct stat st;          /* of the source */
    struct pf_access access; /* access rights common to all inputs read so far */
    uint64_t lookups;
    _Atomic enum pf_version_state state; /* may be read without the lock; only BROKEN is final */
    union {
        struct pf_profile *profile; /* LOADED: a reference */
        struct pf_error *failure;   /* BROKEN: why the profile cannot be loaded; owned, immutable */
    };
    struct pf_buf inputs;             /* the profile's inputs at the last pf_version_detach */
    uint64_t checked;                 /* when the inputs were last seen unchanged, in monotonic ms */
    bool listed;                      /* in the list of idle versions: loaded, without users */
    bool has_files;                   /* if listed: the files may be open */
    uint64_t idle_since;              /* if listed: since when, in monotonic ms */
    struct pf_retry retry;            /* EMFILE and ENFILE failures, retried by reloading the profile */
    struct pf_version *newer, *older; /* neighbours in the idle list */
};

/* Call with fs->lock held. */
static inline bool pf_version_is_stale(const struct pf_version *version)
{
    return version->entry->version != version;
}

static inline bool pf_version_is_broken(const struct pf_version *version)
{
    return atomic_load(&version->state) == PF_VERSION_BROKEN;
}

/* Idle versions, ordered by last use. */
struct pf_idle_list {
    struct pf_version *newest, *oldest;
    size_t count, with_files;
};

/* A thread that runs the tasks queued by the reaper. */
struct pf_service {
    struct pf_fs *fs;
    pthread_t thread;
    /* Guarded by fs->lock: */
    bool busy;
    uint64_t since; /* if busy: when the task started, in monotonic ms */
    dev_t device;   /* if busy: device of the task's profile */
};

/* State of reaper.c. Guarded by fs->lock, except the thread handles. */
enum { PF_SERVICES_MAX = 16 };
struct pf_reaper {
    pthread_t thread;
    bool started, ending;
    bool woken;
    pthread_cond_t wake;           /* wakes the reaper */
    pthread_cond_t work, progress; /* work: wakes service threads; progress: a task is done */
    struct pf_service_task *tasks; /* FIFO; tasks for a hanging device are skipped */
    struct pf_service services[PF_SERVICES_MAX];
    size_t n_services;
    size_t cache_tasks;    /* cache tasks queued or running */
    uint64_t cache_queued; /* when the last cache task was queued, in monotonic ms */
    uint64_t served;       /* number of tasks done */
};

struct pf_probe_results;

/* The device, other than SOURCE's, that was checked last. `own` is valid until 1 s after `seen` (monotonic seconds). */
struct pf_other_device {
    dev_t device;
    uint64_t seen;
    bool own; /* a mount of this program */
};

struct pf_fs {
    struct pf_env env;
    struct pf_fs_options options;
    struct pf_archives *archives;
    dev_t device;        /* of env.root */
    const char *sandbox; /* sandbox line of status.txt; NULL: no sandbox */
    uint64_t started;    /* in monotonic seconds */
    time_t started_at;   /* in seconds since 1970 */

    struct pf_lock lock; /* guards the members below, down to probe_results, unless noted otherwise */
    struct pf_other_device other_device;
    struct pf_preparation *preparing; /* list of preparations in progress (packed.c) */
    struct pf_map entries;            /* by id; the lock guards the entries, too */
    struct pf_map by_name;            /* by hash of (parent, name) */
    struct pf_map versions;           /* by id */
    uint64_t next_entry;
    uint32_t next_version;
    struct pf_idle_list idle;
    size_t loaded_profiles;
    size_t files_max;                /* maximum number of idle versions with open files; immutable */
    uint64_t heap_seen;              /* pf_opened_and_passed() at the last heap check */
    _Atomic ptrdiff_t heap_excluded; /* heap bytes that do not count in heap checks; without the lock */
    /*
     * When the cache was last pruned (monotonic seconds), and the number of cache writes until then. Used without the lock, by
     * one service thread at a time.
     */
    uint64_t pruned, pruned_puts;
    struct pf_reaper reaper;

    struct pf_probe_results *probe_results; /* has a lock of its own */
    void **virtuals;                        /* `self` of each of options.virtuals; immutable */
};

/* ---- entries.c ---------------------------------------------------------------------------------- */

/*
 * Call before a folder is listed or a name is looked up in it. If probing the folder has timed out, probes it again without
 * a time limit. Returns 0; ESTALE if the folder is a profile or is gone; or another errno value.
 */
int pf_entry_probe(struct pf_fs *fs, struct pf_entry *entry);

/*
 * Opens the folder of an entry. for_look_up: only names are looked up, so the folder need not be readable. The caller frees
 * the result. NULL with errno.
 */
struct pf_folder *pf_entry_folder(struct pf_fs *fs, const struct pf_entry *entry, bool for_look_up);
/* Opens the file of an entry. 0 or an errno value. */
int pf_entry_file(struct pf_fs *fs, const struct pf_entry *entry, struct pf_opened *opened);
/* Reads the current attributes of an entry. 0 or an errno value. */
int pf_entry_stat(struct pf_fs *fs, const struct pf_entry *entry, struct stat *st);
/* The entry's path below SOURCE, allocated; "" for the root. NULL with errno: ENOMEM, ENAMETOOLONG, or ESTALE if the entry is gone. */
char *pf_entry_path(struct pf_fs *fs, const struct pf_entry *entry);

/*
 * The entry of this name, created or updated, with its hold count raised. NULL: out of memory. Called with fs->lock
 * held.
 */
struct pf_entry *pf_entry_update(struct pf_fs *fs, struct pf_entry *parent, const char *name,
                                 struct pf_entry_info *info);
/* The entry of this name, or NULL. Called with fs->lock held. */
struct pf_entry *pf_entry_find(struct pf_fs *fs, const struct pf_entry *parent, const char *name);
struct pf_entry *pf_entry_get(struct pf_fs *fs, uint64_t id); /* with fs->lock held */
/*
 * st_ino and d_ino as shown to programs, for a name in a folder or for an entry. Unlike node numbers they are derived
 * from the path, so listing a folder allocates no node numbers. The caller holds the entry.
 */
uint64_t pf_shown_ino(const struct pf_entry *folder, const char *name);
uint64_t pf_entry_shown_ino(const struct pf_entry *entry);
/*
 * pf_entry_hold returns the entry of a number with its hold count raised, or NULL; pf_entry_release drops the hold.
 * Both take fs->lock.
 */
struct pf_entry *pf_entry_hold(struct pf_fs *fs, uint64_t id);
void pf_entry_release(struct pf_fs *fs, struct pf_entry *entry);
/* Stores the result of a classification. Called with fs->lock held. */
void pf_entry_set_info(struct pf_entry *entry, const struct pf_entry_info *info);
/* Drops a hold, and frees entries without holds and look-up references. Called with fs->lock held. */
void pf_entry_release_locked(struct pf_fs *fs, struct pf_entry *entry);

/*
 * Records that a folder has no profiles and no archives. `stamp` is the folder's settled stamp, `listed` is when the folder
 * was listed in monotonic ms, and `folders` is whether it contains folders.
 */
void pf_entry_set_plain(struct pf_fs *fs, struct pf_entry *entry, const struct pf_stamp *stamp, uint64_t listed,
                        bool folders);
/*
 * True if the folder at a path below SOURCE had no profiles and no archives when a program listed it within the last 2 s, and
 * its names have not changed since then. Sets *folders if it has folders. Does not notice a file that has been rewritten in
 * place as a profile.
 */
bool pf_entry_is_plain(struct pf_fs *fs, const char *path, const struct stat *st, bool *folders);

/*
 * Probes a folder. Fills driver and probe result of *info; info->st must hold the folder's attributes. The result is taken from
 * `results` (may be NULL), or stored there if it depends only on the names in the folder. Returns 0 or a transient errno value.
 */
typedef int pf_folder_probe(struct pf_probe_results *results, const struct pf_folder *folder, const char *name,
                            struct pf_entry_info *info);
/* A pf_folder_probe that asks all drivers. */
int pf_probe_folder(struct pf_probe_results *results, const struct pf_folder *folder, const char *name,
                    struct pf_entry_info *info);

/* ---- foreign.c ---------------------------------------------------------------------------------- */

/* True if a file is on another file system than SOURCE and that file system has no block device (NFS, FUSE). */
bool pf_is_foreign(const struct pf_fs *fs, const struct stat *st);
/*
 * Runs `how`, without stored results, for a folder on a foreign file system. Waits at most 2 s for it, unless no thread can be
 * started to run it; sets info->unprobed on a timeout. Otherwise as pf_folder_probe.
 */
int pf_probe_foreign(pf_folder_probe *how, const struct pf_folder *folder, const char *name,
                     struct pf_entry_info *info);

/* ---- probe_results.c ---------------------------------------------------------------------------- */

/*
 * A cache of probe results for files and folders, by stamp and name. Memory holds recent results, since files that
 * have been listed are usually looked up next. The database keeps results so that later mounts need not open the files.
 * Thread-safe.
 */
struct pf_probe_results;
struct pf_entry_info;

/* Returns NULL if out of memory. cache: borrowed; NULL: results are not kept between mounts. */
struct pf_probe_results *pf_probe_results_new(struct pf_cache *cache);
/* Saves (pf_probe_results_save) and frees. */
void pf_probe_results_free(struct pf_probe_results *results);

/* True if a result is stored. If the result is a profile or an archive, also sets driver, probe and packed of *info. */
bool pf_probe_results_get(struct pf_probe_results *results, const struct pf_stamp *stamp, const char *name,
                          struct pf_entry_info *info);
/* Stores a result. costly: probing required unpacking. */
void pf_probe_results_put(struct pf_probe_results *results, const struct pf_stamp *stamp, const char *name,
                          const struct pf_entry_info *info, bool costly);

/* Writes new results to the database; no-op until enough results have been stored. */
void pf_probe_results_save(struct pf_probe_results *results);

/* ---- versions.c --------------------------------------------------------------------------------- */

/*
 * The current version of a profile's entry, or a new one if the driver or stamp in `info` differs from that of the current
 * one. NULL: out of memory. Called with fs->lock held.
 */
struct pf_version *pf_version_of(struct pf_fs *fs, struct pf_entry *entry, const struct pf_entry_info *info);
void pf_version_release(struct pf_version *version); /* takes fs->lock */

/*
 * pf_version_make_stale makes the current version of an entry, if any, stale. pf_version_gone does so for the entry of a name
 * that no longer exists. Called with fs->lock held.
 */
void pf_version_make_stale(struct pf_fs *fs, struct pf_entry *entry);
void pf_version_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name);

/*
 * The profile of a held version. If the profile is not loaded, one job loads it for all operations that wait. Returns a reference,
 * or NULL with op->error filled; the version is broken then, or the error is transient.
 */
struct pf_profile *pf_version_profile(struct pf_version *version, struct pf_op *op);

/* The access rights of a version, restricted by the inputs that `profile` (may be NULL) has read so far. */
struct pf_access pf_version_access(struct pf_version *version, struct pf_profile *profile);

/* Fills the attributes of a node. The caller sets size and blocks of files. */
void pf_node_stat(const struct pf_version *version, const struct pf_access *access, struct pf_node node,
                  struct stat *st);

/*
 * An operation's reference to a node. It is made from a node number and refers to the newest version of the profile. It holds
 * the version, the profile and the profile's files until pf_node_ref_close.
 */
struct pf_node_ref {
    struct pf_version *version;
    struct pf_profile *profile; /* NULL: the version is broken */
    bool holds_files; /* the files of `profile` are kept open; false: no profile, or the files have changed */
    struct pf_node node;
    struct pf_access reported; /* access rights when the ref was opened, as last reported to the kernel */
    bool superseded; /* the number was that of an old version; `node` has the same path in the newest one */
};
/*
 * When pf_node_ref_open compares the inputs with the disk. PF_CHECK_NOT: never. PF_CHECK_LATELY, for look-ups: unless they
 * have been compared within the last second. PF_CHECK_NOW: always.
 */
enum pf_check { PF_CHECK_NOT, PF_CHECK_LATELY, PF_CHECK_NOW };
/*
 * Resolves the number of a node in a profile, or of the root if SOURCE is a profile. Loads the profile if it is not loaded
 * and, according to `check`, compares its inputs with the disk. If they have changed, *ref is a reference to the node of
 * the same path in the newest version. 0, or an errno value with nothing to close: ESTALE if there is no such node.
 */
int pf_node_ref_open(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_node_ref *ref,
                     struct pf_op *op);
void pf_node_ref_close(struct pf_node_ref *ref);
/*
 * True if users other than the mounter have access, and inputs that have been read since the reference was opened have
 * changed the access rights.
 */
bool pf_node_ref_is_restricted(const struct pf_node_ref *ref);

/* ---- idle.c ------------------------------------------------------------------------------------- */

/* Call the functions of idle.c, except pf_version_free, with fs->lock held. */

/* Gives a version the profile that a job has loaded; takes over the reference to the profile. */
void pf_version_attach(struct pf_version *version, struct pf_profile *profile);
/* pf_idle_remove takes a version off the idle list. pf_idle_add puts a loaded version without users on it. */
void pf_idle_remove(struct pf_version *version);
void pf_idle_add(struct pf_version *version);
/* Marks a version whose profile cannot be loaded as broken; takes ownership of the failure. */
void pf_version_break(struct pf_version *version, struct pf_error *failure);
/* Detaches and returns the profile. The caller releases it after unlocking. */
struct pf_profile *pf_version_detach(struct pf_version *version);
/* Frees a version that has no look-up references, users or profile. Wakes the reaper if the version is stale and has a profile. */
void pf_version_free_if_unused(struct pf_version *version);
/* Frees the version with everything that it owns, except its entry. */
void pf_version_free(struct pf_version *version);

/* ---- reaper.c ----------------------------------------------------------------------------------- */

void pf_reaper_init(struct pf_fs *fs);
/* Starts the reaper if it is not running. 0, or -1: cannot create a thread. */
int pf_reaper_start(struct pf_fs *fs);
/* Joins all threads. pf_reaper_free then releases the profiles of the remaining tasks. */
void pf_reaper_end(struct pf_fs *fs);
void pf_reaper_free(struct pf_fs *fs);

/* Makes the reaper run now instead of at its next tick. Called with fs->lock held. */
static inline void pf_reaper_wake(struct pf_fs *fs)
{
    fs->reaper.woken = true;
    pthread_cond_signal(&fs->reaper.wake);
}
/* True if limits are exceeded, so the reaper should run at once. Called with fs->lock held. */
bool pf_reaper_wants(const struct pf_fs *fs);

/* Call before a profile on a device is loaded: if at least LOADED_LIMIT (reaper.c) profiles are loaded, unloads an idle one on the device. */
void pf_reaper_make_room(struct pf_fs *fs, dev_t device);

/*
 * Call after an operation has failed with EMFILE or ENFILE: closes files of idle profiles, or waits briefly. True if
 * the operation should be retried. *since is 0 before the first call, which sets it to the current time in monotonic ms.
 */
bool pf_reaper_relieve(struct pf_fs *fs, uint64_t *since);

/* Repeats a call that returns an errno value, as long as the call fails with EMFILE or ENFILE and pf_reaper_relieve returns true. */
#define PF_RETRY_FOR_DESCRIPTORS(fs, result, call)                                                           \
    for (uint64_t since = 0;                                                                                 \
         (((result) = (call)) == EMFILE || (result) == ENFILE) && pf_reaper_relieve(fs, &since);) {          \
    }

/* A counter that grows with each opened profile and each finished pass. */
static inline uint64_t pf_opened_and_passed(const struct pf_fs *fs)
{
    return atomic_load(&fs->env.passes) + atomic_load(&fs->env.opened);
}

/* ---- lookup.c ----------------------------------------------------------------------------------- */

/* True for the number of an entry of SOURCE that is not a profile. */
bool pf_in_source(struct pf_fs *fs, uint64_t ino);

/*
 * Completes the look-up of a classified name: creates or updates its entry and, for a profile, its version; adds a look-up
 * reference, and fills *attr. Returns ENOENT if the entry is hidden, or ENOMEM. Called with fs->lock held.
 */
int pf_entry_register(struct pf_fs *fs, struct pf_entry *parent, const char *name, struct pf_entry_info *info,
                      struct pf_attr *attr);
/* Attributes of a node inside a profile. An unknown size is computed by a pass if may_wait is set; otherwise EAGAIN. */
int pf_node_ref_attr(const struct pf_node_ref *ref, struct pf_node node, bool may_wait, struct pf_attr *attr,
                     struct pf_op *op);

/* Returns the contents of error.txt of a broken version, with their length in *size. The caller frees them. NULL: out of memory. */
char *pf_error_text(const struct pf_version *version, size_t *size);

/* ---- packed.c: slow work on archives ------------------------------------------------------------ */

/*
 * Each function is called before a slow step and waits for a pass that does it. Returns 0, or EINTR or ECANCELED if the
 * operation was interrupted. If the pass fails, the function still returns 0: the operation then tries the step itself
 * and gets the error.
 *
 * pf_prepare_index is called before a folder is opened. The caller holds the folder's entry.
 */
int pf_prepare_index(struct pf_fs *fs, struct pf_entry *folder, struct pf_op *op);
/* Called before `name` is looked up in a folder; name NULL: before all entries of the folder are looked up. */
int pf_prepare_look(struct pf_fs *fs, struct pf_entry *folder, const struct pf_folder *open, const char *name,
                    struct pf_op *op);
/* Called before a profile is loaded. The caller holds the version. */
int pf_prepare_profile(struct pf_version *version, struct pf_op *op);
/* Called before a file that is made by unpacking is read up to the offset `end`. */
int pf_prepare_read(struct pf_fs *fs, const struct pf_opened *file, uint64_t end, struct pf_op *op);

/* Enables the caching of archive indexes. */
void pf_cache_indexes(struct pf_fs *fs);

/* ---- virtual.c: folders of modules above the tree ----------------------------------------------- */

/* Creates the state of all virtual folders. 0, or -1 with *error filled; pf_virtuals_free frees it in either case. */
int pf_virtuals_make(struct pf_fs *fs, struct pf_error *error);
void pf_virtuals_free(struct pf_fs *fs);

/* Frees recomputable data (memory, descriptors) of one virtual folder. False: there was nothing to free. */
bool pf_virtuals_shrink(struct pf_fs *fs);

/* Returns the virtual folder of a node, with its state in *self; NULL if the node is not in a virtual folder. */
const struct pf_virtual *pf_virtual_of(const struct pf_fs *fs, uint64_t ino, void **self);

/* True if a virtual folder hides the entry `name` of a folder of SOURCE, given by its node number. */
bool pf_virtual_hides(const struct pf_fs *fs, uint64_t folder, const char *name);

/*
 * Looks up a virtual folder in a folder of SOURCE. If `open` is NULL, considers only virtual folders that hide entries of
 * SOURCE; otherwise only those that do not. 0 with *attr filled, ENOENT, or another errno value.
 */
int pf_virtual_find(struct pf_fs *fs, uint64_t folder, const struct pf_folder *open, const char *name,
                    struct pf_attr *attr, struct pf_op *op);

#endif
