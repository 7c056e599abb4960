/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/table.h"
#include "fs/clock.h"
#include "fs/tree/mounts.h"
#include "fs/tree/vfs_private.h"

/* ---- mounts ------------------------------------------------------------------------------------- */

/* A mount of this program in SOURCE is left out, this one before all: looking into it, the server would wait for itself. */
static bool leads_into_own_mount(struct pf_fs *fs, int directory, const char *name)
{
    dev_t device;
    if (pf_device_at(directory, name, &device) || device == fs->device)
        return false;
    uint64_t now = pf_monotonic_seconds();
    pthread_mutex_lock(&fs->lock);
    struct pf_elsewhere last = fs->elsewhere;
    pthread_mutex_unlock(&fs->lock);
    if (last.device == device && now <= last.seen + 1)
        return last.own;
    last = (struct pf_elsewhere){device, now, pf_is_own_mount(device, NULL)};
    pthread_mutex_lock(&fs->lock);
    fs->elsewhere = last;
    pthread_mutex_unlock(&fs->lock);
    return last.own;
}

/* The same for each folder on a path below SOURCE, from the top: over one of them something may have been mounted by now. */
static bool passes_own_mount(struct pf_fs *fs, char *path)
{
    bool own = false;
    for (char *slash = strchr(path, '/'); slash && !own; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        own = leads_into_own_mount(fs, fs->root, path);
        *slash = '/';
    }
    return own || leads_into_own_mount(fs, fs->root, path);
}

/* ---- what stands there -------------------------------------------------------------------------- */

/* Probing results of files seen last, by their stamps: listing a folder probes what a look-up asks for soon
 * after. */
enum { MEMOS = 8192 };

struct pf_probe_memo {
    struct pf_stamp stamp;
    const struct pf_driver *driver;
    struct pf_verdict verdict;
};

static size_t memo_of(const struct pf_stamp *stamp)
{
    return (size_t)((stamp->inode * 0x9e3779b97f4a7c15u ^ stamp->device) >> 32) % MEMOS;
}

static bool recall(struct pf_fs *fs, const struct pf_stamp *stamp, struct pf_found *found)
{
    pthread_mutex_lock(&fs->memo_lock);
    const struct pf_probe_memo *memo = fs->memo ? &fs->memo[memo_of(stamp)] : NULL;
    bool known = memo && pf_stamp_same(&memo->stamp, stamp);
    if (known) {
        found->driver = memo->driver;
        found->verdict = memo->verdict;
    }
    pthread_mutex_unlock(&fs->memo_lock);
    return known;
}

static void memorise(struct pf_fs *fs, const struct pf_stamp *stamp, const struct pf_found *found)
{
    pthread_mutex_lock(&fs->memo_lock);
    if (!fs->memo)
        fs->memo = calloc(MEMOS, sizeof *fs->memo);
    if (fs->memo)
        fs->memo[memo_of(stamp)] =
            (struct pf_probe_memo){.stamp = *stamp, .driver = found->driver, .verdict = found->verdict};
    pthread_mutex_unlock(&fs->memo_lock);
}

static bool any_driver_for(bool directory)
{
    for (size_t i = 0; pf_drivers[i]; i++)
        if (pf_drivers[i]->directories == directory && !pf_drivers[i]->beside)
            return true;
    return false;
}

static int probe_file(struct pf_fs *fs, int fd, const char *name, struct pf_found *found)
{
    struct pf_stamp stamp = pf_stamp_of(&found->st);
    unsigned char *head = malloc(PF_HEAD_MAX);
    struct pf_probe what = {.name = name, .size = (uint64_t)found->st.st_size, .fd = fd, .bytes = head};
    if (!head)
        return ENOMEM;
    found->driver = pf_recognise(&what, &found->verdict);
    free(head);
    if (!what.lack)
        memorise(fs, &stamp, found);
    return what.lack;
}

static int probe_folder(int fd, const char *name, struct pf_found *found)
{
    struct pf_probe what = {.name = name, .directory = true, .fd = fd};
    found->driver = pf_recognise(&what, &found->verdict);
    return what.lack;
}

/*
 * Which driver wants it. What can't be read is nobody's: it passes through, and reading it fails as it does in SOURCE.
 * 0; or an errno value if it could not be found out for want of memory or descriptors.
 */
static int probe(struct pf_fs *fs, int directory, const char *name, struct pf_found *found)
{
    struct pf_stamp stamp = pf_stamp_of(&found->st);
    bool is_directory = S_ISDIR(found->st.st_mode);
    if (!any_driver_for(is_directory) || (!is_directory && found->st.st_size == 0))
        return 0;
    /* What a directory is depends on files in it, whose changes its own stamp does not show. */
    if (!is_directory && recall(fs, &stamp, found))
        return 0;
    int fd = pf_open_beneath(directory, name, O_RDONLY | (is_directory ? O_DIRECTORY : 0));
    if (fd < 0)
        return pf_is_lack(errno) ? errno : 0;
    int lack = is_directory ? probe_folder(fd, name, found) : probe_file(fs, fd, name, found);
    close(fd);
    return lack;
}

const char *pf_beside_name(size_t i)
{
    size_t n = 0;
    for (size_t d = 0; pf_drivers[d]; d++) {
        bool repeated = !pf_drivers[d]->beside;
        for (size_t e = 0; e < d && !repeated; e++)
            repeated = pf_drivers[e]->beside && !strcmp(pf_drivers[e]->beside, pf_drivers[d]->beside);
        if (!repeated && n++ == i)
            return pf_drivers[d]->beside;
    }
    return NULL;
}

static bool is_beside_name(const char *name)
{
    const char *beside;
    for (size_t i = 0; (beside = pf_beside_name(i)); i++)
        if (!strcmp(beside, name))
            return true;
    return false;
}

/* A profile that stands in the directory without being there: its attributes are the directory's. */
static int classify_beside(int directory, const char *name, struct pf_found *found)
{
    int fd = pf_open_beneath(directory, ".", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return pf_is_lack(errno) ? errno : ENOENT;
    struct pf_probe folder = {.name = name, .directory = true, .fd = fd};
    if (!fstat(fd, &found->st))
        found->driver = pf_recognise_beside(&folder, name, &found->verdict);
    close(fd);
    found->type = PF_ENTRY_PROFILE;
    return folder.lack ? folder.lack : found->driver ? 0 : ENOENT;
}

int pf_classify(struct pf_fs *fs, int directory, const char *name, struct pf_found *found)
{
    *found = (struct pf_found){0};
    if (leads_into_own_mount(fs, directory, name))
        return ENOENT;
    if (fstatat(directory, name, &found->st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT && is_beside_name(name) ? classify_beside(directory, name, found) : errno;
    if (fs->options.others)
        found->st.st_mode = pf_mode_without_list(directory, name, found->st.st_mode);
    mode_t mode = found->st.st_mode;
    found->type = S_ISDIR(mode)   ? PF_ENTRY_DIR
                  : S_ISREG(mode) ? PF_ENTRY_FILE
                  : S_ISLNK(mode) ? PF_ENTRY_LINK
                                  : PF_ENTRY_OTHER;
    int lack = S_ISDIR(mode) || S_ISREG(mode) ? probe(fs, directory, name, found) : 0;
    if (found->driver)
        found->type = PF_ENTRY_PROFILE;
    return lack;
}

/* ---- entries that have numbers ------------------------------------------------------------------ */

/* The length of the path, each name with its slash; -1 with errno. With fs->lock held. */
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
    pthread_mutex_lock(&fs->lock);
    ssize_t size = path_size(entry);
    char *path = size < 0 ? NULL : malloc((size_t)size + 1);
    if (path)
        write_path(entry, path, (size_t)size);
    pthread_mutex_unlock(&fs->lock);
    return path;
}

int pf_entry_open(struct pf_fs *fs, const struct pf_entry *entry, int flags)
{
    char *path = pf_entry_path(fs, entry);
    if (!path)
        return -1;
    const char *name = *path ? path : fs->root_name ? fs->root_name : ".";
    int fd = pf_open_here(fs->root, name, flags);
    if (fd < 0 && errno == EXDEV) {
        if (passes_own_mount(fs, path))
            errno = ENOENT;
        else
            fd = pf_open_beneath(fs->root, name, flags);
    }
    int saved = errno;
    free(path);
    errno = saved;
    return fd;
}

static uint64_t hash_of(const struct pf_entry *parent, const char *name)
{
    return pf_siphash(parent->id, name, strlen(name));
}

static struct pf_entry *find(struct pf_fs *fs, const struct pf_entry *parent, const char *name, uint64_t hash)
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

struct pf_entry *pf_entry_note(struct pf_fs *fs, struct pf_entry *parent, const char *name,
                               const struct pf_found *found)
{
    uint64_t hash = hash_of(parent, name);
    struct pf_entry *entry = find(fs, parent, name, hash);
    /* A name that has come to mean another kind of thing is another node: the kernel never sees a number
     * change its type. */
    if (entry && entry->found.type != found->type && entry->found.type != PF_ENTRY_PROFILE) {
        entry->gone = true; /* kept for those who hold its number */
        entry = NULL;
    }
    if (!entry)
        entry = add(fs, parent, name, hash);
    if (!entry)
        return NULL;
    entry->found = *found;
    entry->holds++;
    if (found->type != PF_ENTRY_PROFILE)
        pf_instance_leave(fs, entry);
    return entry;
}

void pf_entry_gone(struct pf_fs *fs, struct pf_entry *parent, const char *name)
{
    struct pf_entry *entry = find(fs, parent, name, hash_of(parent, name));
    if (!entry)
        return;
    entry->holds++;
    pf_instance_leave(fs, entry);
    pf_entry_drop(fs, entry);
}

struct pf_entry *pf_entry_get(struct pf_fs *fs, uint64_t id)
{
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

void pf_entry_drop(struct pf_fs *fs, struct pf_entry *entry)
{
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
