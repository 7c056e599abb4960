/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/array.h"
#include "formats/recognise.h"
#include "fs/cli/commands.h"
#include "fs/exit.h"
#include "fs/tree/mounts.h"

/* ---- finding ------------------------------------------------------------------------------------ */

/* Reports a system error (no such file, no memory, a full disk) and returns the exit status. */
static int complain_of_path(const char *path, const char *reason)
{
    fflush(stdout);
    fprintf(stderr, "profilefs: %s: %s\n", path, reason);
    return PF_EXIT_SYSTEM;
}

size_t pf_existing_prefix(char *path, struct stat *st)
{
    size_t size = strlen(path);
    while (size) {
        char end = path[size];
        path[size] = 0;
        int missing = lstat(path, st);
        path[size] = end;
        if (!missing)
            return size;
        while (size && path[size - 1] != '/')
            size--;
        while (size > 1 && path[size - 1] == '/')
            size--;
        if (size == 1 && path[0] != '/')
            size = 0;
    }
    return 0;
}

char *pf_path_on_disk(const char *path)
{
    char *real = realpath(path, NULL), *source = real ? pf_path_in_source(real, NULL) : NULL;
    int code = real ? errno : 0;
    free(real);
    if (source || code == ENOMEM)
        return source;
    return strdup(path);
}

static bool is_directory_profile(const char *path)
{
    struct pf_probe_result result;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct pf_probe probe = {.name = path, .directory = true, .fd = fd};
    bool profile = pf_recognise(&probe, &result) != NULL;
    close(fd);
    return profile;
}

/* Returns the length of the prefix of a path up to the first profile that is a directory; `size` if there is none. Files below such a
 * profile are not served, so they do not count as existing. */
static size_t prefix_outside_profiles(char *path, size_t size)
{
    for (size_t end = 1; end < size; end++)
        if (path[end] == '/' && path[end - 1] != '/') {
            path[end] = 0;
            bool profile = is_directory_profile(path);
            path[end] = '/';
            if (profile)
                return end;
        }
    return size;
}

/* A path argument. */
struct typed {
    const char *as;    /* as the user typed it */
    const char *below; /* a path below `as` that the command reads, with a leading slash, or "" */
    char *path;        /* `as` followed by `below`; a link at the end of the existing prefix is resolved */
    char *source;      /* the folder to serve as SOURCE */
    const char *rest;  /* the part of `path` below SOURCE */
};

/* Sets typed->source to the longest existing prefix of the path or, if that is a file, to the file's folder. Sets typed->rest to the
 * rest of the path. Returns 0, or -1 with errno. */
static int find_source(struct typed *typed)
{
    struct stat st = {0};
    char *path = typed->path;
    size_t size = pf_existing_prefix(path, &st), outside = prefix_outside_profiles(path, size);
    if (outside < size) {
        size = outside;
        st.st_mode = S_IFDIR;
    }
    typed->source = size ? strndup(path, size) : strdup(".");
    if (!typed->source)
        return -1;
    typed->rest = path + size;
    if (size && !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(typed->source, '/');
        typed->rest = path + (slash ? slash - typed->source + 1 : 0);
        if (!slash)
            strcpy(typed->source, ".");
        else
            slash[slash == typed->source] = 0;
    }
    typed->rest += strspn(typed->rest, "/");
    return 0;
}

enum { LINKS_MAX = 40 };

static int from_root(struct pf_fs *fs, struct pf_attr *attr, struct pf_op *op)
{
    int result = pf_fs_getattr(fs, PF_ROOT_INO, attr, op);
    attr->st.st_ino = PF_ROOT_INO;
    return result;
}

/* Removes a `..` from a path, together with the name before it, which must not be a symbolic link. Returns 0, or EXDEV
 * if there is no name before it. */
static int remove_parent_step(char *path, size_t at, size_t next)
{
    size_t above = at;
    while (above && path[above - 1] == '/')
        above--;
    while (above && path[above - 1] != '/')
        above--;
    memmove(path + above, path + next, strlen(path + next) + 1);
    return at ? 0 : EXDEV;
}

/* Replaces the name of a symbolic link in a path by the link's target. Returns 0 or an errno value. */
static int follow_link(struct pf_fs *fs, uint64_t link, char **path, size_t at, size_t next, struct pf_op *op)
{
    char *target, *joined = NULL;
    int result = pf_fs_readlink(fs, link, &target, op);
    if (result)
        return result;
    if (*target == '/')
        result = EXDEV;
    else if (asprintf(&joined, "%.*s%s/%s", (int)at, *path, target, *path + next) < 0)
        result = ENOMEM;
    free(target);
    if (!result) {
        free(*path);
        *path = joined;
    }
    return result;
}

/*
 * Finds the node at a path below the root and fills *attr, in which a size that needs a pass is 0. Follows symbolic links within
 * SOURCE, but a link at the end of the path only if `through` is set or a slash follows. A link or `..` changes the path, and the
 * look-up then restarts at the root. Returns 0, EXDEV if a link or `..` leads out of SOURCE, or another errno value.
 */
static int find_served_entry(struct pf_fs *fs, const char *typed, bool through, struct pf_attr *attr,
                             struct pf_op *op)
{
    char *path = strdup(typed), name[NAME_MAX + 1];
    unsigned links = 0;
    int result = path ? from_root(fs, attr, op) : ENOMEM;
    for (size_t at = 0; !result && path[at];) {
        size_t n = strcspn(path + at, "/"), next = at + n + strspn(path + at + n, "/");
        bool changed = false;
        if (n >= sizeof name || !S_ISDIR(attr->st.st_mode)) {
            result = n >= sizeof name ? ENAMETOOLONG : ENOTDIR;
            break;
        }
        memcpy(name, path + at, n);
        name[n] = 0;
        if (!strcmp(name, "..")) {
            result = remove_parent_step(path, at, next);
            changed = true;
        } else if (*name && strcmp(name, ".") != 0) {
            result = pf_fs_lookup(fs, attr->st.st_ino, name, false, attr, op);
            changed = !result && S_ISLNK(attr->st.st_mode) && (through || path[at + n]);
            if (changed)
                result = links++ < LINKS_MAX ? follow_link(fs, attr->st.st_ino, &path, at, next, op) : ELOOP;
        }
        at = changed ? 0 : next;
        if (changed && !result)
            result = from_root(fs, attr, op);
    }
    if (!result && *path && path[strlen(path) - 1] == '/' && !S_ISDIR(attr->st.st_mode))
        result = ENOTDIR;
    free(path);
    return result;
}

/* Reports an error and returns the exit status. Prints the text of *error if *error has that code, otherwise the system's text. */
static int complain_of(const char *path, int code, const struct pf_error *error)
{
    if (code == EXDEV)
        return complain_of_path(path, "link target is outside SOURCE");
    if (error->code != code || !*error->what)
        return complain_of_path(path, strerror(code));
    complain_of_path(path, error->what); /* a pass over the data failed */
    return pf_exit_of(code);
}

/* ---- the commands ------------------------------------------------------------------------------- */

typedef int visit_fn(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                     struct pf_op *op);

/* Sets typed->path. Resolves a symbolic link at the end of the path's existing prefix if `through` is set or if the path
 * continues after the prefix. Returns 0, or -1 with errno. */
static int resolve_typed_path(struct typed *typed, bool through)
{
    struct stat st;
    char *path = NULL, *real = NULL;
    if (asprintf(&path, "%s%s", typed->as, typed->below) < 0)
        return -1;
    typed->path = path;
    size_t size = pf_existing_prefix(path, &st);
    if (!size || !S_ISLNK(st.st_mode) || (!path[size] && !through))
        return 0;
    char end = path[size];
    path[size] = 0;
    char *target = realpath(path, NULL);
    path[size] = end;
    if (!target)
        return -1;
    int n = asprintf(&real, "%s%s", target, path + size);
    free(target);
    if (n < 0)
        return -1;
    free(path);
    typed->path = real;
    return 0;
}

/* Reports a failed look-up of typed->rest and returns the exit status. */
static int complain_of_lookup(struct pf_fs *fs, const struct typed *typed, int code, struct pf_op *op)
{
    struct pf_attr attr;
    struct pf_error error = op->error;
    size_t size = strlen(typed->rest), below = strlen(typed->below);
    char *entry = strndup(typed->rest, size > below ? size - below : 0);
    bool exists = entry && below && !find_served_entry(fs, entry, true, &attr, op);
    free(entry);
    if (exists && (code == ENOENT || code == ENOTDIR))
        return complain_of_path(typed->as, "not a profile with measurements");
    if (code == ENOTDIR)
        return complain_of_path(typed->as, "a part of the path is neither a profile nor a folder");
    return complain_of(typed->as, code, &error);
}

static int visit_typed_path(const struct pf_fs_options *options, const struct typed *typed, visit_fn *visit,
                            bool through)
{
    struct pf_error error = {0};
    struct pf_attr attr;
    struct pf_op op = PF_OP;
    struct pf_fs *fs = pf_fs_new(typed->source, options, &error);
    if (!fs)
        return complain_of_path(typed->source, error.what);
    int code = find_served_entry(fs, typed->rest, through, &attr, &op);
    int status =
        code ? complain_of_lookup(fs, typed, code, &op) : visit(fs, typed->as, typed->rest, &attr, &op);
    pf_fs_free(fs);
    return status;
}

/* Enters a sandbox that permits reading the sources of all paths, then visits each path. Returns the highest exit status. */
static int visit_paths(const struct pf_fs_options *options, struct typed *typed, char **sources, size_t n,
                       visit_fn *visit, bool through)
{
    int status = PF_EXIT_OK;
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (resolve_typed_path(&typed[i], through) || find_source(&typed[i]))
            status = complain_of_path(typed[i].as, strerror(errno));
        else
            sources[known++] = typed[i].source;
    int refused = pf_enter_sandbox(options, sources, known);
    if (refused)
        return refused;
    for (size_t i = 0; i < n; i++) {
        int result = typed[i].source ? visit_typed_path(options, &typed[i], visit, through) : PF_EXIT_OK;
        status = result > status ? result : status;
    }
    if (fflush(stdout) && !status)
        status = complain_of_path("standard output", strerror(errno));
    return status;
}

static int for_each_path_below(const struct pf_fs_options *options, int argc, char **argv, const char *below,
                               visit_fn *visit, bool through)
{
    if (!argc) {
        fprintf(stderr, "profilefs: missing operand\n");
        return PF_EXIT_USAGE;
    }
    size_t n = (size_t)argc;
    struct typed *typed = calloc(n, sizeof *typed);
    char **sources = calloc(n, sizeof *sources);
    int status = PF_EXIT_SYSTEM;
    if (typed && sources) {
        for (size_t i = 0; i < n; i++)
            typed[i] = (struct typed){.as = argv[i], .below = below};
        status = visit_paths(options, typed, sources, n, visit, through);
    }
    for (size_t i = 0; typed && i < n; i++) {
        free(typed[i].path);
        free(typed[i].source);
    }
    free(typed);
    free(sources);
    return status;
}

static int for_each_path(const struct pf_fs_options *options, int argc, char **argv, visit_fn *visit,
                         bool through)
{
    return for_each_path_below(options, argc, argv, "", visit, through);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads all entries except . and .., sorted by name, as "name" or "name/"; the caller frees them. */
static int read_sorted_entries(struct pf_fs *fs, uint64_t ino, char ***names, size_t *count, struct pf_op *op)
{
    struct pf_dir *dir;
    struct pf_dirent entry;
    int result = pf_fs_opendir(fs, ino, &dir, op);
    *names = NULL;
    *count = 0;
    if (result)
        return result;
    size_t room = 0;
    int more;
    for (uint64_t at = 2; (more = pf_fs_readdir(dir, at, &entry, false, NULL, op)) > 0;
         at = entry.next) { /* after . and .. */
        struct pf_error failure;
        if (pf_array_room(names, &room, *count, sizeof **names, &failure)) {
            result = ENOMEM;
            break;
        }
        size_t n = strlen(entry.name);
        char *name = malloc(n + 2);
        if (!name) {
            result = ENOMEM;
            break;
        }
        memcpy(name, entry.name, n + 1);
        if (entry.type == DT_DIR)
            memcpy(name + n, "/", 2);
        (*names)[(*count)++] = name;
    }
    if (!result && more < 0)
        result = -more;
    pf_fs_closedir(dir);
    if (*count)
        qsort(*names, *count, sizeof **names, compare_names);
    return result;
}

static void free_entries(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static int list_path(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                     struct pf_op *op)
{
    char **names;
    size_t count;
    (void)rest;
    if (!S_ISDIR(attr->st.st_mode)) {
        puts(path);
        return PF_EXIT_OK;
    }
    int code = read_sorted_entries(fs, attr->st.st_ino, &names, &count, op);
    for (size_t i = 0; i < count; i++)
        puts(names[i]);
    free_entries(names, count);
    return code ? complain_of(path, code, &op->error) : PF_EXIT_OK;
}

int pf_command_ls(const struct pf_fs_options *options, int argc, char **argv)
{
    char here[] = ".", *dot[] = {here};
    return argc ? for_each_path(options, argc, argv, list_path, true)
                : for_each_path(options, 1, dot, list_path, true);
}

static bool write_data(const struct pf_data *data)
{
    for (int i = 0; i < data->n_spans; i++)
        if (fwrite(data->spans[i].block->data + data->spans[i].offset, 1, data->spans[i].size, stdout) !=
            data->spans[i].size)
            return false;
    return !data->size || !data->bytes || fwrite(data->bytes, 1, data->size, stdout) == data->size;
}

static size_t data_size(const struct pf_data *data)
{
    size_t size = data->bytes ? data->size : 0;
    for (int i = 0; i < data->n_spans; i++)
        size += data->spans[i].size;
    return size;
}

/* Copies at most 64 KB of a range of data->fd to standard output. Returns the number of bytes, or -1. */
static ssize_t copy_range(const struct pf_data *data)
{
    static const size_t most = 65536;
    char *buffer = malloc(most);
    ssize_t n =
        buffer ? pread(data->fd, buffer, data->size < most ? data->size : most, (off_t)data->offset) : -1;
    if (n > 0 && fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n)
        n = -1;
    free(buffer);
    return n;
}

enum { OPEN_TRIES = 3 };

static int print_file(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                      struct pf_op *op)
{
    struct pf_handle *handle;
    struct pf_data data;
    if (S_ISDIR(attr->st.st_mode))
        return complain_of_path(path, strerror(EISDIR));
    struct pf_attr now = *attr;
    int code = pf_fs_open(fs, now.st.st_ino, true, &handle, op);
    /* ESTALE: the file has changed since it was found. Look up the path again, as the kernel does. */
    for (int tries = 0; code == ESTALE && tries < OPEN_TRIES; tries++) {
        code = find_served_entry(fs, rest, true, &now, op);
        if (!code)
            code = pf_fs_open(fs, now.st.st_ino, true, &handle, op);
    }
    if (code)
        return complain_of(path, code, &op->error);
    for (uint64_t offset = 0;;) {
        code = pf_fs_read(handle, offset, 1 << 20, &data, op);
        if (code)
            break;
        ssize_t n = data.fd >= 0 ? copy_range(&data) : (ssize_t)data_size(&data);
        if (n > 0 && data.fd < 0 && !write_data(&data))
            n = -1;
        pf_data_release(fs, &data);
        if (n < 0)
            code = errno ? errno : EIO;
        if (n <= 0)
            break;
        offset += (uint64_t)n;
    }
    pf_fs_close(handle);
    return code ? complain_of(path, code, &op->error) : PF_EXIT_OK;
}

int pf_command_cat(const struct pf_fs_options *options, int argc, char **argv)
{
    return for_each_path(options, argc, argv, print_file, true);
}

/* ---- summary ------------------------------------------------------------------------------------ */

/* Prints the summary page of one of several profiles, preceded by the profile's path. */
static int print_page(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                      struct pf_op *op)
{
    printf("==> %s <==\n\n", path);
    int status = print_file(fs, path, rest, attr, op);
    putchar('\n');
    return status;
}

int pf_command_summary(const struct pf_fs_options *options, int argc, char **argv)
{
    static const struct option known[] = {{"metric", required_argument, NULL, 'm'}, {NULL, 0, NULL, 0}};
    struct pf_fs_options changed = *options;
    optind = 0;
    for (int c;
         (c = getopt_long(argc + 1, argv - 1, "", known, NULL)) >= 0;) { /* argv[1] is the command's name */
        if (c != 'm')
            return PF_EXIT_USAGE;
        changed.profile.metric = optarg;
    }
    argv += optind - 1;
    argc -= optind - 1;
    return for_each_path_below(&changed, argc, argv, "/primary/metric/summary.md",
                               argc > 1 ? print_page : print_file, true);
}

/* ---- stat --------------------------------------------------------------------------------------- */

static int print_stat(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                      struct pf_op *op)
{
    char time[64];
    struct tm tm;
    (void)rest;
    struct pf_attr sized = *attr;
    int code = pf_fs_getattr(fs, attr->st.st_ino, &sized, op);
    if (code)
        return complain_of(path, code, &op->error);
    const struct stat *st = &sized.st;
    gmtime_r(&st->st_mtim.tv_sec, &tm);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const char *type = S_ISDIR(st->st_mode)   ? "directory"
                       : S_ISREG(st->st_mode) ? "file"
                       : S_ISLNK(st->st_mode) ? "link"
                                              : "special file";
    printf("Path: %s\nType: %s\nSize: %lld\nMode: %04o\nOwner: %u:%u\nModified: %s\n", path, type,
           (long long)st->st_size, (unsigned)st->st_mode & 07777, (unsigned)st->st_uid, (unsigned)st->st_gid,
           time);
    return PF_EXIT_OK;
}

int pf_command_stat(const struct pf_fs_options *options, int argc, char **argv)
{
    return for_each_path(options, argc, argv, print_stat, false);
}

/* ---- tree: depth first, without recursion ------------------------------------------------------- */

struct listed_level {
    uint64_t ino;
    char **names;
    size_t count, next;
};

enum { INDENT_MAX = 64 };

static void indent(size_t depth)
{
    for (size_t i = 0; i < depth && i < INDENT_MAX; i++)
        fputs("  ", stdout);
    if (depth > INDENT_MAX)
        printf("[depth %zu] ", depth);
}

static int push_level(struct pf_fs *fs, struct listed_level **levels, size_t *depth, uint64_t ino,
                      struct pf_op *op)
{
    struct listed_level *grown = realloc(*levels, (*depth + 1) * sizeof *grown);
    if (!grown)
        return ENOMEM;
    *levels = grown;
    struct listed_level *level = &grown[*depth];
    *level = (struct listed_level){.ino = ino};
    int result = read_sorted_entries(fs, ino, &level->names, &level->count, op);
    if (result)
        free_entries(level->names, level->count);
    else
        ++*depth;
    return result;
}

static int print_tree(struct pf_fs *fs, const char *path, const char *rest, const struct pf_attr *attr,
                      struct pf_op *op)
{
    struct listed_level *levels = NULL;
    size_t depth = 0;
    (void)rest;
    puts(path);
    int code = S_ISDIR(attr->st.st_mode) ? push_level(fs, &levels, &depth, attr->st.st_ino, op) : 0;
    while (depth && !code) {
        struct listed_level *level = &levels[depth - 1];
        if (level->next == level->count) {
            free_entries(level->names, level->count);
            depth--;
            continue;
        }
        char *name = level->names[level->next++];
        size_t n = strlen(name);
        struct pf_attr child;
        indent(depth);
        puts(name);
        if (name[n - 1] != '/')
            continue;
        name[n - 1] = 0;
        code = pf_fs_lookup(fs, level->ino, name, false, &child, op);
        if (!code)
            code = push_level(fs, &levels, &depth, child.st.st_ino, op);
    }
    while (depth--)
        free_entries(levels[depth].names, levels[depth].count);
    free(levels);
    return code ? complain_of(path, code, &op->error) : PF_EXIT_OK;
}

int pf_command_tree(const struct pf_fs_options *options, int argc, char **argv)
{
    return for_each_path(options, argc, argv, print_tree, true);
}
