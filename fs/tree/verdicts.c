/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/digest.h"
#include "formats/kit/lock.h"
#include "formats/recognise.h"
#include "fs/text/pack.h"
#include "fs/tree/vfs_private.h"
#include "fs/version.h"

/*
 * A cache of probe results, grouped by inode. Files of one folder mostly have consecutive inodes, so groups are read
 * from and written to the database as a whole. A file that is neither a profile nor an archive is stored as a hash
 * only.
 */
enum {
    GROUP = 64,       /* inodes per group */
    GROUPS = 4096,    /* number of groups in memory */
    SEEN_MAX = 8192,  /* profiles and archives in memory; above this, all groups are dropped */
    WORTH_SAVING = 32 /* fewer results are not worth a write: probing is as fast */
};

/* A profile or an archive. This is also the stored format; it has no padding. */
struct seen {
    struct pf_stamp stamp;
    uint64_t name;           /* hash of the name, which drivers may examine */
    uint32_t packed, unused; /* 1 or 0 */
    uint64_t driver;         /* index in pf_drivers + 1; 0: an archive */
    struct pf_verdict verdict;
};

struct group {
    bool known, changed; /* the group is loaded; it differs from the database */
    uint64_t device, number;
    uint64_t ordinary[GROUP]; /* hash of stamp and name by inode; 0: not probed, or a profile or archive */
    struct seen *seen;
    size_t n_seen, room;
};

struct pf_verdicts {
    struct pf_cache *cache;
    uint64_t edition;    /* hash of all drivers: other versions may give other results */
    struct pf_lock lock; /* guards the members below */
    uint64_t worth;      /* number of results since the last save; costly results count more */
    size_t n_seen;
    struct group groups[GROUPS];
};

static uint64_t edition(void)
{
    const uint64_t machine = PF_MACHINE;
    uint64_t hash = pf_digest(PF_RENDERER_VERSION, &machine, sizeof machine);
    for (size_t i = 0; pf_drivers[i]; i++) {
        hash = pf_digest(hash, pf_drivers[i]->name, strlen(pf_drivers[i]->name));
        hash = pf_digest(hash, &pf_drivers[i]->version, sizeof pf_drivers[i]->version);
    }
    return hash;
}

struct pf_verdicts *pf_verdicts_new(struct pf_cache *cache)
{
    struct pf_verdicts *verdicts =
        calloc(1, sizeof *verdicts); /* calloc: unused groups cost no memory */
    if (!verdicts)
        return NULL;
    verdicts->cache = cache;
    verdicts->edition = edition();
    pf_lock_init(&verdicts->lock, PF_RANK_VERDICTS);
    return verdicts;
}

void pf_verdicts_free(struct pf_verdicts *verdicts)
{
    if (!verdicts)
        return;
    pf_verdicts_save(verdicts);
    for (size_t i = 0; i < GROUPS; i++)
        free(verdicts->groups[i].seen);
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

static uint64_t key_of(const struct pf_verdicts *verdicts, const struct group *group)
{
    const uint64_t what[] = {PF_DATUM_PROBES, group->device, group->number};
    return pf_cache_key(verdicts->cache, what, sizeof what);
}

static void drop_group(struct pf_verdicts *verdicts, struct group *group)
{
    verdicts->n_seen -= group->n_seen;
    free(group->seen);
    *group = (struct group){.known = false};
}

static void pack_group(const struct pf_verdicts *verdicts, const struct group *group, struct pf_buf *out)
{
    pf_pack_u64(out, verdicts->edition);
    pf_buf_add(out, (const char *)group->ordinary, sizeof group->ordinary);
    pf_buf_add(out, (const char *)group->seen, group->n_seen * sizeof *group->seen);
}

/* Writes changed groups to the database, unless there are few new results. */
static void save(struct pf_verdicts *verdicts)
{
    pf_assert_held(&verdicts->lock);
    struct pf_cache_value values[PF_CACHE_BATCH];
    struct pf_buf packed[PF_CACHE_BATCH] = {{0}};
    size_t n = 0;
    if (!verdicts->cache || verdicts->worth < WORTH_SAVING)
        return;
    for (size_t i = 0; i < GROUPS; i++) {
        struct group *group = &verdicts->groups[i];
        if (group->changed) {
            struct pf_buf *out = &packed[n];
            pack_group(verdicts, group, out);
            values[n] =
                (struct pf_cache_value){key_of(verdicts, group), 0, PF_DATUM_PROBES, out->data, out->size};
            n += !out->failed;
            group->changed = false;
        }
        if (n == PF_CACHE_BATCH || i + 1 == GROUPS) {
            pf_cache_put_all(verdicts->cache, values, n);
            while (n)
                pf_buf_free(&packed[--n]);
        }
    }
}

/* True if a record read from the database is valid for the group; checked before its driver index is used. */
static bool is_sound(const struct group *group, const struct seen *seen)
{
    const struct pf_verdict *verdict = &seen->verdict;
    return seen->driver <= driver_count() && (seen->driver || seen->packed) &&
           seen->stamp.inode / GROUP == group->number &&
           memchr(verdict->version, 0, sizeof verdict->version) &&
           memchr(verdict->message, 0, sizeof verdict->message);
}

static void add_seen(struct pf_verdicts *verdicts, struct group *group, const struct seen *seen)
{
    struct pf_error error;
    size_t i = 0;
    while (i < group->n_seen && group->seen[i].stamp.inode != seen->stamp.inode)
        i++;
    if (i == group->n_seen) {
        if (pf_array_room(&group->seen, &group->room, group->n_seen, sizeof *group->seen, &error))
            return;
        group->n_seen++;
        verdicts->n_seen++;
    }
    group->seen[i] = *seen;
}

static void load_group(struct pf_verdicts *verdicts, struct group *group)
{
    size_t size = 0;
    char *bytes = verdicts->cache
                      ? pf_cache_get(verdicts->cache, key_of(verdicts, group), PF_DATUM_PROBES, 0, &size)
                      : NULL;
    struct pf_unpack in = {bytes, bytes ? bytes + size : NULL, false};
    const void *at = bytes && pf_unpack_u64(&in) == verdicts->edition
                         ? pf_unpack_bytes(&in, sizeof group->ordinary)
                         : NULL;
    if (at) {
        memcpy(group->ordinary, at, sizeof group->ordinary);
        for (struct seen seen; (at = pf_unpack_bytes(&in, sizeof seen));) {
            memcpy(&seen, at, sizeof seen);
            if (is_sound(group, &seen))
                add_seen(verdicts, group, &seen);
        }
    }
    free(bytes);
}

/* The group of a file, read from the database if it is not in memory. */
static struct group *group_of(struct pf_verdicts *verdicts, const struct pf_stamp *stamp)
{
    uint64_t number = stamp->inode / GROUP;
    struct group *group = &verdicts->groups[(number ^ stamp->device) % GROUPS];
    if (group->known && group->number == number && group->device == stamp->device)
        return group;
    if (group->changed || verdicts->n_seen >= SEEN_MAX)
        save(verdicts);
    for (size_t i = 0; verdicts->n_seen >= SEEN_MAX && i < GROUPS; i++)
        drop_group(verdicts, &verdicts->groups[i]);
    drop_group(verdicts, group);
    *group = (struct group){.known = true, .device = stamp->device, .number = number};
    load_group(verdicts, group);
    return group;
}

void pf_verdicts_save(struct pf_verdicts *verdicts)
{
    pf_lock_take(&verdicts->lock);
    save(verdicts);
    pf_lock_drop(&verdicts->lock);
}

/* ---- look-up and storing ------------------------------------------------------------------------ */

static uint64_t hash_of(const struct pf_stamp *stamp, uint64_t name)
{
    uint64_t hash = pf_digest(name, stamp, sizeof *stamp);
    return hash ? hash : 1;
}

static const struct seen *find_seen(const struct group *group, const struct pf_stamp *stamp, uint64_t name)
{
    for (size_t i = 0; i < group->n_seen; i++)
        if (pf_stamp_same(&group->seen[i].stamp, stamp) && group->seen[i].name == name)
            return &group->seen[i];
    return NULL;
}

bool pf_verdicts_recall(struct pf_verdicts *verdicts, const struct pf_stamp *now, const char *name,
                        struct pf_found *found)
{
    struct pf_stamp stamp = pf_stamp_lasting(now);
    uint64_t name_hash = pf_digest(0, name, strlen(name));
    pf_lock_take(&verdicts->lock);
    const struct group *group = group_of(verdicts, &stamp);
    const struct seen *seen = find_seen(group, &stamp, name_hash);
    bool ordinary = group->ordinary[stamp.inode % GROUP] == hash_of(&stamp, name_hash);
    if (seen) {
        found->driver = seen->driver ? pf_drivers[seen->driver - 1] : NULL;
        found->verdict = seen->verdict;
        found->packed = seen->packed;
    }
    pf_lock_drop(&verdicts->lock);
    return seen || ordinary;
}

void pf_verdicts_note(struct pf_verdicts *verdicts, const struct pf_stamp *now, const char *name,
                      const struct pf_found *found, bool costly)
{
    struct seen seen = {.stamp = pf_stamp_lasting(now),
                        .name = pf_digest(0, name, strlen(name)),
                        .packed = found->packed,
                        .driver = number_of(found->driver),
                        .verdict = found->verdict};
    pf_lock_take(&verdicts->lock);
    struct group *group = group_of(verdicts, &seen.stamp);
    bool ordinary = !found->driver && !found->packed;
    group->ordinary[seen.stamp.inode % GROUP] = ordinary ? hash_of(&seen.stamp, seen.name) : 0;
    if (!ordinary)
        add_seen(verdicts, group, &seen);
    group->changed = true;
    verdicts->worth += costly ? WORTH_SAVING : 1;
    pf_lock_drop(&verdicts->lock);
}
