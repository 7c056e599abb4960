/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/exit.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/sandbox.h"
#include "fs/tree/mounts.h"

/* ---- going to the background: the parent waits until the mount works or has failed -------------- */

/* Descriptors that are needed once the mount works; opened before the sandbox is entered. -1: not open. */
struct launch {
    int pipe;       /* sends the exit status to the waiting parent */
    int null;       /* /dev/null, which replaces the terminal */
    int read_ahead; /* the mount's read_ahead_kb */
};

/* Forks. The child returns 0 with the pipe open; the parent waits for the status that the child sends, and exits with it. Returns -1
 * with errno if there is no child. */
static int go_background(struct launch *launch)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child > 0) {
        unsigned char status = PF_EXIT_SYSTEM;
        ssize_t got;
        close(ends[1]);
        while ((got = read(ends[0], &status, 1)) < 0 && errno == EINTR)
            ;
        if (got <= 0)
            fprintf(stderr, "profilefs: server died during mounting\n");
        _exit(status);
    }
    close(ends[0]);
    setsid();
    launch->pipe = ends[1];
    launch->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    return 0;
}

/*
 * Read-ahead window for sequential readers: two requests of the maximum size, so that one is answered while the other is copied. With
 * the kernel's default of 128 KB, reading a long file takes 50 % longer.
 */
#define READ_AHEAD_KB "2048"

/* Opens the mount's read_ahead_kb, which only root may write. Returns a descriptor, or -1. */
static int open_read_ahead(const char *mountpoint)
{
    char path[64];
    dev_t device;
    if (pf_device_at(AT_FDCWD, mountpoint, &device))
        return -1;
    snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(device), minor(device));
    return open(path, O_WRONLY | O_CLOEXEC);
}

/*
 * Called at the first request, which shows that the kernel has accepted the reply to FUSE_INIT and the mount works. Sets the
 * read-ahead window, since the reply has overwritten any earlier value, and lets the parent exit.
 */
static void launched(void *arg)
{
    struct launch *launch = arg;
    unsigned char status = PF_EXIT_OK;
    if (launch->read_ahead >= 0) {
        if (write(launch->read_ahead, READ_AHEAD_KB, strlen(READ_AHEAD_KB)) < 0) { /* the default stays */
        }
        close(launch->read_ahead);
    }
    if (launch->pipe < 0)
        return;
    if (launch->null >= 0) {
        for (int fd = 0; fd <= 2; fd++)
            dup2(launch->null, fd);
        close(launch->null);
    }
    if (write(launch->pipe, &status, 1) < 0) { /* the parent has died */
    }
    close(launch->pipe);
    launch->pipe = -1;
}

/* Returns the exit status. If the parent still waits, the mount never worked: PF_EXIT_OK becomes a failure, and the status is sent to
 * the parent. */
static int finish_launch(const struct launch *launch, unsigned char status)
{
    if (launch->pipe < 0)
        return status;
    if (status == PF_EXIT_OK) {
        fprintf(stderr, "profilefs: server ended during mounting\n");
        status = PF_EXIT_SYSTEM;
    }
    if (write(launch->pipe, &status, 1) < 0) { /* the parent has died */
    }
    return status;
}

/* ---- unmounting ----------------------------------------------------------------------------------- */

/* Unmounts the topmost mount at this path lazily, even if it is in use. Returns 0 or -1. */
static int take_away(const char *mountpoint)
{
    if (geteuid() == 0)
        return umount2(mountpoint,
                       MNT_DETACH | MNT_FORCE | UMOUNT_NOFOLLOW); /* forced: fails requests that hang */
    pid_t child = fork();
    if (child == 0) {
        execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", mountpoint, (char *)NULL);
        _exit(PF_EXIT_SYSTEM);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

int pf_clear_dead_mount(const char *mountpoint)
{
    struct statfs st;
    while (statfs(mountpoint, &st) && errno == ENOTCONN) {
        dev_t device;
        uid_t owner = 0;
        const char *outcome = "removed";
        char *path = realpath(mountpoint, NULL);
        if (!path || pf_device_at(AT_FDCWD, path, &device) || !pf_is_own_mount(device, &owner))
            outcome = "not removed: not a profilefs mount";
        else if (geteuid() != 0 && owner != geteuid())
            outcome = "not removed: mounted by another user";
        else if (take_away(path))
            outcome = "cannot be unmounted";
        free(path);
        fprintf(stderr, "profilefs: %s: stale mount (its server died): %s\n", mountpoint, outcome);
        if (strcmp(outcome, "removed") != 0)
            return -1;
    }
    return 0;
}

/*
 * The unmounter is a process that unmounts for the server, since the sandbox drops the rights that unmounting needs. Forked before the
 * mount is made, the unmounter waits until the server ends for any reason, and then unmounts the mount if it still exists.
 */
struct unmounter {
    int pipe; /* the server's end of a pipe, which gets a byte, 1 if the mount is made; the unmounter waits until it is closed */
    int dead; /* write end of a pipe without a reader, see end_unmounter */
    pid_t id;
};

static bool same_mount(const char *mountpoint, const struct statx *mount)
{
    struct statx now;
    return !statx(AT_FDCWD, mountpoint, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_MNT_ID, &now) &&
           now.stx_mnt_id == mount->stx_mnt_id && now.stx_dev_major == mount->stx_dev_major &&
           now.stx_dev_minor == mount->stx_dev_minor &&
           (access("/proc/self/mountinfo", R_OK) ||
            pf_is_own_mount(makedev(now.stx_dev_major, now.stx_dev_minor), NULL));
}

/* Returns true if inotify reported the unmount. Ids of mounts and devices cannot show it, since the kernel reuses them at once. */
static bool has_gone(int watch)
{
    char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t size = watch < 0 ? -1 : read(watch, room, sizeof room);
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(room + at);
        if (event->mask & (IN_UNMOUNT | IN_IGNORED))
            return true;
        at += (ssize_t)(sizeof *event + event->len);
    }
    return false;
}

/* Waits until the server closes the pipe. Returns false if the mount was unmounted before that. */
static bool outlives_server(int pipe, const char *mountpoint)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0)
        inotify_add_watch(watch, mountpoint, IN_DELETE_SELF | IN_ONLYDIR); /* the server must answer */
    struct pollfd ends[] = {{.fd = pipe}, {.fd = watch, .events = POLLIN}};
    bool gone = false;
    while (!gone && !(ends[0].revents & (POLLHUP | POLLERR)))
        if (poll(ends, 2, -1) > 0 || errno != EINTR)
            gone = has_gone(watch);
    return !gone;
}

/* Waits for the server to mount, or to end. Returns false if it has not mounted. `under`: device at the mount point before. */
static bool awaits_mount(int pipe, const char *mountpoint, dev_t under, struct statx *mount)
{
    bool mounted = true; /* stays true if the server ends without a report; the device then shows whether it has mounted */
    while (read(pipe, &mounted, sizeof mounted) < 0 && errno == EINTR)
        ;
    return mounted &&
           !statx(AT_FDCWD, mountpoint, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_MNT_ID, mount) &&
           makedev(mount->stx_dev_major, mount->stx_dev_minor) != under;
}

static _Noreturn void run_unmounter(int pipe, const char *mountpoint, dev_t under)
{
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        signal(requests[i], SIG_IGN);
    dup2(pipe, STDIN_FILENO);
    closefrom(STDIN_FILENO + 1);
    struct statx mount, root;
    if (!awaits_mount(STDIN_FILENO, mountpoint, under, &mount))
        _exit(PF_EXIT_OK);
    /* Send the first request after FUSE_INIT, which shows the server that the mount works. */
    (void)statx(AT_FDCWD, mountpoint, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &root);
    bool left = outlives_server(STDIN_FILENO, mountpoint) && same_mount(mountpoint, &mount);
    _exit(left && take_away(mountpoint) ? PF_EXIT_SYSTEM : PF_EXIT_OK);
}

/* Forks the unmounter. Returns 0, or -1 with errno. */
static int start_unmounter(struct unmounter *unmounter, const char *mountpoint)
{
    dev_t under;
    int ends[2], dead[2];
    if (pf_device_at(AT_FDCWD, mountpoint, &under) || pipe2(dead, O_CLOEXEC))
        return -1;
    close(dead[0]);
    if (pipe2(ends, O_CLOEXEC)) {
        close(dead[1]);
        return -1;
    }
    unmounter->id = fork();
    if (unmounter->id == 0)
        run_unmounter(ends[0], mountpoint, under);
    close(ends[0]);
    unmounter->pipe = ends[1];
    unmounter->dead = dead[1];
    if (unmounter->id < 0) {
        close(ends[1]);
        close(dead[1]);
    }
    return unmounter->id < 0 ? -1 : 0;
}

static void report_mount(const struct unmounter *unmounter, bool mounted)
{
    if (write(unmounter->pipe, &mounted, sizeof mounted) < 0) { /* the unmounter has died */
    }
}

/*
 * Closes the connection to the kernel, then lets the unmounter unmount and waits for it. The order matters: closing the connection fails
 * all pending requests, among them perhaps one of the unmounter. libfuse gets a pipe without a reader instead of /dev/fuse: late replies
 * fail, and fuse_session_unmount sees POLLERR and does not unmount.
 */
static void end_unmounter(struct unmounter *unmounter, struct fuse_session *session)
{
    dup2(unmounter->dead, fuse_session_fd(session));
    close(unmounter->dead);
    close(unmounter->pipe);
    unmounter->pipe = unmounter->dead = -1;
    while (waitpid(unmounter->id, NULL, 0) < 0 && errno == EINTR)
        ;
}

/*
 * Ends the process while some of its threads hang in system calls. The kernel closes the descriptors only when the last thread has
 * ended, so the descriptors that other processes wait for are closed here.
 */
static void end_process(struct pf_mount *mount)
{
    dup2(mount->unmounter->dead, fuse_session_fd(mount->session));
    close(mount->unmounter->pipe);
    _exit(PF_EXIT_OK);
}

/* ---- the channel to the kernel -------------------------------------------------------------------- */

/*
 * Sends a reply by a direct system call. The sanitizers' wrapper of writev checks the bytes after the call, when the receiver may
 * already have closed the file and another thread may have freed the bytes.
 */
static ssize_t send_pieces(int fd, const struct iovec *iov, int count)
{
    return syscall(SYS_writev, fd, iov, count);
}

/* Maximum size of a read in pages: 1 MB. */
enum { READ_PAGES = 256 };

static ssize_t send_greeting(int fd, struct iovec *iov)
{
    struct fuse_init_out init = {0};
    size_t received = iov[1].iov_len < sizeof init ? iov[1].iov_len : sizeof init;
    memcpy(&init, iov[1].iov_base, received);
    init.flags |= FUSE_PARALLEL_DIROPS;
    if (init.flags & FUSE_MAX_PAGES)
        init.max_pages = READ_PAGES; /* libfuse has derived it from max_write */
    struct iovec completed[2] = {iov[0], {&init, received}};
    return send_pieces(fd, completed, 2);
}

static ssize_t send_reply(int fd, struct iovec *iov, int count, void *userdata)
{
    struct pf_mount *mount = userdata;
    mount->sent++; /* see receive */
    /* The first reply of a session is the one to FUSE_INIT. */
    bool is_init_reply = !atomic_exchange_explicit(&mount->init_replied, true, memory_order_relaxed);
    if (!is_init_reply)
        return send_pieces(fd, iov, count);
    bool flags = count == 2 && iov[1].iov_len > offsetof(struct fuse_init_out, flags) + sizeof(uint32_t);
    return flags ? send_greeting(fd, iov) : send_pieces(fd, iov, count);
}

/*
 * Reads a request. A request can be the consequence of a reply that another thread sent, so this thread must see all of that thread's
 * earlier writes. The kernel's locks guarantee this, but ThreadSanitizer cannot see these locks; the counter `sent` makes the order
 * visible to ThreadSanitizer.
 */
static ssize_t receive(int fd, void *buffer, size_t size, void *userdata)
{
    struct pf_mount *mount = userdata;
    ssize_t got = read(fd, buffer, size);
    (void)atomic_load(&mount->sent);
    return got;
}

/*
 * Lets look-ups and listings of one folder run in parallel. libfuse before 3.17 drops FUSE_PARALLEL_DIROPS from the reply to FUSE_INIT.
 * Without this flag, all look-ups in a folder wait uninterruptibly for the first one. The flag is therefore added when the reply is
 * sent. A libfuse that is built without custom I/O serves without the flag. Returns 0, or -1 after a message.
 *
 * libfuse allocates a buffer of max_write bytes for each worker, and derives the maximum read from max_write. The edited reply raises
 * the maximum read, so that max_write can be small, and with it the buffers. If the reply is not edited, both stay large (op_init).
 */
static int complete_greeting(struct fuse_session *session, struct pf_mount *mount)
{
    static const struct fuse_custom_io channel = {.writev = send_reply, .read = receive};
    if (fuse_version() >= FUSE_MAKE_VERSION(3, 17))
        return 0;
    int result = fuse_session_custom_io(session, &channel, fuse_session_fd(session));
    mount->edits_init_reply = !result;
    if (!result || result == -ENOTSUP)
        return 0;
    fprintf(stderr, "profilefs: cannot set up the connection to the kernel: %s\n", strerror(-result));
    return -1;
}

/* ---- mounting ----------------------------------------------------------------------------------- */

static int serve_session(struct fuse_session *session)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -1;
    fuse_loop_cfg_set_max_threads(config, PF_FUSE_THREADS);
    fuse_loop_cfg_set_idle_threads(config, PF_FUSE_IDLE);
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
}

/* Enters the sandbox, which restricts all later opens, and serves. */
static int confine_and_serve(struct fuse_session *session, struct pf_mount *mount, struct pf_sandbox *sandbox)
{
    struct pf_error error = {0};
    if (pf_sandbox_enter(sandbox, &error)) {
        fprintf(stderr, "profilefs: %s\n", error.what);
        return -1;
    }
    pf_fs_set_sandbox(mount->fs, pf_sandbox_text(sandbox));
    if (pf_fs_start(mount->fs) || pf_watch_start(mount)) {
        fprintf(stderr, "profilefs: cannot create threads\n");
        return -1;
    }
    int result = serve_session(session);
    pf_watch_phase(mount, PF_JOINING);
    return result;
}

/* Serves a mount that has an unmounter. Returns the exit status. */
static int serve_mounted(struct fuse_session *session, struct pf_mount *mount, struct pf_sandbox *sandbox)
{
    if (complete_greeting(session, mount))
        return PF_EXIT_SYSTEM;
    if (chdir("/")) {
        fprintf(stderr, "profilefs: /: %s\n", strerror(errno));
        return PF_EXIT_SYSTEM;
    }
    return confine_and_serve(session, mount, sandbox) < 0 ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}

static void end_filesystem(struct pf_mount *mount)
{
    pf_fs_stop(mount->fs);
    pf_fs_join(mount->fs);
    pf_watch_phase(mount, PF_SAVING);
    pf_fs_save(mount->fs);
    pf_watch_phase(mount, PF_FREEING);
    pf_fs_free(mount->fs);
    pf_watch_end(mount);
}

/* Mounts, serves, and frees the filesystem. Returns the exit status. */
static int mount_and_serve(struct pf_mount *mount, const struct pf_mount_options *options,
                           struct fuse_args *args, struct pf_sandbox *sandbox)
{
    struct launch *launch = mount->ready_arg;
    struct fuse_session *session = fuse_session_new(args, &pf_fuse_ops, sizeof pf_fuse_ops, mount);
    int status = session ? PF_EXIT_SYSTEM : PF_EXIT_USAGE; /* libfuse has printed the reason */
    mount->session = session;
    mount->end_process = end_process;
    if (session && !fuse_set_signal_handlers(session)) {
        if (start_unmounter(mount->unmounter, options->mountpoint)) {
            fprintf(stderr, "profilefs: %s: %s\n", options->mountpoint, strerror(errno));
        } else {
            bool mounted = !fuse_session_mount(session, options->mountpoint);
            report_mount(mount->unmounter, mounted);
            if (mounted) {
                launch->read_ahead = open_read_ahead(options->mountpoint);
                status = serve_mounted(session, mount, sandbox);
            }
            end_unmounter(mount->unmounter, session);
            /* Set the exit flag again, which the loop has reset: without it, libfuse prints an error for each late reply. */
            fuse_session_exit(session);
        }
        fuse_remove_signal_handlers(session);
    }
    end_filesystem(mount);
    if (session) {
        fuse_session_unmount(session); /* only frees libfuse's data: the mount is already gone */
        fuse_session_destroy(session);
    }
    return status;
}

/* Raises the limit of descriptors: each loaded profile holds a few. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Opens missing descriptors 0 to 2 on /dev/null, so that no file of the server gets one of these numbers. */
static int occupy_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
    return fd < 0 ? -1 : 0;
}

int pf_mount(const struct pf_mount_options *options, struct fuse_args *args)
{
    struct launch launch = {-1, -1, -1};
    struct pf_error error = {0};
    /* Close inherited descriptors: a server that runs for months must not keep the caller's files and locks. */
    closefrom(STDERR_FILENO + 1);
    if (occupy_standard_descriptors() || (!options->foreground && go_background(&launch))) {
        fprintf(stderr, "profilefs: %s\n", strerror(errno));
        return PF_EXIT_SYSTEM;
    }
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    struct unmounter unmounter;
    struct pf_mount mount = {.ready = launched,
                             .ready_arg = &launch,
                             .unmounter = &unmounter,
                             .lock = PF_LOCK_INITIALIZER(PF_RANK_REQUESTS),
                             .work = PTHREAD_COND_INITIALIZER,
                             .check_ended = PTHREAD_COND_INITIALIZER};
    mount.fs = pf_fs_new(options->source, &options->fs, &error);
    if (!mount.fs) {
        fprintf(stderr, "profilefs: %s: %s\n", options->source, error.what);
        return finish_launch(&launch, error.code == EINVAL ? PF_EXIT_PROBLEM : PF_EXIT_SYSTEM);
    }
    char *const source = (char *)(uintptr_t)options->source;
    struct pf_sandbox *sandbox = pf_sandbox_new(&source, 1, &options->fs, &error);
    int status = PF_EXIT_SYSTEM;
    if (sandbox) {
        status = mount_and_serve(&mount, options, args, sandbox);
    } else {
        fprintf(stderr, "profilefs: %s\n", error.what);
        pf_fs_free(mount.fs);
    }
    pf_sandbox_free(sandbox);
    return finish_launch(&launch, (unsigned char)status);
}
