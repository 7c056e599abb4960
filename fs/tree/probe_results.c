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
 * A cache of probe results of files and folders, grouped by inode. The files of one folder mostly have consecutive inodes,
 * so groups are read from and written to the database as a whole. A file or folder that is neither a profile nor an archive
 * is stored as a hash only.
 */
enum {
    GROUP = 64,       /* inodes per group */
    GROUPS = 4096,    /* maximum number of groups in memory */
    SEEN_MAX = 8192,  /* profiles and archives in memory; above this, groups are dropped in turn */
    WORTH_SAVING = 32 /* fewer results are not worth a write: probing is as fast */
};

/* A profile or an archive. This is also the stored format; it has no padding. */
struct seen {
    struct pf_stamp stamp;
    uint64_t name;           /* hash of the name, which drivers may examine */
    uint32_t packed, unused; /* packed: 1 or 0; unused: replaces padding */
    uint64_t driver;         /* index in pf_drivers + 1; 0: an archive */
    struct pf_probe_result probe;
};

struct probe_results_group {
    bool known, changed; /* the group is loaded; it differs from the database */
    uint64_t device, number;
    uint64_t ordinary[GROUP]; /* by inode: hash of stamp and name of what is neither profile nor archive; 0: none */
    struct seen *seen;
    size_t n_seen, room;
};

struct pf_probe_results {
    struct pf_cache *cache;
    uint64_t edition;    /* hash of all drivers; results of other driver versions are not used */
    struct pf_lock lock; /* guards the members below */
    uint64_t worth;      /* number of results so far, a costly one counting as WORTH_SAVING */
    size_t n_seen, n_changed; /* profiles and archives in memory; changed groups */
    size_t next_dropped;      /* slot of the group to be dropped next */
    struct probe_results_group groups[GROUPS];
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

struct pf_probe_results *pf_probe_results_new(struct pf_cache *cache)
{
    struct pf_probe_results *results = calloc(1, sizeof *results); /* calloc: unused groups cost no memory */
    if (!results)
        return NULL;
    results->cache = cache;
    results->edition = edition();
    pf_lock_init(&results->lock, PF_RANK_PROBE_RESULTS);
    return results;
}

void pf_probe_results_free(struct pf_probe_results *results)
{
    if (!results)
        return;
    pf_probe_results_save(results);
    for (size_t i = 0; i < GROUPS; i++)
        free(results->groups[i].seen);
    pf_lock_destroy(&results->lock);
    free(results);
}

static uint32_t driver_count(void)
{
    uint32_t count = 0;
    while (pf_drivers[count])
        count++;
    return count;
}

static uint32_t probe_result_number_of(const struct pf_driver *driver)
{
    for (uint32_t i = 0; driver && pf_drivers[i]; i++)
        if (pf_drivers[i] == driver)
            return i + 1;
    return 0;
}

/* ---- the database ------------------------------------------------------------------------------- */

static uint64_t probe_result_key_of(const struct pf_probe_results *results, uint64_t device, uint64_t number)
{
    const uint64_t what[] = {PF_DATUM_PROBES, device, number};
    return pf_cache_key(results->cache, what, sizeof what);
}

static void drop_group(struct pf_probe_results *results, struct probe_results_group *group)
{
    results->n_seen -= group->n_seen;
    results->n_changed -= group->changed;
    free(group->seen);
    *group = (struct probe_results_group){.known = false};
}

/* A changed group to be written; the bytes are owned. */
struct saving {
    uint64_t device, number;
    struct pf_buf packed;
};

/* Packs the first changed group from slot *at on, and advances *at. Returns false if no group is left. */
static bool pack_changed(struct pf_probe_results *results, size_t *at, struct saving *saving)
{
    pf_lock_take(&results->lock);
    if (results->worth < WORTH_SAVING || !results->n_changed)
        *at = GROUPS;
    while (*at < GROUPS && !results->groups[*at].changed)
        ++*at;
    bool found = *at < GROUPS;
    if (found) {
        struct probe_results_group *group = &results->groups[(*at)++];
        *saving = (struct saving){group->device, group->number, {0}};
        pf_buf_add(&saving->packed, (const char *)group->ordinary, sizeof group->ordinary);
        pf_buf_add(&saving->packed, (const char *)group->seen, group->n_seen * sizeof *group->seen);
        group->changed = false;
        results->n_changed--;
    }
    pf_lock_drop(&results->lock);
    return found;
}

void pf_probe_results_save(struct pf_probe_results *results)
{
    struct saving saving;
    const struct pf_cache_head head = {(const char *)&results->edition, sizeof results->edition, NULL};
    for (size_t at = 0; results->cache && pack_changed(results, &at, &saving);) {
        uint64_t origin = probe_result_key_of(results, saving.device, saving.number);
        pf_cache_put(results->cache, &head, origin, PF_DATUM_PROBES, 0, &saving.packed);
        pf_buf_free(&saving.packed);
    }
}

/* True if a record read from the database is valid for the group; checked before its driver index is used. */
static bool is_sound(const struct probe_results_group *group, const struct seen *seen)
{
    const struct pf_probe_result *probe = &seen->probe;
    return seen->driver <= driver_count() && (seen->driver || seen->packed) &&
           seen->stamp.inode / GROUP == group->number && memchr(probe->version, 0, sizeof probe->version) &&
           memchr(probe->message, 0, sizeof probe->message);
}

static void add_seen(struct pf_probe_results *results, struct probe_results_group *group, const struct seen *seen)
{
    struct pf_error error;
    size_t i = 0;
    while (i < group->n_seen && group->seen[i].stamp.inode != seen->stamp.inode)
        i++;
    if (i == group->n_seen) {
        if (pf_array_room(&group->seen, &group->room, group->n_seen, sizeof *group->seen, &error))
            return;
        group->n_seen++;
        results->n_seen++;
    }
    group->seen[i] = *seen;
}

static void unpack_group(struct pf_probe_results *results, struct probe_results_group *group, const char *bytes,
                         size_t size)
{
    struct pf_unpack in = {bytes, bytes + size, false};
    const void *at = pf_unpack_bytes(&in, sizeof group->ordinary);
    if (!at)
        return;
    memcpy(group->ordinary, at, sizeof group->ordinary);
    for (struct seen seen; (at = pf_unpack_bytes(&in, sizeof seen));) {
        memcpy(&seen, at, sizeof seen);
        if (is_sound(group, &seen))
            add_seen(results, group, &seen);
    }
}

static bool is_group_of(const struct probe_results_group *group, const struct pf_stamp *stamp)
{
    return group->known && group->number == stamp->inode / GROUP && group->device == stamp->device;
}

/* Replaces the group in a slot by an empty one. If too many profiles and archives are in memory, drops other groups in turn. */
static void replace_group(struct pf_probe_results *results, struct probe_results_group *group, uint64_t device,
                          uint64_t number)
{
    for (; results->n_seen >= SEEN_MAX; results->next_dropped = (results->next_dropped + 1) % GROUPS)
        drop_group(results, &results->groups[results->next_dropped]);
    drop_group(results, group);
    *group = (struct probe_results_group){.known = true, .device = device, .number = number};
}

/* Takes the lock and returns the group of a file. Reads a missing group from the database, without the lock. */
static struct probe_results_group *lock_group(struct pf_probe_results *results, const struct pf_stamp *stamp)
{
    uint64_t number = stamp->inode / GROUP;
    struct probe_results_group *group = &results->groups[(number ^ stamp->device) % GROUPS];
    size_t size = 0;
    pf_lock_take(&results->lock);
    if (is_group_of(group, stamp))
        return group;
    bool save = group->changed || results->n_seen >= SEEN_MAX;
    pf_lock_drop(&results->lock);
    if (save)
        pf_probe_results_save(results);
    struct pf_buf head = {0};
    char *bytes = results->cache ? pf_cache_get(results->cache, probe_result_key_of(results, stamp->device, number),
                                                PF_DATUM_PROBES, 0, &size, &head)
                                 : NULL;
    bool current =
        bytes && head.size == sizeof results->edition && !memcmp(head.data, &results->edition, head.size);
    pf_buf_free(&head);
    pf_lock_take(&results->lock);
    if (!is_group_of(group, stamp)) { /* another thread may have read it meanwhile */
        replace_group(results, group, stamp->device, number);
        if (current)
            unpack_group(results, group, bytes, size);
    }
    free(bytes);
    return group;
}

/* ---- look-up and storing ------------------------------------------------------------------------ */

static uint64_t probe_result_hash_of(const struct pf_stamp *stamp, uint64_t name)
{
    uint64_t hash = pf_digest(name, stamp, sizeof *stamp);
    return hash ? hash : 1;
}

static const struct seen *find_seen(const struct probe_results_group *group, const struct pf_stamp *stamp, uint64_t name)
{
    for (size_t i = 0; i < group->n_seen; i++)
        if (pf_stamp_same(&group->seen[i].stamp, stamp) && group->seen[i].name == name)
            return &group->seen[i];
    return NULL;
}

bool pf_probe_results_get(struct pf_probe_results *results, const struct pf_stamp *now, const char *name,
                          struct pf_entry_info *info)
{
    struct pf_stamp stamp = pf_stamp_lasting(now);
    uint64_t name_hash = pf_digest(0, name, strlen(name));
    const struct probe_results_group *group = lock_group(results, &stamp);
    const struct seen *seen = find_seen(group, &stamp, name_hash);
    bool ordinary = group->ordinary[stamp.inode % GROUP] == probe_result_hash_of(&stamp, name_hash);
    if (seen) {
        info->driver = seen->driver ? pf_drivers[seen->driver - 1] : NULL;
        info->probe = seen->probe;
        info->packed = seen->packed;
    }
    pf_lock_drop(&results->lock);
    return seen || ordinary;
}

void pf_probe_results_put(struct pf_probe_results *results, const struct pf_stamp *now, const char *name,
                          const struct pf_entry_info *info, bool costly)
{
    struct seen seen = {.stamp = pf_stamp_lasting(now),
                        .name = pf_digest(0, name, strlen(name)),
                        .packed = info->packed,
                        .driver = probe_result_number_of(info->driver),
                        .probe = info->probe};
    struct probe_results_group *group = lock_group(results, &seen.stamp);
    bool ordinary = !info->driver && !info->packed;
    group->ordinary[seen.stamp.inode % GROUP] = ordinary ? probe_result_hash_of(&seen.stamp, seen.name) : 0;
    if (!ordinary)
        add_seen(results, group, &seen);
    results->n_changed += !group->changed;
    group->changed = true;
    results->worth += costly ? WORTH_SAVING : 1;
    pf_lock_drop(&results->lock);
}
