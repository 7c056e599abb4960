/* SPDX-License-Identifier: MIT */
#include "fs/tree/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/kit/array.h"
#include "formats/recognise.h"
#include "fs/text/csv.h"
#include "fs/tree/vfs_private.h"

/* ---- rows --------------------------------------------------------------------------------------- */

/* A row of profiles.csv. Only message, path and the file's attributes are known of what could not be looked at: it has no driver. */
static void add_row(struct pf_buf *out, const char *path, const struct pf_found *found, const char *message)
{
    char mtime[64];
    struct tm tm;
    gmtime_r(&found->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const struct pf_driver *driver = found->driver;
    struct pf_cell cells[] = {driver ? pf_string(driver->name) : pf_absent(),
                              pf_string(found->verdict.version),
                              S_ISREG(found->st.st_mode) ? pf_int(found->st.st_size) : pf_absent(),
                              found->st.st_ino ? pf_string(mtime) : pf_absent(),
                              driver ? pf_uint(found->verdict.confidence) : pf_absent(),
                              pf_string(path),
                              pf_string(message)};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
}

/* ---- walking SOURCE without recursion ----------------------------------------------------------- */

/* A stack of paths still to be looked at, each with its NUL; the top is at the end. */
struct todo {
    struct pf_buf paths;
    uint64_t seen, looked_at; /* how many have been pushed; popped */
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

/* Takes the top path off; the caller frees it. NULL: none left or out of memory. */
static char *pop(struct todo *todo)
{
    struct pf_buf *paths = &todo->paths;
    if (!paths->size || paths->failed)
        return NULL;
    size_t start = paths->size - 1;
    while (start && paths->data[start - 1])
        start--;
    char *path = strdup(paths->data + start);
    paths->failed |= !path;
    paths->size = start;
    return path;
}

static int descending(const void *a, const void *b)
{
    return -strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, each owned. */
struct names {
    char **items;
    size_t count, room;
    struct pf_error error;
    bool failed;
};

static int add_name(void *arg, const char *name, unsigned char type)
{
    struct names *names = arg;
    (void)type;
    names->failed =
        pf_array_room(&names->items, &names->room, names->count, sizeof *names->items, &names->error) ||
        !(names->items[names->count] = strdup(name));
    names->count += !names->failed;
    return names->failed;
}

static bool is_among(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->items[i], name))
            return true;
    return false;
}

/* A folder in an archive, held open while entries below it are looked at, and the size of its path. */
struct level {
    struct pf_folder *folder;
    size_t size;
};

/* What a walk over SOURCE gives to its caller. */
struct walk {
    struct pf_fs *fs;
    int (*each)(void *arg, const char *path, const struct pf_found *found, struct pf_error *error);
    void *arg;
    struct pf_buf *problems; /* of archives; NULL: they are not asked for */
    pf_folder_seen *seen;    /* called for each folder with arg; NULL: not wanted */
    /*
     * In an archive, a path from the top costs one look-up per name, so that a walk by whole paths takes quadratic time. Outside of
     * archives the kernel resolves paths, and open folders would take descriptors.
     */
    struct level *levels;
    size_t depth, room;
    struct pf_buf *unknown;  /* rows for what could not be looked at; NULL: the walk fails at its end then */
    struct pf_error failure; /* the first of these */
};

/* The open folder that a path's last name is in, which is *name. NULL: there is none. */
static const struct pf_folder *open_parent(struct walk *walk, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    while (walk->depth && walk->levels[walk->depth - 1].size > size)
        pf_folder_free(walk->levels[--walk->depth].folder);
    *name = slash ? slash + 1 : path;
    const struct level *last = walk->depth ? &walk->levels[walk->depth - 1] : NULL;
    return last && last->size == size ? last->folder : NULL;
}

static struct pf_folder *open_folder(struct walk *walk, const char *path)
{
    const char *name;
    const struct pf_folder *parent = *path ? open_parent(walk, path, &name) : NULL;
    return parent ? pf_folder_open(parent, name) : pf_folder_open(walk->fs->top, *path ? path : ".");
}

/* Keeps a folder open if it is in an archive, else closes it. */
static void keep_folder(struct walk *walk, struct pf_folder *folder, const char *path)
{
    struct pf_error error;
    if (pf_folder_fd(folder) < 0 &&
        !pf_array_room(&walk->levels, &walk->room, walk->depth, sizeof *walk->levels, &error))
        walk->levels[walk->depth++] = (struct level){folder, strlen(path)};
    else
        pf_folder_free(folder);
}

static void close_folders(struct walk *walk)
{
    while (walk->depth)
        pf_folder_free(walk->levels[--walk->depth].folder);
    free(walk->levels);
}

/* Of one archive. */
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
 * Notes that something could not be looked at for a transient reason; other codes are passed over. 0, or -1 with *error filled if
 * memory or descriptors have run out or the pass was stopped: then the walk ends here, since the rest would fail as well.
 */
static int note_unknown(struct walk *walk, const char *path, const struct pf_found *found, int code,
                        struct pf_error *error)
{
    if (!pf_is_transient(code))
        return 0;
    if (pf_is_lack(code) || code == ECANCELED)
        return pf_fail(error, code, "%s", strerror(code));
    if (walk->unknown)
        add_row(walk->unknown, path, found, strerror(code));
    else if (!walk->failure.code)
        pf_fail(&walk->failure, code, "%.160s: %s", path, strerror(code));
    return 0;
}

/* Pushes a folder's entries, last first, so that the first is on top. A folder that may not be read has none. 0, or -1 with *error. */
static int push_entries(struct walk *walk, struct todo *todo, const char *path, struct pf_error *error)
{
    struct names names = {0};
    const char *shown = *path ? path : ".";
    struct pf_folder *folder = open_folder(walk, path);
    int code = folder ? 0 : errno;
    if (!folder)
        return note_unknown(walk, shown, &(struct pf_found){0}, code, error);
    if (walk->problems)
        pf_folder_problems(folder, add_problem, &(struct problems){walk->problems, shown});
    if (walk->seen)
        walk->seen(walk->arg, shown, folder);
    code = pf_folder_list(folder, add_name, &names);
    int result = note_unknown(walk, shown, &(struct pf_found){0}, code, error);
    keep_folder(walk, folder, path);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, descending);
    if (!is_among(&names, PF_BESIDE_NAME))
        push(todo, path, PF_BESIDE_NAME); /* looked at as everything else: most folders have none */
    for (size_t i = 0; i < names.count; i++) {
        if (*path || !pf_virtual_hides(walk->fs, PF_ROOT_INO, names.items[i]))
            push(todo, path, names.items[i]);
        free(names.items[i]);
    }
    free(names.items);
    todo->paths.failed |= names.failed;
    return result;
}

static int classify_path(struct walk *walk, const char *path, struct pf_found *found)
{
    const char *name;
    const struct pf_folder *parent = open_parent(walk, path, &name);
    if (parent || name == path)
        return pf_classify(walk->fs, parent ? parent : walk->fs->top, name, found);
    char *above = strndup(path, (size_t)(name - path - 1));
    struct pf_folder *folder = above ? pf_folder_open(walk->fs->top, above) : NULL;
    int result = !folder ? errno : pf_classify(walk->fs, folder, name, found);
    pf_folder_free(folder);
    free(above);
    return result;
}

static int walk_source(struct walk *walk, struct pf_error *error)
{
    struct pf_fs *fs = walk->fs;
    struct todo todo = {0};
    int result = 0;
    if (fs->root_name)
        push(&todo, "", fs->root_name);
    else if (pf_root_is_profile(fs))
        push(&todo, "", ".");
    else
        result = push_entries(walk, &todo, "", error);
    for (char *path; !result && (path = pop(&todo)); free(path)) {
        struct pf_found found = {0};
        int code;
        if (todo.looked_at++ % 64 == 0 && pf_pass_step(todo.looked_at, todo.seen, error))
            result = -1;
        else if ((code = classify_path(walk, path, &found))) /* or gone since */
            result = note_unknown(walk, path, &found, code, error);
        else if (found.type == PF_ENTRY_PROFILE)
            result = walk->each(walk->arg, path, &found, error);
        else if (found.type == PF_ENTRY_DIR)
            result = push_entries(walk, &todo, path, error);
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

int pf_each_profile(struct pf_fs *fs,
                    int (*each)(void *arg, const char *path, const struct pf_found *found,
                                struct pf_error *error),
                    void *arg, struct pf_error *error)
{
    return pf_each_profile_and_folder(fs, each, NULL, arg, error);
}

int pf_each_profile_and_folder(struct pf_fs *fs,
                               int (*each)(void *arg, const char *path, const struct pf_found *found,
                                           struct pf_error *error),
                               pf_folder_seen *seen, void *arg, struct pf_error *error)
{
    return walk_source(&(struct walk){.fs = fs, .each = each, .seen = seen, .arg = arg}, error);
}

/* ---- the tables --------------------------------------------------------------------------------- */

static int add_profile(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    struct pf_buf *out = arg;
    add_row(out, path, found, found->verdict.message);
    return out->failed ? pf_fail_memory(error) : 0;
}

int pf_list_profiles(struct pf_fs *fs, struct pf_buf *profiles, struct pf_buf *archives,
                     struct pf_error *error)
{
    pf_buf_str(profiles, "format,version,bytes,mtime,confidence,path,message\n");
    pf_buf_str(archives, "severity,code,path,text\n");
    struct walk walk = {
        .fs = fs, .each = add_profile, .arg = profiles, .problems = archives, .unknown = profiles};
    return walk_source(&walk, error);
}
