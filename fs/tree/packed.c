/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/digest.h"
#include "fs/cache/cache.h"
#include "fs/tree/vfs_private.h"

/*
 * Slow work on archives: building indexes, and unpacking as far as needed. Passes do the work, and operations wait for
 * them. After the pass, the operation runs its normal code, which finds the index or the unpacked bytes in memory, or makes
 * them again if they have been evicted meanwhile.
 */
enum {
    NEAR = 4 << 20,     /* maximum number of bytes unpacked without a pass */
    LOOK = PF_HEAD_MAX, /* maximum number of bytes that probing reads */
};

/* Slow work to be done by a job. Operations that need the same work share one preparation. */
struct pf_preparation {
    struct pf_owner owner; /* first; the last reference is dropped under fs->lock */
    struct pf_preparation *next;
    struct pf_fs *fs;
    uint64_t key; /* hash of the work */
    char title[64];
    char *path;         /* path of the folder to prepare; NULL: only `file` is unpacked */
    char *name;         /* name of the file in the folder to prepare; NULL: all its files, if `all` is set */
    bool all;
    bool whole; /* the named file is unpacked to its end, since a profile is opened from it */
    struct pf_opened file;        /* to be unpacked up to `end`, unless `end` is 0 */
    uint64_t end;
};

/* ---- jobs --------------------------------------------------------------------------------------- */

/* True if the file's probe result is cached. */
static bool is_known(struct pf_fs *fs, const struct pf_folder *folder, const char *name)
{
    struct stat st;
    struct pf_entry_info info;
    if (pf_folder_stat(folder, name, &st))
        return false;
    struct pf_stamp stamp = pf_stamp_of(&st);
    return pf_probe_results_get(fs->probe_results, &stamp, name, &info);
}

/* Unpacks a file, to its end or as far as probing reads (LOOK), and probes it. */
static int look(const struct pf_preparation *what, const struct pf_folder *folder, const char *name,
                struct pf_error *error)
{
    struct pf_opened file;
    struct pf_entry_info info = {0};
    int failed = 0;
    if (!what->whole && (!pf_folder_distance(folder, name, LOOK) || is_known(what->fs, folder, name)))
        return 0;
    if (pf_folder_file(folder, name, &file))
        return 0; /* the operation gets the error itself */
    uint64_t size = (uint64_t)file.st.st_size, wanted = what->whole || size < LOOK ? size : LOOK;
    if (file.unpacked && wanted)
        failed = pf_unpacked_reach(file.unpacked, file.start + wanted - 1, error);
    pf_opened_close(&file);
    if (!failed)
        pf_classify(what->fs, folder, name, &info);
    return failed;
}

/* Arguments of look_at_one. */
struct looking {
    const struct pf_preparation *what;
    const struct pf_folder *folder;
    struct pf_error *error;
    int failed;
};

static int look_at_one(void *arg, const char *name, unsigned char type)
{
    struct looking *looking = arg;
    if (type == DT_REG)
        looking->failed = look(looking->what, looking->folder, name, looking->error);
    return looking->failed;
}

static int look_into(const struct pf_preparation *what, struct pf_error *error)
{
    struct pf_folder *folder = pf_folder_open(what->fs->env.top, *what->path ? what->path : ".");
    int failed = folder ? 0 : pf_fail(error, errno, "%s", strerror(errno));
    struct looking looking = {what, folder, error, 0};
    if (folder && what->name)
        failed = look(what, folder, what->name, error);
    else if (folder && what->all && pf_folder_fd(folder) < 0) {
        pf_folder_list(folder, look_at_one, &looking);
        failed = looking.failed;
    }
    pf_folder_free(folder);
    return failed;
}

static int run_preparation(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_preparation *what = (struct pf_preparation *)owner;
    (void)number;
    if (what->path && look_into(what, error))
        return -1;
    if (what->end && pf_unpacked_reach(what->file.unpacked, what->end - 1, error))
        return -1;
    return 0;
}

static void free_preparation(struct pf_preparation *what)
{
    if (what->end)
        pf_opened_close(&what->file);
    free(what->path);
    free(what->name);
    free(what);
}

static void release_preparation(struct pf_owner *owner)
{
    struct pf_preparation *what = (struct pf_preparation *)owner;
    struct pf_fs *fs = what->fs;
    pf_lock_take(&fs->lock);
    bool last = atomic_fetch_sub(&owner->references, 1) == 1;
    struct pf_preparation **link = &fs->preparing;
    while (last && *link != what)
        link = &(*link)->next;
    if (last)
        *link = what->next;
    pf_lock_drop(&fs->lock);
    if (!last)
        return;
    pf_owner_end(owner);
    free_preparation(what);
}

static const char *preparation_title(const struct pf_owner *owner)
{
    return ((const struct pf_preparation *)owner)->title;
}

static const struct pf_owner_type preparation_type = {release_preparation, preparation_title};
/* A preparation never waits for another one: its own job builds the indexes that it needs. */
static const struct pf_work preparation_work = {NULL, PF_WORK_PREPARE, NULL, run_preparation};

/* ---- requests ----------------------------------------------------------------------------------- */

/*
 * If a preparation with the same key is listed, frees `what` and returns the listed one; otherwise lists and returns `what`.
 * The result is a reference.
 */
static struct pf_preparation *share_preparation(struct pf_preparation *what)
{
    struct pf_fs *fs = what->fs;
    pf_lock_take(&fs->lock);
    struct pf_preparation *same = fs->preparing;
    while (same && same->key != what->key)
        same = same->next;
    if (same) {
        atomic_fetch_add(&same->owner.references, 1);
    } else {
        pf_owner_init(&what->owner, &preparation_type, fs->env.pool, 1);
        what->next = fs->preparing;
        fs->preparing = what;
    }
    pf_lock_drop(&fs->lock);
    if (same)
        free_preparation(what);
    return same ? same : what;
}

/*
 * Runs or joins a preparation; takes ownership of `what`. Returns EINTR or ECANCELED if the operation was interrupted;
 * otherwise 0, even if the preparation failed.
 */
static int need_preparation(struct pf_preparation *what, const char *verb, const char *of, struct pf_op *op)
{
    snprintf(what->title, sizeof what->title, "%s %.48s", verb, of);
    struct pf_preparation *shared = share_preparation(what);
    int result = pf_need(op, &preparation_work, &shared->owner, 0);
    release_preparation(&shared->owner);
    return result && (op->error.code == EINTR || op->error.code == ECANCELED) ? op->error.code : 0;
}

static int start_looking(struct pf_fs *fs, const struct pf_preparation *wanted, struct pf_entry *folder,
                         const char *verb, const char *of, struct pf_op *op)
{
    struct pf_preparation *what = malloc(sizeof *what);
    char *path = pf_entry_path(fs, folder);
    if (!what || !path) {
        free(what);
        free(path);
        return 0;
    }
    *what = *wanted;
    what->fs = fs;
    what->path = path;
    what->name = wanted->name ? strdup(wanted->name) : NULL;
    what->key = pf_digest(wanted->all + 2 * wanted->whole, path, strlen(path));
    if (wanted->name)
        what->key = pf_digest(what->key, wanted->name, strlen(wanted->name));
    if (wanted->name && !what->name) {
        free_preparation(what);
        return 0;
    }
    return need_preparation(what, verb, of, op);
}

/*
 * True if a folder is an archive or inside one. `unknown` receives the name of the topmost archive on the folder's path
 * whose index has not been built, or "" if there is none.
 */
static bool entry_lies_in_archive(struct pf_fs *fs, const struct pf_entry *folder, char unknown[256])
{
    bool within = pf_folder_fd(fs->env.top) < 0;
    *unknown = 0;
    for (const struct pf_entry *at = folder; at; at = at->parent) { /* the caller holds `folder`, which holds its parents */
        pf_lock_take(&fs->lock);
        struct pf_stamp stamp = pf_stamp_of(&at->st);
        bool packed = at->packed;
        pf_lock_drop(&fs->lock);
        within |= packed;
        if (packed && !pf_archives_know(fs->archives, &stamp))
            snprintf(unknown, 256, "%s", at->parent ? at->name : "the archive");
    }
    return within;
}

/* True if reading the first `bytes` of a file unpacks more than NEAR bytes. False for a probe whose result is cached. */
static bool is_far(struct pf_fs *fs, const struct pf_folder *folder, const char *name, uint64_t bytes)
{
    return pf_folder_distance(folder, name, bytes) > NEAR && (bytes > LOOK || !is_known(fs, folder, name));
}

/* Arguments of search_one. The search ends at the first file that needs much unpacking. */
struct packed_search {
    struct pf_fs *fs;
    const struct pf_folder *folder;
    bool far;
};

static int search_one(void *arg, const char *name, unsigned char type)
{
    struct packed_search *search = arg;
    search->far = type == DT_REG && is_far(search->fs, search->folder, name, LOOK);
    return search->far;
}

int pf_prepare_index(struct pf_fs *fs, struct pf_entry *folder, struct pf_op *op)
{
    char unknown[256];
    struct pf_preparation wanted = {.all = true};
    entry_lies_in_archive(fs, folder, unknown);
    return *unknown ? start_looking(fs, &wanted, folder, "index of", unknown, op) : 0;
}

int pf_prepare_look(struct pf_fs *fs, struct pf_entry *folder, const struct pf_folder *open, const char *name,
                    struct pf_op *op)
{
    struct pf_preparation wanted = {.name = (char *)(uintptr_t)name, .all = !name};
    struct packed_search search = {fs, open, false};
    if (pf_folder_fd(open) >= 0)
        return 0;
    if (name)
        search.far = is_far(fs, open, name, LOOK);
    else
        pf_folder_list(open, search_one, &search);
    const char *of = name ? name : folder->name ? folder->name : "the archive";
    return search.far ? start_looking(fs, &wanted, folder, "unpacking", of, op) : 0;
}

int pf_prepare_profile(struct pf_version *version, struct pf_op *op)
{
    struct pf_fs *fs = version->fs;
    char unknown[256];
    struct pf_entry *entry = version->entry, *folder = entry->parent;
    struct pf_preparation wanted = {.name = entry->name, .whole = true};
    if (!folder || version->driver->directories)
        return 0;
    bool far = false;
    if (entry_lies_in_archive(fs, folder, unknown) && !*unknown) {
        struct pf_folder *open = pf_entry_folder(fs, folder, true);
        far = open && is_far(fs, open, entry->name, UINT64_MAX);
        pf_folder_free(open);
    }
    return far || *unknown ? start_looking(fs, &wanted, folder, "opening", entry->name, op) : 0;
}

int pf_prepare_read(struct pf_fs *fs, const struct pf_opened *file, uint64_t end, struct pf_op *op)
{
    if (pf_unpacked_distance(file->unpacked, file->start + end - 1) <= NEAR)
        return 0;
    struct pf_preparation *what = calloc(1, sizeof *what);
    if (!what)
        return 0;
    if (pf_opened_copy(file, &what->file)) {
        free(what);
        return 0;
    }
    uint64_t where[] = {(uint64_t)(uintptr_t)file->unpacked, file->start + end};
    what->fs = fs;
    what->end = file->start + end;
    what->key = pf_digest(4, where, sizeof where);
    return need_preparation(what, "unpacking", "a file", op);
}

/* ---- cached indexes ----------------------------------------------------------------------------- */

/* The key has no time stamp, so a new version of an archive replaces the old index. */
static uint64_t archive_key(const struct pf_fs *fs, const struct pf_stamp *stamp)
{
    const uint64_t what[] = {PF_DATUM_INDEX, pf_lasting_device(stamp->device), stamp->inode};
    return pf_cache_key(fs->env.cache, what, sizeof what);
}

static void *get_index(void *arg, const struct pf_stamp *stamp, size_t *size)
{
    const struct pf_fs *fs = arg;
    return pf_cache_get(fs->env.cache, archive_key(fs, stamp), PF_DATUM_INDEX, 0, size, NULL);
}

static void put_index(void *arg, const struct pf_stamp *stamp, const void *bytes, size_t size)
{
    const struct pf_fs *fs = arg;
    struct pf_buf payload = {.data = (char *)(uintptr_t)bytes, .size = size, .room = size};
    pf_cache_put(fs->env.cache, NULL, archive_key(fs, stamp), PF_DATUM_INDEX, 0, &payload);
}

void pf_cache_indexes(struct pf_fs *fs)
{
    if (fs->env.cache)
        pf_archives_keep(fs->archives, &(struct pf_archive_keeper){fs, get_index, put_index});
}
