/* SPDX-License-Identifier: MIT */
#include "fs/tree/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/kit/array.h"
#include "formats/recognise.h"
#include "fs/text/csv.h"
#include "fs/tree/vfs_private.h"

/* ---- rows --------------------------------------------------------------------------------------- */

/*
 * Appends a row of profiles.csv. A file without a driver could not be examined: its row has only path, attributes and
 * message.
 */
static void add_row(struct pf_buf *out, const char *path, const struct pf_entry_info *info,
                    const char *message)
{
    char mtime[64];
    struct tm tm;
    gmtime_r(&info->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const struct pf_driver *driver = info->driver;
    struct pf_cell cells[] = {driver ? pf_string(driver->name) : pf_absent(),
                              pf_string(info->probe.version),
                              S_ISREG(info->st.st_mode) ? pf_int(info->st.st_size) : pf_absent(),
                              info->st.st_ino ? pf_string(mtime) : pf_absent(),
                              driver ? pf_uint(info->probe.confidence) : pf_absent(),
                              pf_string(path),
                              pf_string(message)};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
}

/* ---- walking SOURCE without recursion ----------------------------------------------------------- */

/* A stack of paths to visit, NUL-terminated each; the top is at the end. */
struct todo {
    struct pf_buf paths;
    uint64_t seen, looked_at; /* number of paths pushed, number of paths popped */
};

static void push(struct todo *todo, const char *folder, const char *name)
{
    if (*folder) {
        pf_buf_str(&todo->paths, folder);
        pf_buf_char(&todo->paths, '/');
    }
    pf_buf_add(&todo->paths, name, strlen(name) + 1);
    todo->seen++;
}

/* The offset of the last path in the first `size` (> 0) bytes. */
static size_t last_path(const char *paths, size_t size)
{
    size_t start = size - 1;
    while (start && paths[start - 1])
        start--;
    return start;
}

/* Pushes paths in reverse order, so that the first one is on top. */
static void push_listed(struct todo *todo, const struct pf_buf *paths)
{
    for (size_t size = paths->size; size; size = last_path(paths->data, size))
        push(todo, "", paths->data + last_path(paths->data, size));
}

/* Pops the top path, valid until the next push. NULL: empty or out of memory. */
static const char *pop(struct todo *todo)
{
    struct pf_buf *paths = &todo->paths;
    if (!paths->size || paths->failed)
        return NULL;
    paths->size = last_path(paths->data, paths->size);
    return paths->data + paths->size;
}

static int descending(const void *a, const void *b)
{
    return -strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder. */
struct listing_names {
    struct pf_buf text; /* NUL-terminated each */
    size_t count;
    bool plain;   /* names of files are left out */
    bool folders; /* at least one entry is a folder or of unknown type */
    bool beside;  /* an entry is called PF_BESIDE_NAME */
};

static int add_name(void *arg, const char *name, unsigned char type)
{
    struct listing_names *names = arg;
    bool folder = type == DT_DIR || type == DT_UNKNOWN;
    names->folders |= folder;
    if (names->plain && !folder)
        return 0;
    names->beside |= !strcmp(name, PF_BESIDE_NAME);
    pf_buf_add(&names->text, name, strlen(name) + 1);
    names->count += !names->text.failed;
    return names->text.failed;
}

/* A folder in an archive, kept open while entries below it are visited, and the length of its path. */
struct listing_level {
    struct pf_folder *folder;
    size_t size;
};

/* The state of a walk over SOURCE, and its callbacks. */
struct crawl_walk {
    struct pf_fs *fs;
    int (*each)(void *arg, const char *path, const struct pf_entry_info *info, struct pf_error *error);
    void *arg;
    struct pf_buf *problems; /* receives problems of archives; NULL: not wanted */
    pf_folder_seen *seen;    /* called for each folder with arg; NULL: not wanted */
    /*
     * Open folders on the current path, in archives only. Resolving a path in an archive costs one look-up per name, so
     * resolving full paths would make the walk quadratic. Outside of archives the kernel resolves paths, and each open
     * folder would take a descriptor, so only the folder of the last entry stays open (`last`).
     */
    struct listing_level *levels;
    size_t depth, room;
    struct pf_folder *last; /* NULL: none */
    char *last_path;
    struct pf_buf *unknown;  /* receives rows for files that could not be examined; NULL: the walk fails at its end instead */
    struct pf_buf *found;    /* receives the paths of profiles and of the files in `unknown`; NULL: not wanted */
    struct pf_error failure; /* the error that the walk returns at its end; code 0: none */
};

/*
 * Returns the open folder that contains a path, with *name set to the last component; NULL if the folder is not open.
 * Closes deeper folders.
 */
static const struct pf_folder *open_parent(struct crawl_walk *walk, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    while (walk->depth && walk->levels[walk->depth - 1].size > size)
        pf_folder_free(walk->levels[--walk->depth].folder);
    *name = slash ? slash + 1 : path;
    const struct listing_level *last = walk->depth ? &walk->levels[walk->depth - 1] : NULL;
    return last && last->size == size ? last->folder : NULL;
}

static struct pf_folder *open_folder(struct crawl_walk *walk, const char *path)
{
    const char *name;
    const struct pf_folder *parent = *path ? open_parent(walk, path, &name) : NULL;
    return parent ? pf_folder_open(parent, name) : pf_folder_open(walk->fs->env.top, *path ? path : ".");
}

static void close_last(struct crawl_walk *walk)
{
    pf_folder_free(walk->last);
    free(walk->last_path);
    walk->last = NULL;
    walk->last_path = NULL;
}

/* Keeps a folder open while its entries are visited; takes ownership of the folder. */
static void keep_folder(struct crawl_walk *walk, struct pf_folder *folder, const char *path)
{
    struct pf_error error;
    if (pf_folder_fd(folder) >= 0) {
        close_last(walk);
        walk->last = folder;
        walk->last_path = strdup(path);
    } else if (!pf_array_room(&walk->levels, &walk->room, walk->depth, sizeof *walk->levels, &error)) {
        walk->levels[walk->depth++] = (struct listing_level){folder, strlen(path)};
    } else {
        pf_folder_free(folder);
    }
}

static void close_folders(struct crawl_walk *walk)
{
    close_last(walk);
    while (walk->depth)
        pf_folder_free(walk->levels[--walk->depth].folder);
    free(walk->levels);
}

/* Arguments of add_problem: the table to append to, and the path of the archive. */
struct problems {
    struct pf_buf *out;
    const char *path;
};

static int add_problem(void *arg, const struct pf_cell *row)
{
    const struct problems *problems = arg;
    const struct pf_cell cells[] = {row[0], row[1], pf_string(problems->path), row[2]};
    pf_csv_row(problems->out, cells, sizeof cells / sizeof *cells, '\n');
    return problems->out->failed;
}

/*
 * Records a file that could not be examined because of a transient error; ignores other errors. Returns 0, or -1 with
 * *error filled if memory or descriptors ran out or the pass was stopped; the walk must then end.
 */
static int note_unknown(struct crawl_walk *walk, const char *path, const struct pf_entry_info *info, int code,
                        struct pf_error *error)
{
    if (!pf_is_transient(code))
        return 0;
    if (pf_is_out_of_resources(code) || code == ECANCELED)
        return pf_fail(error, code, "%s", strerror(code));
    if (walk->found)
        pf_buf_add(walk->found, path, strlen(path) + 1);
    if (walk->unknown)
        add_row(walk->unknown, path, info, strerror(code));
    else if (!walk->failure.code)
        pf_fail(&walk->failure, code, "%.160s: %s", path, strerror(code));
    return 0;
}

/* Sorts the names in a folder and pushes them from the last to the first, so that the first one is on top. */
static void push_names(const struct crawl_walk *walk, struct todo *todo, const char *path,
                       const struct listing_names *names)
{
    const char **sorted = calloc(names->count + 1, sizeof *sorted), *at = names->text.data;
    todo->paths.failed |= names->text.failed || !sorted;
    for (size_t i = 0; sorted && i < names->count; i++, at += strlen(at) + 1)
        sorted[i] = at;
    if (sorted)
        qsort(sorted, names->count, sizeof *sorted, descending);
    if (names->folders && !names->beside && !names->plain)
        push(todo, path, PF_BESIDE_NAME); /* classified like any entry; most folders have no such profile */
    for (size_t i = 0; sorted && i < names->count; i++)
        if (*path || !pf_virtual_hides(walk->fs, PF_ROOT_INO, sorted[i]))
            push(todo, path, sorted[i]);
    free(sorted);
}

/*
 * Pushes the entries of a folder. plain: the folder has neither profiles nor archives (pf_entry_is_plain), so only its folders
 * are pushed. An unreadable folder has no entries. 0, or -1 with *error filled.
 */
static int push_entries(struct crawl_walk *walk, struct todo *todo, const char *path, bool plain,
                        struct pf_error *error)
{
    struct listing_names names = {.plain = plain};
    const char *shown = *path ? path : ".";
    struct pf_folder *folder = open_folder(walk, path);
    int code = folder ? 0 : errno;
    if (!folder)
        return note_unknown(walk, shown, &(struct pf_entry_info){0}, code, error);
    if (walk->problems)
        pf_folder_problems(folder, add_problem, &(struct problems){walk->problems, shown});
    if (walk->seen)
        walk->seen(walk->arg, shown, folder);
    code = pf_folder_list(folder, add_name, &names);
    int result = note_unknown(walk, shown, &(struct pf_entry_info){0}, code, error);
    keep_folder(walk, folder, path);
    push_names(walk, todo, path, &names);
    pf_buf_free(&names.text);
    return result;
}

static int classify_path(struct crawl_walk *walk, const char *path, struct pf_entry_info *info)
{
    const char *name;
    const struct pf_folder *parent = open_parent(walk, path, &name);
    if (parent || name == path)
        return pf_classify(walk->fs, parent ? parent : walk->fs->env.top, name, info);
    size_t size = (size_t)(name - path - 1);
    bool same =
        walk->last && walk->last_path && !strncmp(walk->last_path, path, size) && !walk->last_path[size];
    if (!same) {
        close_last(walk);
        walk->last_path = strndup(path, size);
        walk->last = walk->last_path ? pf_folder_open(walk->fs->env.top, walk->last_path) : NULL;
    }
    return walk->last ? pf_classify(walk->fs, walk->last, name, info) : errno;
}

static int walk_into(struct crawl_walk *walk, struct todo *todo, const char *path, const struct stat *st,
                     struct pf_error *error)
{
    bool folders, plain = pf_entry_is_plain(walk->fs, path, st, &folders);
    if (plain && !folders)
        return 0;
    char *copy = strdup(strcmp(path, ".") != 0 ? path : "");
    int result = copy ? push_entries(walk, todo, copy, plain, error) : pf_fail_memory(error);
    free(copy);
    return result;
}

static int visit_path(struct crawl_walk *walk, struct todo *todo, const char *path, struct pf_error *error)
{
    struct pf_entry_info info = {0};
    int code = classify_path(walk, path, &info);
    if (code) /* ENOENT: removed meanwhile */
        return note_unknown(walk, path, &info, code, error);
    if (info.type == PF_ENTRY_DIR)
        return walk_into(walk, todo, path, &info.st, error);
    if (info.type != PF_ENTRY_PROFILE)
        return 0;
    if (walk->found)
        pf_buf_add(walk->found, path, strlen(path) + 1);
    return walk->each(walk->arg, path, &info, error);
}

/* Visits all of SOURCE or, if `listed` is not NULL, the paths in `listed` and everything below them. */
static int walk_source(struct crawl_walk *walk, const struct pf_buf *listed, struct pf_error *error)
{
    struct pf_fs *fs = walk->fs;
    struct todo todo = {0};
    int result = 0;
    if (listed)
        push_listed(&todo, listed);
    else if (fs->env.root_name)
        push(&todo, "", fs->env.root_name);
    else if (pf_root_is_profile(fs))
        push(&todo, "", ".");
    else
        result = push_entries(walk, &todo, "", false, error);
    for (const char *path; !result && (path = pop(&todo));) {
        bool stopped = todo.looked_at++ % 64 == 0 && pf_pass_step(todo.looked_at, todo.seen, error);
        result = stopped ? -1 : visit_path(walk, &todo, path, error);
    }
    if (!result && (todo.paths.failed || (walk->problems && walk->problems->failed)))
        result = pf_fail_memory(error);
    if (!result && walk->failure.code) {
        *error = walk->failure;
        result = -1;
    }
    pf_buf_free(&todo.paths);
    close_folders(walk);
    return result;
}

int pf_each_profile(struct pf_fs *fs, const struct pf_buf *listed,
                    int (*each)(void *arg, const char *path, const struct pf_entry_info *info,
                                struct pf_error *error),
                    void *arg, struct pf_error *error)
{
    return walk_source(&(struct crawl_walk){.fs = fs, .each = each, .arg = arg}, listed, error);
}

int pf_each_profile_and_folder(struct pf_fs *fs,
                               int (*each)(void *arg, const char *path, const struct pf_entry_info *info,
                                           struct pf_error *error),
                               pf_folder_seen *seen, void *arg, struct pf_error *error)
{
    return walk_source(&(struct crawl_walk){.fs = fs, .each = each, .seen = seen, .arg = arg}, NULL, error);
}

/* ---- the tables --------------------------------------------------------------------------------- */

static int add_profile(void *arg, const char *path, const struct pf_entry_info *info, struct pf_error *error)
{
    struct pf_buf *out = arg;
    add_row(out, path, info, info->probe.message);
    return out->failed ? pf_fail_memory(error) : 0;
}

int pf_list_profiles(struct pf_fs *fs, struct pf_buf *profiles, struct pf_buf *archives, struct pf_buf *paths,
                     struct pf_error *error)
{
    pf_buf_str(profiles, "format,version,bytes,mtime,confidence,path,message\n");
    pf_buf_str(archives, "severity,code,path,text\n");
    struct crawl_walk walk = {.fs = fs,
                              .each = add_profile,
                              .arg = profiles,
                              .problems = archives,
                              .unknown = profiles,
                              .found = paths};
    return walk_source(&walk, NULL, error);
}
