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
 * What takes long about archives, done in passes that the operations wait for: their indexes, and unpacking as far as what is
 * wanted. An operation whose pass is over goes on as if there had been none: should what was made have been dropped meanwhile, it
 * is made again where it is needed.
 */
enum {
    NEAR = 4 << 20,       /* so much is unpacked without a pass */
    LOOK = PF_HEAD_MAX,   /* what probing looks at */
    LARGE_FILE = 1 << 20, /* a compressed file of this size is opened in a pass */
};

/* Owns its one job. Operations that need the same share it. */
struct pf_preparation {
    struct pf_owner owner; /* first; the last reference is given back under fs->lock */
    struct pf_preparation *next;
    struct pf_fs *fs;
    uint64_t key; /* a hash of what is prepared */
    char title[64];
    char *path;         /* of a folder; NULL: none */
    char *name;         /* of what is to be looked at in it; NULL: everything, if `all` */
    bool all;
    struct pf_instance *instance; /* used; to be opened; NULL: none */
    struct pf_opened file;        /* to be unpacked up to `end`, if that is not 0 */
    uint64_t end;
};

/* ---- in a pass ---------------------------------------------------------------------------------- */

/* True if a file has been looked at. */
static bool is_known(struct pf_fs *fs, const struct pf_folder *folder, const char *name)
{
    struct stat st;
    struct pf_found found;
    if (pf_folder_stat(folder, name, &st))
        return false;
    struct pf_stamp stamp = pf_stamp_of(&st);
    return pf_verdicts_recall(fs->verdicts, &stamp, name, &found);
}

/* What will be looked at is unpacked, and looked at where that is all that is wanted. */
static int look(const struct pf_preparation *what, const struct pf_folder *folder, const char *name,
                struct pf_error *error)
{
    struct pf_opened file;
    struct pf_found found = {0};
    int failed = 0;
    if (!what->instance && (!pf_folder_distance(folder, name, LOOK) || is_known(what->fs, folder, name)))
        return 0;
    if (pf_folder_file(folder, name, &file))
        return 0; /* who asks will hear of it */
    uint64_t size = (uint64_t)file.st.st_size, wanted = what->instance || size < LOOK ? size : LOOK;
    if (file.unpacked && wanted)
        failed = pf_unpacked_reach(file.unpacked, file.start + wanted - 1, error);
    pf_opened_close(&file);
    if (!failed)
        pf_classify(what->fs, folder, name, &found);
    return failed;
}

/* One of many. */
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
    struct pf_folder *folder = pf_folder_open(what->fs->top, *what->path ? what->path : ".");
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
    struct pf_op op = PF_OP;
    pf_profile_release(what->instance ? pf_instance_live(what->fs, what->instance, &op) : NULL);
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
    if (what->instance)
        pf_instance_unuse(fs, what->instance);
    free_preparation(what);
}

static const char *preparation_title(const struct pf_owner *owner)
{
    return ((const struct pf_preparation *)owner)->title;
}

static const struct pf_owner_type preparation_type = {release_preparation, preparation_title};
/* What is unpacked may lie in an archive whose index is looked up; opening a profile needs no other preparation. */
static const struct pf_work preparation_work = {NULL, PF_WORK_PREPARE, NULL, run_preparation};

/* ---- asking for one ----------------------------------------------------------------------------- */

/* The listed preparation of the same key, which then replaces `what`, or that itself. As a reference. */
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
        pf_owner_init(&what->owner, &preparation_type, fs->core.pool);
        what->next = fs->preparing;
        fs->preparing = what;
        if (what->instance)
            pf_instance_use(fs, what->instance);
    }
    pf_lock_drop(&fs->lock);
    if (same)
        free_preparation(what);
    return same ? same : what;
}

/* Waits for a preparation, which is taken over. 0: go on, also if it has failed; or EINTR, ECANCELED. */
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
    what->key = pf_digest(wanted->all + 2 * (wanted->instance != NULL), path, strlen(path));
    if (wanted->name)
        what->key = pf_digest(what->key, wanted->name, strlen(wanted->name));
    if (wanted->name && !what->name) {
        free_preparation(what);
        return 0;
    }
    return need_preparation(what, verb, of, op);
}

/* Whether a folder lies in an archive, or is one; and the name of one whose index would have to be made, copied; "": none. */
static bool lies_in_archive(struct pf_fs *fs, const struct pf_entry *folder, char unknown[256])
{
    bool within = pf_folder_fd(fs->top) < 0;
    *unknown = 0;
    for (const struct pf_entry *at = folder; at; at = at->parent) { /* held by the folder, which the caller holds */
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

/* True if a file is to be unpacked far before it can be looked at, unless it has been. */
static bool is_far(struct pf_fs *fs, const struct pf_folder *folder, const char *name, uint64_t bytes)
{
    return pf_folder_distance(folder, name, bytes) > NEAR && (bytes > LOOK || !is_known(fs, folder, name));
}

/* The first file in a folder that is far ends the listing. */
struct search {
    struct pf_fs *fs;
    const struct pf_folder *folder;
    bool far;
};

static int search_one(void *arg, const char *name, unsigned char type)
{
    struct search *search = arg;
    search->far = type == DT_REG && is_far(search->fs, search->folder, name, LOOK);
    return search->far;
}

int pf_prepare_index(struct pf_fs *fs, struct pf_entry *folder, struct pf_op *op)
{
    char unknown[256];
    struct pf_preparation wanted = {.all = true};
    lies_in_archive(fs, folder, unknown);
    return *unknown ? start_looking(fs, &wanted, folder, "index of", unknown, op) : 0;
}

int pf_prepare_look(struct pf_fs *fs, struct pf_entry *folder, const struct pf_folder *open, const char *name,
                    struct pf_op *op)
{
    struct pf_preparation wanted = {.name = (char *)(uintptr_t)name, .all = !name};
    struct search search = {fs, open, false};
    if (pf_folder_fd(open) >= 0)
        return 0;
    if (name)
        search.far = is_far(fs, open, name, LOOK);
    else
        pf_folder_list(open, search_one, &search);
    const char *of = name ? name : folder->name ? folder->name : "the archive";
    return search.far ? start_looking(fs, &wanted, folder, "unpacking", of, op) : 0;
}

int pf_prepare_profile(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op)
{
    char unknown[256];
    struct pf_entry *entry = instance->entry, *folder = entry->parent;
    struct pf_preparation wanted = {.name = entry->name, .instance = instance};
    if (!folder || instance->driver->directories)
        return 0;
    bool far = entry->name[pf_packing_stem(entry->name)] && instance->st.st_size >= LARGE_FILE;
    if (lies_in_archive(fs, folder, unknown) && !*unknown && !far) {
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

/* ---- kept indexes ------------------------------------------------------------------------------- */

/* A new version of an archive replaces the old one's index. */
static uint64_t archive_key(const struct pf_fs *fs, const struct pf_stamp *stamp)
{
    const uint64_t what[] = {PF_DATUM_INDEX, pf_lasting_device(stamp->device), stamp->inode};
    return pf_cache_key(fs->core.cache, what, sizeof what);
}

static void *get_index(void *arg, const struct pf_stamp *stamp, size_t *size)
{
    const struct pf_fs *fs = arg;
    return pf_cache_get(fs->core.cache, archive_key(fs, stamp), PF_DATUM_INDEX, 0, size);
}

static void put_index(void *arg, const struct pf_stamp *stamp, const void *bytes, size_t size)
{
    const struct pf_fs *fs = arg;
    struct pf_buf payload = {.data = (char *)(uintptr_t)bytes, .size = size, .room = size};
    pf_cache_put(fs->core.cache, archive_key(fs, stamp), PF_DATUM_INDEX, 0, &payload);
}

void pf_keep_indexes(struct pf_fs *fs)
{
    if (fs->core.cache)
        pf_archives_keep(fs->archives, &(struct pf_archive_keeper){fs, get_index, put_index});
}
