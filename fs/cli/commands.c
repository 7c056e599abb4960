/* SPDX-License-Identifier: MIT */
#include "fs/cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/driver_extra.h"
#include "formats/recognise.h"
#include "fs/cache/cache.h"
#include "fs/clock.h"
#include "fs/exit.h"
#include "fs/fuse/sandbox.h"
#include "fs/profile/cached.h"
#include "fs/profile/names.h"
#include "fs/runs/excerpt.h"
#include "fs/text/csv.h"
#include "fs/tree/listing.h"
#include "fs/tree/vfs.h"

static int command_formats(const struct pf_fs_options *options, int argc, char **argv)
{
    (void)options, (void)argv;
    if (argc) {
        fprintf(stderr, "profilefs: formats takes no arguments\n");
        return PF_EXIT_USAGE;
    }
    for (size_t i = 0; pf_drivers[i]; i++)
        printf("%-12s %s\n", pf_drivers[i]->name, pf_drivers[i]->title);
    return fflush(stdout) ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}

/* ---- operations on an open profile, with progress ----------------------------------------------- */

enum { REPORT_MS = 10000 };

/* An operation that displays the progress of its passes. */
struct progress {
    struct pf_op op;
    bool shown;           /* standard error is a terminal */
    const char *path;     /* of the current profile */
    const char *source;   /* not NULL: a line on the progress through SOURCE is printed every REPORT_MS */
    uint64_t start, next; /* monotonic ms: the start, and when to print the next line */
    unsigned long profiles;
};

static void print_progress_line(struct progress *progress, unsigned percent)
{
    uint64_t now = pf_monotonic_ms();
    if (!progress->source || now < progress->next)
        return;
    progress->next = now + REPORT_MS;
    fprintf(stderr, "profilefs: %s: %lu profiles in %.0f s, now at %u%% of %s\n", progress->source,
            progress->profiles, (double)(now - progress->start) / 1000, percent, progress->path);
}

static void show_progress(const struct pf_pass *pass, struct pf_op *op)
{
    struct progress *progress = (struct progress *)op;
    uint64_t done = atomic_load(&((struct pf_pass *)pass)->done),
             total = atomic_load(&((struct pf_pass *)pass)->total);
    unsigned percent = total ? (unsigned)(100.0 * (double)done / (double)total) : 0;
    if (progress->shown && total)
        fprintf(stderr, "\r\033[K%3u%% %.60s", percent, progress->path);
    print_progress_line(progress, percent);
}

static void hide_progress(const struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
}

/* Runs the passes of a profile, except those that serve a single file. */
static int load_all(struct pf_profile *profile, struct pf_op *op)
{
    int result = pf_profile_stage(profile, PF_DERIVED, op);
    if (result)
        return result;
    const struct pf_model *model = pf_profile_model(profile);
    for (size_t t = 0; !result && t < model->n_tables; t++) {
        struct pf_table_sizes *sizes;
        if (model->tables[t].flags & (PF_ONLY_IN_METRICS | PF_ONLY_IN_KEYS))
            continue; /* needs a pass per file */
        result = pf_profile_table_sizes(profile, t, &sizes, op);
    }
    struct pf_aggregate *aggregate;
    if (!result && model->partitions.plural)
        result = pf_profile_aggregate(profile, -1, &aggregate, op);
    return result;
}

/* Prints `profilefs: PATH: line N: reason`, or with `offset N` if only the offset is known. */
static void print_error(const char *path, const struct pf_error *error)
{
    char place[64] = "";
    if (error->line > 0)
        snprintf(place, sizeof place, "line %lld: ", (long long)error->line);
    else if (error->offset >= 0 && error->code != ENOMEM)
        snprintf(place, sizeof place, "offset %lld: ", (long long)error->offset);
    fflush(stdout);
    fprintf(stderr, "profilefs: %s: %s%s%s%s\n", path, error->where, *error->where ? ": " : "", place,
            error->what);
}

/* ---- index -------------------------------------------------------------------------------------- */

/* The state of reading the files that users usually read first, so that the files' sizes and small texts are cached. */
struct caching {
    struct pf_env *env;
    struct pf_profile *profile;
    struct pf_op *op;
};

/* Folders with more than ITEMS_MAX entries, or at a depth of more than DEPTH_MAX, are not read. */
enum { ITEMS_MAX = 64, DEPTH_MAX = 3 };

static int read_whole_file(struct caching *caching, struct pf_node node)
{
    struct pf_file *file;
    struct pf_span spans[PF_SPANS];
    int n = 0, result = pf_file_open(caching->profile, node, &file, caching->op);
    if (result)
        return result;
    const char *bytes;
    size_t size;
    if (!pf_file_bytes(file, &bytes, &size))
        result = pf_file_read(file, 0, PF_CACHED_TEXT_MAX, spans, &n, caching->op);
    while (n > 0)
        pf_blocks_release(caching->env->blocks, spans[--n].block);
    pf_file_close(file);
    return result;
}

/* Returns true for a file that is not read ahead of time, since it needs a pass of its own or is one of very many. */
static bool is_left_out(struct pf_profile *profile, struct pf_node node)
{
    if (node.kind == PF_BLOB)
        return true;
    if (pf_table_of(node.kind) < 0)
        return false;
    unsigned base = pf_table_base(node.kind);
    const struct pf_table *table = &pf_profile_model(profile)->tables[pf_table_of(node.kind)];
    return table->ops && (base == PF_TABLE_OF_METRIC || base == PF_TABLE_OF_KEY);
}

static int cache_file(struct caching *caching, struct pf_node node)
{
    uint64_t size;
    if (is_left_out(caching->profile, node))
        return 0;
    int result = pf_profile_size(caching->profile, node, &size, caching->op);
    return result || size > PF_CACHED_TEXT_MAX ? result : read_whole_file(caching, node);
}

static int cache_folder(struct caching *caching, struct pf_node folder, unsigned depth)
{
    struct pf_profile *profile = caching->profile;
    struct pf_node entry;
    char name[PF_NAME_MAX + 1];
    if (folder.kind == PF_CONTEXTS || folder.kind == PF_EXPORT || depth > DEPTH_MAX)
        return 0;
    int result = pf_profile_ready(profile, folder, caching->op);
    bool many = !result && pf_folder_entry(profile, folder, ITEMS_MAX, name, &entry);
    for (uint64_t i = 0; !result && !many && pf_folder_entry(profile, folder, i, name, &entry); i++)
        result =
            pf_is_folder(entry.kind) ? cache_folder(caching, entry, depth + 1) : cache_file(caching, entry);
    return result;
}

struct indexing {
    struct pf_fs *fs;
    const char *source;               /* as the user typed it */
    bool folder;                      /* SOURCE is a folder, not a profile */
    unsigned long profiles, problems; /* profiles examined, and profiles with problems */
    bool report;
    int status;
    struct progress progress;
};

static void raise_index_status(struct indexing *indexing, int status)
{
    if (status > indexing->status)
        indexing->status = status;
}

static void print_counts(const char *path, const struct pf_model *model)
{
    struct pf_buf out = {0};
    struct pf_cell cells[] = {pf_string(path),
                              pf_string(model->driver->name),
                              pf_uint(pf_rows_count(model->partitions.items)),
                              pf_uint(model->contexts ? model->contexts->count : 0),
                              pf_uint(model->n_metrics),
                              pf_uint(pf_rows_count(model->warnings))};
    pf_csv_row(&out, cells, sizeof cells / sizeof *cells, '\n');
    fwrite(out.data, 1, out.size, stdout);
    pf_buf_free(&out);
}

static int index_profile(void *arg, const char *path, const struct pf_entry_info *info,
                         struct pf_error *error)
{
    struct indexing *indexing = arg;
    struct pf_op *op = &indexing->progress.op;
    (void)error;
    indexing->progress.path = path;
    print_progress_line(&indexing->progress, 0);
    indexing->progress.profiles = ++indexing->profiles;
    struct pf_profile *profile =
        pf_profile_at(pf_fs_env(indexing->fs), info->driver, path, &info->st, NULL, &op->error);
    int result = profile ? load_all(profile, op) : -1;
    struct caching caching = {pf_fs_env(indexing->fs), profile, op};
    if (!result && caching.env->cache)
        result = cache_folder(&caching, (struct pf_node){PF_TOP, 0}, 0);
    hide_progress(&indexing->progress);
    if (result) {
        indexing->problems++;
        print_error(path, &op->error);
        raise_index_status(indexing, pf_exit_of(op->error.code));
    } else {
        pf_excerpt_put(profile, info);
        indexing->problems += pf_rows_count(pf_profile_model(profile)->warnings) > 0;
        if (indexing->report)
            print_counts(path, pf_profile_model(profile));
    }
    pf_profile_release(profile);
    return 0; /* continue with the next profile */
}

static int index_source(struct indexing *indexing, const struct pf_fs_options *options, char *source)
{
    struct pf_error error = {0};
    if (pf_enter_sandbox(options, &source, 1))
        return PF_EXIT_SYSTEM;
    indexing->fs = pf_fs_new(source, options, &error);
    if (!indexing->fs) {
        print_error(indexing->source, &error);
        return error.code == EINVAL ? PF_EXIT_PROBLEM : PF_EXIT_SYSTEM;
    }
    if (indexing->report)
        puts("path,format,partitions,contexts,metrics,warnings");
    uint64_t start = pf_monotonic_ms();
    indexing->progress.start = start;
    indexing->progress.next = start + REPORT_MS;
    if (!indexing->progress.shown)
        indexing->progress.source = indexing->source;
    int result = pf_each_profile(indexing->fs, NULL, index_profile, indexing, &error);
    if (result)
        print_error(indexing->source, &error);
    fflush(stdout);
    fprintf(stderr, "profilefs: %s: %lu profiles, %llu passes, %.1f s, problems in %lu\n", indexing->source,
            indexing->profiles, (unsigned long long)pf_fs_env(indexing->fs)->passes,
            (double)(pf_monotonic_ms() - start) / 1000, indexing->problems);
    pf_fs_free(indexing->fs);
    if (result || fflush(stdout))
        return PF_EXIT_SYSTEM;
    return indexing->status;
}

static int command_index(const struct pf_fs_options *options, int argc, char **argv)
{
    struct indexing indexing = {.progress = {.op = PF_OP, .shown = isatty(STDERR_FILENO)}};
    indexing.progress.op.progress = show_progress;
    if (argc && !strcmp(argv[0], "--report")) {
        indexing.report = true;
        argc--;
        argv++;
    }
    if (argc != 1) {
        fprintf(stderr, "profilefs: usage: profilefs index [--report] SOURCE\n");
        return PF_EXIT_USAGE;
    }
    indexing.source = argv[0];
    char *source = pf_path_on_disk(argv[0]);
    int status = PF_EXIT_SYSTEM;
    if (source)
        status = index_source(&indexing, options, source);
    else
        fprintf(stderr, "profilefs: %s: %s\n", argv[0], strerror(errno));
    free(source);
    return status;
}

/* ---- check -------------------------------------------------------------------------------------- */

static void print_warning(const char *path, const struct pf_cell *row)
{
    printf("%s: ", path);
    if (row[0].type == PF_INT)
        printf("line %lld: ", (long long)row[0].i);
    if (row[1].type == PF_INT)
        printf("offset %lld: ", (long long)row[1].i);
    printf("%.*s: %.*s: %.*s\n", (int)row[2].size, row[2].text, (int)row[3].size, row[3].text,
           (int)row[4].size, row[4].text);
}

/* Returns the path of a profile or folder, beginning with SOURCE as the user typed it. The caller frees it. NULL: out of memory. */
static char *typed_path(const struct indexing *checking, const char *path)
{
    char *typed = NULL;
    if (!checking->folder || !strcmp(path, "."))
        return strdup(checking->source);
    size_t size = strlen(checking->source);
    bool slash = size && checking->source[size - 1] == '/';
    return asprintf(&typed, "%s%s%s", checking->source, slash ? "" : "/", path) < 0 ? NULL : typed;
}

static int check_profile(void *arg, const char *path, const struct pf_entry_info *info,
                         struct pf_error *error)
{
    struct indexing *checking = arg;
    struct pf_op op = PF_OP;
    char *typed = typed_path(checking, path);
    if (!typed)
        return pf_fail_memory(error);
    struct pf_profile *profile =
        pf_profile_at(pf_fs_env(checking->fs), info->driver, path, &info->st, NULL, &op.error);
    bool failed = !profile || load_all(profile, &op);
    if (failed) {
        print_error(typed, &op.error);
        raise_index_status(checking, pf_exit_of(op.error.code));
    }
    const struct pf_rows *warnings = profile ? pf_profile_model(profile)->warnings : NULL;
    for (size_t i = 0; i < pf_rows_count(warnings); i++) {
        print_warning(typed, pf_rows_at(warnings, i));
        raise_index_status(checking, PF_EXIT_PROBLEM);
    }
    checking->profiles++;
    checking->problems += failed || pf_rows_count(warnings);
    pf_profile_release(profile);
    free(typed);
    return 0;
}

/* An archive whose problems are to be printed. */
struct checked_archive {
    const char *typed;
    bool any;
};

static int print_problem(void *arg, const struct pf_cell *row)
{
    struct checked_archive *archive = arg;
    printf("%s: %.*s: %.*s: %.*s\n", archive->typed, (int)row[0].size, row[0].text, (int)row[1].size,
           row[1].text, (int)row[2].size, row[2].text);
    archive->any = true;
    return 0;
}

static void check_folder(void *arg, const char *path, const struct pf_folder *folder)
{
    struct indexing *checking = arg;
    char *typed = typed_path(checking, path);
    struct checked_archive archive = {.typed = typed ? typed : path};
    pf_folder_problems(folder, print_problem, &archive);
    if (archive.any)
        raise_index_status(checking, PF_EXIT_PROBLEM);
    checking->problems += archive.any;
    free(typed);
}

/* Checks the profiles at `source`, the location on disk of the typed `path`. */
static void check_typed_path(const struct pf_fs_options *options, const char *path, const char *source,
                             struct indexing *checking)
{
    struct pf_error error = {0};
    checking->source = path;
    checking->fs = pf_fs_new(source, options, &error);
    if (!checking->fs) {
        checking->problems++;
        print_error(path, &error);
        raise_index_status(checking, error.code == EINVAL ? PF_EXIT_PROBLEM : PF_EXIT_SYSTEM);
        return;
    }
    checking->folder = !pf_fs_env(checking->fs)->root_name && !pf_root_is_profile(checking->fs);
    if (pf_each_profile_and_folder(checking->fs, check_profile, check_folder, checking, &error)) {
        print_error(path, &error);
        raise_index_status(checking, PF_EXIT_SYSTEM);
    }
    pf_fs_free(checking->fs);
}

static int command_check(const struct pf_fs_options *options, int argc, char **argv)
{
    struct indexing checking = {.status = PF_EXIT_OK};
    if (!argc) {
        fprintf(stderr, "profilefs: usage: profilefs check FILE...\n");
        return PF_EXIT_USAGE;
    }
    char **sources = calloc((size_t)argc, sizeof *sources);
    int known = 0;
    while (sources && known < argc && (sources[known] = pf_path_on_disk(argv[known])))
        known++;
    int refused = known < argc || pf_enter_sandbox(options, sources, (size_t)argc);
    if (known < argc)
        fprintf(stderr, "profilefs: %s: %s\n", argv[known], strerror(errno));
    for (int i = 0; i < argc && !refused; i++)
        check_typed_path(options, argv[i], sources[i], &checking);
    for (int i = 0; i < known; i++)
        free(sources[i]);
    free(sources);
    if (refused)
        return PF_EXIT_SYSTEM;
    int lost = fflush(stdout);
    fprintf(stderr, "profilefs: checked: %lu profiles, problems in %lu\n", checking.profiles,
            checking.problems);
    return lost ? PF_EXIT_SYSTEM : checking.status;
}

/* ---- cache -------------------------------------------------------------------------------------- */

static void print_bytes(const char *key, uint64_t bytes)
{
    printf("%s: %.1f MB\n", key, (double)bytes / 1e6);
}

static void show_cache(const struct pf_fs_options *options, struct pf_cache *cache)
{
    uint64_t origins, bytes;
    pf_cache_usage(cache, &origins, &bytes);
    printf("Folder: %s\n", options->cache_folder);
    print_bytes("Limit", options->cache_limit);
    printf("Entries: %llu\n", (unsigned long long)origins);
    print_bytes("Size", bytes);
}

static int command_cache(const struct pf_fs_options *options, int argc, char **argv)
{
    bool clear = argc == 1 && !strcmp(argv[0], "clear");
    if (argc && !clear) {
        fprintf(stderr, "profilefs: usage: profilefs cache [clear]\n");
        return PF_EXIT_USAGE;
    }
    if (!options->cache_folder) {
        fprintf(stderr, "profilefs: no cache: neither XDG_CACHE_HOME nor HOME is set\n");
        return PF_EXIT_SYSTEM;
    }
    struct pf_cache *cache = pf_cache_new(options->cache_folder);
    if (!cache)
        return PF_EXIT_SYSTEM;
    if (clear)
        pf_cache_clear(cache);
    else
        show_cache(options, cache);
    pf_cache_free(cache);
    return fflush(stdout) ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}

/* ---- the table of commands ---------------------------------------------------------------------- */

const struct pf_command pf_commands[] = {
    {"ls", "PATH...", "list a folder", pf_command_ls, NULL, NULL},
    {"cat", "PATH...", "print files", pf_command_cat, NULL, NULL},
    {"stat", "PATH...", "sizes and modes", pf_command_stat, NULL, NULL},
    {"tree", "PATH...", "list everything below a folder", pf_command_tree, NULL, NULL},
    {"index", "[--report] SOURCE", "precompute sizes and aggregates into the cache", command_index,
     "  --report              print a CSV row for each profile: path, format and counts\n", NULL},
    {"check", "FILE...", "validate profiles, report problems", command_check, NULL, NULL},
    {"cache", "[clear]", "show the size of the cache, or clear it", command_cache, NULL, NULL},
    {"compare", "A B... [--metric M] [--by AXIS] [--fail PERCENT] [--min PERCENT]",
     "what grew and shrank between the first and the last", pf_command_compare,
     "  --metric M            compare this metric (default: the primary one of A)\n"
     "  --by AXIS             by `functions` (default) or `contexts`\n"
     "  --fail PERCENT        exit status 4 if an entry grew by more than this\n"
     "  --min PERCENT         --fail ignores entries below this share of the total (default: 1)\n",
     "  4  an entry grew by more than --fail allows\n"},
    {"summary", "FILE... [--metric M]", "print a one-page summary of each profile, as Markdown",
     pf_command_summary, "  --metric M            summarise this metric (default: the primary one)\n", NULL},
    {"formats", "", "list the formats", command_formats, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
