/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fs/cache/cache.h"
#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/*
 * Unloads idle profiles, closes their files, and does other background work.
 *
 * The reaper is one thread that selects the work. The reaper never accesses SOURCE and never blocks. Service threads do
 * the work, and may hang, since closing a file may block on a file server. While a thread hangs, tasks for the same
 * device are skipped, and another service thread runs the other tasks.
 */
enum {
    LOADED_MAX = 1024, /* maximum number of loaded profiles; beyond, they are unloaded down to LOADED_LOW */
    LOADED_LOW = LOADED_MAX - 32,
    LOADED_LIMIT = LOADED_MAX + 64, /* from this number on, loading a profile unloads an idle one first */
    HEAP_MAX = 128 << 20, /* maximum heap use in bytes, without the bytes passed to pf_fs_exclude_heap */
    HEAP_EVERY = 32,      /* after so many opened sources and passes, the heap is checked at once */
    RECENT = 4,       /* number of recently used idle profiles that stay loaded regardless of memory use */
    FILES_MS = 10000, /* an idle profile closes its files after this time */
    TICK_MS = 1000,   /* interval of the reaper; also, a service thread busy for longer counts as hanging */
    CACHE_MS = 5000,  /* interval of cache writes and of returning memory */
    PRUNE_SECONDS = 3600,  /* the cache is pruned after this time, or */
    PRUNE_PUTS = 4096,     /* after this many writes to the cache if these come first */
    TRIM_BYTES = 16 << 20, /* minimum amount of free heap memory to return to the system */
    RELIEVED = 16,         /* idle profiles that are unloaded, or whose files are closed, at once */
    RELIEF_MS = 20,        /* maximum wait for descriptors before each retry */
    DESCRIPTORS_MS = 20000 /* an operation is not retried any more after this time */
};

enum service_kind { CLOSE_FILES, UNLOAD_PROFILE, WRITE_CACHE };

struct pf_service_task {
    struct pf_service_task *next;
    enum service_kind kind;
    struct pf_profile *profile; /* a reference */
    dev_t device;               /* device of the profile's source */
};

/* ---- the queue; with fs->lock held -------------------------------------------------------------- */

static void *serve(void *arg);

static void start_service(struct pf_fs *fs)
{
    struct pf_service *service = &fs->reaper.services[fs->reaper.n_services];
    service->fs = fs;
    if (!pthread_create(&service->thread, NULL, serve, service))
        fs->reaper.n_services++;
}

/* Queues a task; takes over the reference to the profile. False: out of memory. */
static bool queue_service_task(struct pf_fs *fs, enum service_kind kind, struct pf_profile *profile,
                               dev_t device)
{
    struct pf_service_task *new = malloc(sizeof *new);
    if (!new)
        return false;
    *new = (struct pf_service_task){NULL, kind, profile, device};
    struct pf_service_task **last = &fs->reaper.tasks;
    while (*last)
        last = &(*last)->next;
    *last = new;
    fs->reaper.cache_tasks += kind == WRITE_CACHE;
    if (!fs->reaper.n_services && !fs->reaper.ending)
        start_service(fs);
    pthread_cond_signal(&fs->reaper.work);
    return true;
}

static bool hangs(const struct pf_service *service)
{
    return service->busy && pf_monotonic_ms() - service->since >= TICK_MS;
}

/* True if a service thread hangs on a file of the device. */
static bool is_hung(const struct pf_fs *fs, dev_t device)
{
    for (size_t i = 0; i < fs->reaper.n_services; i++)
        if (fs->reaper.services[i].device == device && hangs(&fs->reaper.services[i]))
            return true;
    return false;
}

/* Removes and returns the first task that is not for a hanging device, or NULL. */
static struct pf_service_task *take_service_task(struct pf_fs *fs)
{
    struct pf_service_task **at = &fs->reaper.tasks;
    while (*at && (*at)->kind != WRITE_CACHE && is_hung(fs, (*at)->device))
        at = &(*at)->next;
    struct pf_service_task *task = *at;
    if (task)
        *at = task->next;
    return task;
}

/* Adds a service thread if there is work and all threads hang. */
static void add_service(struct pf_fs *fs)
{
    size_t hanging = 0;
    for (size_t i = 0; i < fs->reaper.n_services; i++)
        hanging += hangs(&fs->reaper.services[i]);
    if (fs->reaper.tasks && hanging == fs->reaper.n_services && hanging < PF_SERVICES_MAX)
        start_service(fs);
}

/* ---- service threads ---------------------------------------------------------------------------- */

/* Prunes the cache if pruning is due: soon after the start, then periodically. */
static void prune(struct pf_fs *fs)
{
    struct pf_cache *cache = fs->env.cache;
    uint64_t puts = cache ? pf_cache_puts(cache) : 0, now = pf_monotonic_seconds();
    if (!cache || !fs->options.cache_limit ||
        (fs->pruned && now - fs->pruned < PRUNE_SECONDS && puts - fs->pruned_puts < PRUNE_PUTS))
        return;
    pf_cache_prune(cache, fs->options.cache_limit, PF_CACHE_DAYS);
    fs->pruned = now;
    fs->pruned_puts = puts;
}

static void do_service_task(struct pf_fs *fs, struct pf_service_task *task)
{
    if (task->kind == CLOSE_FILES)
        pf_profile_close_files(task->profile);
    if (task->kind == WRITE_CACHE) {
        pf_probe_results_save(fs->probe_results);
        pf_cache_flush(fs->env.cache);
        prune(fs);
    }
    pf_profile_release(task->profile);
    free(task);
}

static void *serve(void *arg)
{
    struct pf_service *service = arg;
    struct pf_fs *fs = service->fs;
    pf_lock_take(&fs->lock);
    while (!fs->reaper.ending) {
        struct pf_service_task *task = take_service_task(fs);
        if (!task) {
            pf_lock_wait(&fs->lock, &fs->reaper.work);
            continue;
        }
        service->device = task->device;
        service->since = pf_monotonic_ms();
        service->busy = true;
        bool cache_task = task->kind == WRITE_CACHE;
        pf_lock_drop(&fs->lock);
        do_service_task(fs, task);
        pf_lock_take(&fs->lock);
        service->busy = false;
        fs->reaper.cache_tasks -= cache_task;
        fs->reaper.served++;
        pthread_cond_broadcast(&fs->reaper.progress);
    }
    pf_lock_drop(&fs->lock);
    return NULL;
}

/* ---- picking; with fs->lock held ---------------------------------------------------------------- */

/*
 * The least recently used idle version on a device that does not hang; with_files: among those whose files may be open.
 */
static struct pf_version *oldest_idle(const struct pf_fs *fs, bool with_files)
{
    struct pf_version *at = fs->idle.oldest;
    while (at && ((with_files && !at->has_files) || is_hung(fs, at->st.st_dev)))
        at = at->newer;
    return at;
}

static bool close_files_of(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    bool queued = queue_service_task(fs, CLOSE_FILES, pf_profile_hold(version->profile), version->st.st_dev);
    if (!queued)
        pf_profile_release(version->profile); /* not the last reference */
    fs->idle.with_files -= queued;
    version->has_files &= !queued;
    return queued;
}

static bool unload_idle(struct pf_version *version)
{
    if (!queue_service_task(version->fs, UNLOAD_PROFILE, version->profile, version->st.st_dev))
        return false;
    pf_version_detach(version);
    pf_version_free_if_unused(version);
    return true;
}

/*
 * Queues tasks that unload idle profiles whose versions are stale and have no look-up references. Other idle profiles have
 * only their files closed: profiles of stale versions, profiles idle for FILES_MS and, if too many idle profiles have open
 * files, the least recently used ones.
 */
static void pick_files(struct pf_fs *fs)
{
    uint64_t now = pf_monotonic_ms();
    size_t few = fs->idle.with_files > fs->files_max ? fs->files_max / 4 * 3 : SIZE_MAX;
    struct pf_version *next;
    for (struct pf_version *at = fs->idle.oldest; at; at = next) {
        next = at->newer;
        bool stale = pf_version_is_stale(at);
        if (stale && !at->lookups)
            unload_idle(at);
        else if (at->has_files && (stale || now - at->idle_since >= FILES_MS || fs->idle.with_files > few) &&
                 !pf_profile_busy(at->profile))
            close_files_of(at);
    }
}

uint64_t pf_resident_memory(void)
{
    char line[256];
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || !fgets(line, sizeof line, file) || sscanf(line, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

/*
 * The heap use in bytes; 0 if the process has less than HEAP_MAX resident. mallinfo2 walks all free chunks, which takes about a
 * millisecond with 1,000 loaded profiles: it is called only if the limit may be exceeded, and without fs->lock.
 */
static size_t heap_use(void)
{
    if (pf_resident_memory() < HEAP_MAX)
        return 0;
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/* Estimates the number of profiles to unload to get below the heap limit, assuming equal sizes. */
static size_t heap_excess(const struct pf_fs *fs, size_t taken)
{
    size_t excluded = (size_t)atomic_load(&fs->heap_excluded);
    taken -= excluded < taken ? excluded : taken;
    return taken > HEAP_MAX
               ? (size_t)((double)(taken - HEAP_MAX) / (double)taken * (double)fs->loaded_profiles) + 1
               : 0;
}

/* Queues tasks that unload idle profiles if too many profiles are loaded or the heap use, `heap` bytes, is too high. */
static void pick_profiles(struct pf_fs *fs, size_t heap)
{
    /* Profiles that are queued for unloading still use memory: check the heap again when they are unloaded. */
    size_t excess = fs->reaper.tasks ? 0 : heap_excess(fs, heap);
    if (pf_budget_was_exceeded() && excess < RELIEVED)
        excess = RELIEVED;
    if (fs->loaded_profiles > LOADED_MAX && excess < fs->loaded_profiles - LOADED_LOW)
        excess = fs->loaded_profiles - LOADED_LOW;
    struct pf_version *at;
    while (excess && (fs->idle.count > RECENT || fs->loaded_profiles > LOADED_MAX) &&
           (at = oldest_idle(fs, false))) {
        if (!unload_idle(at))
            break;
        excess--;
    }
}

/* ---- the reaper --------------------------------------------------------------------------------- */

static void give_memory_back(void)
{
    struct mallinfo2 heap = mallinfo2();
    if (heap.fordblks > TRIM_BYTES)
        malloc_trim(0);
}

static void look_around(struct pf_fs *fs)
{
    uint64_t now = pf_monotonic_ms();
    fs->heap_seen = pf_opened_and_passed(fs);
    pf_lock_drop(&fs->lock);
    size_t heap = heap_use();
    pf_lock_take(&fs->lock);
    pick_files(fs);
    pick_profiles(fs, heap);
    if (now - fs->reaper.cache_queued >= CACHE_MS && !fs->reaper.cache_tasks) {
        fs->reaper.cache_queued = now;
        queue_service_task(fs, WRITE_CACHE, NULL, 0);
        pf_lock_drop(&fs->lock);
        give_memory_back();
        pf_lock_take(&fs->lock);
    }
    add_service(fs);
    pthread_cond_broadcast(&fs->reaper.work); /* the set of hanging devices may have changed */
}

static void *reap(void *arg)
{
    struct pf_fs *fs = arg;
    pf_lock_take(&fs->lock);
    while (!fs->reaper.ending) {
        struct timespec until = pf_monotonic_after(TICK_MS);
        fs->reaper.woken = false;
        look_around(fs);
        while (!fs->reaper.woken && !fs->reaper.ending &&
               pf_lock_wait_until(&fs->lock, &fs->reaper.wake, &until) != ETIMEDOUT) {
        }
    }
    pf_lock_drop(&fs->lock);
    return NULL;
}

void pf_reaper_init(struct pf_fs *fs)
{
    struct rlimit limit = {.rlim_cur = 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    fs->files_max = limit.rlim_cur < INT32_MAX ? (size_t)limit.rlim_cur / 8 : INT32_MAX;
    fs->reaper.cache_queued = pf_monotonic_ms();
    pthread_cond_init(&fs->reaper.wake, NULL);
    pthread_cond_init(&fs->reaper.work, NULL);
    pthread_cond_init(&fs->reaper.progress, NULL);
}

int pf_reaper_start(struct pf_fs *fs)
{
    pf_lock_take(&fs->lock);
    if (!fs->reaper.started)
        fs->reaper.started = !pthread_create(&fs->reaper.thread, NULL, reap, fs);
    bool started = fs->reaper.started;
    pf_lock_drop(&fs->lock);
    return started ? 0 : -1;
}

void pf_reaper_end(struct pf_fs *fs)
{
    pf_lock_take(&fs->lock);
    fs->reaper.ending = true;
    pthread_cond_signal(&fs->reaper.wake);
    pthread_cond_broadcast(&fs->reaper.work);
    pf_lock_drop(&fs->lock);
    if (fs->reaper.started)
        pthread_join(fs->reaper.thread, NULL);
    fs->reaper.started = false;
    for (size_t i = 0; i < fs->reaper.n_services; i++)
        pthread_join(fs->reaper.services[i].thread, NULL);
    fs->reaper.n_services = 0;
}

void pf_reaper_free(struct pf_fs *fs)
{
    struct pf_service_task *task;
    while ((task = fs->reaper.tasks)) {
        fs->reaper.tasks = task->next;
        pf_profile_release(task->profile);
        free(task);
    }
    pthread_cond_destroy(&fs->reaper.wake);
    pthread_cond_destroy(&fs->reaper.work);
    pthread_cond_destroy(&fs->reaper.progress);
}

/* ---- operations --------------------------------------------------------------------------------- */

void pf_reaper_make_room(struct pf_fs *fs, dev_t device)
{
    struct pf_profile *profile = NULL;
    pf_lock_take(&fs->lock);
    struct pf_version *at = fs->loaded_profiles >= LOADED_LIMIT ? fs->idle.oldest : NULL;
    while (at && at->st.st_dev != device)
        at = at->newer;
    if (at) {
        profile = pf_version_detach(at);
        pf_version_free_if_unused(at);
    }
    pf_lock_drop(&fs->lock);
    pf_profile_release(profile);
}

bool pf_reaper_wants(const struct pf_fs *fs)
{
    return fs->loaded_profiles > LOADED_MAX || fs->idle.with_files > fs->files_max ||
           pf_opened_and_passed(fs) - fs->heap_seen >= HEAP_EVERY || pf_budget_was_exceeded();
}

/*
 * Queues tasks that close the files of idle profiles or, if that queues none, tasks that unload idle profiles.
 * Returns the number of tasks. Called with fs->lock held.
 */
static size_t pick_for_descriptors(struct pf_fs *fs)
{
    size_t n = 0;
    struct pf_version *at;
    while (n < RELIEVED && (at = oldest_idle(fs, true)) && close_files_of(at))
        n++;
    if (n)
        return n;
    while (n < RELIEVED && (at = oldest_idle(fs, false)) && unload_idle(at))
        n++;
    return n;
}

/*
 * Waits for other operations to free descriptors. The wait is randomised by the clock, so that retries do not compete
 * for the same descriptors.
 */
static void wait_for_others(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct timespec wait = {.tv_nsec = now.tv_nsec % (RELIEF_MS * 1000000L)};
    nanosleep(&wait, NULL);
}

bool pf_reaper_relieve(struct pf_fs *fs, uint64_t *since)
{
    uint64_t now = pf_monotonic_ms();
    *since = *since ? *since : now;
    struct timespec until = pf_monotonic_after(RELIEF_MS);
    pf_lock_take(&fs->lock);
    size_t picked = pick_for_descriptors(fs);
    uint64_t wanted = fs->reaper.served + picked;
    while (fs->reaper.n_services && fs->reaper.served < wanted &&
           pf_lock_wait_until(&fs->lock, &fs->reaper.progress, &until) != ETIMEDOUT) {
    }
    struct pf_service_task *task =
        fs->reaper.n_services ? NULL : take_service_task(fs); /* without service threads, do one task here */
    pf_lock_drop(&fs->lock);
    if (task)
        do_service_task(fs, task);
    bool shrunk = pf_virtuals_shrink(fs);
    pf_archives_relieve(fs->archives);
    if (!picked && !shrunk)
        wait_for_others();
    return now - *since < DESCRIPTORS_MS;
}

/* ---- saving ------------------------------------------------------------------------------------- */

/* Appends references to the loaded profiles that are idle and not busy (idle true), or to all others (idle false). */
static void add_profiles(struct pf_fs *fs, bool idle, struct pf_profile **profiles, size_t *n)
{
    for (size_t i = 0; fs->versions.slots && i <= fs->versions.mask; i++) {
        const struct pf_version *at = fs->versions.slots[i].value;
        if (at && at->state == PF_VERSION_LOADED && (at->listed && !pf_profile_busy(at->profile)) == idle)
            profiles[(*n)++] = pf_profile_hold(at->profile);
    }
}

void pf_fs_save(struct pf_fs *fs)
{
    size_t n = 0, n_idle = 0, tasks = 0;
    pf_probe_results_save(fs->probe_results);
    pf_cache_flush(fs->env.cache);
    pf_lock_take(&fs->lock);
    for (struct pf_service_task *task = fs->reaper.tasks; task; task = task->next)
        tasks++;
    struct pf_profile **profiles = calloc(fs->loaded_profiles + tasks + 1, sizeof *profiles);
    for (struct pf_service_task *task = fs->reaper.tasks; task && profiles; task = task->next)
        if (task->kind == UNLOAD_PROFILE)
            profiles[n++] = pf_profile_hold(task->profile);
    if (profiles) {
        add_profiles(fs, true, profiles, &n);
        n_idle = n;
        add_profiles(fs, false, profiles, &n);
    }
    pf_lock_drop(&fs->lock);
    for (size_t i = 0; i < n; i++) {
        pf_profile_save(profiles[i]);
        /* The profiles in use come last, and are written one by one: a hanging thread may hold the lock of the next one. */
        if (i + 1 >= n_idle)
            pf_cache_flush(fs->env.cache);
    }
    while (n) /* later than the writing, since closing a file may hang */
        pf_profile_release(profiles[--n]);
    free(profiles);
}
