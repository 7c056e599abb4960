/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/tree/listing.h"
#include "fs/tree/vfs_private.h"
#include "fs/version.h"

/* .profilefs: what the mount says of itself. */

enum control {
    CONTROL_DIR,
    CONTROL_README,
    CONTROL_PROFILES,
    CONTROL_ARCHIVES,
    CONTROL_STATUS,
    CONTROL_VERSION,
    CONTROL_TABLES,
    CONTROLS
};

static const char *const control_names[] = {
    [CONTROL_README] = "README.txt", [CONTROL_PROFILES] = "profiles.csv", [CONTROL_ARCHIVES] = "archives.csv",
    [CONTROL_STATUS] = "status.txt", [CONTROL_VERSION] = "version",       [CONTROL_TABLES] = "tables",
};

enum { STATUS_JOBS = 24, STATUS_MS = 1000 };

/* Lists of profiles and archives are made anew, both in one walk, when one is looked up and they are older than this. Each has
 * its own number: its bytes never change. */
enum { LISTING_SECONDS = 2 };
enum { LISTED_PROFILES, LISTED_ARCHIVES, LISTS };

struct pf_listing {
    uint32_t number; /* of the present texts; 0: none yet */
    struct pf_buf text[LISTS];
    uint64_t made;      /* monotonic seconds */
    struct pf_job *job; /* making the next one; not held: unlisted before it is over */
    struct pf_error failure;
};

static const char readme[] =
    "profilefs shows each performance profile below here as a folder of text and CSV files.\n"
    "\n"
    "  PROFILE/info.txt               what it is; the primary metric\n"
    "  PROFILE/tables/*.csv           everything, for tools: metrics, threads (or points, runs, snapshots),\n"
    "                                 contexts, values, warnings, and the format's own tables\n"
    "  PROFILE/threads/NAME/*.csv     the same, of one thread (or point, run, snapshot)\n"
    "  PROFILE/contexts/A/B/*.csv     the same, of one calling context; folders nest as calls do\n"
    "  PROFILE/metrics/METRIC/        aggregates of one metric:\n"
    "      contexts.csv threads.csv   per context, per thread\n"
    "      functions.csv hot.txt      flat profile, for tools and for eyes\n"
    "      callers.csv                who calls whom, with the value that goes along\n"
    "      tree.txt stacks.folded     calling-context tree; folded stacks for flame graphs\n"
    "  PROFILE/export/profile.pb      for pprof; trace.json, of time lines: for Perfetto and speedscope\n"
    "  PROFILE/export/*.svg */*.svg   pictures: a metric's flame graph, how it scales, threads over time\n"
    "  PROFILE/primary/metric         a link to the folder of the metric that speaks for the profile\n"
    "  PROFILE/src/                   files that the profile carries, if it does\n"
    "\n"
    "Files that are no profile are shown as they are. A profile that can't be opened holds error.txt.\n"
    "\n"
    "  .profilefs/profiles.csv        all profiles and their formats\n"
    "  .profilefs/archives.csv        what is wrong with which archive\n"
    "  .profilefs/tables/*.csv        all profiles: a row each (summary), their primary metrics' functions, "
    "all warnings\n"
    "  .profilefs/status.txt          what this mount is doing just now\n"
    "  .profilefs/version             the program's version\n"
    "\n"
    "Tables have one header line and one line a row; names come last; an empty cell is no value. Columns of "
    "note:\n"
    "\n"
    "  over_contexts      over which contexts a metric adds up: all, frames (functions, not their loops), "
    "roots\n"
    "                     (inclusive values), none\n"
    "  over_partitions    how threads' values of a context are taken together: sum, min, max, none, or at "
    "ID: the\n"
    "                     value in the one thread (snapshot, ...) of that id\n"
    "  sum mean min max   over the threads that have a value; sum is what over_partitions says\n"
    "  stddev             of the population\n"
    "  imbalance          max x n / sum, n all threads that hold any value of the metric: 1 is balance\n"
    "  count, contexts    how many threads, contexts have a value\n"
    "  exclusive          what a function holds itself; inclusive: with what it calls, outermost calls "
    "alone\n"
    "  ..._percent        of what the exclusive column adds up to; of what the roots hold\n"
    "  caller, callee     names; caller is empty for roots\n"
    "  severity           warning, error (rows are missing), fatal (the file breaks here)\n"
    "  confidence         bits of evidence for the format\n"
    "  dir                the item's folder\n";

static const char version[] = "profilefs " PF_VERSION "\n";

bool pf_control_is(uint64_t ino)
{
    unsigned kind = (unsigned)(ino >> 32 & 0xff);
    return ino >> 40 == 0 && (kind == PF_KIND_CONTROL || kind == PF_KIND_LISTING || kind == PF_KIND_TABLES);
}

bool pf_control_is_status(uint64_t ino)
{
    return ino == pf_ino(0, PF_KIND_CONTROL, CONTROL_STATUS);
}

uint64_t pf_control_ino(void)
{
    return pf_ino(0, PF_KIND_CONTROL, CONTROL_DIR);
}

/* ---- the lists of profiles and archives --------------------------------------------------------- */

static uint64_t list_ino(uint32_t number, uint32_t which)
{
    return pf_ino(0, PF_KIND_LISTING, number * LISTS + which);
}

/* The text that a number stands for; NULL: it is an older one. With fs->lock held. */
static const struct pf_buf *listed(const struct pf_fs *fs, uint32_t item)
{
    return fs->listing && fs->listing->number && fs->listing->number == item / LISTS
               ? &fs->listing->text[item % LISTS]
               : NULL;
}

static int run_listing(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_fs *fs = arg;
    struct pf_buf made[LISTS] = {0};
    int result = pf_list_profiles(fs, pass, &made[LISTED_PROFILES], &made[LISTED_ARCHIVES], error);
    pthread_mutex_lock(&fs->lock);
    struct pf_listing *listing = fs->listing;
    for (unsigned i = 0; i < LISTS && !result; i++) {
        struct pf_buf old = listing->text[i];
        listing->text[i] = made[i];
        made[i] = old;
    }
    if (!result) {
        listing->number = listing->number % (UINT32_MAX / LISTS - 1) + 1;
        listing->made = pf_monotonic_seconds();
    } else if (error->code != ECANCELED) {
        listing->failure = *error;
    }
    pthread_mutex_unlock(&fs->lock);
    for (unsigned i = 0; i < LISTS; i++)
        pf_buf_free(&made[i]);
    return result;
}

static void listing_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct pf_fs *fs = arg;
    (void)job, (void)error;
    pthread_mutex_lock(&fs->lock);
    fs->listing->job = NULL;
    pthread_mutex_unlock(&fs->lock);
}

/* A list that is fresh enough. 0, PF_PARKED or an errno value; with fs->lock held. */
static int need_listing(struct pf_fs *fs, struct pf_job **job)
{
    if (!fs->listing && !(fs->listing = calloc(1, sizeof *fs->listing)))
        return ENOMEM;
    struct pf_listing *listing = fs->listing;
    if (listing->failure.code) {
        int code = listing->failure.code;
        listing->failure.code = 0; /* told once; the next one tries again */
        return code;
    }
    if (listing->number && pf_monotonic_seconds() - listing->made <= LISTING_SECONDS)
        return 0;
    if (listing->job) {
        *job = pf_job_hold(listing->job);
        return PF_PARKED;
    }
    *job = listing->job = pf_job_start(fs->core.pool, "list of profiles", run_listing, listing_over, fs);
    return *job ? PF_PARKED : ENOMEM;
}

/* ---- status ------------------------------------------------------------------------------------- */

static void add_memory(struct pf_buf *out)
{
    char line[4096];
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;
    if (file && fgets(line, sizeof line, file) && sscanf(line, "%*u %lu", &pages) == 1)
        pf_buf_printf(out, "Resident memory: %lu KiB\n", pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
    if (file)
        fclose(file);
}

static char *status_text(struct pf_fs *fs, size_t *size)
{
    struct pf_buf out = {0};
    struct pf_job_status jobs[STATUS_JOBS];
    size_t n = pf_pool_status(fs->core.pool, jobs, STATUS_JOBS);
    pthread_mutex_lock(&fs->lock);
    size_t open = fs->open_instances, entries = fs->entries.count;
    pthread_mutex_unlock(&fs->lock);
    pf_buf_printf(&out, "Uptime: %llu s\n", (unsigned long long)pf_monotonic_seconds() - fs->started);
    pf_buf_printf(&out, "Open profiles: %zu\nKnown entries: %zu\n", open, entries);
    pf_buf_printf(&out, "Block cache: %llu KiB of %llu KiB\n",
                  (unsigned long long)pf_blocks_held(fs->core.blocks) / 1024,
                  (unsigned long long)fs->options.profile.cache / 2 / 1024);
    add_memory(&out);
    pf_buf_printf(&out, "Sandbox: %s\n", fs->sandbox ? fs->sandbox : "none");
    pf_buf_printf(&out, "Passes run: %llu\nPasses now: %zu\n", (unsigned long long)fs->core.passes, n);
    for (size_t i = 0; i < n && i < STATUS_JOBS; i++)
        pf_buf_printf(&out, "  %3u%% %s, %u waiting: %s\n", jobs[i].percent,
                      jobs[i].running ? "running" : "queued", jobs[i].waiters, jobs[i].what);
    *size = out.size;
    return out.failed ? NULL : out.data;
}

/* How large status.txt is: as it was opened last, for who has just done so, else as it would be. */
static size_t status_size(struct pf_fs *fs)
{
    pthread_mutex_lock(&fs->lock);
    bool fresh = fs->status_size && pf_monotonic_ms() - fs->status_read < STATUS_MS;
    size_t size = fresh ? fs->status_size : 0;
    pthread_mutex_unlock(&fs->lock);
    if (!size)
        free(status_text(fs, &size));
    return size;
}

static char *open_status(struct pf_fs *fs, size_t *size)
{
    char *text = status_text(fs, size);
    pthread_mutex_lock(&fs->lock);
    fs->status_size = *size;
    fs->status_read = pf_monotonic_ms();
    pthread_mutex_unlock(&fs->lock);
    return text;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static int control_attr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr)
{
    *attr = (struct pf_attr){.entry_seconds = 1, .attr_seconds = 1};
    struct stat *st = &attr->st;
    uint32_t item = (uint32_t)ino;
    const struct timespec now = {.tv_sec = fs->started_at};
    *st = (struct stat){.st_ino = ino,
                        .st_mode = S_IFREG | 0444,
                        .st_nlink = 1,
                        .st_uid = geteuid(),
                        .st_gid = getegid(),
                        .st_blksize = 4096,
                        .st_mtim = now,
                        .st_ctim = now,
                        .st_atim = now};
    if ((ino >> 32 & 0xff) == PF_KIND_TABLES) {
        int result = pf_tables_stat(fs, item, st);
        if (result)
            return result;
    } else if ((ino >> 32 & 0xff) == PF_KIND_LISTING) {
        pthread_mutex_lock(&fs->lock);
        const struct pf_buf *text = listed(fs, item);
        st->st_size = text ? (off_t)text->size : 0;
        pthread_mutex_unlock(&fs->lock);
        if (!text)
            return ESTALE;
    } else if (item == CONTROL_DIR) {
        st->st_mode = S_IFDIR | 0555;
    } else {
        st->st_size = item == CONTROL_README    ? (off_t)sizeof readme - 1
                      : item == CONTROL_STATUS  ? (off_t)status_size(fs)
                      : item == CONTROL_VERSION ? (off_t)sizeof version - 1
                                                : 0;
    }
    if (pf_control_is_status(ino))
        attr->attr_seconds = 0;
    if (fs->options.others) /* it names what stands in folders that not all may enter */
        st->st_mode &= ~(mode_t)0077;
    st->st_blocks = (st->st_size + 511) / 512;
    return 0;
}

int pf_control_lookup(struct pf_fs *fs, uint64_t parent, const char *name, struct pf_attr *attr,
                      struct pf_job **job)
{
    if (parent == PF_ROOT_INO)
        return control_attr(fs, pf_control_ino(), attr);
    if (parent == pf_tables_ino()) {
        uint64_t ino;
        int result = pf_tables_lookup(fs, name, &ino, job);
        return result ? result : control_attr(fs, ino, attr);
    }
    if (parent != pf_control_ino())
        return ENOTDIR;
    uint32_t item = CONTROL_README;
    while (item < CONTROLS && strcmp(control_names[item], name) != 0)
        item++;
    if (item == CONTROLS)
        return ENOENT;
    if (item == CONTROL_TABLES)
        return control_attr(fs, pf_tables_ino(), attr);
    if (item != CONTROL_PROFILES && item != CONTROL_ARCHIVES)
        return control_attr(fs, pf_ino(0, PF_KIND_CONTROL, item), attr);
    pthread_mutex_lock(&fs->lock);
    int result = need_listing(fs, job);
    uint32_t number = result ? 0 : fs->listing->number;
    pthread_mutex_unlock(&fs->lock);
    uint32_t which = item == CONTROL_ARCHIVES ? LISTED_ARCHIVES : LISTED_PROFILES;
    return result ? result : control_attr(fs, list_ino(number, which), attr);
}

int pf_control_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_job **job)
{
    (void)job;
    return control_attr(fs, ino, attr);
}

bool pf_control_entry(uint64_t ino, uint64_t number, struct pf_dirent *entry)
{
    if (ino == pf_tables_ino())
        return pf_tables_entry(number, entry);
    if (number + CONTROL_README >= CONTROLS)
        return false;
    strcpy(entry->name, control_names[CONTROL_README + number]);
    bool tables = number + CONTROL_README == CONTROL_TABLES;
    entry->ino = tables ? pf_tables_ino() : pf_ino(0, PF_KIND_CONTROL, CONTROL_README + (uint32_t)number);
    entry->type = tables ? DT_DIR : DT_REG;
    return true;
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

int pf_control_read(struct pf_fs *fs, uint64_t ino, char **text, size_t *size)
{
    uint32_t item = (uint32_t)ino;
    if ((ino >> 32 & 0xff) == PF_KIND_LISTING) {
        pthread_mutex_lock(&fs->lock);
        const struct pf_buf *found = listed(fs, item);
        *size = found ? found->size : 0;
        *text = found ? copy_of(found->data, *size) : NULL;
        pthread_mutex_unlock(&fs->lock);
        return !found ? ESTALE : *text ? 0 : ENOMEM;
    }
    switch (item) {
    case CONTROL_DIR:
        return EISDIR;
    case CONTROL_README:
        *size = sizeof readme - 1;
        *text = copy_of(readme, *size);
        break;
    case CONTROL_VERSION:
        *size = sizeof version - 1;
        *text = copy_of(version, *size);
        break;
    case CONTROL_STATUS:
        *text = open_status(fs, size);
        break;
    default:
        return ENOENT;
    }
    return *text ? 0 : ENOMEM;
}

void pf_control_free(struct pf_fs *fs)
{
    for (unsigned i = 0; fs->listing && i < LISTS; i++)
        pf_buf_free(&fs->listing->text[i]);
    free(fs->listing);
}
