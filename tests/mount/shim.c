/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the program: simulates an old kernel, another libfuse, slow disks and signals at the worst moment. Environment:
 *   SHIM_CUSTOM_IO=ERRNO       fuse_session_custom_io fails
 *   SHIM_CHDIR_ERRNO=ERRNO     chdir, the last step before the sandbox, fails
 *   SHIM_CHDIR_SIGNAL=SIGNAL   this signal is raised in that chdir, when the unmounter already waits for the server
 *   SHIM_MOUNT_SIGNAL=SIGNAL   this signal is raised as soon as a mount is made
 *   SHIM_MOUNT_ERRNO=ERRNO     a mount fails, after the shell command SHIM_MOUNT_FIRST, which may mount there
 *   SHIM_READ_MS=MS            reads beyond the first 64 KB of a file take this long
 *   SHIM_NO_CLOSE_RANGE=ERRNO  close_range fails, as on Linux before 5.9 or in a container that blocks it
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct fuse_session;
struct fuse_custom_io;
int fuse_session_custom_io(struct fuse_session *session, const struct fuse_custom_io *io, int fd);

static long read_ms;

static long setting(const char *name)
{
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int fuse_session_custom_io(struct fuse_session *session, const struct fuse_custom_io *io, int fd)
{
    int (*next)(struct fuse_session *, const struct fuse_custom_io *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "fuse_session_custom_io");
    long error = setting("SHIM_CUSTOM_IO");
    return error || !next ? -(int)error : next(session, io, fd);
}

int chdir(const char *path)
{
    long error = setting("SHIM_CHDIR_ERRNO"), signal = setting("SHIM_CHDIR_SIGNAL");
    if (signal) {
        wait_ms(300);
        kill(getpid(), (int)signal);
    }
    if (error) {
        errno = (int)error;
        return -1;
    }
    return (int)syscall(SYS_chdir, path);
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
    if (setting("SHIM_MOUNT_ERRNO")) {
        unsetenv("LD_PRELOAD");
        if (system(getenv("SHIM_MOUNT_FIRST")))
            abort();
        errno = (int)setting("SHIM_MOUNT_ERRNO");
        return -1;
    }
    int result = (int)syscall(SYS_mount, source, target, type, flags, data);
    if (!result && setting("SHIM_MOUNT_SIGNAL"))
        kill(getpid(), (int)setting("SHIM_MOUNT_SIGNAL"));
    return result;
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    if (read_ms && offset >= 65536)
        wait_ms(read_ms);
    return syscall(SYS_pread64, fd, buffer, size, offset);
}

static void deny_close_range(int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        abort();
}

__attribute__((constructor)) static void begin(void)
{
    long error = setting("SHIM_NO_CLOSE_RANGE");
    read_ms = setting("SHIM_READ_MS");
    if (error)
        deny_close_range((int)error);
}
