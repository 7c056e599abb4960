/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/tree/vfs_private.h"

/* Open files: generated files, files of SOURCE that are passed through, and texts of virtual folders. */

struct pf_handle {
    struct pf_fs *fs;
    atomic_uint references;
    struct pf_version *version; /* held; NULL: not in a profile */
    struct pf_access access;    /* access rights at open */
    struct pf_file *file;  /* a generated file; replaced when its profile is reloaded; guarded by fs->lock */
    int fd;                /* descriptor of a passed-through file, or -1 */
    struct pf_store *text; /* a text of a virtual folder that is in a store, or NULL */
    uint64_t start, end;   /* offset of the shown file in the opened file; maximum size of the shown file */
    struct pf_opened packed; /* a passed-through file that is read from unpacked bytes */
    struct pf_walk *walk;    /* a generated file that is read once */
    struct pf_profile
        *profile; /* the profile of `file` or `walk`, with its files held open; replaced together with `file` */
    struct pf_buf passage; /* result of the last read of `walk` */
    char *bytes;           /* a small text: error.txt, or a text of a virtual folder that is not in a store */
    size_t size;
    bool direct;
    bool changed; /* a passed-through file whose attributes at open differed from those last returned */
};

/* True if an entry that was a passed-through file now has another type or is gone. */
static bool has_become_other(struct pf_fs *fs, const struct pf_entry *entry)
{
    struct pf_entry_info info = {0};
    if (!entry->parent)
        return false;
    struct pf_folder *folder = pf_entry_folder(fs, entry->parent, true);
    bool other = !folder || pf_classify(fs, folder, entry->name, &info) || info.type != PF_ENTRY_FILE;
    pf_folder_free(folder);
    return other;
}

static int open_in_source(struct pf_fs *fs, uint64_t ino, struct pf_handle *handle)
{
    struct pf_entry *entry = pf_entry_hold(fs, ino);
    if (!entry)
        return ESTALE;
    pf_lock_take(&fs->lock);
    struct pf_stamp seen = pf_stamp_of(&entry->st);
    pf_lock_drop(&fs->lock);
    struct pf_opened opened = {.fd = -1};
    int result = pf_entry_file(fs, entry, &opened);
    handle->fd = result ? -1 : opened.fd;
    handle->packed = !result && opened.fd < 0 ? opened : (struct pf_opened){.fd = -1};
    handle->start = result ? 0 : opened.start;
    handle->end = !result && opened.within ? (uint64_t)opened.st.st_size : UINT64_MAX;
    struct pf_stamp now = pf_stamp_of(&opened.st);
    handle->changed = !result && !pf_stamp_same(&seen, &now);
    if (handle->changed && has_become_other(fs, entry)) {
        pf_opened_close(&opened);
        result = ESTALE; /* the next look-up of the name finds its new type */
    }
    pf_entry_release(fs, entry);
    return result == ENOENT ? ESTALE : result ? pf_errno_shown(result) : 0;
}

static int open_generated(const struct pf_node_ref *ref, bool once, struct pf_handle *handle,
                          struct pf_op *op)
{
    struct pf_profile *profile = ref->profile;
    int result = once ? pf_file_walk(profile, ref->node, &handle->walk, op) : 0;
    if (!result && !handle->walk)
        result = pf_file_open(profile, ref->node, &handle->file, op);
    return pf_op_errno(op, result);
}

static void release_with_files(struct pf_profile *profile)
{
    if (profile)
        pf_profile_release_files(profile);
    pf_profile_release(profile);
}

static void close_text(struct pf_handle *handle)
{
    if (handle->walk)
        handle->walk->ops->close(handle->walk);
    if (handle->file)
        pf_file_close(handle->file);
    release_with_files(handle->profile);
    pf_store_free(handle->text);
    free(handle->bytes);
}

static int open_in_profile(struct pf_fs *fs, uint64_t ino, bool once, struct pf_handle *handle,
                           struct pf_op *op)
{
    struct pf_node_ref ref = {0};
    int result = pf_node_ref_open(fs, ino, PF_CHECK_NOW, &ref, op);
    if (result)
        return result;
    if (ref.superseded) {
        result =
            ESTALE; /* the number belongs to the old version; the next look-up of the name finds the new one */
    } else if (ref.node.kind == PF_ERROR) {
        handle->bytes = pf_error_text(ref.version, &handle->size);
        result = handle->bytes ? 0 : ENOMEM;
    } else if (!ref.profile || pf_is_folder(ref.node.kind)) {
        result = ref.profile ? EISDIR : ESTALE;
    } else {
        result = open_generated(&ref, once, handle, op);
    }
    if (!result && pf_node_ref_is_restricted(&ref))
        result = ESTALE; /* the next look-up of the name finds the new access rights */
    if (result) {
        close_text(handle);
        pf_node_ref_close(&ref);
        return result;
    }
    handle->access = pf_version_access(ref.version, ref.profile);
    handle->version = ref.version;
    handle->profile = ref.profile;
    return 0;
}

static int open_node(struct pf_fs *fs, uint64_t ino, bool once, struct pf_handle **handle, struct pf_op *op)
{
    struct pf_handle *new = calloc(1, sizeof *new);
    if (!new)
        return ENOMEM;
    new->fs = fs;
    new->references = 1;
    new->fd = new->packed.fd = -1;
    void *self;
    const struct pf_virtual *within = pf_virtual_of(fs, ino, &self);
    int result;
    if (within) {
        struct pf_virtual_text text = {0};
        result = within->open(self, ino, &text, op);
        new->bytes = text.bytes;
        new->text = text.store;
        new->size = new->end = text.size;
        new->direct = text.direct;
    } else if (pf_in_source(fs, ino)) {
        result = open_in_source(fs, ino, new);
    } else {
        result = open_in_profile(fs, ino, once, new, op);
    }
    if (result) {
        free(new);
        return result;
    }
    *handle = new;
    return 0;
}

int pf_fs_open(struct pf_fs *fs, uint64_t ino, bool once, struct pf_handle **handle, struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(fs, result, open_node(fs, ino, once, handle, op));
    return result;
}

struct pf_handle *pf_handle_hold(struct pf_handle *handle)
{
    atomic_fetch_add(&handle->references, 1);
    return handle;
}

void pf_fs_close(struct pf_handle *handle)
{
    if (atomic_fetch_sub(&handle->references, 1) > 1)
        return;
    close_text(handle);
    pf_buf_free(&handle->passage);
    if (handle->version)
        pf_version_release(handle->version);
    if (handle->fd >= 0)
        close(handle->fd);
    pf_opened_close(&handle->packed);
    free(handle);
}

bool pf_handle_keeps_cache(const struct pf_handle *handle)
{
    return handle->version || handle->text; /* the numbers of these nodes are never reused */
}

bool pf_handle_is_direct(const struct pf_handle *handle)
{
    return handle->direct;
}

bool pf_handle_has_changed(const struct pf_handle *handle)
{
    return handle->changed;
}

/* Reads the next records: at least `size` bytes unless the file ends. */
static int read_on(struct pf_handle *handle, size_t size, struct pf_data *data, struct pf_error *error)
{
    struct pf_buf *passage = &handle->passage;
    int more = 1;
    passage->size = 0;
    while (more > 0 && passage->size < size && !passage->failed)
        more = handle->walk->ops->next(handle->walk, passage, error);
    if (more < 0 || passage->failed)
        return more < 0 ? -1 : pf_fail_memory(error);
    if (!pf_profile_intact(handle->profile))
        return pf_fail(error, ESTALE, "the file has changed");
    data->bytes = passage->data;
    data->size = passage->size;
    return 0;
}

/* Reads bytes of a compressed member of an archive. */
static int read_packed(struct pf_handle *handle, uint64_t offset, size_t size, struct pf_data *data,
                       struct pf_op *op)
{
    if (offset >= handle->end)
        return 0;
    if (size > handle->end - offset)
        size = (size_t)(handle->end - offset);
    int result = pf_prepare_read(handle->fs, &handle->packed, offset + size, op);
    if (result)
        return result;
    if (!(data->own = malloc(size)))
        return ENOMEM;
    ssize_t got = pf_opened_read(&handle->packed, data->own, size, offset, &op->error);
    if (got >= 0 && (size_t)got < size)
        got = pf_fail(&op->error, EIO, "the archive is damaged");
    if (got < 0)
        pf_data_release(handle->fs, data);
    data->bytes = data->own;
    data->size = got < 0 ? 0 : (size_t)got;
    return pf_op_errno(op, got < 0);
}

/* Returns a reference to the handle's file, or NULL if the handle has none. */
static struct pf_file *hold_file(struct pf_handle *handle)
{
    pf_lock_take(&handle->fs->lock);
    struct pf_file *file = handle->file ? pf_file_hold(handle->file) : NULL;
    pf_lock_drop(&handle->fs->lock);
    return file;
}

/*
 * Recovers from a transient error, which may have left the profile half loaded: reloads the profile and reopens the handle's file.
 * Returns -1 if the profile must not be reloaded yet, either fails, the file's size has changed, or another thread has
 * replaced the handle's file.
 */
static int renew_file(struct pf_handle *handle, const struct pf_file *old, struct pf_op *op)
{
    struct pf_fs *fs = handle->fs;
    struct pf_file *new = NULL;
    const char *bytes;
    size_t before, after;
    struct pf_profile *profile = pf_version_profile(handle->version, op);
    if (profile && pf_profile_hold_files(profile, &op->error)) {
        pf_profile_release(profile);
        return -1;
    }
    bool another = profile && profile != pf_file_profile(old);
    if (!another || pf_file_open(profile, pf_file_node(old), &new, op)) {
        release_with_files(profile);
        return -1;
    }
    pf_file_bytes(old, &bytes, &before);
    pf_file_bytes(new, &bytes, &after);
    pf_lock_take(&fs->lock);
    bool same = before == after && handle->file == old;
    struct pf_file *useless = same ? handle->file : new;
    struct pf_profile *left = same ? handle->profile : profile;
    handle->file = same ? new : handle->file;
    handle->profile = same ? profile : handle->profile;
    pf_lock_drop(&fs->lock);
    pf_file_close(useless);
    release_with_files(left);
    return same ? 0 : -1;
}

static int read_file(struct pf_file *file, uint64_t offset, size_t size, struct pf_data *data,
                     struct pf_op *op)
{
    if (!pf_file_bytes(file, &data->bytes, &data->size)) {
        uint64_t end = offset + size, file_size = data->size;
        int result = pf_file_read(file, offset, size, data->spans, &data->n_spans, op);
        for (int i = 0; !result && i < data->n_spans; i++)
            offset += data->spans[i].size;
        data->is_cut = offset < end && offset < file_size;
        return result;
    }
    size_t skip = offset < data->size ? (size_t)offset : data->size;
    data->bytes += skip;
    data->size = data->size - skip < size ? data->size - skip : size;
    return 0;
}

/* True if reloading the profile may make the failed read succeed. */
static bool is_worth_another(const struct pf_error *error)
{
    return pf_is_transient(error->code) && error->code != ESTALE && error->code != EINTR &&
           error->code != ECANCELED;
}

/* Releases `file`, a reference to the handle's file. */
static int read_generated(struct pf_handle *handle, struct pf_file *file, uint64_t offset, size_t size,
                          struct pf_data *data, struct pf_op *op)
{
    int result = read_file(file, offset, size, data, op);
    if (result && is_worth_another(&op->error)) {
        struct pf_error failure = op->error;
        if (renew_file(handle, file, op)) {
            op->error = failure;
        } else {
            pf_file_close(file);
            file = hold_file(handle);
            result = read_file(file, offset, size, data, op);
        }
    }
    pf_file_close(file);
    return pf_op_errno(op, result);
}

static int read_handle(struct pf_handle *handle, uint64_t offset, size_t size, struct pf_data *data,
                       struct pf_op *op)
{
    *data = (struct pf_data){.fd = -1};
    bool range = handle->fd >= 0 || handle->text;
    if (range && offset >= handle->end)
        return 0;
    if (range) {
        const char *held = handle->text ? pf_store_memory(handle->text) : NULL;
        data->fd = held ? -1 : handle->text ? pf_store_file(handle->text) : handle->fd;
        data->bytes = held ? held + handle->start + offset : NULL;
        data->offset = handle->start + offset;
        data->size = size < handle->end - offset ? size : (size_t)(handle->end - offset);
        return 0;
    }
    if (handle->packed.unpacked)
        return read_packed(handle, offset, size, data, op);
    if (handle->walk)
        return pf_op_errno(op, read_on(handle, size, data, &op->error));
    struct pf_file *file = hold_file(handle);
    if (file)
        return read_generated(handle, file, offset, size, data, op);
    if (offset < handle->size) {
        data->bytes = handle->bytes + offset;
        data->size = size < handle->size - offset ? size : handle->size - (size_t)offset;
    }
    return 0;
}

int pf_fs_read(struct pf_handle *handle, uint64_t offset, size_t size, struct pf_data *data, struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(handle->fs, result, read_handle(handle, offset, size, data, op));
    if (result || !handle->version || !handle->fs->options.others)
        return result;
    struct pf_file *file = hold_file(handle); /* NULL: handle->profile is never replaced */
    struct pf_access now =
        pf_version_access(handle->version, file ? pf_file_profile(file) : handle->profile);
    if (file)
        pf_file_close(file);
    if (pf_access_same(&now, &handle->access))
        return 0;
    pf_data_release(handle->fs, data);
    return ESTALE; /* inputs read meanwhile may deny access to users who could open the file */
}

void pf_data_release(struct pf_fs *fs, struct pf_data *data)
{
    for (int i = 0; i < data->n_spans; i++)
        pf_blocks_release(fs->env.blocks, data->spans[i].block);
    data->n_spans = 0;
    free(data->own);
    data->own = NULL;
}
