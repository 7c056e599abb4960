/* SPDX-License-Identifier: MIT */
#ifndef PF_SNAPSHOT_H
#define PF_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/kit/lock.h"
#include "formats/kit/store.h"
#include "fs/map.h"
#include "fs/text/buf.h"
#include "fs/work.h"

struct pf_snapshots;

/*
 * Texts made from the state of many profiles at one moment. A snapshot has a subject (a folder, or all of SOURCE) and a number. Inode
 * numbers contain the snapshot's number, so the contents of an inode number never change. When the profiles have changed, a new snapshot
 * replaces the old one; open handles keep the old texts.
 */
struct pf_snapshot {
    struct pf_owner owner;    /* first member; counts users: the last release frees a replaced snapshot */
    struct pf_snapshots *set; /* set by pf_snapshot_add */
    const char *title;        /* title of the jobs, for status.txt; borrowed */
    /* Guarded by the set's lock: */
    uint32_t number; /* 24 bits, unique among the current snapshots of the set */
    uint64_t subject;
    uint64_t checked;        /* when the profiles were last compared with `digest`, in monotonic seconds */
    uint64_t digest;         /* hash of the profiles' state */
    bool replaced;           /* look-ups no longer find the snapshot */
    struct pf_store **texts; /* flushed stores; NULL: not made yet */
    size_t n_texts;
    uint64_t held; /* bytes of all texts */
};

struct pf_snapshot_ops {
    /* Makes an item in a pass and publishes it under the set's lock. Returns 0, or -1 with *error filled. */
    int (*make)(struct pf_snapshot *snapshot, uint32_t item, struct pf_error *error);
    /* Returns true if an item has been made. Called with the set's lock held. */
    bool (*is_made)(const struct pf_snapshot *snapshot, uint32_t item);
    /* Returns true if an item takes about a millisecond: it is then made on the operation's thread. NULL: none does. */
    bool (*is_short)(uint32_t item);
    /* Frees the struct that embeds the snapshot; the texts are freed already. */
    void (*free)(struct pf_snapshot *snapshot);
};

/* All snapshots of one kind. The functions below are thread-safe and take the set's lock, except where noted. */
struct pf_snapshots {
    struct pf_lock lock; /* never held across a blocking call */
    const struct pf_snapshot_ops *ops;
    struct pf_pool *pool;
    void *owner; /* for ops */
    struct pf_map by_number, by_subject;
    uint32_t last_number;
};

void pf_snapshots_init(struct pf_snapshots *set, const struct pf_snapshot_ops *ops, struct pf_pool *pool,
                       void *owner);
/* Frees all snapshots. None may have users, and no job may run. */
void pf_snapshots_free(struct pf_snapshots *set);

/* Return the current snapshot with a number or of a subject, with a reference for the caller; NULL if there is no such snapshot. */
struct pf_snapshot *pf_snapshot_by_number(struct pf_snapshots *set, uint32_t number);
struct pf_snapshot *pf_snapshot_by_subject(struct pf_snapshots *set, uint64_t subject);
/* Drops a reference. */
void pf_snapshot_release(struct pf_snapshot *snapshot);

/*
 * Installs a snapshot, allocated by the caller, as the current one of a subject; takes ownership. If the subject already has a snapshot,
 * the new one replaces it if `replace` is true, and is freed otherwise. If the set is full, evicts the least recently checked unused
 * snapshot. Returns the current one, with a reference for the caller; NULL: out of memory.
 */
struct pf_snapshot *pf_snapshot_add(struct pf_snapshots *set, struct pf_snapshot *snapshot, uint64_t subject,
                                    bool replace);
/* Records that the profiles were compared just now. If they differ (not `same`), hides the snapshot from look-ups; users keep it. */
void pf_snapshot_checked(struct pf_snapshot *snapshot, bool same);

/* Assigns a new number, so that the kernel requests attributes again. Called with the set's lock held. */
void pf_snapshot_renumber(struct pf_snapshot *snapshot);

/*
 * Waits until an item is made. Jobs of different items can run in parallel. Returns 0 or an errno value, with op->error filled if the
 * job failed.
 */
int pf_snapshot_need(struct pf_snapshot *snapshot, uint32_t item, struct pf_op *op);

/*
 * Publishes n texts, numbered from `first` on; takes ownership. Evicts texts of snapshots without users while the set holds too many
 * bytes. Returns 0, or -1 with *error filled if out of memory; the texts are then freed.
 */
int pf_snapshot_publish(struct pf_snapshot *snapshot, size_t first, struct pf_store **texts, size_t n,
                        struct pf_error *error);
/* Returns a reference to a text; NULL if it is not made yet or evicted. */
struct pf_store *pf_snapshot_text(const struct pf_snapshot *snapshot, size_t text);

/* Frees the texts of the least recently checked snapshot without users. Returns false if no such snapshot holds texts. */
bool pf_snapshots_shrink(struct pf_snapshots *set);

/* Returns a flushed store with the buffer's bytes; frees the buffer, also on failure. NULL with *error filled. */
struct pf_store *pf_snapshot_store(struct pf_buf *bytes, struct pf_error *error);

#endif
