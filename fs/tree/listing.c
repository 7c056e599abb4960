/* SPDX-License-Identifier: MIT */
#include "fs/tree/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/kit/array.h"
#include "fs/text/csv.h"
#include "fs/tree/vfs_private.h"

/* ---- walking SOURCE without recursion ----------------------------------------------------------- */

/* A stack of paths still to be looked at, each with its NUL; the top is at the end. */
struct todo {
    struct pf_buf paths;
    uint64_t looked_at;
};

static void push(struct todo *todo, const char *folder, const char *name)
{
    if (*folder) {
        pf_buf_str(&todo->paths, folder);
        pf_buf_char(&todo->paths, '/');
    }
    pf_buf_add(&todo->paths, name, strlen(name) + 1);
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

/* What a walk over SOURCE gives to its caller. */
struct walk {
    struct pf_fs *fs;
    int (*each)(void *arg, const char *path, const struct pf_found *found, struct pf_error *error);
    void *arg;
    struct pf_buf *problems; /* of archives; NULL: they are not asked for */
};

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

/* Pushes a folder's entries, last first, so that the first is on top. A folder that can't be read has none.
 */
static void push_entries(const struct walk *walk, struct todo *todo, const char *path)
{
    struct names names = {0};
    struct pf_folder *folder = pf_folder_open(walk->fs->top, *path ? path : ".");
    if (!folder)
        return;
    if (walk->problems)
        pf_folder_problems(folder, add_problem, &(struct problems){walk->problems, *path ? path : "."});
    pf_folder_list(folder, add_name, &names);
    pf_folder_free(folder);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, descending);
    if (!is_among(&names, PF_BESIDE_NAME))
        push(todo, path, PF_BESIDE_NAME); /* looked at as everything else: most folders have none */
    for (size_t i = 0; i < names.count; i++) {
        if (*path || strcmp(names.items[i], PF_CONTROL_NAME) != 0) /* which stands in for one of SOURCE */
            push(todo, path, names.items[i]);
        free(names.items[i]);
    }
    free(names.items);
    todo->paths.failed |= names.failed;
}

static int classify_path(struct pf_fs *fs, const char *path, struct pf_found *found)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return pf_classify(fs, fs->top, path, found);
    char *name = strndup(path, (size_t)(slash - path));
    struct pf_folder *folder = name ? pf_folder_open(fs->top, name) : NULL;
    int result = !folder ? errno : pf_classify(fs, folder, slash + 1, found);
    pf_folder_free(folder);
    free(name);
    return result;
}

static int walk_source(const struct walk *walk, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_fs *fs = walk->fs;
    struct todo todo = {0};
    int result = 0;
    if (fs->root_name)
        push(&todo, "", fs->root_name);
    else if (pf_root_is_profile(fs))
        push(&todo, "", ".");
    else
        push_entries(walk, &todo, "");
    for (char *path; !result && (path = pop(&todo)); free(path)) {
        struct pf_found found = {0};
        int code;
        if (todo.looked_at++ % 64 == 0 && pf_pass_step(pass, todo.looked_at, 0, error))
            result = -1;
        else if (pf_is_lack(code = classify_path(fs, path, &found)))
            result = pf_fail(error, code, "%s", strerror(code));
        else if (code)
            continue; /* gone since */
        else if (found.type == PF_ENTRY_PROFILE)
            result = walk->each(walk->arg, path, &found, error);
        else if (found.type == PF_ENTRY_DIR)
            push_entries(walk, &todo, path);
    }
    if (!result && (todo.paths.failed || (walk->problems && walk->problems->failed)))
        result = pf_fail_memory(error);
    pf_buf_free(&todo.paths);
    return result;
}

int pf_each_profile(struct pf_fs *fs, struct pf_pass *pass,
                    int (*each)(void *arg, const char *path, const struct pf_found *found,
                                struct pf_error *error),
                    void *arg, struct pf_error *error)
{
    return walk_source(&(struct walk){fs, each, arg, NULL}, pass, error);
}

/* ---- the tables --------------------------------------------------------------------------------- */

static int add_row(void *arg, const char *path, const struct pf_found *found, struct pf_error *error)
{
    struct pf_buf *out = arg;
    char mtime[64];
    struct tm tm;
    gmtime_r(&found->st.st_mtim.tv_sec, &tm);
    strftime(mtime, sizeof mtime, "%Y-%m-%dT%H:%M:%SZ", &tm);
    struct pf_cell cells[] = {pf_string(found->driver->name),
                              pf_string(found->verdict.version),
                              S_ISREG(found->st.st_mode) ? pf_int(found->st.st_size) : pf_absent(),
                              pf_string(mtime),
                              pf_uint(found->verdict.confidence),
                              pf_string(path),
                              pf_string(found->verdict.message)};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
    return out->failed ? pf_fail_memory(error) : 0;
}

int pf_list_profiles(struct pf_fs *fs, struct pf_pass *pass, struct pf_buf *profiles, struct pf_buf *archives,
                     struct pf_error *error)
{
    pf_buf_str(profiles, "format,version,bytes,mtime,confidence,path,message\n");
    pf_buf_str(archives, "severity,code,path,text\n");
    return walk_source(&(struct walk){fs, add_row, profiles, archives}, pass, error);
}
