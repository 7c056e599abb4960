/* SPDX-License-Identifier: MIT */
#include "fs/runs/runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/runs/comparison.h"
#include "fs/snapshot.h"
#include "fs/text/csv.h"

/* runs/: comparisons of the profiles of one folder of SOURCE. Its content is made on demand: a list of metrics, a
 * summary, and the texts of each metric. The subject of a snapshot is the inode number of the folder. */

enum { KIND_RUNS = PF_KIND_VIRTUAL, FRESH_SECONDS = 10 };

/* The runs of all folders. */
struct all_runs {
    struct pf_fs *fs;
    struct pf_snapshots snapshots;
};

/* The runs of one folder. */
struct runs {
    struct pf_snapshot snapshot;
    uint64_t shown; /* st_ino of runs/ that programs see */
    char *path;     /* of the folder, relative to SOURCE */
    struct pf_run_list list;
    /* Guarded by the lock of the snapshots: */
    bool has_entries; /* the digest covers entries of runs that are directories; set before runs are read */
    bool is_public;   /* all users may read all runs and all files used so far */
    bool listed;      /* `metrics` is filled and will not change */
    struct pf_shared_metrics metrics;
};

/* Nodes by number. From METRIC on, each metric has METRIC_NODES numbers, for its folder in changes/, its texts, and its folder in
 * export/. */
enum runs_node {
    TOP,
    INFO,
    OVERVIEW,
    SUMMARY,
    CHANGES,
    PRIMARY,
    LINK,
    EXPORT,
    EXPORT_LINK,
    METRIC,
    METRIC_NODES = 8
};
enum { CHANGES_DIR, TEXT, EXPORT_DIR = TEXT + PF_RUNS_TEXTS };

/* Items of the snapshot: CHECK checks that the runs are unchanged, LIST makes the list of metrics, SUMMARY its text, and the
 * first text node of a metric makes all texts of the metric. */
enum { CHECK = TOP, LIST = CHANGES };

/* The texts of a snapshot: the summary, then the texts of each metric. */
enum { SUMMARY_TEXT, METRIC_TEXTS };

static const char *const tables[] = {[PF_RUNS_FUNCTIONS] = "function_changes.csv",
                                     [PF_RUNS_VALUES] = "function_values.csv",
                                     [PF_RUNS_CONTEXTS] = "context_changes.csv",
                                     [PF_RUNS_CHANGES] = "changes.txt",
                                     [PF_RUNS_PICTURE] = "runs.svg"};

static bool is_metric(uint32_t node)
{
    return node >= METRIC;
}

static uint32_t node_metric(uint32_t node)
{
    return (node - METRIC) / METRIC_NODES;
}

/* Returns the role of a metric's node: CHANGES_DIR, EXPORT_DIR, or TEXT plus the number of a text. */
static uint32_t node_role(uint32_t node)
{
    return (node - METRIC) % METRIC_NODES;
}

static bool is_runs_folder(uint32_t node)
{
    return is_metric(node)
               ? node_role(node) == CHANGES_DIR || node_role(node) == EXPORT_DIR
               : node == TOP || node == OVERVIEW || node == CHANGES || node == PRIMARY || node == EXPORT;
}

static bool is_link(uint32_t node)
{
    return node == LINK || node == EXPORT_LINK;
}

/* The index of a node's text in the snapshot. The node is SUMMARY or a text of a metric. */
static size_t node_text(uint32_t node)
{
    return node == SUMMARY
               ? SUMMARY_TEXT
               : METRIC_TEXTS + (size_t)node_metric(node) * PF_RUNS_TEXTS + node_role(node) - TEXT;
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static void free_runs(struct pf_snapshot *snapshot)
{
    struct runs *runs = (struct runs *)snapshot;
    pf_shared_metrics_free(&runs->metrics);
    pf_run_list_free(&runs->list);
    free(runs->path);
    free(runs);
}

static struct runs *add_runs_folder(struct all_runs *all, const struct pf_virtual_parent *parent,
                                    struct pf_run_list *list)
{
    struct runs *runs = calloc(1, sizeof *runs);
    char *path = strdup(parent->path);
    if (!runs || !path) {
        free(runs);
        free(path);
        return NULL;
    }
    runs->snapshot.title = "runs of a folder";
    runs->shown = parent->shown;
    runs->path = path;
    runs->list = *list;
    *list = (struct pf_run_list){0};
    runs->snapshot.digest = pf_run_list_digest(all->fs, &runs->list, false);
    runs->is_public = true;
    for (unsigned i = 0; i < runs->list.n; i++)
        runs->is_public &= (runs->list.runs[i].info.st.st_mode & 0444) == 0444;
    return (struct runs *)pf_snapshot_add(&all->snapshots, &runs->snapshot, parent->ino, true);
}

/*
 * Withdraws other users' access if a text was made from files that not all users may read (`is_private`). The kernel caches
 * the old permissions, so runs/ gets another inode number, for which the kernel requests new attributes. The caller holds
 * the lock of the snapshots.
 */
static void make_private(struct all_runs *all, struct runs *runs, bool is_private)
{
    if (!is_private || !pf_fs_options(all->fs)->others || !runs->is_public)
        return;
    runs->is_public = false;
    pf_snapshot_renumber(&runs->snapshot);
}

/* ---- making ------------------------------------------------------------------------------------- */

/* Adds the entries of runs that are directories to the digest of the snapshot, once. */
static void digest_entries(struct all_runs *all, struct runs *runs)
{
    pf_lock_take(&all->snapshots.lock);
    bool has_entries = runs->has_entries;
    pf_lock_drop(&all->snapshots.lock);
    if (has_entries)
        return;
    uint64_t digest = pf_run_list_digest(all->fs, &runs->list, true);
    pf_lock_take(&all->snapshots.lock);
    runs->snapshot.digest = digest;
    runs->has_entries = true;
    pf_lock_drop(&all->snapshots.lock);
}

static int make_metrics_list(struct all_runs *all, struct runs *runs, struct pf_error *error)
{
    struct pf_shared_metrics metrics;
    if (pf_shared_metrics_find(all->fs, &runs->list, &metrics, error))
        return -1;
    pf_lock_take(&all->snapshots.lock);
    runs->metrics = metrics;
    runs->listed = true;
    make_private(all, runs, metrics.is_private);
    pf_lock_drop(&all->snapshots.lock);
    return 0;
}

static int make_summary(struct all_runs *all, struct runs *runs, struct pf_error *error)
{
    struct pf_buf summary = {0};
    bool is_private;
    if (pf_runs_summary(all->fs, &runs->list, &summary, &is_private, error)) {
        pf_buf_free(&summary);
        return -1;
    }
    struct pf_store *text = pf_snapshot_store(&summary, error);
    if (!text)
        return -1;
    pf_lock_take(&all->snapshots.lock);
    make_private(all, runs, is_private);
    pf_lock_drop(&all->snapshots.lock);
    return pf_snapshot_publish(&runs->snapshot, SUMMARY_TEXT, &text, 1, error);
}

static int make_metric(struct all_runs *all, struct runs *runs, uint32_t m, struct pf_error *error)
{
    struct pf_runs_texts texts;
    if (pf_runs_compare(all->fs, &runs->list, &runs->metrics.metrics[m], &texts, error))
        return -1;
    pf_lock_take(&all->snapshots.lock);
    make_private(all, runs, texts.is_private);
    pf_lock_drop(&all->snapshots.lock);
    return pf_snapshot_publish(&runs->snapshot, METRIC_TEXTS + (size_t)m * PF_RUNS_TEXTS, texts.text,
                               PF_RUNS_TEXTS, error);
}

/* Lists the runs again, and replaces the snapshot if their digest has changed. A transient error counts as no change. */
static void compare_run_list(struct all_runs *all, struct runs *runs)
{
    struct pf_run_list list = {0};
    struct pf_folder *folder = pf_folder_open(pf_fs_env(all->fs)->top, *runs->path ? runs->path : ".");
    int result = folder ? pf_run_list_read(all->fs, folder, runs->path, &list) : errno;
    pf_folder_free(folder);
    pf_lock_take(&all->snapshots.lock);
    bool has_entries = runs->has_entries;
    uint64_t digest = runs->snapshot.digest;
    pf_lock_drop(&all->snapshots.lock);
    bool same =
        pf_is_transient(result) || (!result && pf_run_list_digest(all->fs, &list, has_entries) == digest);
    pf_run_list_free(&list);
    pf_snapshot_checked(&runs->snapshot, same);
}

static int make_runs_text(struct pf_snapshot *snapshot, uint32_t node, struct pf_error *error)
{
    struct all_runs *all = snapshot->set->owner;
    struct runs *runs = (struct runs *)snapshot;
    if (node == CHECK)
        return compare_run_list(all, runs), 0;
    digest_entries(all, runs);
    return is_metric(node)   ? make_metric(all, runs, node_metric(node), error)
           : node == SUMMARY ? make_summary(all, runs, error)
                             : make_metrics_list(all, runs, error);
}

static bool has_runs_text(const struct pf_snapshot *snapshot, uint32_t node)
{
    const struct all_runs *all = snapshot->set->owner;
    uint64_t limit = pf_fs_options(all->fs)->always_look ? 0 : FRESH_SECONDS;
    if (node == CHECK)
        return snapshot->replaced || pf_monotonic_seconds() - snapshot->checked < limit;
    if (node == LIST)
        return ((const struct runs *)snapshot)->listed;
    size_t text = node_text(node);
    return text < snapshot->n_texts && snapshot->texts[text];
}

/* True for CHECK, which only lists one folder and is therefore made on the operation's thread. As a job, CHECK would make a look-up
 * of runs/ wait for passes over other profiles. */
static bool is_check(uint32_t node)
{
    return node == CHECK;
}

static const struct pf_snapshot_ops snapshot_ops = {make_runs_text, has_runs_text, is_check, free_runs};

/*
 * Checks that the runs are unchanged, unless they were checked in the last FRESH_SECONDS (with always_look: always). Returns 0,
 * ESTALE, or another errno value.
 */
static int check_runs(struct all_runs *all, struct runs *runs, struct pf_op *op)
{
    int result = pf_snapshot_need(&runs->snapshot, CHECK, op);
    pf_lock_take(&all->snapshots.lock);
    bool replaced = runs->snapshot.replaced;
    pf_lock_drop(&all->snapshots.lock);
    return result ? result : replaced ? ESTALE : 0;
}

/* Sets *runs to a reference to the runs of a node. Returns 0, ESTALE if the runs have changed, or another errno value. */
static int enter_runs(struct all_runs *all, uint64_t ino, struct runs **runs, struct pf_op *op)
{
    *runs = (struct runs *)pf_snapshot_by_number(&all->snapshots, (uint32_t)(ino >> 40));
    int result = *runs ? check_runs(all, *runs, op) : ESTALE;
    if (result && *runs)
        pf_snapshot_release(&(*runs)->snapshot);
    return result;
}

/* Makes the items that searching or reading a node requires. Returns 0 or an errno value. */
static int need_node(struct runs *runs, uint32_t node, struct pf_op *op)
{
    if (node == TOP || node == INFO || node == OVERVIEW || node == EXPORT_LINK)
        return 0;
    int result = pf_snapshot_need(&runs->snapshot, node == SUMMARY ? SUMMARY : LIST, op);
    if (result || !is_metric(node))
        return result;
    if (node_metric(node) >= runs->metrics.n || node_role(node) > EXPORT_DIR)
        return ENOENT;
    /* One job makes all texts of a metric. */
    return is_runs_folder(node) ? 0 : pf_snapshot_need(&runs->snapshot, node - node_role(node) + TEXT, op);
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void add_runs_info(const struct runs *runs, struct pf_buf *out)
{
    const struct pf_run_list *list = &runs->list;
    if (list->too_many) {
        pf_buf_printf(out, "Runs: more than %d\nMessage: at most %d profiles are compared\n", PF_RUNS_MOST,
                      PF_RUNS_MOST);
        return;
    }
    pf_buf_printf(out, "Runs: %u\n", list->n);
    pf_buf_str(out, "First: ");
    pf_escape(out, list->runs[0].name, strlen(list->runs[0].name));
    pf_buf_str(out, "\nLast: ");
    pf_escape(out, list->runs[list->n - 1].name, strlen(list->runs[list->n - 1].name));
    pf_buf_str(out, "\nOrder: by name, as ls -v\n");
}

/* Appends a text that is generated on each read. Returns false, with nothing appended, if the snapshot holds the text. */
static bool add_small_text(const struct runs *runs, uint32_t node, struct pf_buf *out)
{
    if (node == INFO)
        add_runs_info(runs, out);
    else if (node == LINK && runs->metrics.primary >= 0) {
        pf_buf_str(out, "../changes/");
        pf_buf_str(out, runs->metrics.metrics[runs->metrics.primary].dir);
    } else if (node == EXPORT_LINK) {
        pf_buf_str(out, ".export");
    }
    return !is_metric(node) && node != SUMMARY;
}

/* The size of a node whose items have been made. */
static uint64_t size_of(const struct runs *runs, uint32_t node)
{
    struct pf_buf small = {0};
    if (is_runs_folder(node))
        return 0;
    struct pf_store *text =
        add_small_text(runs, node, &small) ? NULL : pf_snapshot_text(&runs->snapshot, node_text(node));
    uint64_t size = text ? pf_store_size(text) : small.size;
    pf_store_free(text);
    pf_buf_free(&small);
    return size;
}

static void fill_attr(struct all_runs *all, const struct runs *runs, uint32_t node, struct pf_attr *attr)
{
    pf_lock_take(&all->snapshots.lock);
    mode_t mode = runs->is_public ? 0444 : 0400;
    uint32_t number = runs->snapshot.number;
    pf_lock_drop(&all->snapshots.lock);
    const struct timespec *newest = &runs->list.runs[0].info.st.st_mtim;
    for (unsigned i = 1; i < runs->list.n; i++) {
        const struct timespec *at = &runs->list.runs[i].info.st.st_mtim;
        if (at->tv_sec > newest->tv_sec)
            newest = at;
    }
    *attr = (struct pf_attr){.entry_seconds = 1, .attr_seconds = 1, .shown = node == TOP ? runs->shown : 0};
    attr->st = (struct stat){.st_ino = pf_ino(number, KIND_RUNS, node),
                             .st_mode = is_runs_folder(node) ? S_IFDIR | mode | mode >> 2
                                        : is_link(node)      ? S_IFLNK | 0777
                                                             : S_IFREG | mode,
                             .st_nlink = 1,
                             .st_uid = getuid(),
                             .st_gid = getgid(),
                             .st_blksize = 4096,
                             .st_size = (off_t)size_of(runs, node),
                             .st_atim = *newest,
                             .st_mtim = *newest,
                             .st_ctim = *newest};
    attr->st.st_blocks = (attr->st.st_size + 511) / 512;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Entry number i of a folder whose items have been made. Returns false after the last entry. */
static bool entry_of(const struct runs *runs, uint32_t folder, uint64_t i, const char **name, uint32_t *node)
{
    static const struct {
        uint32_t folder, node;
        const char *name;
    } fixed[] = {{TOP, INFO, "info.txt"},
                 {TOP, OVERVIEW, "overview"},
                 {TOP, CHANGES, "changes"},
                 {TOP, PRIMARY, "primary"},
                 {TOP, EXPORT_LINK, "export"},
                 {TOP, EXPORT, ".export"},
                 {OVERVIEW, SUMMARY, "profiles_summary.csv"}};
    size_t n = runs->list.too_many ? 1 : sizeof fixed / sizeof *fixed;
    for (size_t f = 0; f < n; f++)
        if (fixed[f].folder == folder && i-- == 0) {
            *name = fixed[f].name;
            *node = fixed[f].node;
            return true;
        }
    *name = NULL;
    if (folder == PRIMARY && i == 0 && runs->metrics.primary >= 0) {
        *name = "metric";
        *node = LINK;
    } else if ((folder == CHANGES || folder == EXPORT) && i < runs->metrics.n) {
        *name = runs->metrics.metrics[i].dir;
        *node = METRIC + (uint32_t)i * METRIC_NODES + (folder == CHANGES ? CHANGES_DIR : EXPORT_DIR);
    } else if (is_metric(folder) && (node_role(folder) == EXPORT_DIR ? i == 0 : i < PF_RUNS_PICTURE)) {
        unsigned text = node_role(folder) == EXPORT_DIR ? PF_RUNS_PICTURE : (unsigned)i;
        *name = tables[text];
        *node = folder - node_role(folder) + TEXT + text;
    }
    return *name != NULL;
}

static int find_runs_folder(void *self, const struct pf_virtual_parent *parent, struct pf_attr *attr,
                            struct pf_op *op)
{
    struct all_runs *all = self;
    struct pf_run_list list;
    struct runs *runs = (struct runs *)pf_snapshot_by_subject(&all->snapshots, parent->ino);
    int result = !runs ? 0 : strcmp(runs->path, parent->path) != 0 ? ESTALE : check_runs(all, runs, op);
    if (result) {
        pf_snapshot_release(&runs->snapshot);
        runs = NULL;
    }
    if (result && result != ESTALE)
        return result;
    if (!runs) {
        result = pf_run_list_read(all->fs, parent->open, parent->path, &list);
        if (result)
            return result;
        runs = add_runs_folder(all, parent, &list);
        pf_run_list_free(&list);
    }
    if (!runs)
        return ENOMEM;
    fill_attr(all, runs, TOP, attr);
    pf_snapshot_release(&runs->snapshot);
    return 0;
}

static bool is_runs_listed(void *self, uint64_t folder, uint64_t profiles, bool beside)
{
    (void)self, (void)folder;
    return profiles >= PF_RUNS_LEAST && !beside;
}

static int look_up_runs(void *self, uint64_t parent, const char *name, struct pf_attr *attr, struct pf_op *op)
{
    struct all_runs *all = self;
    struct runs *runs;
    int result = enter_runs(all, parent, &runs, op);
    if (result)
        return result;
    const char *entry;
    uint32_t node = 0;
    result = is_runs_folder((uint32_t)parent) ? need_node(runs, (uint32_t)parent, op) : ENOTDIR;
    for (uint64_t i = 0; !result; i++) {
        if (!entry_of(runs, (uint32_t)parent, i, &entry, &node))
            result = ENOENT;
        else if (!strcmp(entry, name))
            break;
    }
    if (!result)
        result = is_runs_folder(node) ? 0 : need_node(runs, node, op);
    if (!result)
        fill_attr(all, runs, node, attr);
    pf_snapshot_release(&runs->snapshot);
    return result;
}

static int get_runs_attr(void *self, uint64_t ino, struct pf_attr *attr, struct pf_op *op)
{
    struct all_runs *all = self;
    struct runs *runs;
    int result = enter_runs(all, ino, &runs, op);
    if (result)
        return result;
    result = is_runs_folder((uint32_t)ino) ? 0 : need_node(runs, (uint32_t)ino, op);
    if (!result)
        fill_attr(all, runs, (uint32_t)ino, attr);
    pf_snapshot_release(&runs->snapshot);
    return result;
}

static int open_runs_folder(void *self, uint64_t ino, struct pf_op *op)
{
    struct all_runs *all = self;
    struct runs *runs;
    int result = enter_runs(all, ino, &runs, op);
    if (result)
        return result;
    result = is_runs_folder((uint32_t)ino) ? need_node(runs, (uint32_t)ino, op) : ENOTDIR;
    pf_snapshot_release(&runs->snapshot);
    return result;
}

static bool list_runs_entry(void *self, uint64_t ino, uint64_t number, struct pf_dirent *entry)
{
    struct all_runs *all = self;
    const char *name;
    uint32_t node;
    /* open_runs_folder has checked the runs. */
    struct runs *runs = (struct runs *)pf_snapshot_by_number(&all->snapshots, (uint32_t)(ino >> 40));
    /* EXPORT, the target of the link EXPORT_LINK, is the last entry of runs/ and is not listed. */
    bool more = runs && entry_of(runs, (uint32_t)ino, number, &name, &node) && node != EXPORT;
    if (more) {
        strcpy(entry->name, name);
        entry->ino = pf_ino((uint32_t)(ino >> 40), KIND_RUNS, node);
        entry->type = is_runs_folder(node) ? DT_DIR : is_link(node) ? DT_LNK : DT_REG;
    }
    if (runs)
        pf_snapshot_release(&runs->snapshot);
    return more;
}

/* Generates a small text. Returns 0, EINVAL if the node has none, or ENOMEM. */
static int copy_small_text(const struct runs *runs, uint32_t node, char **bytes, uint64_t *size)
{
    struct pf_buf small = {0};
    if (!add_small_text(runs, node, &small))
        return EINVAL;
    pf_buf_char(&small, '\0');
    *bytes = small.data;
    *size = small.size - 1;
    return small.failed ? ENOMEM : 0;
}

static int open_runs_file(void *self, uint64_t ino, struct pf_virtual_text *text, struct pf_op *op)
{
    struct all_runs *all = self;
    uint32_t node = (uint32_t)ino;
    struct runs *runs;
    int result = enter_runs(all, ino, &runs, op);
    if (result)
        return result;
    result = is_runs_folder(node) ? EISDIR : need_node(runs, node, op);
    if (!result && copy_small_text(runs, node, &text->bytes, &text->size) == ENOMEM)
        result = ENOMEM;
    if (!result && !text->bytes) {
        text->store = pf_snapshot_text(&runs->snapshot, node_text(node));
        text->size = text->store ? pf_store_size(text->store) : 0;
        result = text->store ? 0 : ESTALE;
    }
    pf_snapshot_release(&runs->snapshot);
    return result;
}

static int read_runs_link(void *self, uint64_t ino, char **target, struct pf_op *op)
{
    struct all_runs *all = self;
    uint64_t size;
    if (!is_link((uint32_t)ino))
        return EINVAL;
    struct runs *runs;
    int result = enter_runs(all, ino, &runs, op);
    if (result)
        return result;
    result = need_node(runs, (uint32_t)ino, op);
    if (!result)
        result = copy_small_text(runs, (uint32_t)ino, target, &size);
    pf_snapshot_release(&runs->snapshot);
    return result;
}

/* ---- the folders' state ------------------------------------------------------------------------- */

static void *make_all_runs(struct pf_fs *fs)
{
    struct all_runs *all = calloc(1, sizeof *all);
    if (all) {
        all->fs = fs;
        pf_snapshots_init(&all->snapshots, &snapshot_ops, pf_fs_env(fs)->pool, all);
    }
    return all;
}

static void free_all_runs(void *self)
{
    struct all_runs *all = self;
    pf_snapshots_free(&all->snapshots);
    free(all);
}

static bool shrink_all(void *self)
{
    return pf_snapshots_shrink(&((struct all_runs *)self)->snapshots);
}

const struct pf_virtual pf_runs = {.name = "runs",
                                   .kind = KIND_RUNS,
                                   .make = make_all_runs,
                                   .free = free_all_runs,
                                   .find = find_runs_folder,
                                   .is_listed = is_runs_listed,
                                   .lookup = look_up_runs,
                                   .getattr = get_runs_attr,
                                   .opendir = open_runs_folder,
                                   .entry = list_runs_entry,
                                   .open = open_runs_file,
                                   .readlink = read_runs_link,
                                   .shrink = shrink_all};
