/* SPDX-License-Identifier: MIT */
#ifndef PF_VFS_PRIVATE_H
#define PF_VFS_PRIVATE_H


#include "formats/input/archive.h"
#include "formats/input/unpacked.h"
#include "formats/kit/lock.h"
#include "formats/kit/store.h"
#include "formats/kit/table.h"
#include "fs/profile/failure.h"
#include "fs/profile/views.h"
#include "fs/tree/vfs.h"

/* An entry of SOURCE that somebody knows by number. */
struct pf_entry {
    uint64_t id;
    struct pf_entry *parent;    /* held; NULL: the root */
    char *name;                 /* never changes */
    bool gone;                  /* the name means something else by now; guarded by fs->lock */
    struct pf_entry *same_hash; /* entries of equal (parent, name) hash */
    uint64_t hash;
    uint64_t lookups; /* uses by number */
    unsigned holds;   /* by children and instances */
    /* What was found there last, without the verdict: there may be a hundred thousand of these. */
    enum pf_entry_type type;
    bool packed;
    struct stat st;
    const struct pf_driver *driver;
    struct pf_instance *instance; /* PROFILE: the present version */
};

/* One version of a profile. Older versions live on while somebody holds their numbers. */
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
    size_t descriptors;   /* that it holds, as counted in fs->open_descriptors */
    uint64_t checked; /* when its inputs were seen to be as they were, in monotonic ms; guarded by fs->lock */
    bool listed;      /* while it is open and not in use */
    struct pf_shortage shortage; /* of descriptors, for which it was opened again */
    struct pf_error *failure; /* why it can't be opened: it shows error.txt only; set once, under `opening` */
    atomic_bool failed;       /* `failure` is set */
    struct pf_instance *newer, *older; /* in its list */
};

/* Open instances by when they were used last. */
struct pf_open_list {
    struct pf_instance *newest, *oldest;
    size_t count;
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
    size_t open_descriptors, descriptors_max;
    uint64_t heap_seen; /* how many had been opened and passed over when the heap was looked at */
    _Atomic ptrdiff_t heap_excluded; /* bytes on the heap that do not count for this */
    size_t heap_excess;              /* how many are to be shut, since memory is short */
    uint64_t pruned, pruned_puts; /* the keeper's: when the cache was pruned last; puts into it until then */
    bool kept, closing;
    pthread_cond_t close; /* for the keeper: the filesystem is to be closed */
    pthread_t keeper;

    struct pf_verdicts *verdicts;
    struct pf_preparation *preparing; /* packed.c: those under way */
    void **virtuals;                  /* `self` of each of options.virtuals */
};

/* ---- entries.c ---------------------------------------------------------------------------------- */

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
struct pf_entry *pf_entry_note(struct pf_fs *fs, struct pf_entry *parent, const char *name,
                               const struct pf_found *found);
/* The entry of this name; NULL: it has none. With fs->lock held. */
struct pf_entry *pf_entry_find(struct pf_fs *fs, const struct pf_entry *parent, const char *name);
struct pf_entry *pf_entry_get(struct pf_fs *fs, uint64_t id); /* with fs->lock held */
/*
 * What programs see as st_ino and d_ino of a name in a folder, or of an entry. Unlike node numbers it follows from the path, so that
 * listing a folder need not give numbers to what nobody looks up. The entry is held.
 */
uint64_t pf_shown_ino(const struct pf_entry *folder, const char *name);
uint64_t pf_entry_shown_ino(const struct pf_entry *entry);
/* The entry of a number, with its hold count raised, and letting go of that: both take fs->lock. NULL: there is none. */
struct pf_entry *pf_entry_hold(struct pf_fs *fs, uint64_t id);
void pf_entry_release(struct pf_fs *fs, struct pf_entry *entry);
/* Notes what stands there now. With fs->lock held. */
void pf_entry_show(struct pf_entry *entry, const struct pf_found *found);
/* Lets go of a hold; frees what nobody needs. With fs->lock held. */
void pf_entry_drop(struct pf_fs *fs, struct pf_entry *entry);

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
int pf_instance_renew(struct pf_fs *fs, struct pf_instance *old, struct pf_instance **renewed);

/* As pf_entry_note, and drops the last version of an entry that is no profile any more. With fs->lock held, as pf_instance_gone. */
struct pf_entry *pf_instance_note(struct pf_fs *fs, struct pf_entry *parent, const char *name, const struct pf_found *found);
/* There is nothing of this name any more: drops the last version of its entry. */
void pf_instance_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name);

/* The open profile, opened if need be; a reference. NULL with op->error filled: instance->failed is set for a broken profile. */
struct pf_profile *pf_instance_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op);

/* The open profile of a used instance, as a reference; NULL: it is not open, or has to be opened again. */
struct pf_profile *pf_instance_live_now(struct pf_fs *fs, struct pf_instance *instance);

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

/* An instance that is in use has been opened; takes a reference of its own. With fs->lock held, as the next four. */
void pf_open_add(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile);
/* It is used, open or not; or not any more. */
void pf_open_use(struct pf_fs *fs, struct pf_instance *instance);
void pf_open_rest(struct pf_fs *fs, struct pf_instance *instance);
/* Frees an instance that has neither look-ups nor users. */
void pf_instance_settle(struct pf_fs *fs, struct pf_instance *instance);
/* Closes the files of one that is not in use, for good: they are of an old version. */
void pf_open_let_go(struct pf_fs *fs, struct pf_instance *instance);
/* Shuts it: the caller releases what was open, without the lock where that may take time. */
struct pf_profile *pf_open_shut(struct pf_fs *fs, struct pf_instance *instance);

/* Shuts some of what is too much. Called with fs->lock held, which it gives back. */
void pf_open_shrink(struct pf_fs *fs);

/* Learns how many descriptors the process may have. */
void pf_open_limit(struct pf_fs *fs);

/*
 * After something has failed for want of descriptors: shuts idle profiles, or waits a moment for others to be done. True if it
 * is worth another try, the `tries`-th. Not with fs->lock held.
 */
bool pf_open_relieve(struct pf_fs *fs, unsigned tries);

/* Makes a call that gives an errno value again until it does not fail for want of descriptors. */
#define PF_WITH_DESCRIPTORS(fs, result, call)                                                                \
    for (unsigned tries = 0;                                                                                 \
         (((result) = (call)) == EMFILE || (result) == ENFILE) && pf_open_relieve(fs, tries); tries++) {     \
    }

/* A thread that lets go of profiles that are gone from their places, and of memory. 0, or -1: no thread. */
int pf_open_keep(struct pf_fs *fs);
void pf_open_unkeep(struct pf_fs *fs);

/* ---- vfs.c -------------------------------------------------------------------------------------- */

/* The number is that of an entry of SOURCE that is no profile. */
bool pf_in_source(struct pf_fs *fs, uint64_t ino);

/* Attributes of an entry that has been found; uses its number once. With fs->lock held. ENOENT if it is not
 * to be shown. */
int pf_entry_attr(struct pf_fs *fs, struct pf_entry *parent, const char *name, const struct pf_found *found,
                  struct pf_attr *attr);
/* Attributes of a node inside a profile; size from a pass if need be and allowed. */
int pf_place_attr(struct pf_fs *fs, const struct pf_place *place, struct pf_node node, bool may_wait,
                  struct pf_attr *attr, struct pf_op *op);

/* error.txt of a profile that can't be opened: follows from the error alone. Allocated for the caller, *size its length. */
char *pf_error_text(const struct pf_instance *instance, size_t *size);

/* ---- packed.c: what takes long about archives --------------------------------------------------- */

/*
 * Each is called before an operation does what may take long, and waits for a pass that does it. 0, or EINTR: the operation was
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
