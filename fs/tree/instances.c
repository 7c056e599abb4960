/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/* ---- instances ---------------------------------------------------------------------------------- */

static bool same_version(const struct stat *a, const struct stat *b)
{
    struct pf_stamp x = pf_stamp_of(a), y = pf_stamp_of(b);
    return pf_stamp_same(&x, &y);
}

static void release_version(struct pf_owner *owner)
{
    pf_instance_unuse((struct pf_instance *)owner);
}

static const char *version_name(const struct pf_owner *owner)
{
    const struct pf_entry *entry = ((const struct pf_instance *)owner)->entry;
    return entry->name ? entry->name : "SOURCE";
}

static const struct pf_owner_type version_type = {release_version, version_name};

static struct pf_instance *new_instance(struct pf_fs *fs, struct pf_entry *entry,
                                        const struct pf_entry_info *info)
{
    struct pf_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    do /* 24 bits; skip numbers in use */
        instance->id = fs->next_instance = fs->next_instance % 0xffffff + 1;
    while (pf_map_get(&fs->instances, instance->id));
    if (!pf_map_put(&fs->instances, instance->id, instance)) {
        free(instance);
        return NULL;
    }
    pf_owner_init(&instance->owner, &version_type, fs->env.pool);
    atomic_store(&instance->owner.references, 0); /* no users yet */
    instance->fs = fs;
    instance->entry = entry;
    instance->driver = info->driver;
    instance->st = info->st;
    instance->access = pf_access_of(&info->st);
    entry->holds++;
    return instance;
}

/* Drops the current version of an entry. */
static void drop_instance(struct pf_fs *fs, struct pf_entry *entry)
{
    pf_assert_held(&fs->lock);
    struct pf_instance *old = entry->instance;
    entry->instance = NULL;
    if (old)
        pf_instance_free_if_unused(fs, old);
}

struct pf_entry *pf_instance_note(struct pf_fs *fs, struct pf_entry *parent, const char *name,
                                  struct pf_entry_info *info)
{
    pf_assert_held(&fs->lock);
    struct pf_entry *entry = pf_entry_note(fs, parent, name, info);
    if (entry && info->type != PF_ENTRY_PROFILE)
        drop_instance(fs, entry);
    return entry;
}

void pf_instance_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name)
{
    pf_assert_held(&fs->lock);
    struct pf_entry *entry = pf_entry_find(fs, parent, name);
    if (!entry)
        return;
    entry->holds++;
    drop_instance(fs, entry);
    pf_entry_drop(fs, entry);
}

struct pf_instance *pf_instance_of(struct pf_fs *fs, struct pf_entry *entry, const struct pf_entry_info *info)
{
    pf_assert_held(&fs->lock);
    struct pf_instance *present = entry->instance;
    if (present && present->driver == info->driver && same_version(&present->st, &info->st))
        return present;
    drop_instance(fs, entry);
    entry->instance = new_instance(fs, entry, info);
    return entry->instance;
}

int pf_instance_renew(struct pf_fs *fs, const struct pf_instance *old, struct pf_instance **renewed)
{
    struct pf_entry_info info = {0};
    struct pf_entry *entry = old->entry;
    int result;
    if (!entry->parent) {
        result = pf_classify(fs, fs->top, fs->root_name ? fs->root_name : ".", &info);
    } else {
        struct pf_folder *folder = pf_entry_folder(fs, entry->parent, true);
        result = folder ? pf_classify(fs, folder, entry->name, &info) : errno;
        pf_folder_free(folder);
    }
    if (result)
        return result;
    if (info.type != PF_ENTRY_PROFILE)
        return ESTALE;
    pf_lock_take(&fs->lock);
    pf_entry_show(entry, &info);
    /* A different input may have changed while the stamp of the entry (for example a directory) is the same. */
    if (entry->instance == old && same_version(&old->st, &info.st))
        drop_instance(fs, entry);
    *renewed = pf_instance_of(fs, entry, &info);
    if (*renewed)
        pf_instance_use(fs, *renewed);
    pf_lock_drop(&fs->lock);
    return *renewed ? 0 : ENOMEM;
}

void pf_instance_use(struct pf_fs *fs, struct pf_instance *instance)
{
    pf_assert_held(&fs->lock);
    atomic_fetch_add(&instance->owner.references, 1);
    pf_open_use(fs, instance);
}

void pf_instance_unuse(struct pf_instance *instance)
{
    struct pf_fs *fs = instance->fs;
    pf_lock_take(&fs->lock);
    bool last = atomic_fetch_sub(&instance->owner.references, 1) == 1;
    if (last && instance->profile)
        pf_open_rest(fs, instance);
    pf_instance_free_if_unused(fs, instance);
    if (pf_reaper_wants(fs))
        pf_reaper_wake(fs);
    pf_lock_drop(&fs->lock);
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* True if an instance is the current version of its entry. */
static bool is_present(struct pf_fs *fs, const struct pf_instance *instance)
{
    pf_lock_take(&fs->lock);
    bool present = instance->entry->instance == instance;
    pf_lock_drop(&fs->lock);
    return present;
}

/*
 * Opens or reopens the profile of an instance. Fails with ESTALE if the file on disk is another version than the
 * instance.
 */
static struct pf_profile *open_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_error *error)
{
    char *path = is_present(fs, instance) ? pf_entry_path(fs, instance->entry) : NULL;
    struct pf_profile *profile = NULL;
    if (path)
        profile = pf_profile_at(&fs->env, instance->driver, path, &instance->st, &instance->inputs, error);
    else
        pf_fail(error, ESTALE, "the file has changed");
    free(path);
    if (!profile && error->code == ENOENT)
        error->code = ESTALE;
    return profile;
}

struct pf_profile *pf_instance_live_now(struct pf_fs *fs, struct pf_instance *instance)
{
    struct pf_profile *spoilt = NULL;
    bool loaded = false;
    pf_lock_take(&fs->lock);
    if (instance->profile && pf_profile_is_spoilt(instance->profile, &loaded) &&
        !pf_shortage_lasts(&instance->shortage))
        spoilt = pf_open_close(fs, instance);
    if (loaded)
        instance->shortage = (struct pf_shortage){0};
    struct pf_profile *profile = instance->profile ? pf_profile_hold(instance->profile) : NULL;
    pf_lock_drop(&fs->lock);
    pf_profile_release(spoilt);
    if (spoilt)
        pf_reaper_relieve(fs, &(uint64_t){0});
    return profile;
}

/* Stores why the profile cannot be opened. False: out of memory. */
static bool note_failure(struct pf_fs *fs, struct pf_instance *instance, const struct pf_error *error)
{
    struct pf_error *failure = malloc(sizeof *failure);
    if (!failure)
        return false;
    *failure = *error;
    pf_lock_take(&fs->lock);
    instance->failure = failure;
    instance->failed = true;
    pf_lock_drop(&fs->lock);
    return true;
}

static int run_open(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_instance *instance = (struct pf_instance *)owner;
    struct pf_fs *fs = instance->fs;
    (void)number;
    pf_lock_take(&fs->lock);
    bool open = instance->profile != NULL;
    pf_lock_drop(&fs->lock);
    if (open)
        return 0;
    if (instance->failed) {
        *error = *instance->failure;
        return -1;
    }
    uint64_t now = pf_monotonic_ms();
    pf_reaper_start(fs); /* if the reaper cannot start, operations make room themselves */
    pf_reaper_make_room(fs, instance->st.st_dev);
    struct pf_profile *profile = open_live(fs, instance, error);
    if (!profile)
        return pf_is_transient(error->code) || note_failure(fs, instance, error) ? -1 : pf_fail_memory(error);
    pf_lock_take(&fs->lock);
    pf_open_add(fs, instance, profile);
    instance->checked = now;
    pf_lock_drop(&fs->lock);
    return 0;
}

/* Runs on the operation's thread: slow sources have been unpacked before (packed.c). */
static bool opens_here(struct pf_owner *owner, uint64_t number)
{
    (void)owner, (void)number;
    return true;
}

static const struct pf_work open_work = {"opening", PF_WORK_OPEN, opens_here, run_open};

struct pf_profile *pf_instance_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op)
{
    struct pf_profile *profile;
    /* More than one round only if another operation has found the new profile to need reopening. */
    while (!(profile = pf_instance_live_now(fs, instance)))
        if (pf_need(op, &open_work, &instance->owner, 0))
            return NULL;
    return profile;
}

struct pf_profile *pf_instance_recall(struct pf_fs *fs, const struct pf_instance *instance)
{
    struct pf_buf inputs = {0};
    pf_lock_take(&fs->lock);
    pf_buf_add(&inputs, instance->inputs.data, instance->inputs.size);
    pf_lock_drop(&fs->lock);
    char *path = inputs.failed ? NULL : pf_entry_path(fs, instance->entry);
    struct pf_profile *profile =
        path ? pf_profile_recall_version(&fs->env, instance->driver, path, &instance->st, &inputs) : NULL;
    free(path);
    pf_buf_free(&inputs);
    return profile;
}

struct pf_access pf_instance_access(struct pf_fs *fs, struct pf_instance *instance,
                                    struct pf_profile *profile)
{
    struct pf_access read = {.mode = 0444};
    if (profile)
        read = pf_profile_access(profile);
    pf_lock_take(&fs->lock);
    pf_access_narrow(&instance->access, &read, fs->env.reader);
    struct pf_access access = instance->access;
    pf_lock_drop(&fs->lock);
    return access;
}

void pf_node_stat(const struct pf_instance *instance, const struct pf_access *access, struct pf_node node,
                  struct stat *st)
{
    mode_t readable = access->mode;
    *st = (struct stat){.st_ino = pf_ino(instance->id, node.kind, node.item),
                        .st_nlink = 1,
                        .st_uid = access->uid,
                        .st_gid = access->gid,
                        .st_atim = instance->st.st_mtim,
                        .st_mtim = instance->st.st_mtim,
                        .st_ctim = instance->st.st_mtim,
                        .st_blksize = 4096};
    st->st_mode = pf_is_folder(node.kind) ? S_IFDIR | readable | readable >> 2
                  : pf_is_link(node.kind) ? S_IFLNK | 0777
                                          : S_IFREG | readable;
}

/* ---- errors --------------------------------------------------------------------------------- */

int pf_errno_shown(int code)
{
    switch (code) {
    case EAGAIN: /* rows differ each time they are made: the file is being written */
        return ESTALE;
    case EBADMSG: /* damaged data, as on a damaged disk */
    case ENODATA:
        return EIO;
    default:
        return code > 0 ? code : EIO;
    }
}
