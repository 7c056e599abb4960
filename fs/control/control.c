/* SPDX-License-Identifier: MIT */
#include "fs/control/control.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/control/agents.h"
#include "fs/control/tables.h"
#include "fs/snapshot.h"
#include "fs/tree/listing.h"
#include "fs/version.h"

/* .profilefs: information about the mount. The node of a fixed file or folder has the number 0 and an item of enum control_node.
 * The lists and the tables are texts of snapshots. The node of such a text has the number of the snapshot, and the number of the
 * text as its item. */

enum control_node {
    CONTROL_DIR,
    CONTROL_README,
    CONTROL_AGENTS,
    CONTROL_PROFILES,
    CONTROL_ARCHIVES,
    CONTROL_STATUS,
    CONTROL_VERSION,
    CONTROL_TABLES,
    CONTROLS
};

static const char *const control_names[] = {
    [CONTROL_README] = "README.txt",     [CONTROL_AGENTS] = "AGENTS.md",  [CONTROL_PROFILES] = "profiles.csv",
    [CONTROL_ARCHIVES] = "archives.csv", [CONTROL_STATUS] = "status.txt", [CONTROL_VERSION] = "version",
    [CONTROL_TABLES] = "tables",
};

enum { KIND_CONTROL = PF_KIND_VIRTUAL + 1, STATUS_JOBS = 24, STATUS_MS = 1000 };

/* The subjects of snapshots. */
enum subject { LISTING, TABLES };

/* The texts of LISTING. */
enum { LISTED_PROFILES, LISTED_ARCHIVES, LISTING_TEXTS };

/* Seconds until a text's freshness is checked again. */
enum { LISTING_SECONDS = 2, TABLES_SECONDS = 10 };

/* Items of a snapshot's jobs: MAKE_TEXTS makes all texts of the snapshot; CHECK checks whether they are still fresh. */
enum { MAKE_TEXTS, CHECK };

struct control {
    struct pf_fs *fs;
    struct pf_snapshots snapshots;
    struct pf_lock lock;
    /* The paths of the profiles in the last list, and the monotonic time in seconds when it was made (0: no list). Guarded by `lock`. */
    struct pf_buf listed;
    uint64_t listed_at;
    /* The size of the text that the last open of status.txt made, and the monotonic time of that open in ms. Guarded by `lock`. */
    size_t status_size;
    uint64_t status_read;
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
    "      summary.md                 one page on the metric: what to read first\n"
    "      contexts.csv threads.csv   per context, per thread\n"
    "      groups.csv                 per process, rank, node, ...\n"
    "      functions.csv hot.txt      flat profile: CSV, and a readable table\n"
    "      modules.csv files.csv      the same by load module, by source file;\n"
    "      lines.csv                  by source line\n"
    "      callers.csv                who calls whom, with the value of these calls\n"
    "      tree.txt bottom_up.txt     calling-context tree; hottest functions with callers below\n"
    "      stacks.folded              folded stacks for flame graphs\n"
    "  PROFILE/export/profile.pb      for pprof; trace.json, of time lines: for Perfetto and speedscope\n"
    "  PROFILE/export/*.svg */*.svg   pictures: a metric's flame graph, how it scales, threads over time\n"
    "  PROFILE/export/*/callgraph.dot a metric's call graph, for Graphviz\n"
    "  PROFILE/primary/metric         a link to the folder of the primary metric\n"
    "  PROFILE/src/                   files that the profile contains, if any\n"
    "\n"
    "PROFILE/contexts and PROFILE/export are links to folders that are not listed: find, grep -r and tar "
    "skip\n"
    "them; find -L, grep -R, cp -L and tar -h reach them.\n"
    "\n"
    "Files that are not profiles are shown unchanged. A profile that can't be opened has only error.txt.\n"
    "\n"
    "  .profilefs/AGENTS.md           which file answers which question, for readers with only a shell\n"
    "  .profilefs/profiles.csv        all profiles and their formats\n"
    "  .profilefs/archives.csv        problems of archives\n"
    "  .profilefs/tables/*.csv        all profiles: one row each (summary), functions by primary metric, "
    "warnings;\n"
    "                                 times are in ns\n"
    "  .profilefs/status.txt          caches, memory, running passes\n"
    "  .profilefs/version             the program's version\n"
    "\n"
    "Tables have a header line and one line per row; names come last; an empty cell means no value. Some "
    "columns:\n"
    "\n"
    "  over_contexts      over which contexts a metric adds up: all, frames (functions, not their loops), "
    "roots\n"
    "                     (inclusive values), none\n"
    "  over_partitions    how the values of threads are combined: sum, min, max, none, or at ID: the value "
    "of the\n"
    "                     thread (snapshot, ...) with that id\n"
    "  sum mean min max   over the threads that have a value; sum as over_partitions defines\n"
    "  stddev             of the population\n"
    "  imbalance          max x n / sum, where n counts threads with any value of the metric; 1: balanced\n"
    "  count, contexts    number of threads, of contexts with a value\n"
    "  exclusive          value of a function without its callees; inclusive: with them, outermost calls "
    "only\n"
    "  ..._percent        share of the exclusive total; of the total of the roots\n"
    "  functions          number of functions with a frame in a module or file; an empty name: contexts "
    "without one\n"
    "  line, name, file   in lines.csv: a source line, its function, its file\n"
    "  column, value      in groups.csv: a column of the threads' table, and a value that threads share;\n"
    "                     partitions: how many do\n"
    "  caller, callee     names; caller is empty for roots\n"
    "  severity           warning, error (rows are missing), fatal (the file breaks here)\n"
    "  confidence         bits of evidence for the format\n"
    "  dir                the item's folder\n";

static const char version[] = "profilefs " PF_VERSION "\n";

/* ---- snapshots ---------------------------------------------------------------------------------- */

static void free_control_snapshot(struct pf_snapshot *snapshot)
{
    free(snapshot);
}

/* Keeps the paths of a new list for take_listed. Takes ownership of the paths. */
static void keep_listed(struct control *control, struct pf_buf *paths)
{
    pf_lock_take(&control->lock);
    struct pf_buf old = control->listed;
    control->listed = *paths;
    control->listed_at = paths->failed ? 0 : pf_monotonic_seconds();
    pf_lock_drop(&control->lock);
    pf_buf_free(&old);
}

/* Moves the paths of the last list to *paths, which the caller frees. Returns `paths`, or NULL if there is no list or the list is
 * stale. */
static struct pf_buf *take_listed(struct control *control, struct pf_buf *paths)
{
    pf_lock_take(&control->lock);
    bool fresh = control->listed_at && pf_monotonic_seconds() - control->listed_at < LISTING_SECONDS;
    *paths = control->listed;
    control->listed = (struct pf_buf){0};
    control->listed_at = 0;
    pf_lock_drop(&control->lock);
    return fresh ? paths : NULL;
}

static int make_listing(struct control *control, struct pf_snapshot *snapshot, struct pf_error *error)
{
    struct pf_buf profiles = {0}, archives = {0}, paths = {0};
    struct pf_store *texts[LISTING_TEXTS] = {NULL};
    if (pf_list_profiles(control->fs, &profiles, &archives, &paths, error)) {
        pf_buf_free(&profiles);
        pf_buf_free(&archives);
        pf_buf_free(&paths);
        return -1;
    }
    keep_listed(control, &paths);
    texts[LISTED_PROFILES] = pf_snapshot_store(&profiles, error);
    texts[LISTED_ARCHIVES] = pf_snapshot_store(&archives, error);
    if (texts[LISTED_PROFILES] && texts[LISTED_ARCHIVES])
        return pf_snapshot_publish(snapshot, 0, texts, LISTING_TEXTS, error);
    pf_store_free(texts[LISTED_PROFILES]);
    pf_store_free(texts[LISTED_ARCHIVES]);
    return -1;
}

static int make_control_tables(struct control *control, struct pf_snapshot *snapshot, struct pf_error *error)
{
    struct pf_store *texts[PF_CONTROL_TABLES];
    struct pf_buf paths;
    uint64_t digest;
    int result = pf_tables_make(control->fs, take_listed(control, &paths), texts, &digest, error);
    pf_buf_free(&paths);
    if (result)
        return -1;
    pf_lock_take(&control->snapshots.lock);
    snapshot->digest = digest;
    pf_lock_drop(&control->snapshots.lock);
    return pf_snapshot_publish(snapshot, 0, texts, PF_CONTROL_TABLES, error);
}

/* Replaces a snapshot that is stale. A list counts as stale without a check, which would take as long as making a new list. */
static int check_control_snapshot(struct control *control, struct pf_snapshot *snapshot,
                                  struct pf_error *error)
{
    uint64_t digest = 0;
    bool same = false;
    if (snapshot->subject == TABLES) {
        struct pf_buf paths;
        int result = pf_tables_digest(control->fs, take_listed(control, &paths), &digest, error);
        pf_buf_free(&paths);
        if (result)
            return -1;
        pf_lock_take(&control->snapshots.lock);
        same = digest == snapshot->digest;
        pf_lock_drop(&control->snapshots.lock);
    }
    pf_snapshot_checked(snapshot, same);
    return 0;
}

static int make_control_text(struct pf_snapshot *snapshot, uint32_t item, struct pf_error *error)
{
    struct control *control = snapshot->set->owner;
    if (item == CHECK)
        return check_control_snapshot(control, snapshot, error);
    int result = snapshot->subject == LISTING ? make_listing(control, snapshot, error)
                                              : make_control_tables(control, snapshot, error);
    if (!result)
        pf_snapshot_checked(snapshot, true);
    return result;
}

static bool has_control_text(const struct pf_snapshot *snapshot, uint32_t item)
{
    uint64_t limit = snapshot->subject == LISTING ? LISTING_SECONDS : TABLES_SECONDS;
    return item == CHECK ? snapshot->replaced || pf_monotonic_seconds() - snapshot->checked < limit
                         : snapshot->n_texts > 0;
}

static const struct pf_snapshot_ops snapshot_ops = {make_control_text, has_control_text, NULL,
                                                    free_control_snapshot};

/* Returns a reference to a subject's current snapshot, whose texts may not be made yet. Returns NULL if out of memory. */
static struct pf_snapshot *current_snapshot(struct control *control, enum subject subject)
{
    struct pf_snapshot *snapshot = pf_snapshot_by_subject(&control->snapshots, subject);
    if (snapshot)
        return snapshot;
    snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot)
        return NULL;
    snapshot->title = subject == LISTING ? "list of profiles" : "tables of all profiles";
    return pf_snapshot_add(&control->snapshots, snapshot, subject, false);
}

/* Sets *ino to the node of a fresh text; makes the text if necessary. Returns 0 or an errno value. */
static int find_fresh_text(struct control *control, enum subject subject, uint32_t text, uint64_t *ino,
                           struct pf_op *op)
{
    struct pf_snapshots *set = &control->snapshots;
    int result;
    bool replaced;
    do {
        struct pf_snapshot *snapshot = current_snapshot(control, subject);
        if (!snapshot)
            return ENOMEM;
        result = pf_snapshot_need(snapshot, MAKE_TEXTS, op);
        if (!result)
            result = pf_snapshot_need(snapshot, CHECK, op);
        pf_lock_take(&set->lock);
        replaced = snapshot->replaced;
        *ino = pf_ino(snapshot->number, KIND_CONTROL, text);
        pf_lock_drop(&set->lock);
        pf_snapshot_release(snapshot);
    } while (!result && replaced);
    return result;
}

/* Returns the text of a node, and sets *subject to the subject of the text's snapshot. Returns NULL if the snapshot is replaced or
 * the text is evicted. */
static struct pf_store *get_control_text(struct control *control, uint64_t ino, enum subject *subject)
{
    struct pf_snapshot *snapshot = pf_snapshot_by_number(&control->snapshots, (uint32_t)(ino >> 40));
    if (!snapshot)
        return NULL;
    struct pf_store *text = pf_snapshot_text(snapshot, (uint32_t)ino);
    *subject = (enum subject)snapshot->subject;
    pf_snapshot_release(snapshot);
    return text;
}

/* ---- status ------------------------------------------------------------------------------------- */

static char *status_text(struct pf_fs *fs, size_t *size)
{
    struct pf_buf out = {0};
    struct pf_job_status jobs[STATUS_JOBS];
    struct pf_fs_status status;
    struct pf_env *env = pf_fs_env(fs);
    size_t n = pf_pool_status(env->pool, jobs, STATUS_JOBS);
    pf_fs_status(fs, &status);
    pf_buf_printf(&out, "Uptime: %llu s\n", (unsigned long long)(pf_monotonic_seconds() - status.started));
    pf_buf_printf(&out, "Open profiles: %zu\nKnown entries: %zu\n", status.loaded_profiles, status.entries);
    pf_buf_printf(&out, "Block cache: %llu KiB of %llu KiB\n",
                  (unsigned long long)pf_blocks_held(env->blocks) / 1024,
                  (unsigned long long)env->options.cache / 2 / 1024);
    uint64_t resident = pf_resident_memory();
    if (resident != UINT64_MAX)
        pf_buf_printf(&out, "Resident memory: %" PRIu64 " KiB\n", resident / 1024);
    pf_buf_printf(&out, "Sandbox: %s\n", status.sandbox ? status.sandbox : "none");
    pf_buf_printf(&out, "Passes run: %llu\nPasses now: %zu\n", (unsigned long long)env->passes, n);
    for (size_t i = 0; i < n && i < STATUS_JOBS; i++)
        pf_buf_printf(&out, "  %3u%% %s, %u waiting: %s\n", jobs[i].percent,
                      jobs[i].running ? "running" : "queued", jobs[i].waiters, jobs[i].what);
    *size = out.size;
    return out.failed ? NULL : out.data;
}

/* Returns the size of the text of status.txt that was opened within the last second or, if none was, the size of a new text. */
static size_t status_size(struct control *control)
{
    pf_lock_take(&control->lock);
    bool fresh = control->status_size && pf_monotonic_ms() - control->status_read < STATUS_MS;
    size_t size = fresh ? control->status_size : 0;
    pf_lock_drop(&control->lock);
    if (!size)
        free(status_text(control->fs, &size));
    return size;
}

static char *open_status(struct control *control, size_t *size)
{
    char *text = status_text(control->fs, size);
    pf_lock_take(&control->lock);
    control->status_size = *size;
    control->status_read = pf_monotonic_ms();
    pf_lock_drop(&control->lock);
    return text;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static uint64_t node_ino(enum control_node node)
{
    return pf_ino(0, KIND_CONTROL, node);
}

static uint64_t size_of_fixed(struct control *control, enum control_node node)
{
    return node == CONTROL_README    ? sizeof readme - 1
           : node == CONTROL_AGENTS  ? pf_agents_size
           : node == CONTROL_STATUS  ? status_size(control)
           : node == CONTROL_VERSION ? sizeof version - 1
                                     : 0;
}

static int get_control_attr(void *self, uint64_t ino, struct pf_attr *attr, struct pf_op *op)
{
    struct control *control = self;
    struct pf_fs_status status;
    (void)op;
    pf_fs_status(control->fs, &status);
    *attr = (struct pf_attr){.entry_seconds = 1, .attr_seconds = ino == node_ino(CONTROL_STATUS) ? 0 : 1};
    struct stat *st = &attr->st;
    const struct timespec start = {.tv_sec = status.started_at};
    *st = (struct stat){.st_ino = ino,
                        .st_mode = S_IFREG | 0444,
                        .st_nlink = 1,
                        .st_uid = getuid(),
                        .st_gid = getgid(),
                        .st_blksize = 4096,
                        .st_mtim = start,
                        .st_ctim = start,
                        .st_atim = start};
    if (ino >> 40) {
        enum subject subject;
        struct pf_store *text = get_control_text(control, ino, &subject);
        if (!text)
            return ESTALE;
        st->st_size = (off_t)pf_store_size(text);
        pf_store_free(text);
        if (subject == TABLES) /* tables contain rows of profiles that not all users may read */
            st->st_mode = S_IFREG | 0400;
    } else if (ino == node_ino(CONTROL_TABLES)) {
        st->st_mode = S_IFDIR | 0500;
    } else if (ino == node_ino(CONTROL_DIR)) {
        st->st_mode = S_IFDIR | 0555;
    } else {
        st->st_size = (off_t)size_of_fixed(control, (enum control_node)(uint32_t)ino);
    }
    if (pf_fs_options(control->fs)->others) /* lists contain names in folders that not all users may enter */
        st->st_mode &= ~(mode_t)0077;
    st->st_blocks = (st->st_size + 511) / 512;
    return 0;
}

/* Returns the name of entry `number` of .profilefs or .profilefs/tables; NULL after the last entry. */
static const char *name_in(uint64_t folder, uint64_t number)
{
    if (folder == node_ino(CONTROL_TABLES))
        return pf_table_name(number);
    return number + CONTROL_README < CONTROLS ? control_names[CONTROL_README + number] : NULL;
}

static int find_control_folder(void *self, const struct pf_virtual_parent *parent, struct pf_attr *attr,
                               struct pf_op *op)
{
    return parent->ino == PF_ROOT_INO ? get_control_attr(self, node_ino(CONTROL_DIR), attr, op) : ENOENT;
}

static bool is_control_listed(void *self, uint64_t folder, uint64_t profiles, bool beside)
{
    (void)self, (void)profiles, (void)beside;
    return folder == PF_ROOT_INO;
}

static int look_up_control(void *self, uint64_t parent, const char *name, struct pf_attr *attr,
                           struct pf_op *op)
{
    uint32_t number = 0;
    const char *entry;
    if (parent != node_ino(CONTROL_TABLES) && parent != node_ino(CONTROL_DIR))
        return ENOTDIR;
    while ((entry = name_in(parent, number)) && strcmp(entry, name) != 0)
        number++;
    if (!entry)
        return ENOENT;
    uint64_t ino = node_ino(CONTROL_README + number);
    int result = 0;
    if (parent == node_ino(CONTROL_TABLES))
        result = find_fresh_text(self, TABLES, number, &ino, op);
    else if (ino == node_ino(CONTROL_PROFILES))
        result = find_fresh_text(self, LISTING, LISTED_PROFILES, &ino, op);
    else if (ino == node_ino(CONTROL_ARCHIVES))
        result = find_fresh_text(self, LISTING, LISTED_ARCHIVES, &ino, op);
    return result ? result : get_control_attr(self, ino, attr, op);
}

static int open_control_folder(void *self, uint64_t ino, struct pf_op *op)
{
    (void)self, (void)op;
    return ino == node_ino(CONTROL_TABLES) || ino == node_ino(CONTROL_DIR) ? 0 : ENOTDIR;
}

static bool list_control_entry(void *self, uint64_t ino, uint64_t number, struct pf_dirent *entry)
{
    const char *name = name_in(ino, number);
    (void)self;
    if (!name)
        return false;
    strcpy(entry->name, name);
    /* A table gets its node number when it is looked up; this one is a placeholder. */
    entry->ino = node_ino((ino == node_ino(CONTROL_TABLES) ? CONTROLS : CONTROL_README) + (uint32_t)number);
    entry->type = entry->ino == node_ino(CONTROL_TABLES) ? DT_DIR : DT_REG;
    return true;
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static int open_control_file(void *self, uint64_t ino, struct pf_virtual_text *text, struct pf_op *op)
{
    struct control *control = self;
    size_t size = 0;
    (void)op;
    if (ino >> 40) {
        enum subject subject;
        text->store = get_control_text(control, ino, &subject);
        text->size = text->store ? pf_store_size(text->store) : 0;
        return text->store ? 0 : ESTALE;
    }
    switch ((uint32_t)ino) {
    case CONTROL_DIR:
    case CONTROL_TABLES:
        return EISDIR;
    case CONTROL_README:
        size = sizeof readme - 1;
        text->bytes = copy_of(readme, size);
        break;
    case CONTROL_AGENTS:
        size = pf_agents_size;
        text->bytes = copy_of(pf_agents_text, size);
        break;
    case CONTROL_VERSION:
        size = sizeof version - 1;
        text->bytes = copy_of(version, size);
        break;
    case CONTROL_STATUS:
        text->bytes = open_status(control, &size);
        text->direct = true;
        break;
    default:
        return ENOENT;
    }
    text->size = size;
    return text->bytes ? 0 : ENOMEM;
}

static void *make_control(struct pf_fs *fs)
{
    struct control *control = calloc(1, sizeof *control);
    if (control) {
        control->fs = fs;
        pf_lock_init(&control->lock, PF_RANK_CONTROL);
        pf_snapshots_init(&control->snapshots, &snapshot_ops, pf_fs_env(fs)->pool, control);
    }
    return control;
}

static void free_control(void *self)
{
    struct control *control = self;
    pf_snapshots_free(&control->snapshots);
    pf_buf_free(&control->listed);
    pf_lock_destroy(&control->lock);
    free(control);
}

const struct pf_virtual pf_control = {.name = ".profilefs",
                                      .kind = KIND_CONTROL,
                                      .hides = true,
                                      .make = make_control,
                                      .free = free_control,
                                      .find = find_control_folder,
                                      .is_listed = is_control_listed,
                                      .lookup = look_up_control,
                                      .getattr = get_control_attr,
                                      .opendir = open_control_folder,
                                      .entry = list_control_entry,
                                      .open = open_control_file};
