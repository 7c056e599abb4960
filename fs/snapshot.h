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
 * Texts that are made from many profiles, as these are at one moment. A snapshot has a subject (a folder, all of SOURCE) and a number.
 * The number is part of the numbers of its nodes, so the bytes of a node never change. When the profiles have changed, another snapshot
 * replaces it; handles keep the old texts.
 */
struct pf_snapshot {
    struct pf_owner
        owner; /* first; its references are the users: a replaced snapshot is freed with the last of them */
    struct pf_snapshots *set; /* from pf_snapshot_add on */
    const char *title;        /* of its jobs; borrowed */
    /* Guarded by the set's lock: */
    uint32_t number; /* 24 bits, unique among the present snapshots of the set */
    uint64_t subject;
    uint64_t looked;         /* when the profiles were last compared with `state`, in monotonic seconds */
    uint64_t state;          /* a hash of the profiles that it is made from */
    bool replaced;           /* no look-up finds it */
    struct pf_store **texts; /* settled; NULL: not made */
    size_t n_texts;
    uint64_t held; /* bytes of all texts */
};

struct pf_snapshot_ops {
    /* Makes an item in a pass and publishes it under the set's lock. 0, or -1 with *error filled. */
    int (*make)(struct pf_snapshots *set, struct pf_snapshot *snapshot, uint32_t item,
                struct pf_error *error);
    /* True if an item is made. With the set's lock held. */
    bool (*is_made)(const struct pf_snapshot *snapshot, uint32_t item);
    /* Frees what embeds the snapshot; its texts are freed already. */
    void (*free)(struct pf_snapshot *snapshot);
};

/* All snapshots of one kind. Its functions are safe for many threads and take its lock, unless they say otherwise. */
struct pf_snapshots {
    struct pf_lock lock; /* no call under it blocks */
    const struct pf_snapshot_ops *ops;
    struct pf_pool *pool;
    void *owner; /* for ops */
    struct pf_map by_number, by_subject;
    uint32_t last_number;
};

void pf_snapshots_init(struct pf_snapshots *set, const struct pf_snapshot_ops *ops, struct pf_pool *pool,
                       void *owner);
/* Frees all snapshots. None may be in use, no job may run. */
void pf_snapshots_free(struct pf_snapshots *set);

/* The present snapshot with a number or of a subject, as a user, or NULL. */
struct pf_snapshot *pf_snapshot_enter(struct pf_snapshots *set, uint32_t number);
struct pf_snapshot *pf_snapshot_of(struct pf_snapshots *set, uint64_t subject);
void pf_snapshot_release(struct pf_snapshots *set, struct pf_snapshot *snapshot);

/*
 * Makes a snapshot that the caller has allocated the present one of a subject. Takes it over. If there is a present one, it is replaced,
 * or, without `replace`, kept and the new one freed. Drops the snapshot that was looked at longest ago if there are too many. Returns
 * the present one, as a user; NULL: out of memory.
 */
struct pf_snapshot *pf_snapshot_add(struct pf_snapshots *set, struct pf_snapshot *snapshot, uint64_t subject,
                                    bool replace);
/* Notes that the profiles were compared just now. Not `same`: the snapshot is replaced; users keep it. */
void pf_snapshot_looked(struct pf_snapshots *set, struct pf_snapshot *snapshot, bool same);
/* True if the last look is at least `seconds` ago. */
bool pf_snapshot_is_old(struct pf_snapshots *set, const struct pf_snapshot *snapshot, uint64_t seconds);

/* Replaces the number, so that the kernel asks for attributes again. With the set's lock held. */
void pf_snapshot_renumber(struct pf_snapshots *set, struct pf_snapshot *snapshot);

/*
 * Waits until an item is made. Jobs of different items may run side by side. 0 or an errno value, with op->error filled if the job has
 * failed.
 */
int pf_snapshot_need(struct pf_snapshots *set, struct pf_snapshot *snapshot, uint32_t item, struct pf_op *op);

/*
 * Publishes texts from number `first` on and takes them over. Frees texts of snapshots without users while all hold too many bytes. 0,
 * or -1 with *error filled and the texts freed: out of memory.
 */
int pf_snapshot_publish(struct pf_snapshots *set, struct pf_snapshot *snapshot, size_t first,
                        struct pf_store **texts, size_t n, struct pf_error *error);
/* A reference to a text; NULL: it is not made. */
struct pf_store *pf_snapshot_text(struct pf_snapshots *set, const struct pf_snapshot *snapshot, size_t text);

/* Frees the texts of the snapshot without users that was looked at longest ago. False: no snapshot has any. */
bool pf_snapshots_shrink(struct pf_snapshots *set);

/* A settled store of bytes, which are freed. NULL with *error filled. */
struct pf_store *pf_snapshot_store(struct pf_buf *bytes, struct pf_error *error);

#endif
