/* SPDX-License-Identifier: MIT */
#include "fs/fuse/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/fuse/request.h"

/*
 * The low-level FUSE adapter. Each operation runs to completion on its libfuse thread, and waits there for the passes that it needs.
 * Another thread may have answered the request before the result is ready (request.h); the operation then releases its result.
 */

static struct pf_fs *fs_of(fuse_req_t req)
{
    const struct pf_mount *mount = fuse_req_userdata(req);
    return mount->fs;
}

/* Replies, unless the request is already answered. The value is -ENOENT if this reply was not delivered. */
#define REPLY(request, reply) (pf_request_claim(request) ? (reply) : -ENOENT)

/* ---- operations --------------------------------------------------------------------------------- */

/* The value of max_write, which determines the size of the workers' buffers. A read-only mount needs only libfuse's minimum. */
enum { WRITE_MAX = 4096 };

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    struct pf_mount *mount = userdata;
    /* Files in profiles never change under one inode number, so a changed mtime must not invalidate pages. */
    conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    /* Request readdirplus for all replies, since listing a folder of SOURCE stats each entry anyway. With READDIRPLUS_AUTO, the kernel
     * takes attributes from the first reply only, and then looks up each name. */
    conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
    conn->want |= conn->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ);
    /* A cached link target would survive a change of the link, since the kernel drops the target only together with the inode. */
    conn->want &= ~(unsigned)FUSE_CAP_CACHE_SYMLINKS;
    if (mount->edits_init_reply)
        conn->max_write = WRITE_MAX;
    else
        mount->worker_heap = conn->max_write;
    /* Leaves some threads for foreground requests. */
    conn->max_background = PF_FUSE_THREADS / 4 * 3;
    conn->congestion_threshold = PF_FUSE_THREADS / 2;
}

/* Returns the attributes with the inode number that programs see. */
static struct stat shown(const struct pf_attr *attr)
{
    struct stat st = attr->st;
    if (attr->shown)
        st.st_ino = attr->shown;
    return st;
}

static struct fuse_entry_param entry_param(const struct pf_attr *attr)
{
    return (struct fuse_entry_param){.ino = attr->st.st_ino,
                                     .attr = shown(attr),
                                     .attr_timeout = attr->attr_seconds,
                                     .entry_timeout = attr->entry_seconds};
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    struct pf_attr attr;
    pf_request_begin(&request, req);
    int result = pf_fs_lookup(fs, parent, name, true, &attr, &request.op);
    if (result) { /* no negative entry for ENOENT: the name may appear at any moment */
        (void)REPLY(&request, fuse_reply_err(req, result));
    } else {
        struct fuse_entry_param entry = entry_param(&attr);
        if (REPLY(&request, fuse_reply_entry(req, &entry)) == -ENOENT)
            pf_fs_forget(fs, entry.ino, 1);
    }
    pf_request_end(&request);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t uses)
{
    pf_fs_forget(fs_of(req), ino, uses);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        pf_fs_forget(fs_of(req), forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    struct pf_attr attr;
    (void)fi;
    pf_request_begin(&request, req);
    int result = pf_fs_getattr(fs, ino, &attr, &request.op);
    struct stat st = {0};
    if (!result)
        st = shown(&attr);
    (void)REPLY(&request,
                result ? fuse_reply_err(req, result) : fuse_reply_attr(req, &st, attr.attr_seconds));
    pf_request_end(&request);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    char *target = NULL;
    pf_request_begin(&request, req);
    int result = pf_fs_readlink(fs, ino, &target, &request.op);
    (void)REPLY(&request, result ? fuse_reply_err(req, result) : fuse_reply_readlink(req, target));
    if (!result)
        free(target);
    pf_request_end(&request);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    struct pf_dir *dir;
    pf_request_begin(&request, req);
    int result = pf_fs_opendir(fs, ino, &dir, &request.op);
    if (result) {
        (void)REPLY(&request, fuse_reply_err(req, result));
    } else {
        fi->fh = (uintptr_t)dir;
        fi->cache_readdir = fi->keep_cache = pf_dir_keeps_cache(dir);
        if (REPLY(&request, fuse_reply_open(req, fi)) == -ENOENT)
            pf_fs_closedir(dir);
    }
    pf_request_end(&request);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    pf_fs_closedir((struct pf_dir *)(uintptr_t)fi->fh);
    fuse_reply_err(req, 0);
}

/*
 * Appends an entry to a reply and returns the number of bytes that the entry needs. With readdirplus, an entry has attributes if they
 * are cheap. A file whose size requires a pass has only a name and a type (inode number 0), so that listing a folder computes no size.
 * The request passed to libfuse is NULL, since libfuse does not use it and the actual request may be freed already.
 */
static size_t add_dirent(char *buffer, size_t room, const struct pf_dirent *entry, bool plus,
                         const struct pf_attr *attr)
{
    if (!plus) {
        struct stat st = {.st_ino = entry->ino, .st_mode = (mode_t)entry->type << 12};
        return fuse_add_direntry(NULL, buffer, room, entry->name, &st, (off_t)entry->next);
    }
    struct fuse_entry_param param = entry_param(attr);
    if (!param.ino) {
        param.attr.st_ino = entry->ino;
        param.attr.st_mode = (mode_t)entry->type << 12;
    }
    return fuse_add_direntry_plus(NULL, buffer, room, entry->name, &param, (off_t)entry->next);
}

/* Fills a buffer with entries from `offset` on. Returns the bytes used, or a negative errno value if the first entry failed. */
static ssize_t fill_listing(struct pf_fs *fs, struct pf_dir *dir, char *buffer, size_t size, uint64_t offset,
                            bool plus, struct pf_op *op)
{
    struct pf_dirent entry;
    struct pf_attr attr;
    size_t used = 0;
    int more;
    while ((more = pf_fs_readdir(dir, offset, &entry, plus, &attr, op)) > 0) {
        size_t need = add_dirent(buffer + used, size - used, &entry, plus, &attr);
        if (need > size - used) {
            if (plus && attr.st.st_ino)
                pf_fs_forget(fs, attr.st.st_ino, 1);
            break;
        }
        used += need;
        offset = entry.next;
    }
    return more < 0 && !used ? more
                             : (ssize_t)used; /* an error after the first entry recurs in the next call */
}

/* Drops the look-up references of a readdirplus reply that was not delivered. */
static void forget_entries(struct pf_fs *fs, const char *buffer, size_t used)
{
    struct fuse_direntplus entry;
    for (size_t at = 0; at < used; at += FUSE_DIRENTPLUS_SIZE(&entry)) {
        memcpy(&entry, buffer + at, sizeof entry);
        if (entry.entry_out.nodeid)
            pf_fs_forget(fs, entry.entry_out.nodeid, 1);
    }
}

static void reply_listing(fuse_req_t req, size_t size, off_t offset, struct fuse_file_info *fi, bool plus)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    struct pf_dir *dir = pf_dir_hold((struct pf_dir *)(uintptr_t)fi->fh);
    pf_request_begin(&request, req);
    char *buffer = malloc(size);
    ssize_t used =
        buffer ? fill_listing(fs, dir, buffer, size, (uint64_t)offset, plus, &request.op) : -ENOMEM;
    if (used < 0)
        (void)REPLY(&request, fuse_reply_err(req, (int)-used));
    else if (REPLY(&request, fuse_reply_buf(req, buffer, (size_t)used)) == -ENOENT && plus)
        forget_entries(fs, buffer, (size_t)used);
    free(buffer);
    pf_request_end(&request);
    pf_fs_closedir(dir);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)ino;
    reply_listing(req, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    (void)ino;
    reply_listing(req, size, offset, fi, true);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct pf_request request;
    const struct pf_mount *mount = fuse_req_userdata(req);
    struct pf_fs *fs = mount->fs;
    struct pf_handle *handle;
    int result = EROFS;
    pf_request_begin(&request, req);
    if ((fi->flags & O_ACCMODE) == O_RDONLY)
        result = pf_fs_open(fs, ino, false, &handle, &request.op);
    if (result) {
        (void)REPLY(&request, fuse_reply_err(req, result));
    } else {
        /* A stale size in the kernel would truncate the file. */
        if (pf_handle_has_changed(handle))
            fuse_lowlevel_notify_inval_inode(mount->session, ino, -1, 0);
        fi->fh = (uintptr_t)handle;
        fi->keep_cache = pf_handle_keeps_cache(handle);
        fi->direct_io = pf_handle_is_direct(handle);
        fi->noflush = 1;
        if (REPLY(&request, fuse_reply_open(req, fi)) == -ENOENT)
            pf_fs_close(handle);
    }
    pf_request_end(&request);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    pf_fs_close((struct pf_handle *)(uintptr_t)fi->fh);
    fuse_reply_err(req, 0);
}

/* Reads the range from data->fd into memory. Must be called before the request is claimed, since reading may hang. Returns 0 or an
 * errno value. */
static int read_data_range(struct pf_data *data)
{
    size_t got = 0;
    ssize_t more = 1;
    data->own = malloc(data->size);
    if (!data->own)
        return ENOMEM;
    while (got < data->size && more > 0) {
        more = pread(data->fd, data->own + got, data->size - got, (off_t)(data->offset + got));
        if (more < 0 && errno == EINTR)
            more = 1;
        else if (more > 0)
            got += (size_t)more;
    }
    data->bytes = data->own;
    data->size = got;
    return more < 0 && !got ? errno : 0;
}

static int reply_data(fuse_req_t req, const struct pf_data *data)
{
    struct iovec iov[PF_SPANS];
    if (!data->n_spans)
        return fuse_reply_buf(req, data->bytes, data->size);
    for (int i = 0; i < data->n_spans; i++)
        iov[i] = (struct iovec){data->spans[i].block->data + data->spans[i].offset, data->spans[i].size};
    return fuse_reply_iov(req, iov, data->n_spans);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct pf_request request;
    struct pf_fs *fs = fs_of(req);
    struct pf_handle *handle = pf_handle_hold((struct pf_handle *)(uintptr_t)fi->fh);
    struct pf_data data;
    (void)ino;
    pf_request_begin(&request, req);
    int result = pf_fs_read(handle, (uint64_t)offset, size, &data, &request.op);
    bool release = !result;
    if (!result && data.fd >= 0)
        result = read_data_range(&data);
    if (!result && data.is_cut) /* the kernel would treat a short reply as the end of the file */
        result = EIO;
    (void)REPLY(&request, result ? fuse_reply_err(req, result) : reply_data(req, &data));
    if (release)
        pf_data_release(fs, &data);
    pf_request_end(&request);
    pf_fs_close(handle);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    (void)ino;
    struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255, .f_flag = ST_RDONLY};
    fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops pf_fuse_ops = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .readlink = op_readlink,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_releasedir,
    .open = op_open,
    .read = op_read,
    .release = op_release,
    .statfs = op_statfs,
};
