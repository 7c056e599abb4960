/* SPDX-License-Identifier: MIT */
#include "formats/input/source_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/unpacked.h"

struct pf_source *pf_source_at(const struct pf_folder *top, const char *path, bool within,
                               struct pf_error *error)
{
    struct pf_source *source = calloc(1, sizeof *source);
    if (!source || !(source->path = strdup(path))) {
        free(source);
        pf_fail_memory(error);
        return NULL;
    }
    const char *slash = strrchr(source->path, '/');
    source->top = top;
    source->name = slash ? slash + 1 : source->path;
    source->within = within;
    source->access.mode = 0444;
    pf_lock_init(&source->lock, PF_RANK_SOURCE);
    pf_lock_init(&source->folder_lock, PF_RANK_FOLDER);
    return source;
}

/* The folder that the entry stands in, opened. NULL with errno. */
static struct pf_folder *open_parent(const struct pf_source *source)
{
    if (source->name == source->path)
        return pf_folder_open(source->top, ".");
    char *parent = strndup(source->path, (size_t)(source->name - source->path - 1));
    struct pf_folder *folder = parent ? pf_folder_open(source->top, parent) : NULL;
    free(parent);
    return folder;
}

/* Takes the folder over, NULL with errno, in which the entry is opened. With source->lock held. */
static int open_folders(struct pf_source *source, struct pf_folder *folder, struct pf_error *error)
{
    struct stat st = {0};
    struct pf_folder *directory = NULL;
    int result = folder ? pf_folder_stat(folder, source->name, &st) : errno;
    if (!result && S_ISLNK(st.st_mode))
        result = ELOOP;
    if (!result && S_ISDIR(st.st_mode) && !(directory = pf_folder_open(folder, source->name)))
        result = errno;
    if (result) {
        pf_folder_free(folder);
        return pf_fail(error, result, "%s", strerror(result));
    }
    source->folder = folder;
    source->directory = directory;
    return 0;
}

/* The same without the lock. */
static int wake_in(struct pf_source *source, struct pf_folder *folder, struct pf_error *error)
{
    pf_lock_take(&source->lock);
    int result = open_folders(source, folder, error);
    pf_lock_drop(&source->lock);
    return result;
}

int pf_source_wake(struct pf_source *source, struct pf_error *error)
{
    return source->folder ? 0 : wake_in(source, open_parent(source), error);
}

struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error)
{
    struct pf_source *source = pf_source_at(NULL, name, false, error);
    int fd = source ? fcntl(directory, F_DUPFD_CLOEXEC, 3) : -1;
    if (source && !wake_in(source, fd < 0 ? NULL : pf_folder_new(fd, NULL), error))
        return source;
    pf_source_free(source);
    return NULL;
}

/* With source->lock held, or by the only one who has it. */
static void close_all(struct pf_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        struct pf_input *input = source->inputs[i];
        if (input->open)
            pf_opened_close(&input->file);
        input->open = false;
    }
    pf_folder_free(source->directory);
    pf_folder_free(source->folder);
    source->directory = source->folder = NULL;
}

void pf_source_rest(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    close_all(source);
    for (size_t i = 0; i < source->count; i++) {
        pf_input_free(source->inputs[i]->view);
        source->inputs[i]->view = NULL;
    }
    pf_lock_drop(&source->lock);
}

void pf_source_let_go(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    close_all(source);
    source->gone = true;
    pf_lock_drop(&source->lock);
}

void pf_source_free(struct pf_source *source)
{
    if (!source)
        return;
    close_all(source);
    for (size_t i = 0; i < source->count; i++)
        pf_input_free(source->inputs[i]);
    free(source->inputs);
    pf_lock_destroy(&source->folder_lock);
    pf_lock_destroy(&source->lock);
    free(source->path);
    free(source);
}

void pf_source_set_driver(struct pf_source *source, const struct pf_driver *driver)
{
    source->driver = driver;
}

const char *pf_source_name(const struct pf_source *source)
{
    return source->name;
}

const struct pf_folder *pf_source_place(const struct pf_source *source, const char *name, char room[PATH_MAX],
                                        const char **relative)
{
    *relative = name ? name : source->name;
    if (source->folder)
        return name && source->directory ? source->directory : source->folder;
    size_t above = source->name == source->path ? 0 : (size_t)(source->name - source->path - 1);
    size_t size = source->within ? strlen(source->path) : above;
    bool at_top = size == 0 || !strcmp(source->path, ".");
    if (!name)
        *relative = source->path;
    else if (*name != '/' && !at_top) {
        bool itself = !strcmp(name, PF_FOLDER);
        snprintf(room, PATH_MAX, "%.*s%s%s", (int)size, source->path, itself ? "" : "/", itself ? "" : name);
        *relative = room;
    }
    return source->top;
}

struct pf_access pf_source_access(struct pf_source *source)
{
    pf_lock_take(&source->folder_lock);
    struct pf_access access = source->access;
    pf_lock_drop(&source->folder_lock);
    return access;
}

void pf_source_note_access(struct pf_source *source, int directory, const char *name, const struct stat *st,
                           bool through)
{
    struct stat bare = *st;
    if (source->lists && directory != -1)
        bare.st_mode = pf_mode_without_list(directory, name, bare.st_mode);
    struct pf_access access = through ? pf_access_through(&bare) : pf_access_of(&bare);
    pf_lock_take(&source->folder_lock);
    pf_access_narrow(&source->access, &access, getuid());
    pf_lock_drop(&source->folder_lock);
}

/* What stands at an input's place, and the folders between the source and it. */
static void note_place(struct pf_source *source, const char *name, const struct stat *st)
{
    char room[PATH_MAX];
    const char *relative;
    const struct pf_folder *folder = pf_source_place(source, name, room, &relative);
    for (const char *slash = strchr(relative, '/'); *relative != '/' && slash;
         slash = strchr(slash + 1, '/')) {
        struct stat above;
        char *path = strndup(relative, (size_t)(slash - relative));
        if (!path || pf_folder_stat(folder, path, &above))
            above = (struct stat){.st_mode = S_IFDIR | 0700, .st_uid = getuid()};
        pf_source_note_access(source, pf_folder_fd(folder), path ? path : "", &above, true);
        free(path);
    }
    pf_source_note_access(source, *relative == '/' ? AT_FDCWD : pf_folder_fd(folder), relative, st, false);
}

void pf_source_set_matters(struct pf_source *source, pf_matters *matters)
{
    source->matters = matters;
}

/*
 * Fills *stamp with what is at an input's place now; all zero if there is no file of its kind. 0, or an errno value if that cannot be
 * found out just now (pf_is_transient). Paths that the user has named may be links, the profile's may not.
 */
static int stamp_now(struct pf_source *source, const char *name, struct pf_stamp *stamp)
{
    char room[PATH_MAX];
    const char *relative;
    const struct pf_folder *folder = pf_source_place(source, name, room, &relative);
    int lack = 0;
    struct stat st;
    *stamp = (struct pf_stamp){0};
    if (source->gone || (*relative != '/' && !pf_folder_is_current(folder)))
        return 0;
    if (name && pf_source_listing_now(source, name, stamp, &lack))
        return lack;
    int result = *relative != '/' ? pf_folder_stat(folder, relative, &st) : stat(relative, &st) ? errno : 0;
    if (!result && S_ISREG(st.st_mode))
        *stamp = pf_stamp_of(&st);
    return pf_is_transient(result) ? result : 0;
}

/* Never to hang on a FIFO: only what turns out to be a regular file is waited for. 0 or an errno value. */
static int open_place(const struct pf_input *input, struct pf_opened *opened)
{
    char room[PATH_MAX];
    const char *relative;
    const struct pf_folder *folder = pf_source_place(input->source, input->name, room, &relative);
    if (*relative != '/')
        return pf_folder_file(folder, relative, opened);
    *opened = (struct pf_opened){.fd = open(relative, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (opened->fd < 0)
        return errno;
    int result = fstat(opened->fd, &opened->st) ? errno : S_ISREG(opened->st.st_mode) ? 0 : EINVAL;
    if (result)
        pf_opened_close(opened);
    return result;
}

static int open_input(struct pf_input *input, struct pf_error *error)
{
    struct pf_opened opened;
    struct stat held = {0};
    if (input->source->gone)
        return pf_fail(error, ESTALE, "the file has changed");
    int result = open_place(input, &opened);
    if (result)
        return pf_fail(error, result, "%s", result == EINVAL ? "not a regular file" : strerror(result));
    if (!opened.within)
        pf_outlast_clock_tick(opened.fd, &opened.st);
    note_place(input->source, input->name, &opened.st);
    struct pf_stamp stamp = pf_stamp_of(&opened.st);
    result = pf_opened_stat(&opened, &held) ? errno : 0;
    bool changed = input->present && !pf_stamp_same(&stamp, &input->stamp);
    if (result || changed) {
        pf_opened_close(&opened);
        return pf_fail(error, result ? result : ESTALE, "%s",
                       result ? strerror(result) : "the file has changed");
    }
    input->present = true;
    input->open = true;
    input->file = opened;
    input->stamp = stamp;
    input->held = opened.within ? pf_stamp_of(&held) : stamp;
    input->links = held.st_nlink;
    return 0;
}

int pf_source_peek(struct pf_source *source, const char *name, struct pf_input **input,
                   struct pf_error *error)
{
    struct pf_input *new = calloc(1, sizeof *new);
    *input = NULL;
    if (!new || !(new->name = strdup(name))) {
        free(new);
        return pf_fail_memory(error);
    }
    new->source = source;
    if (open_input(new, error)) {
        pf_input_free(new);
        return -1;
    }
    *input = new;
    return 0;
}

/* ---- closing files for a while -------------------------------------------------------------------- */

/* With source->lock held. */
static int open_again(struct pf_source *source, struct pf_error *error)
{
    int result = open_folders(source, open_parent(source), error);
    for (size_t i = 0; i < source->count && !result; i++) {
        struct pf_input *input = source->inputs[i];
        result = input->closed ? open_input(input, error) : 0;
        input->closed &= result != 0;
    }
    if (!result)
        return 0;
    for (size_t i = 0; i < source->count; i++)
        source->inputs[i]->closed |= source->inputs[i]->open;
    close_all(source);
    if (error->code == ENOENT || error->code == ENOTDIR)
        pf_fail(error, ESTALE, "the file has changed");
    return -1;
}

int pf_source_acquire(struct pf_source *source, struct pf_error *error)
{
    int result = 0;
    unsigned users = atomic_load(&source->users);
    while (users && !atomic_compare_exchange_weak(&source->users, &users, users + 1)) {
    }
    if (users)
        return 0;
    pf_lock_take(&source->lock);
    if (source->closed)
        result = open_again(source, error);
    source->closed &= result != 0;
    if (!result)
        atomic_fetch_add(&source->users, 1);
    pf_lock_drop(&source->lock);
    return result;
}

void pf_source_release(struct pf_source *source)
{
    atomic_fetch_sub(&source->users, 1);
}

void pf_source_close_files(struct pf_source *source)
{
    struct pf_opened *files = NULL;
    struct pf_folder *directory = NULL, *folder = NULL;
    size_t n = 0;
    pf_lock_take(&source->lock);
    if (source->top && source->folder && !atomic_load(&source->users))
        files = calloc(source->count + 1, sizeof *files);
    for (size_t i = 0; i < source->count && files; i++) {
        struct pf_input *input = source->inputs[i];
        if (!input->open)
            continue;
        files[n++] = input->file;
        input->open = false;
        input->closed = true;
    }
    if (files) {
        folder = source->folder;
        directory = source->directory;
        source->folder = source->directory = NULL;
        source->closed = true;
    }
    pf_lock_drop(&source->lock);
    /* Closing may wait for a file server, and the lock for nobody. */
    for (size_t i = 0; i < n; i++)
        pf_opened_close(&files[i]);
    free(files);
    pf_folder_free(directory);
    pf_folder_free(folder);
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

struct pf_input *pf_source_find(struct pf_source *source, const char *name)
{
    for (size_t i = 0; i < source->count; i++)
        if (same_name(source->inputs[i]->name, name))
            return source->inputs[i];
    return NULL;
}

struct pf_input *pf_source_add(struct pf_source *source, const char *name, struct pf_error *error)
{
    struct pf_input **inputs = realloc(source->inputs, (source->count + 1) * sizeof *inputs);
    if (inputs)
        source->inputs = inputs;
    struct pf_input *input = calloc(1, sizeof *input);
    if (!inputs || !input || (name && !(input->name = strdup(name)))) {
        free(input);
        pf_fail_memory(error);
        return NULL;
    }
    input->source = source;
    source->inputs[source->count++] = input;
    return input;
}

static int open_recorded(struct pf_source *source, const char *name, struct pf_input **input,
                         struct pf_error *error)
{
    int result = 0;
    pf_lock_take(&source->lock);
    struct pf_input *found = pf_source_find(source, name);
    bool first = !found;
    if (found && !found->present)
        result = pf_fail(error, ENOENT, "%s", strerror(ENOENT));
    else if (first && !(found = pf_source_add(source, name, error)))
        result = -1;
    else if (!found->open)
        result = open_input(found, error);
    if (result && first && found) {
        /* A file that may not be read is looked for again once something about it has changed. */
        int unknown = pf_is_transient(error->code) ? error->code
                      : error->code != ENOENT      ? stamp_now(source, name, &found->stamp)
                                                   : 0;
        if (unknown) { /* whether it is there is not known, so it is no input yet */
            source->count--;
            pf_input_free(found);
            pf_fail(error, unknown, "%s", strerror(unknown));
        }
    }
    pf_lock_drop(&source->lock);
    if (result && name)
        snprintf(error->where, sizeof error->where, "%s", name);
    *input = result ? NULL : found;
    return result;
}

int pf_source_open_file(struct pf_source *source, const char *name, struct pf_input **input,
                        struct pf_error *error)
{
    *input = NULL;
    /* A path that stands in a profile must not become one that the user has named. */
    if (name && *name == '/')
        return pf_fail(error, EXDEV, "%s", strerror(EXDEV));
    return open_recorded(source, name, input, error);
}

int pf_source_open(struct pf_source *source, const char *name, struct pf_input **input,
                   struct pf_error *error)
{
    if (pf_source_open_file(source, name, input, error))
        return -1;
    return name ? 0 : pf_source_through(source, input, true, error);
}

int pf_source_open_path(struct pf_source *source, const char *path, struct pf_input **input,
                        struct pf_error *error)
{
    *input = NULL;
    if (*path != '/')
        return pf_fail(error, EINVAL, "not an absolute path");
    return open_recorded(source, path, input, error);
}

/* ---- change ------------------------------------------------------------------------------------- */

/* By path, which sees a replaced file. */
static int check_input(const struct pf_input *input, struct pf_error *error)
{
    struct pf_stamp now;
    int lack = stamp_now(input->source, input->name, &now);
    if (!lack && pf_source_same(input->name, &now, &input->stamp))
        return 0;
    pf_fail(error, lack ? lack : ESTALE, "%s", lack ? strerror(lack) : "the file has changed");
    if (input->name)
        snprintf(error->where, sizeof error->where, "%s", input->name);
    return -1;
}

int pf_source_check(struct pf_source *source, struct pf_error *error)
{
    int result = 0;
    pf_lock_take(&source->lock);
    if (source->gone)
        result = pf_fail(error, ESTALE, "the file has changed");
    for (size_t i = 0; i < source->count && !result; i++)
        result = check_input(source->inputs[i], error);
    pf_lock_drop(&source->lock);
    return result;
}

bool pf_source_intact(struct pf_source *source)
{
    bool intact = true;
    pf_lock_take(&source->lock);
    for (size_t i = 0; i < source->count && intact; i++) {
        const struct pf_input *input = source->inputs[i];
        intact = !input->open || pf_input_intact(input);
    }
    pf_lock_drop(&source->lock);
    return intact;
}

static size_t descriptors_of(const struct pf_input *input)
{
    size_t unpacked =
        input->view && input->view->unpacked ? pf_unpacked_descriptors(input->view->unpacked) : 0;
    return (size_t)(input->open && input->file.fd >= 0) + unpacked;
}

size_t pf_source_descriptors(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    size_t n = (size_t)(source->folder && pf_folder_fd(source->folder) >= 0) +
               (size_t)(source->directory && pf_folder_fd(source->directory) >= 0);
    for (size_t i = 0; i < source->count; i++)
        n += descriptors_of(source->inputs[i]);
    pf_lock_drop(&source->lock);
    return n;
}

/* Passes may open inputs while another thread lists them: the list must not move under it. */
static struct pf_lock *lock_of(const struct pf_source *source)
{
    return (struct pf_lock *)&source->lock;
}

size_t pf_source_input_count(const struct pf_source *source)
{
    pf_lock_take(lock_of(source));
    size_t count = source->count;
    pf_lock_drop(lock_of(source));
    return count;
}

const char *pf_source_input_at(const struct pf_source *source, size_t i, struct pf_stamp *stamp)
{
    pf_lock_take(lock_of(source));
    const struct pf_input *input = i < source->count ? source->inputs[i] : NULL;
    *stamp = input ? input->stamp : (struct pf_stamp){0};
    pf_lock_drop(lock_of(source));
    return input ? input->name : NULL;
}

int pf_source_matches(struct pf_source *source, const char *name, const struct pf_stamp *stamp)
{
    struct pf_stamp now;
    struct stat st;
    char room[PATH_MAX];
    const char *relative;
    pf_lock_take(&source->lock);
    const struct pf_input *recorded = pf_source_find(source, name);
    if (recorded)
        now = recorded->stamp;
    int lack = recorded ? 0 : stamp_now(source, name, &now);
    pf_lock_drop(&source->lock);
    bool same = !lack && pf_source_same(name, &now, stamp);
    if (!same || recorded || !source->folder)
        return lack ? -lack : same;
    const struct pf_folder *folder = pf_source_place(source, name, room, &relative);
    if (!(*relative == '/' ? stat(relative, &st) : pf_folder_stat(folder, relative, &st)) &&
        S_ISREG(st.st_mode))
        note_place(source, name, &st);
    return true;
}

int pf_source_know(struct pf_source *source, const char *name, const struct pf_stamp *stamp,
                   struct pf_error *error)
{
    static const struct pf_stamp absent;
    pf_lock_take(&source->lock);
    struct pf_input *input = pf_source_find(source, name);
    if (!input && (input = pf_source_add(source, name, error))) {
        input->present = !pf_stamp_same(stamp, &absent);
        input->stamp = *stamp;
        if (name)
            pf_source_know_listing(source, name, stamp);
    }
    pf_lock_drop(&source->lock);
    return input ? 0 : -1;
}
