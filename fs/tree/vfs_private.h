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

/* An entry of SOURCE that has a number. */
struct pf_entry {
    uint64_t id;
    struct pf_entry *parent;    /* held; NULL: the root */
    char *name;                 /* never changes */
    bool gone;                  /* the name means something else by now; guarded by fs->lock */
    struct pf_entry *same_hash; /* entries of equal (parent, name) hash */
    uint64_t hash;
    uint64_t lookups; /* uses by number */
    unsigned holds;   /* by children and instances */
    /* The result of the last look, without the verdict: there may be a hundred thousand entries. */
    enum pf_entry_type type;
    bool packed, unprobed;
    struct stat st;
    const struct pf_driver *driver;
    struct pf_instance *instance; /* PROFILE: the present version */
};

/*
 * One version of a profile. It is closed (profile is NULL), loaded (profile is set) or broken (failed is set), and stale once its entry
 * has another version. `lookups` keep its number, `uses` (operations, handles, directories) keep its profile.
 */
struct pf_instance {
    uint32_t id;
    struct pf_entry *entry; /* held */
    const struct pf_driver *driver;
    struct stat st;          /* of the source */
    struct pf_access access; /* of those who may read all that it was made from so far; guarded by fs->lock */
    uint64_t lookups;
    unsigned uses; /* operations and handles under way */
    struct pf_lock opening;
    struct pf_profile *profile; /* NULL: not open at present; guarded by fs->lock */
    struct pf_buf inputs; /* what it was made from when it was open before */
    uint64_t checked;     /* when its inputs were last seen to be unchanged, in monotonic ms; guarded by fs->lock */
    bool listed;          /* it has a profile and no users: it is idle */
    bool has_files;       /* then: its files may be open */
    uint64_t idle_since;  /* then: in monotonic ms */
    struct pf_shortage shortage; /* of descriptors, for which it was opened again */
    struct pf_error *failure; /* why it can't be opened: it shows error.txt only; set once, under `opening` */
    atomic_bool failed;       /* `failure` is set */
    struct pf_instance *newer, *older; /* in its list */
};

/* Idle versions by when they were used last. */
struct pf_open_list {
    struct pf_instance *newest, *oldest;
    size_t count, with_files;
};

/* A thread that closes what the reaper picks. */
struct pf_service {
    struct pf_fs *fs;
    pthread_t thread;
    /* Guarded by fs->lock: */
    bool busy;
    uint64_t since; /* then: in monotonic ms; and on which device */
    dev_t device;
};

/* reaper.c. Guarded by fs->lock, except the threads. */
enum { PF_SERVICES_MAX = 16 };
struct pf_reaper {
    pthread_t thread;
    bool started, ending;
    bool woken;
    pthread_cond_t wake;           /* of the reaper */
    pthread_cond_t work, progress; /* of service threads: there may be work; a task is done */
    struct pf_service_task *tasks; /* first in, first out; tasks for a device that hangs are skipped */
    struct pf_service services[PF_SERVICES_MAX];
    size_t n_services;
    size_t cares;     /* tasks for the cache that are queued or under way */
    uint64_t cared;   /* when the last one was queued, in monotonic ms */
    uint64_t served;  /* tasks done */
};

struct pf_verdicts;

/* A device other than SOURCE's that was met last, and when, in monotonic seconds. */
struct pf_elsewhere {
    dev_t device;
    uint64_t seen;
    bool own; /* it is a mount of this program */
};

struct pf_fs {
    struct pf_core core;
    struct pf_fs_options options;
    int root;              /* the directory SOURCE, or the one it stands in */
    struct pf_folder *top; /* the same, or the archive that SOURCE is */
    struct pf_archives *archives;
    char *root_name;     /* NULL: SOURCE is `root`; else its name there */
    dev_t device;        /* of `root` */
    char *source;        /* as given */
    const char *sandbox; /* what it holds; NULL: there is none */
    uint64_t started;    /* seconds of the monotonic clock, */
    time_t started_at;   /* and of the day's */

    struct pf_lock lock;
    struct pf_elsewhere elsewhere;
    struct pf_map entries;   /* by id */
    struct pf_map by_name;   /* by hash of (parent, name) */
    struct pf_map instances; /* by id */
    uint64_t next_entry;
    uint32_t next_instance;
    struct pf_open_list idle;
    size_t open_instances;
    size_t files_max;                /* idle versions whose files may be open */
    uint64_t heap_seen;              /* pf_opened_and_passed() at the last look at the heap */
    _Atomic ptrdiff_t heap_excluded; /* bytes on the heap that do not count for this */
    uint64_t pruned, pruned_puts;    /* of service threads, one at a time: when the cache was pruned; puts into it until then */
    struct pf_reaper reaper;

    struct pf_verdicts *verdicts;
    struct pf_preparation *preparing; /* packed.c: those under way */
    void **virtuals;                  /* `self` of each of options.virtuals */
};

/* ---- entries.c ---------------------------------------------------------------------------------- */

/* Before something is looked up in a folder: waits until it is known whether it is a profile. 0; ESTALE: it is; or an errno value. */
int pf_entry_probe(struct pf_fs *fs, struct pf_entry *entry);

/* The folder that an entry is; for_look_up: it need not be readable. NULL with errno. */
struct pf_folder *pf_entry_folder(struct pf_fs *fs, const struct pf_entry *entry, bool for_look_up);
/* The file that an entry is. 0 or an errno value. */
int pf_entry_file(struct pf_fs *fs, const struct pf_entry *entry, struct pf_opened *opened);
/* What an entry's attributes are now. 0 or an errno value. */
int pf_entry_stat(struct pf_fs *fs, const struct pf_entry *entry, struct stat *st);
/* The entry's path below SOURCE, allocated; "" for the root. NULL: out of memory or longer than PATH_MAX. */
char *pf_entry_path(struct pf_fs *fs, const struct pf_entry *entry);

/* The entry of this name, made or brought up to date, with its hold count raised. NULL: out of memory. With
 * fs->lock held. */
struct pf_entry *pf_entry_note(struct pf_fs *fs, struct pf_entry *parent, const char *name, struct pf_found *found);
/* The entry of this name; NULL: it has none. With fs->lock held. */
struct pf_entry *pf_entry_find(struct pf_fs *fs, const struct pf_entry *parent, const char *name);
struct pf_entry *pf_entry_get(struct pf_fs *fs, uint64_t id); /* with fs->lock held */
/*
 * What programs see as st_ino and d_ino of a name in a folder, or of an entry. Unlike node numbers it follows from the path, so that
 * listing a folder need not give numbers to what nobody looks up. The entry is held.
 */
uint64_t pf_shown_ino(const struct pf_entry *folder, const char *name);
uint64_t pf_entry_shown_ino(const struct pf_entry *entry);
/* The entry of a number, with its hold count raised, and dropping that again: both take fs->lock. NULL: no such entry. */
struct pf_entry *pf_entry_hold(struct pf_fs *fs, uint64_t id);
void pf_entry_release(struct pf_fs *fs, struct pf_entry *entry);
/* Stores the result of a look at an entry. With fs->lock held. */
void pf_entry_show(struct pf_entry *entry, const struct pf_found *found);
/* Drops a hold; frees the entry with the last one. With fs->lock held. */
void pf_entry_drop(struct pf_fs *fs, struct pf_entry *entry);

/* ---- foreign.c ---------------------------------------------------------------------------------- */

/* Asks all drivers for a folder. Fills driver and verdict of *found. 0 or a transient errno value. */
int pf_probe_folder(const struct pf_folder *folder, const char *name, struct pf_found *found);
/* True if it is on a file system that is neither SOURCE's own nor on a disk. */
bool pf_is_foreign(const struct pf_fs *fs, const struct stat *st);
/* pf_probe_folder for such a folder, whose attributes are found->st: sets found->unprobed if there is no answer in time. */
int pf_probe_foreign(const struct pf_folder *folder, const char *name, struct pf_found *found);

/* ---- verdicts.c --------------------------------------------------------------------------------- */

/*
 * What probing found of single files, by their stamps and names: of those seen last in memory, since listing a folder probes what a
 * look-up asks for soon after; of all in the database, so that a later mount need not open them. Safe for many threads.
 */
struct pf_verdicts;
struct pf_found;

/* db: borrowed; NULL: nothing is kept between mounts. NULL: out of memory. */
struct pf_verdicts *pf_verdicts_new(struct pf_cache *cache);
/* Keeps what is not kept yet, as pf_verdicts_save. */
void pf_verdicts_free(struct pf_verdicts *verdicts);

/* True if the file has been probed: then driver, verdict and packed of *found are filled. */
bool pf_verdicts_recall(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                        struct pf_found *found);
/* costly: what was looked at had to be unpacked. */
void pf_verdicts_note(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                      const struct pf_found *found, bool costly);

/* Puts what was noted into the database, unless it is little. */
void pf_verdicts_save(struct pf_verdicts *verdicts);

/* ---- instances.c -------------------------------------------------------------------------------- */

/* The present instance of a profile's entry, made if what was found differs from the last. NULL: out of
 * memory. With fs->lock held. */
struct pf_instance *pf_instance_of(struct pf_fs *fs, struct pf_entry *entry, const struct pf_found *found);
void pf_instance_use(struct pf_fs *fs, struct pf_instance *instance);   /* with fs->lock held */
void pf_instance_unuse(struct pf_fs *fs, struct pf_instance *instance); /* takes fs->lock */
/* Looks at the source again: the version that is there now, used. 0 or an errno value. */
int pf_instance_renew(struct pf_fs *fs, const struct pf_instance *old, struct pf_instance **renewed);

/* As pf_entry_note, and drops the last version of an entry that is no profile any more. With fs->lock held, as pf_instance_gone. */
struct pf_entry *pf_instance_note(struct pf_fs *fs, struct pf_entry *parent, const char *name, struct pf_found *found);
/* There is nothing of this name any more: drops the last version of its entry. */
void pf_instance_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name);

/* The open profile, opened if need be; a reference. NULL with op->error filled: instance->failed is set for a broken profile. */
struct pf_profile *pf_instance_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op);

/* The open profile of a used instance, as a reference; NULL: it is not open, or has to be opened again. */
struct pf_profile *pf_instance_live_now(struct pf_fs *fs, struct pf_instance *instance);

/* The profile of an old version that has been closed, for its names alone; NULL: they are not in the cache. */
struct pf_profile *pf_instance_recall(struct pf_fs *fs, const struct pf_instance *instance);

/* Who may read what the instance serves, brought up to date by what `profile` (may be NULL) has read. */
struct pf_access pf_instance_access(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile);

/* The attributes of a node; the caller fills size and blocks of files. */
void pf_node_stat(const struct pf_instance *instance, const struct pf_access *access, struct pf_node node,
                  struct stat *st);

/* ---- places.c ------------------------------------------------------------------------------------ */

/*
 * A node of the newest version: the place that a number stands for, with uses and references taken
 * (pf_place_leave gives them back). If the source has changed, `moved` is set and the place is the node of
 * the same path in the new version.
 */
struct pf_place {
    struct pf_instance *instance;
    struct pf_profile *profile; /* NULL: instance->failed */
    bool acquired;              /* its files stay open; false: they belong to an old version, and are closed */
    struct pf_node node;
    struct pf_access
        told; /* who might read it when it was entered: what the kernel was told, if it asks each time */
    bool moved;
};
/* Whether the inputs are looked at again: not; unless they were within a second, which does for look-ups; or in any case. */
enum pf_check { PF_CHECK_NOT, PF_CHECK_LATELY, PF_CHECK_NOW };
int pf_place_enter(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_place *place,
                   struct pf_op *op);
void pf_place_leave(struct pf_fs *fs, struct pf_place *place);
/* True if fewer may read it than when the kernel let somebody in, where others are let in: what was read since tells so. */
bool pf_place_has_narrowed(struct pf_fs *fs, const struct pf_place *place);

/* ---- open_profiles.c ---------------------------------------------------------------------------- */

/* All of these with fs->lock held. A version that is in use has been opened; takes a reference of its own. */
void pf_open_add(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile);
/* It has a first user, open or not; an open one has lost its last. */
void pf_open_use(struct pf_fs *fs, struct pf_instance *instance);
void pf_open_rest(struct pf_fs *fs, struct pf_instance *instance);
/* Takes its profile, for the caller to release after unlocking. */
struct pf_profile *pf_open_close(struct pf_fs *fs, struct pf_instance *instance);
/* Frees a version that has neither look-ups nor users nor a profile. The reaper closes the profile of a stale version soon. */
void pf_instance_free_if_unused(struct pf_fs *fs, struct pf_instance *instance);

/* ---- reaper.c ----------------------------------------------------------------------------------- */

void pf_reaper_init(struct pf_fs *fs);
/* Starts the reaper unless it runs. 0, or -1: no thread. */
int pf_reaper_start(struct pf_fs *fs);
/* Joins all threads. pf_reaper_free then does what is left to be done. */
void pf_reaper_end(struct pf_fs *fs);
void pf_reaper_free(struct pf_fs *fs);

/* Has the reaper look now rather than within a second. With fs->lock held. */
static inline void pf_reaper_wake(struct pf_fs *fs)
{
    fs->reaper.woken = true;
    pthread_cond_signal(&fs->reaper.wake);
}
/* True if there is more to be closed than can wait. With fs->lock held. */
bool pf_reaper_wants(const struct pf_fs *fs);

/* Before a profile on a device is opened: if far too many are open, closes an idle one on the same device. */
void pf_reaper_make_room(struct pf_fs *fs, dev_t device);

/*
 * After an operation has failed with EMFILE or ENFILE: has idle profiles closed, or waits a moment for others. True if the operation
 * is worth another try. *since: 0 before the first; then when that was.
 */
bool pf_reaper_relieve(struct pf_fs *fs, uint64_t *since);

/* Repeats a call that returns an errno value while it fails with EMFILE or ENFILE. */
#define PF_WITH_DESCRIPTORS(fs, result, call)                                                                \
    for (uint64_t since = 0; (((result) = (call)) == EMFILE || (result) == ENFILE) && pf_reaper_relieve(fs, &since);) {                  \
    }

/* A number that grows with each profile that is opened and each pass that is over. */
static inline uint64_t pf_opened_and_passed(const struct pf_fs *fs)
{
    return atomic_load(&fs->core.passes) + atomic_load(&fs->core.opened);
}

/* ---- vfs.c -------------------------------------------------------------------------------------- */

/* The number is that of an entry of SOURCE that is no profile. */
bool pf_in_source(struct pf_fs *fs, uint64_t ino);

/* Attributes of an entry that has been found; uses its number once. With fs->lock held. ENOENT if it is not
 * to be shown. */
int pf_entry_attr(struct pf_fs *fs, struct pf_entry *parent, const char *name, struct pf_found *found,
                  struct pf_attr *attr);
/* Attributes of a node inside a profile; size from a pass if need be and allowed. */
int pf_place_attr(struct pf_fs *fs, const struct pf_place *place, struct pf_node node, bool may_wait,
                  struct pf_attr *attr, struct pf_op *op);

/* error.txt of a profile that can't be opened: follows from the error alone. Allocated for the caller, *size its length. */
char *pf_error_text(const struct pf_instance *instance, size_t *size);

/* ---- packed.c: what takes long about archives --------------------------------------------------- */

/*
 * Each is called before an operation does what may take long, and waits for a pass that does it. 0, EINTR or ECANCELED: the operation was
 * interrupted. What a pass has failed to do the operation tries itself, and gets the error. Before a folder is opened, whose entry the
 * caller holds;
 */
int pf_prepare_index(struct pf_fs *fs, struct pf_entry *folder, struct pf_op *op);
/* before a name in it is looked up or, name NULL, all of them are; */
int pf_prepare_look(struct pf_fs *fs, struct pf_entry *folder, const struct pf_folder *open, const char *name,
                    struct pf_op *op);
/* before a profile is opened that the caller uses; */
int pf_prepare_profile(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op);
/* before a file that is made by unpacking is read up to an offset. */
int pf_prepare_read(struct pf_fs *fs, const struct pf_opened *file, uint64_t end, struct pf_op *op);

/* Has the cache keep indexes of archives. */
void pf_keep_indexes(struct pf_fs *fs);

/* ---- virtual.c: folders of modules above the tree ----------------------------------------------- */

/* Makes the state of all virtual folders. 0, or -1 with *error filled; pf_virtuals_free frees what was made. */
int pf_virtuals_make(struct pf_fs *fs, struct pf_error *error);
void pf_virtuals_free(struct pf_fs *fs);

/* Frees memory and descriptors of one that can be had again. False: there were none. */
bool pf_virtuals_shrink(struct pf_fs *fs);

/* The virtual folder that a node belongs to, and its `self`; NULL: the node belongs to none. */
const struct pf_virtual *pf_virtual_of(const struct pf_fs *fs, uint64_t ino, void **self);

/* True if a virtual folder hides an entry of a folder of SOURCE. */
bool pf_virtual_hides(const struct pf_fs *fs, uint64_t folder, const char *name);

/*
 * Looks for a virtual folder in a folder of SOURCE: one that hides SOURCE's entries (open NULL), or one that these win over. 0 with *attr
 * filled, ENOENT, or another errno value.
 */
int pf_virtual_find(struct pf_fs *fs, uint64_t folder, const struct pf_folder *open, const char *name, struct pf_attr *attr);

#endif
