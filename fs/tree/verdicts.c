/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/hash.h"
#include "formats/kit/lock.h"
#include "fs/text/pack.h"
#include "fs/tree/vfs_private.h"
#include "fs/version.h"

/* Files of near inodes are mostly found together, since they stand in one folder: what is known of them is kept in one piece. */
enum { GROUP = 64, GROUPS = 128, WORTH_SAVING = 32 /* so few are as quickly probed */ };

/* As it is kept: without padding. */
struct seen {
    struct pf_stamp stamp;
    uint64_t name;           /* its hash: drivers look at names */
    uint32_t probed, packed; /* 1 or 0 */
    uint32_t driver;         /* its place among the drivers, from 1; 0: nobody's */
    struct pf_verdict verdict;
};

struct group {
    bool known, changed; /* it is one; otherwise than what is kept */
    uint64_t device, number;
    struct seen seen[GROUP]; /* by inode */
};

struct pf_verdicts {
    struct pf_cachedb *db;
    uint64_t edition;     /* of all drivers: others may find something else */
    struct pf_lock lock;  /* guards what follows */
    uint64_t worth;       /* how many were probed, those for more that took long */
    struct group groups[GROUPS];
};

static uint64_t edition(void)
{
    const uint64_t machine = PF_MACHINE;
    uint64_t hash = pf_hash(PF_RENDERER_VERSION, &machine, sizeof machine);
    for (size_t i = 0; pf_drivers[i]; i++) {
        hash = pf_hash(hash, pf_drivers[i]->name, strlen(pf_drivers[i]->name));
        hash = pf_hash(hash, &pf_drivers[i]->version, sizeof pf_drivers[i]->version);
    }
    return hash;
}

struct pf_verdicts *pf_verdicts_new(struct pf_cachedb *db)
{
    struct pf_verdicts *verdicts =
        calloc(1, sizeof *verdicts); /* whose pages nobody takes who lists few files */
    if (!verdicts)
        return NULL;
    verdicts->db = db;
    verdicts->edition = edition();
    pf_lock_init(&verdicts->lock, PF_RANK_VERDICTS);
    return verdicts;
}

void pf_verdicts_free(struct pf_verdicts *verdicts)
{
    if (!verdicts)
        return;
    pf_verdicts_save(verdicts);
    pf_lock_destroy(&verdicts->lock);
    free(verdicts);
}

static uint32_t driver_count(void)
{
    uint32_t count = 0;
    while (pf_drivers[count])
        count++;
    return count;
}

static uint32_t number_of(const struct pf_driver *driver)
{
    for (uint32_t i = 0; driver && pf_drivers[i]; i++)
        if (pf_drivers[i] == driver)
            return i + 1;
    return 0;
}

/* ---- the database ------------------------------------------------------------------------------- */

static uint64_t key_of(const struct group *group)
{
    const uint64_t what[] = {0x7665726469637473 /* "verdicts" */, group->device, group->number};
    return pf_hash(0, what, sizeof what);
}

/* Nothing in it leads where nothing is. */
static bool is_sound(const struct seen *seen)
{
    const struct pf_verdict *verdict = &seen->verdict;
    return seen->probed && seen->driver <= driver_count() &&
           memchr(verdict->version, 0, sizeof verdict->version) &&
           memchr(verdict->message, 0, sizeof verdict->message);
}

/* Puts what is new of a group into the database, unless little has been probed so far. */
static void keep(struct pf_verdicts *verdicts, struct group *group)
{
    pf_assert_held(&verdicts->lock);
    struct pf_buf value = {0};
    if (!verdicts->db || !group->changed || verdicts->worth < WORTH_SAVING)
        return;
    pf_pack_u64(&value, verdicts->edition);
    for (size_t i = 0; i < GROUP; i++)
        if (group->seen[i].probed)
            pf_buf_add(&value, (const char *)&group->seen[i], sizeof group->seen[i]);
    pf_cachedb_put(verdicts->db, key_of(group), &value);
    pf_buf_free(&value);
    group->changed = false;
}

static void recall_group(const struct pf_verdicts *verdicts, struct group *group)
{
    size_t size = 0;
    char *bytes = verdicts->db ? pf_cachedb_get(verdicts->db, key_of(group), &size) : NULL;
    if (!bytes)
        return;
    struct pf_unpack in = {bytes, bytes + size, false};
    struct seen seen = {0};
    if (pf_unpack_u64(&in) == verdicts->edition)
        for (const void *at; (at = pf_unpack_bytes(&in, sizeof seen));) {
            memcpy(&seen, at, sizeof seen);
            if (is_sound(&seen))
                group->seen[seen.stamp.inode % GROUP] = seen;
        }
    free(bytes);
}

/* The group of a file, taken from the database if it is not in memory. */
static struct group *group_of(struct pf_verdicts *verdicts, const struct pf_stamp *stamp)
{
    uint64_t number = stamp->inode / GROUP;
    struct group *group = &verdicts->groups[(number ^ stamp->device) % GROUPS];
    if (group->known && group->number == number && group->device == stamp->device)
        return group;
    keep(verdicts, group);
    *group = (struct group){.known = true, .device = stamp->device, .number = number};
    recall_group(verdicts, group);
    return group;
}

void pf_verdicts_save(struct pf_verdicts *verdicts)
{
    pf_lock_take(&verdicts->lock);
    for (size_t i = 0; i < GROUPS; i++)
        keep(verdicts, &verdicts->groups[i]);
    pf_lock_drop(&verdicts->lock);
}

/* ---- asking and noting -------------------------------------------------------------------------- */

bool pf_verdicts_recall(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                        struct pf_found *found)
{
    pf_lock_take(&verdicts->lock);
    const struct seen *seen = &group_of(verdicts, stamp)->seen[stamp->inode % GROUP];
    bool known =
        seen->probed && pf_stamp_same(&seen->stamp, stamp) && seen->name == pf_hash(0, name, strlen(name));
    if (known) {
        found->driver = seen->driver ? pf_drivers[seen->driver - 1] : NULL;
        found->verdict = seen->verdict;
        found->packed = seen->packed;
    }
    pf_lock_drop(&verdicts->lock);
    return known;
}

void pf_verdicts_note(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                      const struct pf_found *found, bool costly)
{
    struct seen seen = {.probed = true,
                        .packed = found->packed,
                        .driver = number_of(found->driver),
                        .stamp = *stamp,
                        .name = pf_hash(0, name, strlen(name)),
                        .verdict = found->verdict};
    pf_lock_take(&verdicts->lock);
    struct group *group = group_of(verdicts, stamp);
    group->seen[stamp->inode % GROUP] = seen;
    group->changed = true;
    verdicts->worth += costly ? WORTH_SAVING : 1;
    pf_lock_drop(&verdicts->lock);
}
