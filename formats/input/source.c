/* SPDX-License-Identifier: MIT */
#include "formats/input/source.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/record.h"
#include "formats/input/unpacked.h"
#include "formats/kit/pass.h"

/* ---- life --------------------------------------------------------------------------------------- */

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
    return source;
}

/* Opens the parent folder of the entry. NULL with errno. */
static struct pf_folder *source_open_parent(const struct pf_source *source)
{
    if (source->name == source->path)
        return pf_folder_open(source->top, ".");
    char *path = strndup(source->path, (size_t)(source->name - source->path - 1));
    struct pf_folder *parent = path ? pf_folder_open(source->top, path) : NULL;
    free(path);
    return parent;
}

/* Opens the entry in `parent`, and takes ownership of `parent`. If `parent` is NULL, fails with the error in errno. */
static int open_folders(struct pf_source *source, struct pf_folder *parent, struct pf_error *error)
{
    struct stat st = {0};
    struct pf_folder *directory = NULL;
    int result = parent ? pf_folder_stat(parent, source->name, &st) : errno;
    if (!result && S_ISLNK(st.st_mode))
        result = ELOOP;
    if (!result && S_ISDIR(st.st_mode) && !(directory = pf_folder_open(parent, source->name)))
        result = errno;
    struct pf_source_folders *folders = result ? NULL : malloc(sizeof *folders);
    if (!folders) {
        int code = result ? result : ENOMEM;
        pf_folder_free(directory);
        pf_folder_free(parent);
        return pf_fail(error, code, "%s", strerror(code));
    }
    atomic_init(&folders->references, 1);
    folders->parent = parent;
    folders->directory = directory;
    pf_lock_take(&source->lock);
    bool needed = !source->folders;
    if (needed)
        source->folders = folders;
    pf_lock_drop(&source->lock);
    if (!needed) /* another thread has opened the folders */
        pf_source_folders_release(folders);
    return 0;
}

int pf_source_reopen(struct pf_source *source, struct pf_error *error)
{
    struct pf_source_folders *folders = pf_source_folders_hold(source);
    pf_source_folders_release(folders);
    return folders ? 0 : open_folders(source, source_open_parent(source), error);
}

struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error)
{
    struct pf_source *source = pf_source_at(NULL, name, false, error);
    int fd = source ? fcntl(directory, F_DUPFD_CLOEXEC, 3) : -1;
    if (source && !open_folders(source, fd < 0 ? NULL : pf_folder_new(fd, NULL), error))
        return source;
    pf_source_free(source);
    return NULL;
}

static struct pf_input *input_at(struct pf_source *source, size_t i)
{
    pf_lock_take(&source->lock);
    struct pf_input *input = i < source->count ? source->inputs[i] : NULL;
    pf_lock_drop(&source->lock);
    return input;
}

/* Detaches the open file from an input; NULL if it is closed. The caller holds the source's lock. */
static struct pf_input_file *detach_file(struct pf_input *input)
{
    struct pf_input_file *file = input->file;
    pf_assert_held(&input->source->lock);
    input->file = NULL;
    input->source->idle_inputs -= input->idle;
    input->idle = false;
    return file;
}

static struct pf_input_file *lock_and_detach(struct pf_input *input)
{
    pf_lock_take(&input->source->lock);
    struct pf_input_file *file = detach_file(input);
    pf_lock_drop(&input->source->lock);
    return file;
}

static void close_all(struct pf_source *source)
{
    struct pf_input *input;
    for (size_t i = 0; (input = input_at(source, i)); i++)
        pf_input_file_release(lock_and_detach(input));
    pf_lock_take(&source->lock);
    struct pf_source_folders *folders = source->folders;
    source->folders = NULL;
    source->idle = false;
    source->idle_inputs = 0;
    pf_lock_drop(&source->lock);
    pf_source_folders_release(folders);
}

void pf_source_close(struct pf_source *source)
{
    struct pf_input *input;
    close_all(source);
    for (size_t i = 0; (input = input_at(source, i)); i++) {
        pf_input_free(input->view);
        input->view = NULL;
    }
}

void pf_source_free(struct pf_source *source)
{
    if (!source)
        return;
    pf_source_folders_release(source->folders);
    for (size_t i = 0; i < source->count; i++)
        pf_input_free(source->inputs[i]);
    free(source->inputs);
    pf_hash_free(&source->by_name);
    pf_lock_destroy(&source->lock);
    free(source->path);
    free(source);
}

const char *pf_source_name(const struct pf_source *source)
{
    return source->name;
}

/* ---- access ------------------------------------------------------------------------------------- */

void pf_source_set_matters(struct pf_source *source, pf_matters *matters)
{
    source->matters = matters;
}

struct minding {
    struct pf_source *source;
    const struct pf_folder *directory;
    pf_matters *matters;
};

static int mind_entry(void *arg, const char *name, unsigned char type)
{
    const struct minding *minding = arg;
    struct stat st;
    if ((!minding->matters || minding->matters(name)) && type != DT_DIR &&
        !pf_folder_stat(minding->directory, name, &st) && S_ISREG(st.st_mode))
        pf_record_access(minding->source, pf_folder_fd(minding->directory), name, &st, false);
    return 0;
}

void pf_source_mind_others(struct pf_source *source, pf_matters *matters)
{
    struct pf_source_folders *folders = pf_source_folders_hold(source);
    source->lists = true;
    if (folders && folders->directory)
        pf_folder_list(folders->directory, mind_entry,
                       &(struct minding){source, folders->directory, matters});
    pf_source_folders_release(folders);
}

struct pf_access pf_source_access(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    struct pf_access access = source->access;
    pf_lock_drop(&source->lock);
    return access;
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* Fills *stamp with the current version of an input; all zero if there is no such listing or regular file. Returns 0, or an
 * errno value on a transient error (pf_is_transient). */
static int stamp_now(struct pf_source *source, const char *name, struct pf_stamp *stamp)
{
    struct pf_input_place place;
    struct stat st;
    int result = 0;
    *stamp = (struct pf_stamp){0};
    pf_input_place_find(source, name, &place);
    if (*place.relative == '/' || pf_folder_is_current(place.folder)) {
        if (pf_listing_now(source, name, stamp, &result)) {
            pf_input_place_release(&place);
            return result;
        }
        result = pf_input_place_stat(&place, &st);
        if (!result && S_ISREG(st.st_mode))
            *stamp = pf_stamp_of(&st);
    }
    pf_input_place_release(&place);
    return pf_is_transient(result) ? result : 0;
}

/* Opens a regular file without blocking on a FIFO. Returns 0 or an errno value. */
static int open_place(const struct pf_input_place *place, struct pf_opened *opened)
{
    if (*place->relative != '/')
        return pf_folder_file(place->folder, place->relative, opened);
    *opened = (struct pf_opened){.fd = open(place->relative, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (opened->fd < 0)
        return errno;
    int result = fstat(opened->fd, &opened->st) ? errno : S_ISREG(opened->st.st_mode) ? 0 : EINVAL;
    if (result)
        pf_opened_close(opened);
    return result;
}

/* Opens the file at an input's location. NULL with *error filled. */
static struct pf_input_file *source_open_regular(struct pf_source *source, const char *name,
                                                 struct pf_error *error)
{
    struct pf_input_place place;
    struct pf_opened opened;
    struct pf_input_file *file = NULL;
    pf_input_place_find(source, name, &place);
    int result = open_place(&place, &opened);
    if (!result) {
        if (!opened.within)
            pf_outlast_clock_tick(opened.fd, &opened.st);
        pf_record_input_access(source, &place, &opened.st);
        file = pf_input_file_new(&opened);
        result = file ? 0 : errno;
    }
    pf_input_place_release(&place);
    if (result)
        pf_fail(error, result, "%s", result == EINVAL ? "not a regular file" : strerror(result));
    return file;
}

/* Sets the open file of an input. If the input is recorded, the caller holds its source's lock. */
static void set_file(struct pf_input *input, struct pf_input_file *file)
{
    if (!input->present) {
        input->present = true;
        input->stamp = pf_stamp_of(&file->opened.st);
    }
    input->disk = file->held.size;
    input->file = file;
    if (input->idle)
        input->source->idle_inputs--;
    input->idle = false;
}

/* Records an open file and takes ownership of it. Closes it on failure, or if another thread has opened the input meanwhile. */
static int record_file(struct pf_source *source, const char *name, bool counted, struct pf_input_file *file,
                       struct pf_input **input, struct pf_error *error)
{
    int result = 0;
    struct pf_stamp stamp = pf_stamp_of(&file->opened.st);
    pf_lock_take(&source->lock);
    struct pf_input *found = pf_record_find(source, name);
    bool known = found != NULL;
    if (known && found->present && !pf_stamp_same(&stamp, &found->stamp))
        result = pf_fail(error, ESTALE, "the file has changed");
    else if (known && !found->present)
        result = pf_fail(error, ENOENT, "%s", strerror(ENOENT));
    else if (!known && !(found = pf_record_add(source, name, error)))
        result = -1;
    else if (!found->file) {
        set_file(found, file);
        file = NULL;
    }
    if (!result)
        found->counted += counted;
    pf_lock_drop(&source->lock);
    pf_input_file_release(file);
    *input = result ? NULL : found;
    return result;
}

/* Records as absent a file that cannot be opened, with its present stamp, so that a later change makes the source stale. *error is
 * the reason. If *error is transient, nothing is recorded. */
static void record_absent(struct pf_source *source, const char *name, struct pf_error *error)
{
    struct pf_stamp stamp = {0};
    int unknown = pf_is_transient(error->code) ? error->code
                  : error->code != ENOENT      ? stamp_now(source, name, &stamp)
                                               : 0;
    if (unknown)
        pf_fail(error, unknown, "%s", strerror(unknown));
    else
        pf_record_stamp(source, name, &stamp, false, error);
}

static int open_recorded(struct pf_source *source, const char *name, bool counted, struct pf_input **input,
                         struct pf_error *error)
{
    pf_lock_take(&source->lock);
    struct pf_input *found = pf_record_find(source, name);
    bool absent = found && !found->present, open = found && found->file;
    if (open)
        found->counted += counted;
    pf_lock_drop(&source->lock);
    *input = open ? found : NULL;
    if (open)
        return 0;
    if (absent)
        return pf_fail(error, ENOENT, "%s", strerror(ENOENT));
    struct pf_input_file *file = source_open_regular(source, name, error);
    if (file)
        return record_file(source, name, counted, file, input, error);
    if (!found)
        record_absent(source, name, error);
    return -1;
}

static int source_peek(struct pf_source *source, const char *name, struct pf_input **input,
                       struct pf_error *error)
{
    struct pf_input *new = calloc(1, sizeof *new);
    struct pf_input_file *file = NULL;
    if (!new || !(new->name = strdup(name)))
        pf_fail_memory(error);
    else
        file = source_open_regular(source, name, error);
    if (!file) {
        pf_input_free(new);
        return -1;
    }
    new->source = source;
    set_file(new, file);
    *input = new;
    return 0;
}

/* ---- idle sources ------------------------------------------------------------------------------- */

/*
 * If all files are open, increments source->uses and returns true. Otherwise sets *next to the first idle input at or
 * after index *at (cyclically), or to NULL, and returns false.
 */
static bool use_source(struct pf_source *source, size_t *at, const struct pf_input **next)
{
    *next = NULL;
    pf_lock_take(&source->lock);
    bool open = !source->idle || (source->folders && !source->idle_inputs);
    if (open) {
        source->idle = false;
        source->uses++;
    }
    while (!open && source->idle_inputs && !*next) {
        const struct pf_input *input = source->inputs[(*at)++ % source->count];
        *next = input->idle ? input : NULL;
    }
    pf_lock_drop(&source->lock);
    return open;
}

int pf_source_hold_files(struct pf_source *source, struct pf_error *error)
{
    const struct pf_input *next;
    struct pf_input *input;
    size_t at = 0;
    int failed = 0;
    while (!failed && !use_source(source, &at, &next)) {
        failed = pf_source_reopen(source, error) ||
                 (next && open_recorded(source, next->name, false, &input, error));
    }
    if (!failed)
        return 0;
    pf_source_close_files(source);
    if (error->code == ENOENT || error->code == ENOTDIR)
        pf_fail(error, ESTALE, "the file has changed");
    return -1;
}

void pf_source_release_files(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    source->uses--;
    pf_lock_drop(&source->lock);
}

void pf_source_close_files(struct pf_source *source)
{
    struct pf_source_folders *folders = NULL;
    struct pf_input_file **files = NULL;
    size_t n = 0;
    pf_lock_take(&source->lock);
    if (source->top && source->folders && !source->uses)
        files = calloc(source->count + 1, sizeof(struct pf_input_file *));
    for (size_t i = 0; files && i < source->count; i++) {
        struct pf_input *input = source->inputs[i];
        if (!input->file)
            continue;
        files[n++] = input->file;
        input->file = NULL;
        input->idle = true;
        source->idle_inputs++;
    }
    if (files) {
        folders = source->folders;
        source->folders = NULL;
        source->idle = true;
    }
    pf_lock_drop(&source->lock);
    for (size_t i = 0; i < n; i++)
        pf_input_file_release(files[i]);
    free(files);
    pf_source_folders_release(folders);
}

/* ---- compressed files --------------------------------------------------------------------------- */

/* Reads an unpacked input to its end, to learn its size. */
static int reach_end(struct pf_input *view, struct pf_error *error)
{
    enum { STEP = 4 << 20 };
    unsigned char byte;
    uint64_t done, total;
    for (uint64_t at = 0; pf_input_size(view) == UINT64_MAX; at += STEP) {
        pf_input_progress(view, at, &done, &total);
        if (pf_pass_step(done, total, error) || pf_input_read(view, &byte, 1, at, error) < 0)
            return -1;
    }
    return 0;
}

/* The unpacked view of a file's input; at most one exists. */
static struct pf_input *source_view_of(struct pf_input *packed, enum pf_packing_kind kind)
{
    struct pf_unpackings *all = pf_folder_unpackings(packed->source->top);
    pf_lock_take(&packed->source->lock);
    if (!packed->view)
        packed->view = pf_input_view_new(packed, kind, all);
    struct pf_input *view = packed->view;
    pf_lock_drop(&packed->source->lock);
    return view;
}

/* Replaces a file's input by its unpacked view if the file is compressed. */
static int source_unpack(struct pf_input **input, unsigned flags, struct pf_error *error)
{
    unsigned char head[16];
    ssize_t got = pf_input_read(*input, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    enum pf_packing_kind kind = pf_packing_kind_of(head, (size_t)got);
    if (kind == PF_UNPACKED && !(flags & PF_OR_ZLIB && pf_inflate_is_zlib(head, (size_t)got)))
        return 0;
    *input = source_view_of(*input, kind);
    if (!*input)
        return pf_fail_memory(error);
    return flags & PF_SIZED ? reach_end(*input, error) : 0;
}

int pf_source_open(struct pf_source *source, const char *name, unsigned flags, struct pf_input **input,
                   struct pf_error *error)
{
    bool absolute = name && *name == '/';
    *input = NULL;
    if (flags & PF_PATH && !absolute)
        return pf_fail(error, EINVAL, "not an absolute path");
    if (!(flags & PF_PATH) &&
        absolute) /* a path in a profile must not pass for one that the user specified */
        return pf_fail(error, EXDEV, "%s", strerror(EXDEV));
    assert(name || !(flags & PF_PEEK));
    assert(!(flags & PF_COUNTED) || !(flags & (PF_PEEK | PF_UNPACK)));
    int failed = flags & PF_PEEK ? source_peek(source, name, input, error)
                                 : open_recorded(source, name, flags & PF_COUNTED, input, error);
    if (failed && name)
        snprintf(error->where, sizeof error->where, "%s", name);
    if (!failed && *input && flags & PF_UNPACK)
        failed = source_unpack(input, flags, error);
    if (failed)
        *input = NULL;
    return failed ? -1 : 0;
}

int pf_input_done(struct pf_input *input, struct pf_error *error)
{
    struct pf_input *raw = input->packed ? input->packed : input;
    pf_lock_take(&raw->source->lock);
    raw->counted -= raw->counted > 0;
    struct pf_input_file *file = raw->counted ? NULL : detach_file(raw);
    pf_lock_drop(&raw->source->lock);
    int result = file && !pf_input_file_intact(file) ? pf_fail(error, ESTALE, "the file has changed") : 0;
    pf_input_file_release(file);
    return result;
}

/* ---- change ------------------------------------------------------------------------------------- */

/* Compares the recorded stamp of an input with the present stamp at its path, so a replaced file counts as changed. */
static int check_input(const struct pf_input *input, struct pf_error *error)
{
    struct pf_stamp now;
    int unknown = stamp_now(input->source, input->name, &now);
    if (!unknown && pf_listing_same(input->name, &now, &input->stamp))
        return 0;
    pf_fail(error, unknown ? unknown : ESTALE, "%s", unknown ? strerror(unknown) : "the file has changed");
    if (input->name)
        snprintf(error->where, sizeof error->where, "%s", input->name);
    return -1;
}

int pf_source_check(struct pf_source *source, struct pf_error *error)
{
    const struct pf_input *input;
    int result = 0;
    for (size_t i = 0; !result && (input = input_at(source, i)); i++)
        result = check_input(input, error);
    return result;
}

enum { BATCH = 64 };

/* Takes references to the files of the next open inputs from *at on. */
static size_t hold_open_files(struct pf_source *source, size_t *at, struct pf_input_file *files[BATCH])
{
    size_t n = 0;
    pf_lock_take(&source->lock);
    for (; n < BATCH && *at < source->count; ++*at)
        if (source->inputs[*at]->file)
            files[n++] = pf_input_file_hold(source->inputs[*at]->file);
    pf_lock_drop(&source->lock);
    return n;
}

bool pf_source_intact(struct pf_source *source)
{
    struct pf_input_file *files[BATCH];
    bool intact = true;
    for (size_t at = 0, n; intact && (n = hold_open_files(source, &at, files));)
        for (size_t i = 0; i < n; i++) {
            intact = intact && pf_input_file_intact(files[i]);
            pf_input_file_release(files[i]);
        }
    return intact;
}

size_t pf_source_input_count(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    size_t count = source->count;
    pf_lock_drop(&source->lock);
    return count;
}

const char *pf_source_input_at(struct pf_source *source, size_t i, struct pf_stamp *stamp)
{
    const struct pf_input *input = input_at(source, i);
    *stamp = input ? input->stamp : (struct pf_stamp){0};
    return input ? input->name : NULL;
}

int pf_source_matches(struct pf_source *source, const char *name, const struct pf_stamp *stamp)
{
    struct pf_input_place place;
    struct pf_stamp now;
    struct stat st;
    pf_lock_take(&source->lock);
    const struct pf_input *recorded = pf_record_find(source, name);
    pf_lock_drop(&source->lock);
    int unknown = 0;
    if (recorded)
        now = recorded->stamp;
    else
        unknown = stamp_now(source, name, &now);
    if (unknown || !pf_listing_same(name, &now, stamp))
        return -unknown;
    if (recorded)
        return 1;
    pf_input_place_find(source, name, &place);
    if (place.folders && !pf_input_place_stat(&place, &st) && S_ISREG(st.st_mode))
        pf_record_input_access(source, &place, &st);
    pf_input_place_release(&place);
    return 1;
}

int pf_source_record(struct pf_source *source, const char *name, const struct pf_stamp *stamp,
                     struct pf_error *error)
{
    static const struct pf_stamp absent;
    pf_listing_record(source, name, stamp);
    return pf_record_stamp(source, name, stamp, !pf_stamp_same(stamp, &absent), error);
}
