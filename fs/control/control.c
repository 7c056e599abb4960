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

/* For which lists of profiles and archives are believed; and so many bytes of each are held in memory. */
enum { LISTING_SECONDS = 2, LISTING_IN_MEMORY = 4 << 20 };

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
    "PROFILE/contexts and PROFILE/export are links to folders that are not listed: find, grep -r and tar "
    "skip\n"
    "them; find -L, grep -R, cp -L and tar -h reach them.\n"
    "\n"
    "Files that are no profile are shown as they are. A profile that can't be opened holds error.txt.\n"
    "\n"
    "  .profilefs/profiles.csv        all profiles and their formats\n"
    "  .profilefs/archives.csv        what is wrong with which archive\n"
    "  .profilefs/tables/*.csv        all profiles: a row each (summary), their primary metrics' functions, "
    "all warnings;\n"
    "                                 times are in ns\n"
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

/* ---- snapshots ---------------------------------------------------------------------------------- */

/* The one that a node is of, or NULL. */
static struct pf_snapshot *snapshot_of(struct pf_fs *fs, uint64_t ino)
{
    unsigned kind = (unsigned)(ino >> 32 & 0xff);
    return kind == PF_KIND_LISTING ? &fs->listing : kind == PF_KIND_TABLES ? &fs->tables : NULL;
}

/* The text that a number stands for; NULL: it is an older one. With fs->lock held. */
static struct pf_store *text_of(const struct pf_snapshot *snapshot, uint64_t ino)
{
    uint32_t item = (uint32_t)ino;
    bool present = snapshot->number && snapshot->number == item / PF_SNAPSHOT_TEXTS;
    return present ? snapshot->text[item % PF_SNAPSHOT_TEXTS] : NULL;
}

static void free_texts(struct pf_store *text[PF_SNAPSHOT_TEXTS])
{
    for (size_t t = 0; t < PF_SNAPSHOT_TEXTS; t++)
        pf_store_free(text[t]);
}

static int run_snapshot(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_snapshot *snapshot = arg;
    struct pf_store *text[PF_SNAPSHOT_TEXTS] = {NULL};
    uint64_t state = 0;
    int result = snapshot->make(snapshot, pass, text, &state, error);
    for (size_t t = 0; t < PF_SNAPSHOT_TEXTS && text[t] && !result; t++)
        result = pf_store_settle(text[t], error);
    pthread_mutex_lock(&snapshot->fs->lock);
    if (!result) {
        snapshot->looked = pf_monotonic_seconds();
        snapshot->state = state;
    }
    if (!result && text[0]) {
        snapshot->number = snapshot->number % (UINT32_MAX / PF_SNAPSHOT_TEXTS - 1) + 1;
        for (size_t t = 0; t < PF_SNAPSHOT_TEXTS; t++) {
            struct pf_store *old = snapshot->text[t];
            snapshot->text[t] = text[t];
            text[t] = old;
        }
    }
    pthread_mutex_unlock(&snapshot->fs->lock);
    free_texts(text);
    return result;
}

static void snapshot_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct pf_snapshot *snapshot = arg;
    (void)job, (void)error;
    pthread_mutex_lock(&snapshot->fs->lock);
    snapshot->job = NULL;
    pthread_mutex_unlock(&snapshot->fs->lock);
}

/* Makes the snapshot anew if it is too old. 0 or an errno value. With fs->lock held, but not while the operation waits. */
static int need(struct pf_snapshot *snapshot, struct pf_op *op)
{
    struct pf_fs *fs = snapshot->fs;
    uint64_t believed = snapshot == &fs->listing ? LISTING_SECONDS : fs->snapshot_seconds;
    if (snapshot->number && pf_monotonic_seconds() - snapshot->looked < believed)
        return 0;
    int result;
    do {
        struct pf_job *job = snapshot->job ? pf_job_hold(snapshot->job) : NULL;
        if (!job)
            job = snapshot->job =
                pf_job_start(fs->core.pool, snapshot->title, run_snapshot, snapshot_over, snapshot);
        if (!job)
            return ENOMEM;
        pthread_mutex_unlock(&fs->lock);
        result = pf_job_wait(job, op);
        pf_job_release(job);
        pthread_mutex_lock(&fs->lock);
    } while (result && op->error.code == ECANCELED);
    return pf_op_errno(op, result);
}

/* A store of the bytes, which are freed. 0, or -1 with *error filled. */
static int store(struct pf_buf *bytes, struct pf_store **text, struct pf_error *error)
{
    *text = pf_store_new(LISTING_IN_MEMORY);
    int result = *text && !bytes->failed ? pf_store_append(*text, bytes->data, bytes->size, error)
                                         : pf_fail_memory(error);
    pf_buf_free(bytes);
    return result;
}

static int make_listing(const struct pf_snapshot *last, struct pf_pass *pass, struct pf_store **text,
                        uint64_t *state, struct pf_error *error)
{
    struct pf_buf profiles = {0}, archives = {0};
    (void)state;
    int result = pf_list_profiles(last->fs, pass, &profiles, &archives, error);
    if (!result)
        result = store(&profiles, &text[0], error) || store(&archives, &text[1], error) ? -1 : 0;
    pf_buf_free(&profiles);
    pf_buf_free(&archives);
    return result;
}

void pf_control_init(struct pf_fs *fs)
{
    fs->listing = (struct pf_snapshot){
        .fs = fs, .kind = PF_KIND_LISTING, .title = "list of profiles", .make = make_listing};
    fs->tables = (struct pf_snapshot){
        .fs = fs, .kind = PF_KIND_TABLES, .title = "tables of all profiles", .make = pf_tables_make};
}

void pf_control_free(struct pf_fs *fs)
{
    free_texts(fs->listing.text);
    free_texts(fs->tables.text);
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

int pf_control_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr)
{
    *attr = (struct pf_attr){.entry_seconds = 1, .attr_seconds = 1};
    struct stat *st = &attr->st;
    uint32_t item = (uint32_t)ino;
    const struct timespec now = {.tv_sec = fs->started_at};
    *st = (struct stat){.st_ino = ino,
                        .st_mode = S_IFREG | 0444,
                        .st_nlink = 1,
                        .st_uid = getuid(),
                        .st_gid = getgid(),
                        .st_blksize = 4096,
                        .st_mtim = now,
                        .st_ctim = now,
                        .st_atim = now};
    const struct pf_snapshot *snapshot = snapshot_of(fs, ino);
    if (snapshot) {
        pthread_mutex_lock(&fs->lock);
        const struct pf_store *text = text_of(snapshot, ino);
        st->st_size = text ? (off_t)pf_store_size(text) : 0;
        pthread_mutex_unlock(&fs->lock);
        if (!text)
            return ESTALE;
        if (snapshot == &fs->tables) /* they tell of what is in all profiles, whoever may read those */
            st->st_mode = S_IFREG | 0400;
    } else if (item == CONTROL_TABLES) {
        st->st_mode = S_IFDIR | 0500;
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

static uint64_t tables_ino(void)
{
    return pf_ino(0, PF_KIND_CONTROL, CONTROL_TABLES);
}

/* The entries of the two folders by number; NULL past the last. */
static const char *name_in(uint64_t folder, uint64_t number)
{
    if (folder == tables_ino())
        return pf_table_name(number);
    return number + CONTROL_README < CONTROLS ? control_names[CONTROL_README + number] : NULL;
}

int pf_control_lookup(struct pf_fs *fs, uint64_t parent, const char *name, struct pf_attr *attr,
                      struct pf_op *op)
{
    if (parent == PF_ROOT_INO)
        return pf_control_getattr(fs, pf_control_ino(), attr);
    if (parent != tables_ino() && parent != pf_control_ino())
        return ENOTDIR;
    uint32_t number = 0;
    const char *entry;
    while ((entry = name_in(parent, number)) && strcmp(entry, name) != 0)
        number++;
    if (!entry)
        return ENOENT;
    uint32_t item = CONTROL_README + number, text = number;
    struct pf_snapshot *snapshot = &fs->tables;
    if (parent == pf_control_ino()) {
        if (item != CONTROL_PROFILES && item != CONTROL_ARCHIVES)
            return pf_control_getattr(fs, pf_ino(0, PF_KIND_CONTROL, item), attr);
        snapshot = &fs->listing;
        text = item - CONTROL_PROFILES;
    }
    pthread_mutex_lock(&fs->lock);
    int result = need(snapshot, op);
    uint64_t ino = pf_ino(0, snapshot->kind, snapshot->number * PF_SNAPSHOT_TEXTS + text);
    pthread_mutex_unlock(&fs->lock);
    return result ? result : pf_control_getattr(fs, ino, attr);
}

bool pf_control_entry(uint64_t ino, uint64_t number, struct pf_dirent *entry)
{
    const char *name = name_in(ino, number);
    if (!name)
        return false;
    strcpy(entry->name, name);
    entry->ino = ino == tables_ino() ? pf_ino(0, PF_KIND_TABLES, PF_SNAPSHOT_TEXTS + (uint32_t)number)
                                     : pf_ino(0, PF_KIND_CONTROL, CONTROL_README + (uint32_t)number);
    entry->type = entry->ino == tables_ino() ? DT_DIR : DT_REG;
    return true;
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

int pf_control_open(struct pf_fs *fs, uint64_t ino, char **bytes, struct pf_store **text, uint64_t *size)
{
    const struct pf_snapshot *snapshot = snapshot_of(fs, ino);
    size_t length = 0;
    if (snapshot) {
        pthread_mutex_lock(&fs->lock);
        struct pf_store *found = text_of(snapshot, ino);
        *text = found ? pf_store_hold(found) : NULL;
        pthread_mutex_unlock(&fs->lock);
        *size = found ? pf_store_size(found) : 0;
        return found ? 0 : ESTALE;
    }
    switch ((uint32_t)ino) {
    case CONTROL_DIR:
    case CONTROL_TABLES:
        return EISDIR;
    case CONTROL_README:
        length = sizeof readme - 1;
        *bytes = copy_of(readme, length);
        break;
    case CONTROL_VERSION:
        length = sizeof version - 1;
        *bytes = copy_of(version, length);
        break;
    case CONTROL_STATUS:
        *bytes = open_status(fs, &length);
        break;
    default:
        return ENOENT;
    }
    *size = length;
    return *bytes ? 0 : ENOMEM;
}
