/* SPDX-License-Identifier: MIT */
#include "fs/fuse/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "fs/clock.h"
#include "fs/fuse/interrupt.h"

/*
 * The low-level FUSE adapter. No operation waits: one that needs a pass is parked on it as a request and is
 * done again when the pass is over, on one of the pool's short threads. So the threads that read from the
 * kernel are always free.
 */
struct pf_request {
    struct pf_waiter waiter; /* first: the pool hands this back */
    fuse_req_t req;
    struct pf_mount *mount;
    void (*run)(struct pf_request *request);
    struct pf_job *job; /* that it is parked on; guarded by mount->lock while watched */
    bool hooked;        /* libfuse tells us of signals */
    bool watched;       /* in mount->watched */
    uint64_t hit;       /* when the first signal came, in monotonic milliseconds */
    struct pf_request *next_watched;

    fuse_ino_t ino;
    uint64_t offset;
    size_t size;
    struct fuse_file_info fi;
    bool plus;
    char *name; /* owned */
};

/* How often those who wait are looked at after a signal; and how long one waits on whose signals can't be told: a timer that
 * ticks must not fail every look-up of a cold file, and who pressed Ctrl-C must not sit there for ever. */
enum { WATCH_MS = 10, UNKNOWN_SECONDS = 1 };

static struct pf_mount *mount_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* ---- parking ------------------------------------------------------------------------------------ */

/* Runs on a libfuse thread with the request's lock held: it must not reply, only note. */
static void on_signal(fuse_req_t req, void *data)
{
    struct pf_request *request = data;
    struct pf_mount *mount = request->mount;
    (void)req;
    pthread_mutex_lock(&mount->lock);
    if (!request->watched) {
        request->watched = true;
        if (!request->hit)
            request->hit = pf_monotonic_ms();
        request->next_watched = mount->watched;
        mount->watched = request;
        pthread_cond_signal(&mount->work);
    }
    pthread_mutex_unlock(&mount->lock);
}

static void unlist(struct pf_request *request)
{
    struct pf_request **at = &request->mount->watched;
    while (*at != request)
        at = &(*at)->next_watched;
    *at = request->next_watched;
    request->watched = false;
}

/* Before the reply: nobody may come across the request any more. */
static void settle(struct pf_request *request)
{
    if (request->hooked) {
        fuse_req_interrupt_func(request->req, NULL, NULL); /* waits for on_signal */
        pthread_mutex_lock(&request->mount->lock);
        if (request->watched)
            unlist(request);
        pthread_mutex_unlock(&request->mount->lock);
    }
    if (request->job)
        pf_job_release(request->job);
    request->job = NULL;
}

static void free_request(struct pf_request *request)
{
    free(request->name);
    free(request);
}

static void wake(struct pf_waiter *waiter)
{
    struct pf_request *request = (struct pf_request *)waiter;
    request->run(request);
}

/* Parks the request on a job (whose reference it takes). False: the job is over already, try again. */
static bool park(struct pf_request *request, struct pf_job *job)
{
    struct pf_mount *mount = request->mount;
    pthread_mutex_lock(&mount->lock);
    struct pf_job *before = request->job;
    request->job = job;
    pthread_mutex_unlock(&mount->lock);
    if (before)
        pf_job_release(before);
    if (!request->hooked) {
        request->hooked = true;
        fuse_req_interrupt_func(request->req, on_signal, request);
    }
    /* From here on another thread may run and free the request. */
    return pf_job_wait(job, &request->waiter);
}

/* True if a request that a signal has hit is to end. */
static bool has_had_enough(const struct pf_request *request)
{
    enum pf_answer answer = pf_signal_ends_wait(fuse_req_ctx(request->req)->pid);
    return answer == PF_YES ||
           (answer == PF_UNKNOWN && pf_monotonic_ms() - request->hit >= UNKNOWN_SECONDS * 1000);
}

static void *watch(void *arg)
{
    struct pf_mount *mount = arg;
    pthread_mutex_lock(&mount->lock);
    while (!mount->closing) {
        if (!mount->watched) {
            pthread_cond_wait(&mount->work, &mount->lock);
            continue;
        }
        struct pf_request *ended = NULL;
        for (struct pf_request *at = mount->watched, *next; at; at = next) {
            next = at->next_watched;
            if (has_had_enough(at) && at->job && pf_job_leave(at->job, &at->waiter)) {
                unlist(at);
                at->next_watched = ended;
                ended = at;
            }
        }
        pthread_mutex_unlock(&mount->lock);
        for (struct pf_request *at = ended, *next; at; at = next) {
            next = at->next_watched;
            settle(at);
            fuse_reply_err(at->req, EINTR);
            free_request(at);
        }
        nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * 1000000L}, NULL);
        pthread_mutex_lock(&mount->lock);
    }
    pthread_mutex_unlock(&mount->lock);
    return NULL;
}

int pf_mount_watch(struct pf_mount *mount)
{
    return pthread_create(&mount->watcher, NULL, watch, mount);
}

void pf_mount_unwatch(struct pf_mount *mount)
{
    pthread_mutex_lock(&mount->lock);
    mount->closing = true;
    pthread_cond_signal(&mount->work);
    pthread_mutex_unlock(&mount->lock);
    pthread_join(mount->watcher, NULL);
}

/* Starts an operation. */
static void start(fuse_req_t req, void (*run)(struct pf_request *request), const struct pf_request *what)
{
    struct pf_request *request = malloc(sizeof *request);
    if (!request) {
        fuse_reply_err(req, ENOMEM);
        free(what->name);
        return;
    }
    *request = *what;
    request->waiter.wake = wake;
    request->req = req;
    request->mount = mount_of(req);
    request->run = run;
    /* libfuse may still reject the options after op_init; a request follows only if the kernel has accepted the reply. */
    if (!atomic_load(&request->mount->is_ready) && !atomic_exchange(&request->mount->is_ready, true))
        request->mount->ready(request->mount->ready_arg);
    run(request);
}

/* Ends one with an error (0: plain success). */
static void finish(struct pf_request *request, int error)
{
    settle(request);
    fuse_reply_err(request->req, error);
    free_request(request);
}

/*
 * Makes the call until it needs no pass. Returns from the operation if the request was parked, for then another thread has it, or
 * if the call failed, which is answered. Else what is left is to answer and to free the request. The call sees the variable `job`.
 */
#define SETTLE_OR_RETURN(request, call)                                                                      \
    do {                                                                                                     \
        int result_;                                                                                         \
        for (struct pf_job *job = (request)->job; (result_ = (call)) == PF_PARKED;)                          \
            if (park(request, job))                                                                          \
                return;                                                                                      \
        if (result_) {                                                                                       \
            finish(request, result_);                                                                        \
            return;                                                                                          \
        }                                                                                                    \
        settle(request);                                                                                     \
    } while (0)

/* ---- operations --------------------------------------------------------------------------------- */

/* The least that libfuse allocates for a worker. Nothing is ever written. */
enum { WRITE_MAX = 4096 };

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    const struct pf_mount *mount = userdata;
    /* Numbers never change their content: nothing to be invalidated by times. */
    conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    conn->want |= conn->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                                   FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ);
    /* Cached targets would outlive a change of the link: the kernel drops them with the inode only. */
    conn->want &= ~(unsigned)FUSE_CAP_CACHE_SYMLINKS;
    if (mount->completes_greeting)
        conn->max_write = WRITE_MAX;
    /* Some threads remain for requests that are not in the background. */
    conn->max_background = PF_FUSE_THREADS / 4 * 3;
    conn->congestion_threshold = PF_FUSE_THREADS / 2;
}

/* As programs see them. */
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

static void run_lookup(struct pf_request *request)
{
    struct pf_fs *fs = request->mount->fs;
    struct pf_attr attr;
    /* "no such name" is not to be remembered: it may be there the next moment */
    SETTLE_OR_RETURN(request, pf_fs_lookup(fs, request->ino, request->name, true, &attr, &job));
    struct fuse_entry_param entry = entry_param(&attr);
    if (fuse_reply_entry(request->req, &entry) == -ENOENT) /* gone before the answer */
        pf_fs_forget(fs, entry.ino, 1);
    free_request(request);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    char *copy = strdup(name);
    if (copy)
        start(req, run_lookup, &(struct pf_request){.ino = parent, .name = copy});
    else
        fuse_reply_err(req, ENOMEM);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t uses)
{
    pf_fs_forget(mount_of(req)->fs, ino, uses);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        pf_fs_forget(mount_of(req)->fs, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

static void run_getattr(struct pf_request *request)
{
    struct pf_attr attr;
    SETTLE_OR_RETURN(request, pf_fs_getattr(request->mount->fs, request->ino, &attr, &job));
    const struct stat st = shown(&attr);
    fuse_reply_attr(request->req, &st, attr.attr_seconds);
    free_request(request);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)fi;
    start(req, run_getattr, &(struct pf_request){.ino = ino});
}

static void run_readlink(struct pf_request *request)
{
    char *target;
    SETTLE_OR_RETURN(request, pf_fs_readlink(request->mount->fs, request->ino, &target, &job));
    fuse_reply_readlink(request->req, target);
    free(target);
    free_request(request);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    start(req, run_readlink, &(struct pf_request){.ino = ino});
}

static void run_opendir(struct pf_request *request)
{
    struct pf_dir *dir;
    SETTLE_OR_RETURN(request, pf_fs_opendir(request->mount->fs, request->ino, &dir, &job));
    request->fi.fh = (uintptr_t)dir;
    request->fi.cache_readdir = request->fi.keep_cache = pf_dir_keeps_cache(dir);
    if (fuse_reply_open(request->req, &request->fi) == -ENOENT)
        pf_fs_closedir(dir);
    free_request(request);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    start(req, run_opendir, &(struct pf_request){.ino = ino, .fi = *fi});
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    pf_fs_closedir((struct pf_dir *)(uintptr_t)fi->fh);
    fuse_reply_err(req, 0);
}

/*
 * With readdirplus, attributes go along where they cost nothing; a file whose size would take a pass gets its
 * name and type only (number 0), so that listing a folder computes no size.
 */
static size_t add_entry(fuse_req_t req, char *buffer, size_t room, const struct pf_dirent *entry, bool plus,
                        const struct pf_attr *attr)
{
    if (!plus) {
        struct stat st = {.st_ino = entry->ino, .st_mode = (mode_t)entry->type << 12};
        return fuse_add_direntry(req, buffer, room, entry->name, &st, (off_t)entry->next);
    }
    struct fuse_entry_param param = entry_param(attr);
    if (!param.ino) {
        param.attr.st_ino = entry->ino;
        param.attr.st_mode = (mode_t)entry->type << 12;
    }
    return fuse_add_direntry_plus(req, buffer, room, entry->name, &param, (off_t)entry->next);
}

static void list(fuse_req_t req, size_t size, off_t offset, struct fuse_file_info *fi, bool plus)
{
    struct pf_dir *dir = (struct pf_dir *)(uintptr_t)fi->fh;
    struct pf_dirent entry;
    struct pf_attr attr;
    uint64_t at = (uint64_t)offset;
    size_t used = 0;
    char *buffer = malloc(size);
    if (!buffer) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    int more;
    while ((more = pf_fs_readdir(dir, at, &entry, plus, &attr)) > 0) {
        size_t need = add_entry(req, buffer + used, size - used, &entry, plus, &attr);
        if (need > size - used) {
            if (plus && attr.st.st_ino)
                pf_fs_forget(mount_of(req)->fs, attr.st.st_ino, 1);
            break;
        }
        used += need;
        at = entry.next;
    }
    if (more < 0 && !used) /* what has been listed is told first; the next call meets the error again */
        fuse_reply_err(req, -more);
    else
        fuse_reply_buf(req, buffer, used);
    free(buffer);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)ino;
    list(req, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    (void)ino;
    list(req, size, offset, fi, true);
}

static void run_open(struct pf_request *request)
{
    struct pf_handle *handle;
    SETTLE_OR_RETURN(request, pf_fs_open(request->mount->fs, request->ino, false, &handle, &job));
    request->fi.fh = (uintptr_t)handle;
    request->fi.keep_cache = pf_handle_keeps_cache(handle);
    request->fi.direct_io = pf_handle_is_direct(handle);
    request->fi.noflush = 1;
    if (fuse_reply_open(request->req, &request->fi) == -ENOENT)
        pf_fs_close(handle);
    free_request(request);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if ((fi->flags & O_ACCMODE) != O_RDONLY)
        fuse_reply_err(req, EROFS);
    else
        start(req, run_open, &(struct pf_request){.ino = ino, .fi = *fi});
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    pf_fs_close((struct pf_handle *)(uintptr_t)fi->fh);
    fuse_reply_err(req, 0);
}

static void reply_data(fuse_req_t req, const struct pf_data *data)
{
    if (data->fd >= 0) {
        struct fuse_bufvec buf = FUSE_BUFVEC_INIT(data->size);
        buf.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
        buf.buf[0].fd = data->fd;
        buf.buf[0].pos = (off_t)data->offset;
        fuse_reply_data(req, &buf, 0);
    } else if (data->pieces) {
        struct iovec iov[PF_PIECES];
        for (int i = 0; i < data->pieces; i++)
            iov[i] = (struct iovec){data->piece[i].block->data + data->piece[i].offset, data->piece[i].size};
        fuse_reply_iov(req, iov, data->pieces);
    } else {
        fuse_reply_buf(req, data->bytes, data->size);
    }
}

static void run_read(struct pf_request *request)
{
    struct pf_handle *handle = (struct pf_handle *)(uintptr_t)request->fi.fh;
    struct pf_data data;
    SETTLE_OR_RETURN(request, pf_fs_read(handle, request->offset, request->size, &data, &job));
    reply_data(request->req, &data);
    pf_data_release(request->mount->fs, &data);
    free_request(request);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    start(req, run_read,
          &(struct pf_request){.ino = ino, .size = size, .offset = (uint64_t)offset, .fi = *fi});
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
