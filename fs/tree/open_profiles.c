/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/cache/cache.h"
#include "fs/tree/vfs_private.h"

/*
 * Which profiles stay open although nobody uses them just now. They stand in a list by age. When there are too many, or they
 * take too much memory or too many descriptors, the oldest are shut, a few an operation.
 */
enum {
    OPEN_MAX = 1024, /* profiles, */
    HEAP_MAX =
        128 << 20,     /* bytes that all the program's allocations take, as far as shutting profiles helps, */
    HEAP_EVERY = 32,   /* looked at each so many operations, since that takes some microseconds; */
    KEPT = 4,          /* but however large, so many of the last used are kept */
    SHUT_AT_ONCE = 16, /* by one operation */
    SWEEP_SECONDS = 5, /* how often it is seen whether what is idle is still there */
    PRUNE_SECONDS = 3600,    /* how often the cache is pruned, */
    PRUNE_PUTS = 4096,       /* or after so many profiles were put into it */
    TRIM_BYTES = 16 << 20,   /* memory that is free, but not given back to the system */
    DESCRIPTORS_WAIT_MS = 5, /* at most, before the first try; twice as long before each of the next: */
    DESCRIPTORS_DOUBLED = 4,
    DESCRIPTORS_TRIES = 500
};

/* ---- the lists ---------------------------------------------------------------------------------- */

static void unlist(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_assert_held(&fs->lock);
    if (!instance->listed)
        return;
    *(instance->newer ? &instance->newer->older : &fs->idle.newest) = instance->older;
    *(instance->older ? &instance->older->newer : &fs->idle.oldest) = instance->newer;
    instance->newer = instance->older = NULL;
    instance->listed = false;
    fs->idle.count--;
}

static void list(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_assert_held(&fs->lock);
    unlist(fs, instance);
    instance->listed = true;
    instance->older = fs->idle.newest;
    *(fs->idle.newest ? &fs->idle.newest->newer : &fs->idle.oldest) = instance;
    fs->idle.newest = instance;
    fs->idle.count++;
}

static void count_descriptors(struct pf_fs *fs, struct pf_instance *instance, size_t descriptors)
{
    pf_assert_held(&fs->lock);
    fs->open_descriptors += descriptors - instance->descriptors;
    instance->descriptors = descriptors;
}

void pf_open_add(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile)
{
    instance->profile = pf_profile_hold(profile);
    fs->open_instances++;
    count_descriptors(fs, instance, pf_profile_descriptors(profile));
}

void pf_open_use(struct pf_fs *fs, struct pf_instance *instance)
{
    unlist(fs, instance);
}

void pf_open_rest(struct pf_fs *fs, struct pf_instance *instance)
{
    count_descriptors(fs, instance, pf_profile_descriptors(instance->profile));
    list(fs, instance);
}

void pf_open_let_go(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_profile_let_go(instance->profile);
    count_descriptors(fs, instance, pf_profile_descriptors(instance->profile));
}

/* Notes what it was made from, in no more room than that takes: there may be a hundred thousand of these. */
static void note_inputs(struct pf_instance *instance, const struct pf_profile *profile)
{
    struct pf_buf *inputs = &instance->inputs;
    inputs->size = 0;
    pf_profile_inputs(profile, inputs);
    char *fitting = inputs->size ? realloc(inputs->data, inputs->size) : NULL;
    if (fitting) {
        inputs->data = fitting;
        inputs->room = inputs->size;
    }
}

struct pf_profile *pf_open_shut(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_assert_held(&fs->lock);
    struct pf_profile *profile = instance->profile;
    note_inputs(instance, profile);
    unlist(fs, instance);
    count_descriptors(fs, instance, 0);
    fs->open_instances--;
    instance->profile = NULL;
    return profile;
}

void pf_instance_settle(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_assert_held(&fs->lock);
    struct pf_entry *entry = instance->entry;
    bool present = entry->instance == instance;
    if (instance->profile && !present && !instance->uses)
        pf_open_let_go(fs, instance);
    if (instance->lookups || instance->uses)
        return;
    if (instance->profile && present)
        return; /* stays open until others push it out */
    if (instance->profile)
        pf_profile_release(pf_open_shut(fs, instance));
    if (present)
        entry->instance = NULL;
    pf_map_remove(&fs->instances, instance->id);
    pf_lock_destroy(&instance->opening);
    pf_buf_free(&instance->inputs);
    free(instance->failure);
    free(instance);
    pf_entry_drop(fs, entry);
}

/* How many of the open profiles make up what is allocated beyond the limit, taking them all for equal. */
static size_t heap_excess(const struct pf_fs *fs)
{
    struct mallinfo2 heap = mallinfo2();
    size_t taken = heap.uordblks + heap.hblkhd, excluded = (size_t)atomic_load(&fs->heap_excluded);
    taken -= excluded < taken ? excluded : taken;
    return taken > HEAP_MAX
               ? (size_t)((double)(taken - HEAP_MAX) / (double)taken * (double)fs->open_instances) + 1
               : 0;
}

/* Takes some of what is too much off the lists: the caller, without the lock, releases them. */
static size_t take_excess(struct pf_fs *fs, struct pf_profile *taken[SHUT_AT_ONCE])
{
    size_t n = 0;
    uint64_t grown = atomic_load(&fs->core.passes) + atomic_load(&fs->core.opened);
    if (grown - fs->heap_seen >= HEAP_EVERY) {
        fs->heap_seen = grown;
        fs->heap_excess = heap_excess(fs);
    }
    if (pf_sums_are_pressed() && fs->heap_excess < SHUT_AT_ONCE)
        fs->heap_excess = SHUT_AT_ONCE;
    for (struct pf_instance *at; n < SHUT_AT_ONCE && (at = fs->idle.oldest); n++) {
        bool large = fs->heap_excess && fs->idle.count > KEPT;
        if (!large && fs->open_instances <= OPEN_MAX && fs->open_descriptors <= fs->descriptors_max)
            break;
        fs->heap_excess -= fs->heap_excess > 0;
        taken[n] = pf_open_shut(fs, at);
        pf_instance_settle(fs, at);
    }
    return n;
}

static void release(struct pf_profile *taken[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        pf_profile_release(taken[i]);
}

void pf_open_shrink(struct pf_fs *fs)
{
    pf_assert_held(&fs->lock);
    struct pf_profile *taken[SHUT_AT_ONCE];
    size_t n = take_excess(fs, taken);
    pf_lock_drop(&fs->lock);
    release(taken, n);
}

/* ---- descriptors -------------------------------------------------------------------------------- */

void pf_open_limit(struct pf_fs *fs)
{
    struct rlimit limit = {.rlim_cur = 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    uint64_t all = limit.rlim_cur < INT32_MAX ? limit.rlim_cur : INT32_MAX;
    fs->descriptors_max = all <= 256 ? all / 4 : all / 2;
}

/*
 * Others hold the descriptors, and will be done soon. Those who wait have given back what they had; if they all tried again at
 * the same time, none would get enough: each waits as long as chance tells, here the clock.
 */
static void wait_for_others(unsigned tries)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long most = DESCRIPTORS_WAIT_MS * 1000000L << (tries < DESCRIPTORS_DOUBLED ? tries : DESCRIPTORS_DOUBLED);
    struct timespec wait = {.tv_nsec = now.tv_nsec % most};
    nanosleep(&wait, NULL);
}

bool pf_open_relieve(struct pf_fs *fs, unsigned tries)
{
    struct pf_profile *taken[SHUT_AT_ONCE];
    size_t n = 0;
    pf_lock_take(&fs->lock);
    for (struct pf_instance *at; n < SHUT_AT_ONCE && (at = fs->idle.oldest); n++) {
        taken[n] = pf_open_shut(fs, at);
        pf_instance_settle(fs, at);
    }
    pf_lock_drop(&fs->lock);
    release(taken, n);
    bool shut = n || pf_virtuals_shrink(fs);
    pf_archives_relieve(fs->archives);
    if (!shut || tries)
        wait_for_others(tries);
    return tries < DESCRIPTORS_TRIES;
}

/* ---- the keeper: a thread that looks after what is idle ----------------------------------------- */

struct idle_profile {
    uint32_t instance;
    struct pf_profile *profile; /* held */
};

/* All that are idle, each held, in an array for the caller; *n of them. NULL: none, or no memory. */
static struct idle_profile *idle_profiles(struct pf_fs *fs, size_t *n)
{
    *n = 0;
    struct idle_profile *profiles = calloc(fs->idle.count + 1, sizeof *profiles);
    for (struct pf_instance *at = fs->idle.oldest; profiles && at; at = at->newer)
        profiles[(*n)++] = (struct idle_profile){at->id, pf_profile_hold(at->profile)};
    return profiles;
}

/* What is gone from its place, or is another file there, must not be kept from being freed by us. Releases the profile. */
static void let_go_if_gone(struct pf_fs *fs, struct idle_profile *profile)
{
    struct pf_error error;
    bool gone = pf_profile_check(profile->profile, &error) && error.code == ESTALE;
    pf_profile_release(profile->profile);
    if (!gone)
        return;
    pf_lock_take(&fs->lock);
    struct pf_instance *instance = pf_map_get(&fs->instances, profile->instance);
    if (instance && instance->profile == profile->profile && instance->listed)
        pf_open_let_go(fs, instance);
    pf_lock_drop(&fs->lock);
}

/* Soon after the start, and now and then. */
static void prune(struct pf_fs *fs)
{
    struct pf_cache *cache = fs->core.cache;
    uint64_t puts = cache ? pf_cache_puts(cache) : 0, now = pf_monotonic_seconds();
    if (!cache || !fs->options.cache_limit ||
        (fs->pruned && now - fs->pruned < PRUNE_SECONDS && puts - fs->pruned_puts < PRUNE_PUTS))
        return;
    pf_cache_prune(cache, fs->options.cache_limit, PF_CACHE_DAYS);
    fs->pruned = now;
    fs->pruned_puts = puts;
}

static void sweep(struct pf_fs *fs)
{
    size_t n;
    struct idle_profile *profiles = idle_profiles(fs, &n);
    pf_lock_drop(&fs->lock);
    for (size_t i = 0; i < n; i++)
        let_go_if_gone(fs, &profiles[i]);
    free(profiles);
    pf_verdicts_save(fs->verdicts);
    prune(fs);
    struct mallinfo2 heap = mallinfo2();
    if (heap.fordblks > TRIM_BYTES)
        malloc_trim(0);
    pf_lock_take(&fs->lock);
}

static void *keep(void *arg)
{
    struct pf_fs *fs = arg;
    pf_lock_take(&fs->lock);
    while (!fs->closing) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SWEEP_SECONDS;
        if (pf_lock_wait_until(&fs->lock, &fs->close, &until) == ETIMEDOUT)
            sweep(fs);
    }
    pf_lock_drop(&fs->lock);
    return NULL;
}

int pf_open_keep(struct pf_fs *fs)
{
    pthread_cond_init(&fs->close, NULL);
    fs->kept = !pthread_create(&fs->keeper, NULL, keep, fs);
    return fs->kept ? 0 : -1;
}

void pf_open_unkeep(struct pf_fs *fs)
{
    if (!fs->kept)
        return;
    pf_lock_take(&fs->lock);
    fs->closing = true;
    pthread_cond_signal(&fs->close);
    pf_lock_drop(&fs->lock);
    pthread_join(fs->keeper, NULL);
    pthread_cond_destroy(&fs->close);
    fs->kept = false;
}

/* Adds the open profiles that are at rest, idle and without a pass, or all others. */
static void add_profiles(struct pf_fs *fs, bool at_rest, struct pf_profile **profiles, size_t *n)
{
    for (size_t i = 0; fs->instances.slots && i <= fs->instances.mask; i++) {
        const struct pf_instance *at = fs->instances.slots[i].value;
        if (at && at->profile && *n < fs->open_instances &&
            (at->listed && !pf_profile_busy(at->profile)) == at_rest)
            profiles[(*n)++] = pf_profile_hold(at->profile);
    }
}

void pf_fs_save(struct pf_fs *fs)
{
    size_t n = 0;
    pf_verdicts_save(fs->verdicts);
    pf_lock_take(&fs->lock);
    struct pf_profile **profiles = calloc(fs->open_instances + 1, sizeof *profiles);
    if (profiles) {
        add_profiles(fs, true, profiles, &n);
        add_profiles(fs, false, profiles, &n); /* last: a thread that hangs may hold a lock of one of these */
    }
    pf_lock_drop(&fs->lock);
    for (size_t i = 0; i < n; i++)
        pf_profile_save(profiles[i]);
    release(profiles, n);
    free(profiles);
}
