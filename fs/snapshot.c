/* SPDX-License-Identifier: MIT */
#include "fs/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/tree/vfs.h"

enum {
    SNAPSHOTS_MAX = 256, /* maximum number per set */
    HELD_MAX = 64 << 20, /* maximum bytes of texts per set; texts in use may exceed it */
    IN_MEMORY = 4 << 20, /* bytes of one text that are held in memory */
    NUMBERS_MAX = 0xffffff
};

void pf_snapshots_init(struct pf_snapshots *set, const struct pf_snapshot_ops *ops, struct pf_pool *pool,
                       void *owner)
{
    *set = (struct pf_snapshots){.ops = ops, .pool = pool, .owner = owner};
    pf_lock_init(&set->lock, PF_RANK_SNAPSHOTS);
}

static void free_texts(struct pf_store **texts, size_t n)
{
    for (size_t t = 0; t < n; t++)
        pf_store_free(texts[t]);
    free(texts);
}

static void destroy_snapshot(struct pf_snapshots *set, struct pf_snapshot *snapshot)
{
    if (!snapshot)
        return;
    pf_owner_end(&snapshot->owner);
    free_texts(snapshot->texts, snapshot->n_texts);
    set->ops->free(snapshot);
}

void pf_snapshots_free(struct pf_snapshots *set)
{
    for (size_t i = 0; set->by_number.slots && i <= set->by_number.mask; i++)
        destroy_snapshot(set, set->by_number.slots[i].value);
    pf_map_free(&set->by_number);
    pf_map_free(&set->by_subject);
    pf_lock_destroy(&set->lock);
}

/* ---- users ---------------------------------------------------------------------------------------- */

static void release_owner(struct pf_owner *owner)
{
    pf_snapshot_release((struct pf_snapshot *)owner);
}

static const char *snapshot_title(const struct pf_owner *owner)
{
    return ((const struct pf_snapshot *)owner)->title;
}

static const struct pf_owner_type snapshot_type = {release_owner, snapshot_title};

static struct pf_snapshot *use_snapshot(struct pf_snapshots *set, const struct pf_map *map, uint64_t key)
{
    pf_lock_take(&set->lock);
    struct pf_snapshot *snapshot = pf_map_get(map, key);
    if (snapshot)
        atomic_fetch_add(&snapshot->owner.references, 1);
    pf_lock_drop(&set->lock);
    return snapshot;
}

struct pf_snapshot *pf_snapshot_by_number(struct pf_snapshots *set, uint32_t number)
{
    return use_snapshot(set, &set->by_number, number);
}

struct pf_snapshot *pf_snapshot_by_subject(struct pf_snapshots *set, uint64_t subject)
{
    return use_snapshot(set, &set->by_subject, subject);
}

void pf_snapshot_release(struct pf_snapshot *snapshot)
{
    struct pf_snapshots *set = snapshot->set;
    pf_lock_take(&set->lock);
    bool last = atomic_fetch_sub(&snapshot->owner.references, 1) == 1 && snapshot->replaced;
    pf_lock_drop(&set->lock);
    if (last)
        destroy_snapshot(set, snapshot);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

/* Hides the snapshot from look-ups. Returns it if it has no users: the caller frees it after unlocking. Otherwise NULL. */
static struct pf_snapshot *replace_snapshot(struct pf_snapshots *set, struct pf_snapshot *snapshot)
{
    pf_assert_held(&set->lock);
    if (snapshot->number)
        pf_map_remove(&set->by_number, snapshot->number);
    if (pf_map_get(&set->by_subject, snapshot->subject) == snapshot)
        pf_map_remove(&set->by_subject, snapshot->subject);
    snapshot->replaced = true;
    return atomic_load(&snapshot->owner.references) ? NULL : snapshot;
}

static bool give_number(struct pf_snapshots *set, struct pf_snapshot *snapshot)
{
    pf_assert_held(&set->lock);
    uint32_t number = set->last_number;
    do
        number = number % NUMBERS_MAX + 1;
    while (pf_map_get(&set->by_number, number));
    bool given = pf_map_put(&set->by_number, number, snapshot);
    snapshot->number = given ? number : 0;
    set->last_number = number;
    return given;
}

void pf_snapshot_renumber(struct pf_snapshot *snapshot)
{
    struct pf_snapshots *set = snapshot->set;
    pf_assert_held(&set->lock);
    if (snapshot->replaced)
        return;
    pf_map_remove(&set->by_number, snapshot->number);
    if (!give_number(set, snapshot))
        replace_snapshot(set, snapshot); /* not freed: the caller has a reference */
}

/* Returns the least recently checked snapshot that has no users and, if `holding`, has texts; NULL if no snapshot qualifies. */
static struct pf_snapshot *oldest_snapshot(const struct pf_snapshots *set, bool holding)
{
    struct pf_snapshot *oldest = NULL;
    for (size_t i = 0; set->by_number.slots && i <= set->by_number.mask; i++) {
        struct pf_snapshot *at = set->by_number.slots[i].value;
        if (at && !atomic_load(&at->owner.references) && (at->held || !holding) &&
            (!oldest || at->checked < oldest->checked))
            oldest = at;
    }
    return oldest;
}

/* Evicts the least recently checked snapshot if there are too many. Returns it for the caller to free after unlocking, or NULL. */
static struct pf_snapshot *drop_oldest(struct pf_snapshots *set)
{
    struct pf_snapshot *oldest = set->by_number.count > SNAPSHOTS_MAX ? oldest_snapshot(set, false) : NULL;
    return oldest ? replace_snapshot(set, oldest) : NULL;
}

struct pf_snapshot *pf_snapshot_add(struct pf_snapshots *set, struct pf_snapshot *snapshot, uint64_t subject,
                                    bool replace)
{
    struct pf_snapshot *useless = NULL, *dropped = NULL;
    pf_lock_take(&set->lock);
    struct pf_snapshot *present = pf_map_get(&set->by_subject, subject);
    if (present && !replace) {
        atomic_fetch_add(&present->owner.references, 1);
        useless = snapshot;
    } else {
        useless = present ? replace_snapshot(set, present) : NULL;
        snapshot->subject = subject;
        snapshot->checked = pf_monotonic_seconds();
        snapshot->set = set;
        pf_owner_init(&snapshot->owner, &snapshot_type, set->pool, 1);
        bool added = give_number(set, snapshot) && pf_map_put(&set->by_subject, subject, snapshot);
        present = added ? snapshot : NULL;
        if (added)
            dropped = drop_oldest(set);
        else
            replace_snapshot(set, snapshot);
    }
    pf_lock_drop(&set->lock);
    destroy_snapshot(set, useless);
    destroy_snapshot(set, dropped);
    if (!present)
        destroy_snapshot(set, snapshot);
    return present;
}

/* ---- freshness ------------------------------------------------------------------------------------ */

void pf_snapshot_checked(struct pf_snapshot *snapshot, bool same)
{
    struct pf_snapshots *set = snapshot->set;
    pf_lock_take(&set->lock);
    snapshot->checked = pf_monotonic_seconds();
    if (!same && !snapshot->replaced)
        replace_snapshot(set, snapshot); /* not freed: the caller has a reference */
    pf_lock_drop(&set->lock);
}

/* ---- jobs ----------------------------------------------------------------------------------------- */

static bool has_item(struct pf_snapshot *snapshot, uint64_t item)
{
    struct pf_snapshots *set = snapshot->set;
    pf_lock_take(&set->lock);
    bool made = set->ops->is_made(snapshot, (uint32_t)item);
    pf_lock_drop(&set->lock);
    return made;
}

static int run_item(struct pf_owner *owner, uint64_t item, struct pf_error *error)
{
    struct pf_snapshot *snapshot = (struct pf_snapshot *)owner;
    return has_item(snapshot, item) ? 0 : snapshot->set->ops->make(snapshot, (uint32_t)item, error);
}

static bool item_is_short(struct pf_owner *owner, uint64_t item)
{
    const struct pf_snapshot_ops *ops = ((struct pf_snapshot *)owner)->set->ops;
    return ops->is_short && ops->is_short((uint32_t)item);
}

static const struct pf_work item_work = {NULL, PF_WORK_SNAPSHOT, item_is_short, run_item};

int pf_snapshot_need(struct pf_snapshot *snapshot, uint32_t item, struct pf_op *op)
{
    return pf_op_errno(op, has_item(snapshot, item) ? 0 : pf_need(op, &item_work, &snapshot->owner, item));
}

/* ---- texts ---------------------------------------------------------------------------------------- */

/* Detaches the texts of the least recently checked snapshot without users; the caller frees them. */
static struct pf_store **take_oldest_texts(struct pf_snapshots *set, size_t *n)
{
    pf_assert_held(&set->lock);
    struct pf_snapshot *oldest = oldest_snapshot(set, true);
    if (!oldest)
        return NULL;
    struct pf_store **texts = oldest->texts;
    *n = oldest->n_texts;
    oldest->texts = NULL;
    oldest->n_texts = 0;
    oldest->held = 0;
    return texts;
}

bool pf_snapshots_shrink(struct pf_snapshots *set)
{
    size_t n = 0;
    pf_lock_take(&set->lock);
    struct pf_store **texts = take_oldest_texts(set, &n);
    pf_lock_drop(&set->lock);
    free_texts(texts, n);
    return texts != NULL;
}

static bool holds_too_much(struct pf_snapshots *set)
{
    uint64_t held = 0;
    pf_lock_take(&set->lock);
    for (size_t i = 0; set->by_number.slots && i <= set->by_number.mask; i++) {
        const struct pf_snapshot *at = set->by_number.slots[i].value;
        held += at ? at->held : 0;
    }
    pf_lock_drop(&set->lock);
    return held > HELD_MAX;
}

/* Grows the array of texts to n. Called with the set's lock held. Returns false if out of memory. */
static bool grow_texts(struct pf_snapshot *snapshot, size_t n)
{
    if (n <= snapshot->n_texts)
        return true;
    struct pf_store **grown = realloc(snapshot->texts, n * sizeof *grown);
    if (!grown)
        return false;
    for (size_t t = snapshot->n_texts; t < n; t++)
        grown[t] = NULL;
    snapshot->texts = grown;
    snapshot->n_texts = n;
    return true;
}

int pf_snapshot_publish(struct pf_snapshot *snapshot, size_t first, struct pf_store **texts, size_t n,
                        struct pf_error *error)
{
    struct pf_snapshots *set = snapshot->set;
    pf_lock_take(&set->lock);
    bool room = grow_texts(snapshot, first + n);
    for (size_t t = 0; room && t < n; t++) {
        struct pf_store *old = snapshot->texts[first + t];
        snapshot->held += pf_store_size(texts[t]) - (old ? pf_store_size(old) : 0);
        snapshot->texts[first + t] = texts[t];
        texts[t] = old;
    }
    pf_lock_drop(&set->lock);
    for (size_t t = 0; t < n; t++)
        pf_store_free(texts[t]);
    while (room && holds_too_much(set) && pf_snapshots_shrink(set)) {
    }
    return room ? 0 : pf_fail_memory(error);
}

struct pf_store *pf_snapshot_text(const struct pf_snapshot *snapshot, size_t text)
{
    struct pf_snapshots *set = snapshot->set;
    pf_lock_take(&set->lock);
    struct pf_store *store = text < snapshot->n_texts ? snapshot->texts[text] : NULL;
    if (store)
        pf_store_hold(store);
    pf_lock_drop(&set->lock);
    return store;
}

struct pf_store *pf_snapshot_store(struct pf_buf *bytes, struct pf_error *error)
{
    struct pf_store *store = bytes->failed ? NULL : pf_store_new(IN_MEMORY);
    bool failed =
        !store || pf_store_append(store, bytes->data, bytes->size, error) || pf_store_flush(store, error);
    if (!store)
        pf_fail_memory(error);
    pf_buf_free(bytes);
    if (!failed)
        return store;
    pf_store_free(store);
    return NULL;
}
