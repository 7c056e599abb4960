/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/runs/run_snapshots.h"
#include "fs/text/csv.h"

/*
 * runs/: what the profiles of one folder of SOURCE have in common. What it holds is made when it is asked for: a list of metrics, a
 * summary, the texts of each metric.
 */

/*
 * What stands in it, by number. From METRIC on, for each metric: its folder in changes/, its texts, its folder in export/.
 */
enum node {
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
enum { CHANGES_DIR, TEXT, EXPORT_DIR = TEXT + PF_RUNS_TABLES };

static const char *const tables[] = {[PF_RUNS_FUNCTIONS] = "function_changes.csv",
                                     [PF_RUNS_VALUES] = "function_values.csv",
                                     [PF_RUNS_CONTEXTS] = "context_changes.csv",
                                     [PF_RUNS_CHANGES] = "changes.txt",
                                     [PF_RUNS_PICTURE] = "runs.svg"};

bool pf_runs_is(uint64_t ino)
{
    return (ino >> 32 & 0xff) == PF_KIND_RUNS;
}

static bool is_metric(uint32_t node)
{
    return node >= METRIC;
}

static uint32_t metric_of(uint32_t node)
{
    return (node - METRIC) / METRIC_NODES;
}

/* Of a metric's node: CHANGES_DIR, EXPORT_DIR, or from TEXT on its texts. */
static uint32_t part_of(uint32_t node)
{
    return (node - METRIC) % METRIC_NODES;
}

static bool is_folder(uint32_t node)
{
    return is_metric(node)
               ? part_of(node) == CHANGES_DIR || part_of(node) == EXPORT_DIR
               : node == TOP || node == OVERVIEW || node == CHANGES || node == PRIMARY || node == EXPORT;
}

static bool is_link(uint32_t node)
{
    return node == LINK || node == EXPORT_LINK;
}

/* ---- making ------------------------------------------------------------------------------------- */

struct task {
    struct pf_fs *fs;
    struct pf_runs *runs; /* used */
    uint32_t wanted;
};

/* From now on it matters what is in members that are directories. */
static void look_inside(struct task *task)
{
    struct pf_runs *runs = task->runs;
    if (runs->inside) /* jobs alone change it, one at a time */
        return;
    uint64_t state = pf_members_state(task->fs, &runs->members, true);
    pthread_mutex_lock(&task->fs->lock);
    runs->state = state;
    runs->inside = true;
    pthread_mutex_unlock(&task->fs->lock);
}

static int make_list(struct task *task, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_shared_metrics metrics;
    struct pf_runs *runs = task->runs;
    if (pf_shared_find(task->fs, &runs->members, pass, &metrics, error))
        return -1;
    struct pf_runs_texts *texts = calloc(metrics.n + 1, sizeof *texts);
    if (!texts) {
        pf_shared_free(&metrics);
        return pf_fail_memory(error);
    }
    pthread_mutex_lock(&task->fs->lock);
    runs->metrics = metrics;
    runs->texts = texts;
    runs->listed = true;
    pf_runs_close_off(task->fs, runs, metrics.closed);
    pthread_mutex_unlock(&task->fs->lock);
    return 0;
}

static int make_summary(struct task *task, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_buf summary = {0};
    bool closed;
    if (pf_runs_summary(task->fs, &task->runs->members, pass, &summary, &closed, error)) {
        pf_buf_free(&summary);
        return -1;
    }
    pthread_mutex_lock(&task->fs->lock);
    task->runs->summary = summary;
    task->runs->summarised = true;
    pf_runs_close_off(task->fs, task->runs, closed);
    pthread_mutex_unlock(&task->fs->lock);
    return 0;
}

static int make_metric(struct task *task, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_runs *runs = task->runs;
    uint32_t m = metric_of(task->wanted);
    struct pf_runs_texts texts;
    if (pf_runs_make(task->fs, &runs->members, &runs->metrics.metrics[m], pass, &texts, error))
        return -1;
    pthread_mutex_lock(&task->fs->lock);
    runs->texts[m] = texts;
    pf_runs_close_off(task->fs, runs, texts.closed);
    runs->held += pf_runs_texts_size(&texts);
    pf_runs_limit(task->fs);
    pthread_mutex_unlock(&task->fs->lock);
    return 0;
}

static int run_task(void *arg, struct pf_pass *pass, struct pf_error *error)
{
    struct task *task = arg;
    look_inside(task);
    return is_metric(task->wanted)   ? make_metric(task, pass, error)
           : task->wanted == SUMMARY ? make_summary(task, pass, error)
                                     : make_list(task, pass, error);
}

static void task_over(void *arg, struct pf_job *job, const struct pf_error *error)
{
    struct task *task = arg;
    (void)job, (void)error;
    pthread_mutex_lock(&task->fs->lock);
    task->runs->job = NULL;
    pthread_mutex_unlock(&task->fs->lock);
    pf_runs_put(task->fs, task->runs);
    free(task);
}

/* Starts a job and lists it. NULL: out of memory. With fs->lock held. */
static struct pf_job *start_job(struct pf_fs *fs, struct pf_runs *runs, uint32_t wanted)
{
    struct task *task = malloc(sizeof *task);
    if (!task)
        return NULL;
    *task = (struct task){fs, runs, wanted};
    runs->uses++;
    runs->job = pf_job_start(fs->core.pool, "runs of a folder", run_task, task_over, task);
    if (runs->job)
        return runs->job;
    runs->uses--;
    free(task);
    return NULL;
}

/*
 * Starts a job, or joins the one that runs for it, whatever that makes, and waits until it is over. 0: the caller looks whether what it
 * needs is there; or an errno value. With fs->lock held, but not while the operation waits.
 */
static int wait_for_job(struct pf_fs *fs, struct pf_runs *runs, uint32_t wanted, struct pf_op *op)
{
    bool own = !runs->job;
    struct pf_job *job = own ? start_job(fs, runs, wanted) : pf_job_hold(runs->job);
    if (!job)
        return ENOMEM;
    pthread_mutex_unlock(&fs->lock);
    int result = pf_job_wait(job, op);
    pf_job_release(job);
    pthread_mutex_lock(&fs->lock);
    bool again = result && op->error.code != EINTR && (!own || op->error.code == ECANCELED);
    return again ? 0 : pf_op_errno(op, result);
}

/* Makes what must be there before a node can be searched or read. 0 or an errno value. */
static int need(struct pf_fs *fs, struct pf_runs *runs, uint32_t node, struct pf_op *op)
{
    int result = 0;
    if (node == TOP || node == INFO || node == OVERVIEW || node == EXPORT_LINK)
        return 0;
    pthread_mutex_lock(&fs->lock);
    while (!result && !(node == SUMMARY ? runs->summarised : runs->listed))
        result = wait_for_job(fs, runs, node == SUMMARY ? SUMMARY : CHANGES, op);
    if (!result && is_metric(node) && (metric_of(node) >= runs->metrics.n || part_of(node) > EXPORT_DIR))
        result = ENOENT;
    while (!result && is_metric(node) && !is_folder(node) && !runs->texts[metric_of(node)].table[0])
        result = wait_for_job(fs, runs, node, op);
    pthread_mutex_unlock(&fs->lock);
    return result;
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void add_info(const struct pf_runs *runs, struct pf_buf *out)
{
    const struct pf_members *members = &runs->members;
    if (members->too_many) {
        pf_buf_printf(out, "Runs: more than %d\nMessage: at most %d profiles are compared\n", PF_MEMBERS_MOST,
                      PF_MEMBERS_MOST);
        return;
    }
    pf_buf_printf(out, "Runs: %u\n", members->n);
    pf_buf_str(out, "First: ");
    pf_escape(out, members->members[0].name, strlen(members->members[0].name));
    pf_buf_str(out, "\nLast: ");
    pf_escape(out, members->members[members->n - 1].name, strlen(members->members[members->n - 1].name));
    pf_buf_str(out, "\nOrder: by name, as ls -v\n");
}

/* A small text; the caller frees it. false: the node is a metric's table. */
static bool small_text(struct pf_runs *runs, uint32_t node, struct pf_buf *out)
{
    if (node == INFO)
        add_info(runs, out);
    else if (node == SUMMARY)
        pf_buf_add(out, runs->summary.data, runs->summary.size);
    else if (node == LINK && runs->metrics.primary >= 0) {
        pf_buf_str(out, "../changes/");
        pf_buf_str(out, runs->metrics.metrics[runs->metrics.primary].dir);
    } else if (node == EXPORT_LINK) {
        pf_buf_str(out, ".export");
    }
    return !is_metric(node);
}

static uint64_t size_of(struct pf_runs *runs, uint32_t node)
{
    struct pf_buf text = {0};
    if (is_folder(node))
        return 0;
    if (is_metric(node))
        return pf_store_size(runs->texts[metric_of(node)].table[part_of(node) - TEXT]);
    small_text(runs, node, &text);
    uint64_t size = text.size;
    pf_buf_free(&text);
    return size;
}

static void fill_attr(struct pf_runs *runs, uint32_t node, struct pf_attr *attr)
{
    mode_t mode = runs->everybodys ? 0444 : 0400;
    const struct timespec *newest = &runs->members.members[0].found.st.st_mtim;
    for (unsigned i = 1; i < runs->members.n; i++) {
        const struct timespec *at = &runs->members.members[i].found.st.st_mtim;
        if (at->tv_sec > newest->tv_sec)
            newest = at;
    }
    *attr = (struct pf_attr){.entry_seconds = 1, .attr_seconds = 1, .shown = node == TOP ? runs->shown : 0};
    attr->st = (struct stat){.st_ino = pf_ino(runs->id, PF_KIND_RUNS, node),
                             .st_mode = is_folder(node) ? S_IFDIR | mode | mode >> 2
                                        : is_link(node) ? S_IFLNK | 0777
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

/* Entry number i of a folder, which is ready. False past the end. */
static bool entry_of(const struct pf_runs *runs, uint32_t folder, uint64_t i, const char **name,
                     uint32_t *node)
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
    size_t n = runs->members.too_many ? 1 : sizeof fixed / sizeof *fixed;
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
    } else if (is_metric(folder) && (part_of(folder) == EXPORT_DIR ? i == 0 : i < PF_RUNS_PICTURE)) {
        unsigned text = part_of(folder) == EXPORT_DIR ? PF_RUNS_PICTURE : (unsigned)i;
        *name = tables[text];
        *node = folder - part_of(folder) + TEXT + text;
    }
    return *name != NULL;
}

int pf_runs_present(struct pf_fs *fs, const struct pf_folder *folder, const struct pf_buf *names)
{
    return fs->options.no_runs ? ENOENT : pf_members_suffice(fs, folder, names);
}

int pf_runs_find(struct pf_fs *fs, uint64_t folder, const char *path, const struct pf_folder *open,
                 struct pf_attr *attr)
{
    struct pf_members members;
    pthread_mutex_lock(&fs->lock);
    struct pf_runs *runs = fs->options.no_runs ? NULL : pf_map_get(&fs->runs_of, folder);
    if (runs)
        runs->uses++;
    pthread_mutex_unlock(&fs->lock);
    if (runs && (strcmp(runs->path, path) != 0 || !pf_runs_is_fresh(fs, runs))) {
        pf_runs_put(fs, runs);
        runs = NULL;
    }
    if (!runs) {
        int result = fs->options.no_runs ? ENOENT : pf_members_list(fs, open, path, &members);
        if (result)
            return result;
        runs = pf_runs_new(fs, folder, path, &members);
        pf_members_free(&members);
    }
    if (!runs)
        return ENOMEM;
    fill_attr(runs, TOP, attr);
    pf_runs_put(fs, runs);
    return 0;
}

int pf_runs_lookup(struct pf_fs *fs, uint64_t parent, const char *name, struct pf_attr *attr,
                   struct pf_op *op)
{
    struct pf_runs *runs = pf_runs_enter(fs, parent);
    if (!runs)
        return ESTALE;
    const char *entry;
    uint32_t node = 0;
    int result = is_folder((uint32_t)parent) ? need(fs, runs, (uint32_t)parent, op) : ENOTDIR;
    for (uint64_t i = 0; !result; i++) {
        if (!entry_of(runs, (uint32_t)parent, i, &entry, &node))
            result = ENOENT;
        else if (!strcmp(entry, name))
            break;
    }
    if (!result)
        result = is_folder(node) ? 0 : need(fs, runs, node, op);
    if (!result)
        fill_attr(runs, node, attr);
    pf_runs_put(fs, runs);
    return result;
}

int pf_runs_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_op *op)
{
    struct pf_runs *runs = pf_runs_enter(fs, ino);
    if (!runs)
        return ESTALE;
    int result = is_folder((uint32_t)ino) ? 0 : need(fs, runs, (uint32_t)ino, op);
    if (!result)
        fill_attr(runs, (uint32_t)ino, attr);
    pf_runs_put(fs, runs);
    return result;
}

int pf_runs_ready(struct pf_fs *fs, uint64_t ino, struct pf_op *op)
{
    struct pf_runs *runs = pf_runs_enter(fs, ino);
    if (!runs)
        return ESTALE;
    int result = is_folder((uint32_t)ino) ? need(fs, runs, (uint32_t)ino, op) : ENOTDIR;
    pf_runs_put(fs, runs);
    return result;
}

bool pf_runs_entry(struct pf_fs *fs, uint64_t ino, uint64_t number, struct pf_dirent *entry)
{
    const char *name;
    uint32_t node;
    struct pf_runs *runs = pf_runs_enter(fs, ino);
    /* The folder behind the link is the last entry at the top, and not listed. */
    bool more = runs && entry_of(runs, (uint32_t)ino, number, &name, &node) && node != EXPORT;
    if (more) {
        strcpy(entry->name, name);
        entry->ino = pf_ino(runs->id, PF_KIND_RUNS, node);
        entry->type = is_folder(node) ? DT_DIR : is_link(node) ? DT_LNK : DT_REG;
    }
    if (runs)
        pf_runs_put(fs, runs);
    return more;
}

int pf_runs_open(struct pf_fs *fs, uint64_t ino, char **bytes, struct pf_store **text, uint64_t *size,
                 struct pf_op *op)
{
    uint32_t node = (uint32_t)ino;
    struct pf_buf small = {0};
    struct pf_runs *runs = pf_runs_enter(fs, ino);
    if (!runs)
        return ESTALE;
    int result = is_folder(node) ? EISDIR : need(fs, runs, node, op);
    if (!result && small_text(runs, node, &small)) {
        pf_buf_char(&small, '\0');
        result = small.failed ? ENOMEM : 0;
        *bytes = small.data;
        *size = small.size - 1;
    } else if (!result) {
        *text = pf_store_hold(runs->texts[metric_of(node)].table[part_of(node) - TEXT]);
        *size = pf_store_size(*text);
    }
    pf_runs_put(fs, runs);
    return result;
}
