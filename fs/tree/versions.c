/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/packing.h"
#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/*
 * Versions of profiles: finds the version that is on disk and the version that a node number belongs to, and loads their
 * profiles. A reference to a node (pf_node_ref) holds all that an operation on the node needs.
 */

enum {
    DEPTH_MAX = 4096, /* maximum depth of a node of an old version that is found in the new one */
    LATELY_MS = 1000, /* how long a look-up trusts the last check of the inputs */
};

/* ---- versions ----------------------------------------------------------------------------------- */

static bool same_version(const struct stat *a, const struct stat *b)
{
    struct pf_stamp x = pf_stamp_of(a), y = pf_stamp_of(b);
    return pf_stamp_same(&x, &y);
}

static void release_version(struct pf_owner *owner)
{
    pf_version_release((struct pf_version *)owner);
}

static const char *version_name(const struct pf_owner *owner)
{
    const struct pf_entry *entry = ((const struct pf_version *)owner)->entry;
    return entry->name ? entry->name : "SOURCE";
}

static const struct pf_owner_type version_type = {release_version, version_name};

static struct pf_version *new_version(struct pf_fs *fs, struct pf_entry *entry,
                                      const struct pf_entry_info *info)
{
    struct pf_version *version = calloc(1, sizeof *version);
    if (!version)
        return NULL;
    do /* 24 bits; skip numbers in use */
        version->id = fs->next_version = fs->next_version % 0xffffff + 1;
    while (pf_map_get(&fs->versions, version->id));
    if (!pf_map_put(&fs->versions, version->id, version)) {
        free(version);
        return NULL;
    }
    pf_owner_init(&version->owner, &version_type, fs->env.pool, 0);
    version->fs = fs;
    version->entry = entry;
    version->driver = info->driver;
    version->st = info->st;
    version->access = pf_access_of(&info->st);
    entry->holds++;
    return version;
}

void pf_version_make_stale(struct pf_fs *fs, struct pf_entry *entry)
{
    pf_assert_held(&fs->lock);
    struct pf_version *old = entry->version;
    entry->version = NULL;
    if (old)
        pf_version_free_if_unused(old);
}

void pf_version_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name)
{
    pf_assert_held(&fs->lock);
    struct pf_entry *entry = pf_entry_find(fs, parent, name);
    if (!entry)
        return;
    entry->holds++;
    pf_version_make_stale(fs, entry);
    pf_entry_release_locked(fs, entry);
}

struct pf_version *pf_version_of(struct pf_fs *fs, struct pf_entry *entry, const struct pf_entry_info *info)
{
    pf_assert_held(&fs->lock);
    struct pf_version *present = entry->version;
    if (present && present->driver == info->driver && same_version(&present->st, &info->st))
        return present;
    pf_version_make_stale(fs, entry);
    entry->version = new_version(fs, entry, info);
    return entry->version;
}

/* Adds a reference. Called with fs->lock held. */
static void hold_version(struct pf_version *version)
{
    pf_assert_held(&version->fs->lock);
    atomic_fetch_add(&version->owner.references, 1);
    pf_idle_remove(version);
}

/* Classifies the source again. *renewed receives a reference to the current version, which is never `old`. 0 or an errno value. */
static int renew_version(const struct pf_version *old, struct pf_version **renewed)
{
    struct pf_fs *fs = old->fs;
    struct pf_entry_info info = {0};
    struct pf_entry *entry = old->entry;
    int result;
    if (!entry->parent) {
        result = pf_classify(fs, fs->env.top, fs->env.root_name ? fs->env.root_name : ".", &info);
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
    pf_entry_set_info(entry, &info);
    /* Make a new version even if the entry's stamp is the same: another input may have changed, such as a file in a directory. */
    if (entry->version == old && same_version(&old->st, &info.st))
        pf_version_make_stale(fs, entry);
    *renewed = pf_version_of(fs, entry, &info);
    if (*renewed)
        hold_version(*renewed);
    pf_lock_drop(&fs->lock);
    return *renewed ? 0 : ENOMEM;
}

void pf_version_release(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    pf_lock_take(&fs->lock);
    bool last = atomic_fetch_sub(&version->owner.references, 1) == 1;
    if (last && version->state == PF_VERSION_LOADED)
        pf_idle_add(version);
    pf_version_free_if_unused(version);
    if (pf_reaper_wants(fs))
        pf_reaper_wake(fs);
    pf_lock_drop(&fs->lock);
}

/* ---- loading ------------------------------------------------------------------------------------ */

/* Loads or reloads the profile of a version. Fails with ESTALE if the version is stale or the file on disk differs from it. */
static struct pf_profile *load_profile(struct pf_version *version, struct pf_error *error)
{
    struct pf_fs *fs = version->fs;
    pf_lock_take(&fs->lock);
    bool stale = pf_version_is_stale(version);
    pf_lock_drop(&fs->lock);
    char *path = stale ? NULL : pf_entry_path(fs, version->entry);
    struct pf_profile *profile = NULL;
    if (path) /* inputs: read without the lock, since a version that is not loaded keeps them */
        profile = pf_profile_at(&fs->env, version->driver, path, &version->st, &version->inputs, error);
    else if (!stale && errno == ENOMEM)
        pf_fail_memory(error);
    else
        pf_fail(error, ESTALE, "the file has changed");
    free(path);
    if (!profile && error->code == ENOENT)
        error->code = ESTALE;
    return profile;
}

/* Unloads the profile of a held version, and frees descriptors, if the profile must be reloaded and its retries are not over. */
static void unload_failed_profile(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    struct pf_profile *failed = NULL;
    bool success = false;
    pf_lock_take(&fs->lock);
    if (version->state == PF_VERSION_LOADED && pf_profile_must_reload(version->profile, &success) &&
        pf_retry_begin(&version->retry))
        failed = pf_version_detach(version);
    if (success)
        version->retry = (struct pf_retry){0};
    pf_lock_drop(&fs->lock);
    pf_profile_release(failed);
    if (failed)
        pf_reaper_relieve(fs, &(uint64_t){0});
}

/* The profile of a held version. Returns a reference, or NULL if the version is not loaded. */
static struct pf_profile *loaded_profile(const struct pf_version *version)
{
    pf_lock_take(&version->fs->lock);
    bool loaded = version->state == PF_VERSION_LOADED;
    struct pf_profile *profile = loaded ? pf_profile_hold(version->profile) : NULL;
    pf_lock_drop(&version->fs->lock);
    return profile;
}

/* Records that the profile cannot be loaded. False: out of memory. */
static bool note_failure(struct pf_version *version, const struct pf_error *error)
{
    struct pf_error *failure = malloc(sizeof *failure);
    if (!failure)
        return false;
    *failure = *error;
    pf_lock_take(&version->fs->lock);
    pf_version_break(version, failure);
    pf_lock_drop(&version->fs->lock);
    return true;
}

static int run_load_profile(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_version *version = (struct pf_version *)owner;
    struct pf_fs *fs = version->fs;
    (void)number;
    if (pf_version_is_broken(version)) {
        *error = *version->failure;
        return -1;
    }
    if (atomic_load(&version->state) == PF_VERSION_LOADED)
        return 0;
    uint64_t now = pf_monotonic_ms();
    pf_reaper_start(fs); /* if the reaper cannot start, operations make room themselves */
    pf_reaper_make_room(fs, version->st.st_dev);
    struct pf_profile *profile = load_profile(version, error);
    if (!profile)
        return pf_is_transient(error->code) || note_failure(version, error) ? -1 : pf_fail_memory(error);
    pf_lock_take(&fs->lock);
    pf_version_attach(version, profile);
    version->checked = now;
    pf_lock_drop(&fs->lock);
    return 0;
}

/* Profiles in compressed files of at least this size are loaded on the pool: a driver may unpack the whole file. */
enum { LARGE_FILE = 1 << 20 };

/* True if loading runs on the operation's thread: nothing large is unpacked, or pf_prepare_profile has already done so. */
static bool loads_here(struct pf_owner *owner, uint64_t number)
{
    const struct pf_version *version = (const struct pf_version *)owner;
    const char *name = version_name(owner);
    (void)number;
    return version->st.st_size < LARGE_FILE || !name[pf_packing_stem(name)];
}

static const struct pf_work version_work = {"opening", PF_WORK_OPEN, loads_here, run_load_profile};

/* As pf_version_profile. *was_loaded: the profile was loaded already, so its inputs have not been compared just now. */
static struct pf_profile *need_profile(struct pf_version *version, bool *was_loaded, struct pf_op *op)
{
    unload_failed_profile(version);
    struct pf_profile *profile = loaded_profile(version);
    *was_loaded = profile != NULL;
    /* Repeats only if the profile is unloaded again before this thread gets it. */
    for (; !profile; profile = loaded_profile(version))
        if ((!pf_version_is_broken(version) && pf_prepare_profile(version, op)) ||
            pf_need(op, &version_work, &version->owner, 0))
            return NULL;
    return profile;
}

struct pf_profile *pf_version_profile(struct pf_version *version, struct pf_op *op)
{
    bool was_loaded;
    return need_profile(version, &was_loaded, op);
}

/*
 * Restores the names of an old, unloaded version from the cache. Returns a reference to a profile that has only names
 * and cannot be opened, or NULL if the names are not cached.
 */
static struct pf_profile *old_names(const struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    struct pf_buf inputs = {0};
    pf_lock_take(&fs->lock);
    pf_buf_add(&inputs, version->inputs.data, version->inputs.size);
    pf_lock_drop(&fs->lock);
    char *path = inputs.failed ? NULL : pf_entry_path(fs, version->entry);
    struct pf_profile *profile =
        path ? pf_profile_old_names(&fs->env, version->driver, path, &version->st, &inputs) : NULL;
    free(path);
    pf_buf_free(&inputs);
    return profile;
}

struct pf_access pf_version_access(struct pf_version *version, struct pf_profile *profile)
{
    struct pf_fs *fs = version->fs;
    struct pf_access read = profile ? pf_profile_access(profile) : (struct pf_access){.mode = 0444};
    pf_lock_take(&fs->lock);
    pf_access_restrict(&version->access, &read, fs->env.reader);
    struct pf_access access = version->access;
    pf_lock_drop(&fs->lock);
    return access;
}

void pf_node_stat(const struct pf_version *version, const struct pf_access *access, struct pf_node node,
                  struct stat *st)
{
    mode_t readable = access->mode;
    *st = (struct stat){.st_ino = pf_ino(version->id, node.kind, node.item),
                        .st_nlink = 1,
                        .st_uid = access->uid,
                        .st_gid = access->gid,
                        .st_atim = version->st.st_mtim,
                        .st_mtim = version->st.st_mtim,
                        .st_ctim = version->st.st_mtim,
                        .st_blksize = 4096};
    st->st_mode = pf_is_folder(node.kind) ? S_IFDIR | readable | readable >> 2
                  : pf_is_link(node.kind) ? S_IFLNK | 0777
                                          : S_IFREG | readable;
}

/* ---- resolving node numbers --------------------------------------------------------------------- */

void pf_node_ref_close(struct pf_node_ref *ref)
{
    if (ref->holds_files)
        pf_profile_release_files(ref->profile);
    pf_profile_release(ref->profile);
    pf_version_release(ref->version);
}

/* Finds the node of the same path in a newer version. */
static int find_same_path(struct pf_profile *from, struct pf_profile *to, struct pf_node *node,
                          struct pf_op *op)
{
    char(*names)[PF_NAME_MAX + 1] = NULL;
    size_t depth = 0;
    int result = 0;
    while (!result && node->kind != PF_TOP) {
        void *grown = depth < DEPTH_MAX ? realloc(names, (depth + 1) * sizeof *names) : NULL;
        if (!grown) {
            result = depth < DEPTH_MAX ? ENOMEM : ESTALE;
            break;
        }
        names = grown;
        struct pf_node parent = {PF_TOP, 0};
        result = pf_op_errno(op, pf_profile_parent_ready(from, *node, op));
        if (!result && !pf_node_parent(from, *node, &parent, names[depth++]))
            result = ESTALE;
        *node = parent;
    }
    *node = (struct pf_node){PF_TOP, 0};
    while (!result && depth) {
        result = pf_op_errno(op, pf_profile_ready(to, *node, op));
        struct pf_node entry = {0};
        if (!result && !pf_folder_find(to, *node, names[--depth], &entry))
            result = ESTALE;
        if (!result)
            *node = entry;
    }
    free(names);
    return result;
}

/* Opens the profile's files if they are closed. 0; ESTALE if they belong to an old version; or another errno value. */
static int hold_files(struct pf_node_ref *ref, struct pf_op *op)
{
    int result = ref->profile ? pf_op_errno(op, pf_profile_hold_files(ref->profile, &op->error)) : 0;
    ref->holds_files = ref->profile && !result;
    return result;
}

/* Makes a reference to the version that is on disk now. 0, or an errno value with nothing to close. */
static int refer_to_present(const struct pf_version *old, struct pf_node_ref *to, struct pf_op *op)
{
    int result = renew_version(old, &to->version);
    if (result)
        return result == ENOENT ? ESTALE : result; /* the next look-up of the path finds the new node */
    to->profile = pf_version_profile(to->version, op);
    result = to->profile || pf_version_is_broken(to->version) ? hold_files(to, op) : pf_op_errno(op, -1);
    if (result)
        pf_node_ref_close(to);
    return result;
}

/* Replaces a reference to a node of an old version by one to the node of the same path in the current version. */
static int follow_to_present(struct pf_node_ref *ref, struct pf_op *op)
{
    struct pf_node_ref to = {.node = ref->node, .superseded = true};
    if (!ref->profile && ref->node.kind != PF_TOP)
        /* read now, since the names of the current version will replace those in the cache */
        ref->profile = old_names(ref->version);
    int result = refer_to_present(ref->version, &to, op);
    if (!result && ref->node.kind != PF_TOP) {
        result = to.profile && ref->profile ? find_same_path(ref->profile, to.profile, &to.node, op) : ESTALE;
        if (result)
            pf_node_ref_close(&to);
    }
    pf_node_ref_close(ref);
    *ref = to;
    return result;
}

/*
 * True if the inputs have been checked within LATELY_MS. Always false if users other than the mounter have access: the
 * access rights must be current.
 */
static bool checked_lately(const struct pf_version *version)
{
    pf_assert_held(&version->fs->lock);
    return !version->fs->options.others && !pf_version_is_stale(version) &&
           pf_monotonic_ms() - version->checked < LATELY_MS;
}

/* Compares the inputs with the disk. 0; ESTALE if they have changed; or another errno value. */
static int check_inputs(const struct pf_node_ref *ref, struct pf_op *op)
{
    uint64_t now = pf_monotonic_ms();
    int result = pf_op_errno(op, pf_profile_check(ref->profile, &op->error));
    pf_lock_take(&ref->version->fs->lock);
    ref->version->checked = result ? 0 : now;
    pf_lock_drop(&ref->version->fs->lock);
    return result;
}

/* Holds the version that a node number belongs to. False if there is none. Called with fs->lock held. */
static bool hold_version_of(struct pf_fs *fs, uint64_t ino, struct pf_node_ref *ref)
{
    pf_assert_held(&fs->lock);
    if (ino == PF_ROOT_INO) {
        struct pf_entry *root = pf_entry_get(fs, PF_ROOT_INO);
        ref->node = (struct pf_node){PF_TOP, 0};
        struct pf_entry_info info = {.type = root->type, .st = root->st, .driver = root->driver};
        ref->version = root->version ? root->version : pf_version_of(fs, root, &info);
    } else {
        ref->version = pf_map_get(&fs->versions, ino >> 40);
    }
    if (!ref->version)
        return false;
    hold_version(ref->version);
    ref->reported = ref->version->access;
    return true;
}

/*
 * Gets the profile of a held version and opens its files; with `check`, first compares its inputs with the disk. *stale: the
 * version is not the one on disk, or has no such node any more. 0, or an errno value.
 */
static int load_profile_of(struct pf_node_ref *ref, bool check, bool *stale, struct pf_op *op)
{
    bool was_loaded;
    ref->profile = need_profile(ref->version, &was_loaded, op);
    bool broken = pf_version_is_broken(ref->version);
    *stale = !ref->profile && op->error.code == ESTALE;
    if (!ref->profile && !*stale && !broken)
        return pf_op_errno(op, -1);
    pf_version_access(ref->version, ref->profile);
    if (broken && ref->node.kind != PF_TOP && ref->node.kind != PF_ERROR)
        *stale = true;
    int result = check && was_loaded ? check_inputs(ref, op) : 0;
    if (!result)
        result = hold_files(ref, op);
    *stale |= result == ESTALE;
    return result == ESTALE ? 0 : result;
}

int pf_node_ref_open(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_node_ref *ref,
                     struct pf_op *op)
{
    *ref = (struct pf_node_ref){.node = {(unsigned)(ino >> 32 & 0xff), (uint32_t)ino}};
    pf_lock_take(&fs->lock);
    bool found = hold_version_of(fs, ino, ref);
    if (found && check == PF_CHECK_LATELY && checked_lately(ref->version))
        check = PF_CHECK_NOT;
    pf_lock_drop(&fs->lock);
    if (!found)
        return ESTALE;
    bool stale;
    int result = load_profile_of(ref, check != PF_CHECK_NOT, &stale, op);
    if (result)
        pf_node_ref_close(ref);
    if (result || !stale)
        return result;
    result = follow_to_present(ref, op);
    if (!result)
        ref->reported = pf_version_access(ref->version, ref->profile);
    return result;
}

bool pf_node_ref_is_restricted(const struct pf_node_ref *ref)
{
    struct pf_access now = pf_version_access(ref->version, ref->profile);
    return ref->version->fs->options.others && !pf_access_same(&now, &ref->reported);
}

/* ---- errors --------------------------------------------------------------------------------- */

int pf_errno_shown(int code)
{
    switch (code) {
    case EAGAIN: /* rows differ each time they are made: the file is being written */
        return ESTALE;
    case EBADMSG: /* report damaged data like a damaged disk */
    case ENODATA:
        return EIO;
    default:
        return code > 0 ? code : EIO;
    }
}
