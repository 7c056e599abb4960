/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "formats/kit/digest.h"
#include "formats/kit/table.h"
#include "formats/recognise.h"
#include "fs/clock.h"
#include "fs/tree/mounts.h"
#include "fs/tree/vfs_private.h"

/* ---- mounts ------------------------------------------------------------------------------------- */

/* True for a mount of this program. Such mounts in SOURCE are hidden: an access to this process's own mount would deadlock. */
static bool is_own_mount(struct pf_fs *fs, dev_t device)
{
    if (device == fs->device)
        return false;
    uint64_t now = pf_monotonic_seconds();
    pf_lock_take(&fs->lock);
    struct pf_other_device last = fs->other_device;
    pf_lock_drop(&fs->lock);
    if (last.device == device && now <= last.seen + 1)
        return last.own;
    last = (struct pf_other_device){device, now, pf_is_own_mount(device, NULL)};
    pf_lock_take(&fs->lock);
    fs->other_device = last;
    pf_lock_drop(&fs->lock);
    return last.own;
}

static bool leads_into_own_mount(struct pf_fs *fs, int directory, const char *name)
{
    dev_t device;
    return !pf_device_at(directory, name, &device) && is_own_mount(fs, device);
}

/* True if any name on a path below SOURCE is a mount of this program. Checks from the top, so as not to enter such a mount. */
static bool passes_own_mount(struct pf_fs *fs, char *path)
{
    bool own = false;
    for (char *slash = strchr(path, '/'); slash && !own; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        own = leads_into_own_mount(fs, fs->env.root, path);
        *slash = '/';
    }
    return own || leads_into_own_mount(fs, fs->env.root, path);
}

/* ---- classification ----------------------------------------------------------------------------- */

/*
 * Turns the attributes of an archive into those of a folder. Users who may read the archive may read and search the
 * folder.
 */
static void take_for_folder(struct stat *st)
{
    mode_t readable = st->st_mode & 0444;
    st->st_mode = S_IFDIR | readable | readable >> 2;
}

static int probe_file(struct pf_fs *fs, const struct pf_opened *opened, const char *name,
                      struct pf_entry_info *info)
{
    struct pf_stamp stamp = pf_stamp_of(&info->st);
    unsigned char head[PF_HEAD_MAX];
    struct pf_probe what = {.name = name,
                            .size = (uint64_t)info->st.st_size,
                            .fd = opened->fd,
                            .start = opened->start,
                            .unpacked = opened->unpacked,
                            .bytes = head};
    size_t have;
    info->driver = pf_recognise(&what, &info->probe);
    const unsigned char *bytes = pf_probe_head(&what, 512, &have);
    info->packed = !info->driver && !what.failure && pf_archive_is(name, opened, bytes, have);
    if (!what.failure)
        pf_probe_results_put(fs->probe_results, &stamp, name, info, opened->unpacked);
    return what.failure;
}

int pf_probe_folder(struct pf_probe_results *results, const struct pf_folder *folder, const char *name,
                    struct pf_entry_info *info)
{
    struct pf_stamp stamp = pf_stamp_of(&info->st);
    if (results && pf_probe_results_get(results, &stamp, name, info))
        return 0;
    struct pf_folder *self = pf_folder_open(folder, name);
    if (!self)
        return pf_is_transient(errno) ? errno : 0;
    struct pf_probe what = {.name = name, .directory = true, .fd = pf_folder_fd(self), .folder = self};
    info->driver = pf_recognise(&what, &info->probe);
    pf_folder_free(self);
    if (results && !what.failure && !what.looked_inside)
        pf_probe_results_put(results, &stamp, name, info, false);
    return what.failure;
}

/*
 * Finds the driver for a file or folder. An unreadable file has no driver: it is passed through, and reading it fails
 * as in SOURCE. 0, or a transient errno value.
 */
static int probe(struct pf_fs *fs, const struct pf_folder *folder, const char *name, bool in_time,
                 struct pf_entry_info *info)
{
    struct pf_stamp stamp = pf_stamp_of(&info->st);
    struct pf_opened opened;
    bool is_directory = S_ISDIR(info->st.st_mode);
    if (!is_directory && info->st.st_size == 0)
        return 0;
    /* The stamp of a directory changes with the names in it, not with the contents of the files (see pf_probe_folder). */
    if (is_directory) {
        bool on_disk = pf_folder_fd(folder) >= 0, stored = on_disk && pf_stamp_is_settled(&stamp);
        return in_time && on_disk && pf_is_foreign(fs, &info->st)
                   ? pf_probe_foreign(pf_probe_folder, folder, name, info)
                   : pf_probe_folder(stored ? fs->probe_results : NULL, folder, name, info);
    }
    if (pf_probe_results_get(fs->probe_results, &stamp, name, info))
        return 0;
    int result = pf_folder_file(folder, name, &opened);
    if (result)
        return pf_is_transient(result) ? result : 0;
    result = probe_file(fs, &opened, name, info);
    pf_opened_close(&opened);
    return result;
}

/*
 * Classifies the profile made from the folder itself. It is not an entry on disk, so it has the attributes of the
 * folder.
 */
static int classify_beside(struct pf_fs *fs, const struct pf_folder *folder, struct pf_entry_info *info)
{
    int result = pf_folder_stat(folder, ".", &info->st);
    struct pf_stamp stamp = pf_stamp_of(&info->st);
    bool stored = !result && pf_folder_fd(folder) >= 0 && pf_stamp_is_settled(&stamp);
    stamp.inode = ~stamp.inode; /* the probe result of the folder itself is stored under its inode */
    if (stored && pf_probe_results_get(fs->probe_results, &stamp, PF_BESIDE_NAME, info))
        return ENOENT;
    struct pf_folder *self = result ? NULL : pf_folder_open(folder, ".");
    if (!self)
        return result ? result : pf_is_transient(errno) ? errno : ENOENT;
    struct pf_probe what = {
        .name = PF_BESIDE_NAME, .directory = true, .fd = pf_folder_fd(self), .folder = self};
    info->driver = pf_recognise_beside(&what, &info->probe);
    pf_folder_free(self);
    info->type = PF_ENTRY_PROFILE;
    if (stored && !what.failure && !what.looked_inside)
        pf_probe_results_put(fs->probe_results, &stamp, PF_BESIDE_NAME, info, false);
    return what.failure ? what.failure : info->driver ? 0 : ENOENT;
}

/*
 * The attributes of a name in SOURCE; ENOENT for a mount of this program. One system call if the name is on the disk of
 * SOURCE.
 */
static int stat_name(struct pf_fs *fs, const struct pf_folder *folder, const char *name, struct stat *st)
{
    int directory = pf_folder_fd(folder);
    if (directory >= 0 && !pf_stat_at(directory, name, st)) {
        bool on_disk = major(st->st_dev);
        if (on_disk && st->st_dev == fs->device)
            return 0;
        if (is_own_mount(fs, st->st_dev))
            return ENOENT;
    }
    return pf_folder_stat(folder, name, st);
}

static enum pf_entry_type type_of_mode(mode_t mode)
{
    return S_ISDIR(mode)   ? PF_ENTRY_DIR
           : S_ISREG(mode) ? PF_ENTRY_FILE
           : S_ISLNK(mode) ? PF_ENTRY_LINK
                           : PF_ENTRY_OTHER;
}

static int classify(struct pf_fs *fs, const struct pf_folder *folder, const char *name, bool in_time,
                    struct pf_entry_info *info)
{
    *info = (struct pf_entry_info){0};
    int result = stat_name(fs, folder, name, &info->st);
    if (result)
        return result == ENOENT && !strcmp(name, PF_BESIDE_NAME) ? classify_beside(fs, folder, info) : result;
    if (fs->options.others && pf_folder_fd(folder) >= 0)
        info->st.st_mode = pf_mode_without_list(pf_folder_fd(folder), name, info->st.st_mode);
    mode_t mode = info->st.st_mode;
    int failure = S_ISDIR(mode) || S_ISREG(mode) ? probe(fs, folder, name, in_time, info) : 0;
    info->type = info->driver ? PF_ENTRY_PROFILE : type_of_mode(mode);
    info->packed = info->packed && pf_archives_are_entered(fs->archives) && !info->driver;
    if (info->packed) {
        info->type = PF_ENTRY_DIR;
        take_for_folder(&info->st);
    }
    return failure;
}

int pf_classify(struct pf_fs *fs, const struct pf_folder *folder, const char *name,
                struct pf_entry_info *info)
{
    return classify(fs, folder, name, false, info);
}

int pf_classify_in_time(struct pf_fs *fs, const struct pf_folder *folder, const char *name,
                        struct pf_entry_info *info)
{
    return classify(fs, folder, name, true, info);
}

/* ---- entries with node numbers ------------------------------------------------------------------ */

enum { PLAIN_MS = 2000 };

/* The length of an entry's path, including one slash per name; -1 with errno. Called with fs->lock held. */
static ssize_t path_size(const struct pf_entry *entry)
{
    size_t size = 0;
    for (; entry->parent; entry = entry->parent) {
        if (entry->gone) {
            errno = ESTALE;
            return -1;
        }
        size += strlen(entry->name) + 1;
    }
    if (size > PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return (ssize_t)size;
}

static void write_path(const struct pf_entry *entry, char *path, size_t size)
{
    path[size ? size - 1 : 0] = 0;
    for (size_t end = size; entry->parent; entry = entry->parent) {
        size_t n = strlen(entry->name);
        end -= n + 1;
        memcpy(path + end, entry->name, n);
        if (end)
            path[end - 1] = '/';
    }
}

char *pf_entry_path(struct pf_fs *fs, const struct pf_entry *entry)
{
    pf_lock_take(&fs->lock);
    ssize_t size = path_size(entry);
    char *path = size < 0 ? NULL : malloc((size_t)size + 1);
    if (path)
        write_path(entry, path, (size_t)size);
    pf_lock_drop(&fs->lock);
    return path;
}

/* Opens a path in the file system of SOURCE. -1 with errno: ENOTDIR if an archive is on the way. */
static int open_path(struct pf_fs *fs, char *path, int flags)
{
    const char *name = *path ? path : fs->env.root_name ? fs->env.root_name : ".";
    if (pf_folder_fd(fs->env.top) < 0) {
        errno = ENOTDIR;
        return -1;
    }
    int fd = pf_open_here(fs->env.root, name, flags);
    if (fd >= 0 || errno != EXDEV)
        return fd;
    if (!passes_own_mount(fs, path))
        return pf_open_beneath(fs->env.root, name, flags);
    errno = ENOENT;
    return -1;
}

struct pf_folder *pf_entry_folder(struct pf_fs *fs, const struct pf_entry *entry, bool for_look_up)
{
    struct pf_folder *folder = NULL;
    char *path = pf_entry_path(fs, entry);
    if (!path)
        return NULL;
    int fd = open_path(fs, path, (for_look_up ? O_PATH : O_RDONLY) | O_DIRECTORY);
    if (fd >= 0)
        folder = pf_folder_new(fd, fs->archives);
    else if (errno == ENOTDIR && fs->archives)
        folder = pf_folder_open(fs->env.top, *path ? path : ".");
    int saved = errno;
    free(path);
    errno = saved;
    return folder;
}

int pf_entry_file(struct pf_fs *fs, const struct pf_entry *entry, struct pf_opened *opened)
{
    char *path = pf_entry_path(fs, entry);
    if (!path)
        return errno;
    *opened = (struct pf_opened){.fd = open_path(fs, path, O_RDONLY)};
    int result = opened->fd < 0 || fstat(opened->fd, &opened->st) ? errno : 0;
    if (result && opened->fd >= 0)
        pf_opened_close(opened);
    else if (result == ENOTDIR && fs->archives)
        result = pf_folder_file(fs->env.top, path, opened);
    free(path);
    return result;
}

int pf_entry_stat(struct pf_fs *fs, const struct pf_entry *entry, struct stat *st)
{
    char *path = pf_entry_path(fs, entry);
    if (!path)
        return errno;
    int fd = open_path(fs, path, O_PATH | O_NOFOLLOW);
    int result = fd < 0 || fstat(fd, st) ? errno : 0;
    if (!result && fs->options.others)
        st->st_mode = pf_mode_without_list(fd, "", st->st_mode);
    if (fd >= 0)
        close(fd);
    if (result == ENOTDIR && fs->archives)
        result = pf_folder_stat(fs->env.top, *path ? path : ".", st);
    pf_lock_take(&fs->lock);
    bool packed = entry->packed;
    pf_lock_drop(&fs->lock);
    if (!result && S_ISREG(st->st_mode) && packed)
        take_for_folder(st);
    free(path);
    return result;
}

static uint64_t hash_of(const struct pf_entry *parent, const char *name)
{
    return pf_siphash(parent->hash, name, strlen(name));
}

/* Returns an inode number to show to programs: at most 53 bits, since some programs store numbers as doubles. */
static uint64_t shown_ino(uint64_t hash)
{
    return hash >> 11 | (uint64_t)1 << 32; /* above the numbers of entries; never 0 */
}

uint64_t pf_shown_ino(const struct pf_entry *folder, const char *name)
{
    return shown_ino(hash_of(folder, name));
}

uint64_t pf_entry_shown_ino(const struct pf_entry *entry)
{
    return entry->parent ? shown_ino(entry->hash) : PF_ROOT_INO;
}

static struct pf_entry *find_by_hash(struct pf_fs *fs, const struct pf_entry *parent, const char *name,
                                     uint64_t hash)
{
    struct pf_entry *entry = pf_map_get(&fs->by_name, hash);
    while (entry && (entry->gone || entry->parent != parent || strcmp(entry->name, name) != 0))
        entry = entry->same_hash;
    return entry;
}

static struct pf_entry *add(struct pf_fs *fs, struct pf_entry *parent, const char *name, uint64_t hash)
{
    struct pf_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->id = fs->next_entry++;
    entry->parent = parent;
    entry->hash = hash;
    entry->name = strdup(name);
    entry->same_hash = pf_map_get(&fs->by_name, hash);
    if (!entry->name || !pf_map_put(&fs->entries, entry->id, entry)) {
        free(entry->name);
        free(entry);
        return NULL;
    }
    if (!pf_map_put(&fs->by_name, hash, entry)) {
        pf_map_remove(&fs->entries, entry->id);
        free(entry->name);
        free(entry);
        return NULL;
    }
    parent->holds++;
    return entry;
}

void pf_entry_set_info(struct pf_entry *entry, const struct pf_entry_info *info)
{
    entry->type = info->type;
    entry->packed = info->packed;
    entry->unprobed = info->unprobed;
    entry->st = info->st;
    entry->driver = info->driver;
}

/* A folder that was a profile stays a profile if a new probe times out. */
static void remember_profile(const struct pf_entry *entry, struct pf_entry_info *info)
{
    if (!info->unprobed || !entry || entry->type != PF_ENTRY_PROFILE || entry->st.st_dev != info->st.st_dev ||
        entry->st.st_ino != info->st.st_ino)
        return;
    *info = (struct pf_entry_info){.type = PF_ENTRY_PROFILE, .st = entry->st, .driver = entry->driver};
}

int pf_entry_probe(struct pf_fs *fs, struct pf_entry *entry)
{
    struct pf_entry_info info = {0};
    pf_lock_take(&fs->lock);
    bool unprobed = entry->unprobed;
    pf_lock_drop(&fs->lock);
    if (!unprobed || !entry->parent)
        return 0;
    struct pf_folder *parent = pf_entry_folder(fs, entry->parent, true);
    int result = parent ? pf_classify(fs, parent, entry->name, &info) : errno;
    pf_folder_free(parent);
    if (result)
        return result == ENOENT ? ESTALE : result;
    if (info.type != PF_ENTRY_DIR)
        return ESTALE; /* the next look-up of the name finds the profile */
    pf_lock_take(&fs->lock);
    entry->unprobed = false;
    pf_lock_drop(&fs->lock);
    return 0;
}

struct pf_entry *pf_entry_update(struct pf_fs *fs, struct pf_entry *parent, const char *name,
                                 struct pf_entry_info *info)
{
    pf_assert_held(&fs->lock);
    uint64_t hash = hash_of(parent, name);
    struct pf_entry *entry = find_by_hash(fs, parent, name, hash);
    remember_profile(entry, info);
    /*
     * A name whose type changes gets a new node number, since the kernel must not see a number change its type. The
     * nodes of a profile have numbers made from its version's number, so the entry of a profile may be reused.
     */
    if (entry && entry->type != info->type && entry->type != PF_ENTRY_PROFILE) {
        entry->gone = true; /* not freed while its number has references */
        entry = NULL;
    }
    if (!entry)
        entry = add(fs, parent, name, hash);
    if (!entry)
        return NULL;
    pf_entry_set_info(entry, info);
    entry->holds++;
    return entry;
}

struct pf_entry *pf_entry_find(struct pf_fs *fs, const struct pf_entry *parent, const char *name)
{
    return find_by_hash(fs, parent, name, hash_of(parent, name));
}

struct pf_entry *pf_entry_get(struct pf_fs *fs, uint64_t id)
{
    pf_assert_held(&fs->lock);
    return pf_map_get(&fs->entries, id);
}

static void unlink_name(struct pf_fs *fs, struct pf_entry *entry)
{
    struct pf_entry *first = pf_map_get(&fs->by_name, entry->hash);
    if (first == entry && entry->same_hash) {
        pf_map_put(&fs->by_name, entry->hash, entry->same_hash);
    } else if (first == entry) {
        pf_map_remove(&fs->by_name, entry->hash);
    } else {
        while (first->same_hash != entry)
            first = first->same_hash;
        first->same_hash = entry->same_hash;
    }
}

void pf_entry_release_locked(struct pf_fs *fs, struct pf_entry *entry)
{
    pf_assert_held(&fs->lock);
    entry->holds--;
    while (entry && entry->parent && entry->holds == 0 && entry->lookups == 0) {
        struct pf_entry *parent = entry->parent;
        unlink_name(fs, entry);
        pf_map_remove(&fs->entries, entry->id);
        free(entry->name);
        free(entry);
        parent->holds--;
        entry = parent;
    }
}

static uint64_t stamp_digest(const struct pf_stamp *stamp)
{
    return pf_digest(1, stamp, sizeof *stamp);
}

void pf_entry_set_plain(struct pf_fs *fs, struct pf_entry *entry, const struct pf_stamp *stamp, uint64_t listed,
                        bool folders)
{
    pf_lock_take(&fs->lock);
    entry->plain = stamp_digest(stamp);
    entry->plain_ms = listed;
    entry->plain_folders = folders;
    pf_lock_drop(&fs->lock);
}

bool pf_entry_is_plain(struct pf_fs *fs, const char *path, const struct stat *st, bool *folders)
{
    const struct pf_stamp stamp = pf_stamp_of(st);
    char name[NAME_MAX + 1];
    pf_lock_take(&fs->lock);
    const struct pf_entry *entry = pf_entry_get(fs, PF_ROOT_INO);
    for (size_t n; entry && *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        entry = pf_entry_find(fs, entry, name);
    }
    bool plain = entry && entry->plain == stamp_digest(&stamp) && pf_monotonic_ms() - entry->plain_ms < PLAIN_MS;
    *folders = plain && entry->plain_folders;
    pf_lock_drop(&fs->lock);
    return plain;
}

bool pf_root_is_profile(struct pf_fs *fs)
{
    pf_lock_take(&fs->lock);
    bool profile = pf_entry_get(fs, PF_ROOT_INO)->type == PF_ENTRY_PROFILE;
    pf_lock_drop(&fs->lock);
    return profile;
}

struct pf_entry *pf_entry_hold(struct pf_fs *fs, uint64_t id)
{
    pf_lock_take(&fs->lock);
    struct pf_entry *entry = pf_entry_get(fs, id);
    if (entry)
        entry->holds++;
    pf_lock_drop(&fs->lock);
    return entry;
}

void pf_entry_release(struct pf_fs *fs, struct pf_entry *entry)
{
    pf_lock_take(&fs->lock);
    pf_entry_release_locked(fs, entry);
    pf_lock_drop(&fs->lock);
}
