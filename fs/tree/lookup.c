/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "fs/tree/vfs_private.h"

/* Look-ups of names, and the attributes and link targets of node numbers. */

/*
 * How long the kernel may cache entries and attributes, in seconds. SOURCE_SECONDS is for entries of SOURCE, which may
 * change. VERSION_SECONDS is for nodes inside a profile, which never change: a new version has new numbers.
 * ONE_FILE_SECONDS is for nodes inside a profile that is a single file: a look-up of the file's name detects a new version.
 * Each open checks for a new version in any case.
 */
static const double SOURCE_SECONDS = 1, VERSION_SECONDS = 10, ONE_FILE_SECONDS = 300;

/* ---- attributes --------------------------------------------------------------------------------- */

static void fill_entry_attr(const struct pf_fs *fs, const struct pf_entry *entry, struct pf_attr *attr)
{
    *attr =
        (struct pf_attr){.st = entry->st, .entry_seconds = SOURCE_SECONDS, .attr_seconds = SOURCE_SECONDS};
    attr->st.st_ino = entry->id;
    attr->shown = pf_entry_shown_ino(entry);
    attr->st.st_nlink = 1;
    attr->st.st_mode &= ~(mode_t)(S_ISUID | S_ISGID);
    /*
     * Do not cache attributes of a link: the link may be replaced. If other users have access, do not cache those of a file:
     * its access rights may change. The size of a file may be cached: the kernel requests it again at each open.
     */
    if (entry->type == PF_ENTRY_LINK || (entry->type == PF_ENTRY_FILE && fs->options.others))
        attr->attr_seconds = 0;
}

int pf_entry_register(struct pf_fs *fs, struct pf_entry *parent, const char *name, struct pf_entry_info *info,
                      struct pf_attr *attr)
{
    pf_assert_held(&fs->lock);
    if (fs->options.only_profiles && info->type != PF_ENTRY_PROFILE && info->type != PF_ENTRY_DIR)
        return ENOENT;
    struct pf_entry *entry = pf_entry_update(fs, parent, name, info);
    if (!entry)
        return ENOMEM;
    int result = 0;
    if (info->type != PF_ENTRY_PROFILE) {
        pf_version_make_stale(fs, entry);
        fill_entry_attr(fs, entry, attr);
        entry->lookups++;
    } else {
        struct pf_version *version = pf_version_of(fs, entry, info);
        if (version) {
            *attr = (struct pf_attr){.entry_seconds = SOURCE_SECONDS,
                                     .attr_seconds = VERSION_SECONDS,
                                     .shown = pf_entry_shown_ino(entry)};
            pf_node_stat(version, &version->access, (struct pf_node){PF_TOP, 0}, &attr->st);
            version->lookups++;
        } else {
            result = ENOMEM;
        }
    }
    pf_entry_release_locked(fs, entry);
    return result;
}

char *pf_error_text(const struct pf_version *version, size_t *size)
{
    const struct pf_error *error = version->failure;
    struct pf_buf out = {0};
    pf_buf_printf(&out, "Format: %s\nError: %s\n", version->driver->name, error->what);
    if (*error->where)
        pf_buf_printf(&out, "File: %s\n", error->where);
    if (error->offset >= 0)
        pf_buf_printf(&out, "Offset: %lld\n", (long long)error->offset);
    if (error->line > 0)
        pf_buf_printf(&out, "Line: %lld\n", (long long)error->line);
    *size = out.size;
    return out.failed ? NULL : out.data;
}

static int node_size(const struct pf_node_ref *ref, struct pf_node node, bool may_wait, uint64_t *size,
                     struct pf_op *op)
{
    if (node.kind == PF_ERROR) {
        size_t n = 0;
        free(pf_error_text(ref->version, &n));
        *size = n;
        return 0;
    }
    if (!ref->profile)
        return ESTALE;
    if (!may_wait)
        return pf_profile_size_now(ref->profile, node, size) ? 0 : EAGAIN;
    return pf_op_errno(op, pf_profile_size(ref->profile, node, size, op));
}

int pf_node_ref_attr(const struct pf_node_ref *ref, struct pf_node node, bool may_wait, struct pf_attr *attr,
                     struct pf_op *op)
{
    /*
     * If users other than the mounter have access, attributes are not cached, since a further input may restrict the
     * access rights. The top folder is an exception: it shows no contents of the inputs, and if the kernel requested its
     * attributes again, the profile would be loaded.
     */
    bool may_cache = !ref->version->fs->options.others || node.kind == PF_TOP;
    double seconds =
        ref->profile && pf_profile_is_one_file(ref->profile) ? ONE_FILE_SECONDS : VERSION_SECONDS;
    *attr = (struct pf_attr){.entry_seconds = seconds, .attr_seconds = may_cache ? seconds : 0};
    uint64_t size = 0;
    int result = pf_is_folder(node.kind) ? 0 : node_size(ref, node, may_wait, &size, op);
    struct pf_access access = pf_version_access(ref->version, ref->profile);
    pf_node_stat(ref->version, &access, node, &attr->st);
    if (node.kind == PF_TOP)
        attr->shown = pf_entry_shown_ino(ref->version->entry);
    if (pf_is_folder(node.kind))
        return 0;
    attr->st.st_size = (off_t)size;
    attr->st.st_blocks = (blkcnt_t)((size + 511) / 512);
    return result;
}

static void count_use(struct pf_version *version)
{
    pf_lock_take(&version->fs->lock);
    version->lookups++;
    pf_lock_drop(&version->fs->lock);
}

/* ---- look-up ------------------------------------------------------------------------------------ */

/* Looks a name up in a folder of SOURCE; drops the hold on the folder. */
static int lookup_in_folder(struct pf_fs *fs, struct pf_entry *folder, const char *name, struct pf_attr *attr,
                            struct pf_op *op)
{
    struct pf_entry_info info = {0};
    struct pf_folder *open = pf_entry_folder(fs, folder, true);
    int result = open ? pf_prepare_look(fs, folder, open, name, op) : errno;
    if (!result)
        result = pf_classify_in_time(fs, open, name, &info);
    bool is_entry = !result;
    if (result == ENOENT && open)
        result = pf_virtual_find(fs, folder->id, open, name, attr, op);
    pf_folder_free(open);
    pf_lock_take(&fs->lock);
    if (is_entry)
        result = pf_entry_register(fs, folder, name, &info, attr);
    else if (result == ENOENT)
        pf_version_gone(fs, folder, name);
    pf_entry_release_locked(fs, folder);
    pf_lock_drop(&fs->lock);
    return result;
}

static int lookup_in_source(struct pf_fs *fs, uint64_t parent, const char *name, struct pf_attr *attr,
                            struct pf_op *op)
{
    struct pf_entry *folder = pf_entry_hold(fs, parent);
    if (!folder)
        return ESTALE;
    int result = pf_entry_probe(fs, folder);
    if (!result)
        result = pf_prepare_index(fs, folder, op);
    if (!result)
        return lookup_in_folder(fs, folder, name, attr, op);
    pf_entry_release(fs, folder);
    return result;
}

/* Looks up the folder of the profile's source that is shown as src/. The nodes below src/ are entries of SOURCE. */
static int lookup_source_folder(struct pf_fs *fs, const struct pf_node_ref *ref, struct pf_attr *attr,
                                struct pf_op *op)
{
    int result = pf_op_errno(op, pf_profile_open(ref->profile, op));
    if (result)
        return result;
    pf_lock_take(&fs->lock);
    struct pf_entry *folder = ref->version->entry;
    folder->holds++;
    pf_lock_drop(&fs->lock);
    return lookup_in_folder(fs, folder, pf_extra_of(pf_profile_model(ref->profile))->src, attr, op);
}

/* Finds an entry of a folder inside a profile. */
static int find_node(const struct pf_node_ref *ref, const char *name, struct pf_node *entry, struct pf_op *op)
{
    if (!ref->profile) {
        *entry = (struct pf_node){PF_ERROR, 0};
        return ref->node.kind == PF_TOP && !strcmp(name, "error.txt") ? 0 : ENOENT;
    }
    if (!pf_is_folder(ref->node.kind))
        return ENOTDIR;
    int result = pf_op_errno(op, pf_profile_ready(ref->profile, ref->node, op));
    return result ? result : pf_folder_find(ref->profile, ref->node, name, entry) ? 0 : ENOENT;
}

static int lookup_in_profile(struct pf_fs *fs, uint64_t parent, const char *name, bool sized,
                             struct pf_attr *attr, struct pf_op *op)
{
    struct pf_node_ref ref = {0};
    struct pf_node entry = {0};
    int result = pf_node_ref_open(fs, parent, PF_CHECK_LATELY, &ref, op);
    if (result)
        return result;
    result = find_node(&ref, name, &entry, op);
    if (!result && entry.kind == PF_SOURCE_FOLDER) {
        result = lookup_source_folder(fs, &ref, attr, op);
    } else if (!result) {
        result = pf_node_ref_attr(&ref, entry, sized, attr, op);
        if (result == EAGAIN && !sized)
            result = 0;
        if (!result)
            count_use(ref.version);
    }
    pf_node_ref_close(&ref);
    return result;
}

bool pf_in_source(struct pf_fs *fs, uint64_t ino)
{
    return ino >> 32 == 0 && !(ino == PF_ROOT_INO && pf_root_is_profile(fs));
}

static int look_up(struct pf_fs *fs, uint64_t parent, const char *name, bool sized, struct pf_attr *attr,
                   struct pf_op *op)
{
    void *self;
    const struct pf_virtual *within = pf_virtual_of(fs, parent, &self);
    if (strlen(name) > NAME_MAX)
        return ENAMETOOLONG;
    if (within)
        return within->lookup(self, parent, name, attr, op);
    int result = pf_virtual_find(fs, parent, NULL, name, attr, op);
    if (result != ENOENT)
        return result;
    return pf_in_source(fs, parent) ? lookup_in_source(fs, parent, name, attr, op)
                                    : lookup_in_profile(fs, parent, name, sized, attr, op);
}

int pf_fs_lookup(struct pf_fs *fs, uint64_t parent, const char *name, bool sized, struct pf_attr *attr,
                 struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(fs, result, look_up(fs, parent, name, sized, attr, op));
    return result;
}

void pf_fs_forget(struct pf_fs *fs, uint64_t ino, uint64_t uses)
{
    void *self;
    if (ino == PF_ROOT_INO || pf_virtual_of(fs, ino, &self))
        return;
    pf_lock_take(&fs->lock);
    if (ino >> 40) {
        struct pf_version *version = pf_map_get(&fs->versions, ino >> 40);
        if (version) {
            version->lookups -= uses < version->lookups ? uses : version->lookups;
            pf_version_free_if_unused(version);
        }
    } else {
        struct pf_entry *entry = pf_entry_get(fs, ino);
        if (entry) {
            entry->holds++;
            entry->lookups -= uses < entry->lookups ? uses : entry->lookups;
            pf_entry_release_locked(fs, entry);
        }
    }
    pf_lock_drop(&fs->lock);
}

/* ---- attributes by node number ------------------------------------------------------------------ */

static int getattr_in_source(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr)
{
    struct pf_entry *entry = pf_entry_hold(fs, ino);
    if (!entry)
        return ESTALE;
    struct stat st = {0};
    int result = pf_entry_stat(fs, entry, &st);
    pf_lock_take(&fs->lock);
    if (!result && (st.st_mode & S_IFMT) != (entry->st.st_mode & S_IFMT))
        result = ESTALE;
    if (!result) {
        entry->st = st;
        fill_entry_attr(fs, entry, attr);
    }
    pf_entry_release_locked(fs, entry);
    pf_lock_drop(&fs->lock);
    return result == ENOENT ? ESTALE : result;
}

static int get_attr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_op *op)
{
    void *self;
    const struct pf_virtual *within = pf_virtual_of(fs, ino, &self);
    if (within)
        return within->getattr(self, ino, attr, op);
    if (pf_in_source(fs, ino))
        return getattr_in_source(fs, ino, attr);
    struct pf_node_ref ref = {0};
    int result = pf_node_ref_open(fs, ino, PF_CHECK_NOT, &ref, op);
    if (result)
        return result;
    result = pf_node_ref_attr(&ref, ref.node, true, attr, op);
    attr->st.st_ino = ino;
    pf_node_ref_close(&ref);
    return result;
}

int pf_fs_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(fs, result, get_attr(fs, ino, attr, op));
    return result;
}

/* ---- links -------------------------------------------------------------------------------------- */

static int readlink_in_profile(struct pf_fs *fs, uint64_t ino, char **target, struct pf_op *op)
{
    struct pf_node_ref ref = {0};
    int result = pf_node_ref_open(fs, ino, PF_CHECK_NOT, &ref, op);
    if (result)
        return result;
    if (ref.profile && pf_is_link(ref.node.kind)) {
        result = pf_op_errno(op, pf_profile_link(ref.profile, ref.node, target, op));
    } else {
        result = EINVAL;
    }
    pf_node_ref_close(&ref);
    return result;
}

static int readlink_in_source(struct pf_fs *fs, uint64_t ino, char **target)
{
    struct pf_entry *entry = pf_entry_hold(fs, ino);
    if (!entry)
        return ESTALE;
    struct pf_folder *folder = entry->parent ? pf_entry_folder(fs, entry->parent, true) : NULL;
    int result = folder ? 0 : entry->parent ? errno : EINVAL;
    *target = folder ? malloc(PATH_MAX) : NULL;
    if (!result)
        result = *target ? pf_folder_link(folder, entry->name, *target, PATH_MAX) : ENOMEM;
    if (result)
        free(*target);
    pf_folder_free(folder);
    pf_entry_release(fs, entry);
    return result;
}

static int read_link(struct pf_fs *fs, uint64_t ino, char **target, struct pf_op *op)
{
    void *self;
    const struct pf_virtual *within = pf_virtual_of(fs, ino, &self);
    if (within)
        return within->readlink ? within->readlink(self, ino, target, op) : EINVAL;
    return ino >> 32 ? readlink_in_profile(fs, ino, target, op) : readlink_in_source(fs, ino, target);
}

int pf_fs_readlink(struct pf_fs *fs, uint64_t ino, char **target, struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(fs, result, read_link(fs, ino, target, op));
    return result;
}
