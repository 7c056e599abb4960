/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/cli/exit.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/ops.h"
#include "fs/tree/mounts.h"

/* ---- going to the background: the parent waits until the mount works or has failed -------------- */

/* In the child: the end of the pipe on which the parent waits, or -1. */
struct launch {
    int pipe;
};

/* Returns in the child with the pipe open; the parent exits with the status that the child sends. */
static int go_background(struct launch *launch)
{
    int ends[2];
    launch->pipe = -1;
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child > 0) {
        unsigned char status = PF_EXIT_SYSTEM; /* if it dies without a word */
        close(ends[1]);
        while (read(ends[0], &status, 1) < 0 && errno == EINTR)
            ;
        _exit(status);
    }
    close(ends[0]);
    setsid();
    launch->pipe = ends[1];
    return 0;
}

/* The mount works: let the parent go, and let go of its terminal. */
static void launched(void *arg)
{
    struct launch *launch = arg;
    if (launch->pipe < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        for (int fd = 0; fd <= 2; fd++)
            dup2(null, fd);
    if (null > 2)
        close(null);
    unsigned char status = PF_EXIT_OK;
    if (write(launch->pipe, &status, 1) < 0) { /* the parent is gone: nobody to tell */
    }
    close(launch->pipe);
    launch->pipe = -1;
}

static int fail(struct launch *launch, unsigned char status)
{
    if (launch->pipe >= 0 && write(launch->pipe, &status, 1) < 0) {
    }
    return status;
}

/* ---- unmounting ----------------------------------------------------------------------------------- */

/* Takes the uppermost mount at this path away, whoever still sits in it. 0 or -1. */
static int take_away(const char *mountpoint)
{
    if (geteuid() == 0)
        return umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW);
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
        const char *outcome = "unmounted";
        char *path = realpath(mountpoint, NULL);
        if (!path || pf_device_at(AT_FDCWD, path, &device) || !pf_is_own_mount(device, &owner))
            outcome = "what is mounted here is not profilefs";
        else if (geteuid() != 0 && owner != geteuid())
            outcome = "it is another user's";
        else if (take_away(path))
            outcome = "it cannot be unmounted";
        free(path);
        fprintf(stderr, "profilefs: %s: its server is gone: %s\n", mountpoint, outcome);
        if (strcmp(outcome, "unmounted") != 0)
            return -1;
    }
    return 0;
}

/* ---- mounting ----------------------------------------------------------------------------------- */

static int serve(struct fuse_session *session, const struct pf_mount_options *options)
{
    if (options->single_thread)
        return fuse_session_loop(session);
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -1;
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
}

static int mount_and_serve(struct pf_mount *mount, const struct pf_mount_options *options,
                           struct fuse_args *args, struct launch *launch)
{
    struct fuse_session *session = fuse_session_new(args, &pf_fuse_ops, sizeof pf_fuse_ops, mount);
    if (!session)
        return fail(launch, PF_EXIT_USAGE); /* libfuse has said why */
    int status = PF_EXIT_SYSTEM;
    if (!fuse_set_signal_handlers(session)) {
        if (!fuse_session_mount(session, options->mountpoint)) {
            if (!pf_fuse_channel(session) && chdir("/") == 0)
                status = serve(session, options) < 0 ? PF_EXIT_SYSTEM : PF_EXIT_OK;
            fuse_session_unmount(session);
        }
        fuse_remove_signal_handlers(session);
    }
    fuse_session_destroy(session);
    return fail(launch, (unsigned char)status);
}

/* Each open profile holds a few descriptors. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Descriptors 0 to 2 must not come to mean files of ours. */
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
    struct launch launch = {-1};
    struct pf_error error = {0};
    if (occupy_standard_descriptors() || (!options->foreground && go_background(&launch))) {
        fprintf(stderr, "profilefs: %s\n", strerror(errno));
        return PF_EXIT_SYSTEM;
    }
    raise_descriptor_limit();
    struct pf_mount mount = {.ready = launched, .ready_arg = &launch};
    mount.fs = pf_fs_new(options->source, &options->fs, &error);
    if (!mount.fs) {
        fprintf(stderr, "profilefs: %s: %s\n", options->source, error.what);
        return fail(&launch, error.code == EINVAL ? PF_EXIT_PROBLEM : PF_EXIT_SYSTEM);
    }
    if (pf_mount_watch(&mount)) {
        pf_fs_free(mount.fs);
        fprintf(stderr, "profilefs: no more threads\n");
        return fail(&launch, PF_EXIT_SYSTEM);
    }
    int status = mount_and_serve(&mount, options, args, &launch);
    pf_mount_unwatch(&mount);
    pf_fs_free(mount.fs);
    return status;
}
