/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "formats/input/source_private.h"

/* Opening what stands at a path and nowhere else, and telling whether it is still the same. */

/* Two writes within one tick of the kernel's clock leave the same mtime: a file younger than this is looked
 * at again later. */
#define YOUNG_NS 20000000

struct pf_stamp pf_stamp_of(const struct stat *st)
{
    return (struct pf_stamp){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
        .ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec,
    };
}

bool pf_stamp_same(const struct pf_stamp *a, const struct pf_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void pf_outlast_clock_tick(int fd, struct stat *st)
{
    struct pf_stamp stamp = pf_stamp_of(st);
    int64_t changed = stamp.mtime_ns > stamp.ctime_ns ? stamp.mtime_ns : stamp.ctime_ns;
    int64_t age = now_ns() - changed;
    if (age < 0 || age >= YOUNG_NS)
        return;
    struct timespec wait = {.tv_nsec = (long)(YOUNG_NS - age)};
    nanosleep(&wait, NULL);
    fstat(fd, st);
}

static int open_beneath(int folder, const char *name, int flags, uint64_t further)
{
    /* Never to hang on a FIFO; openat2 refuses such flags beside O_PATH. */
    int careful = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct open_how how = {.flags = (uint64_t)(flags | careful),
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | further};
    long fd = syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)fd;
    /* No openat2 here (old kernel, seccomp): step by step, so that no part may be a link. */
    int at = dup(folder);
    char part[256];
    while (at >= 0) {
        size_t n = strcspn(name, "/");
        if (n >= sizeof part || (n == 2 && !memcmp(name, "..", 2))) {
            close(at);
            errno = n == 2 ? EXDEV : ENAMETOOLONG;
            return -1;
        }
        memcpy(part, name, n);
        part[n] = 0;
        name += n;
        while (*name == '/')
            name++;
        int next =
            openat(at, part, (*name ? O_PATH | O_DIRECTORY : flags | O_NONBLOCK) | O_NOFOLLOW | O_CLOEXEC);
        int saved = errno;
        close(at);
        errno = saved;
        if (next < 0 || !*name)
            return next;
        at = next;
    }
    return -1;
}

int pf_open_beneath(int folder, const char *name, int flags)
{
    return open_beneath(folder, name, flags, 0);
}

int pf_open_here(int folder, const char *name, int flags)
{
    return open_beneath(folder, name, flags, RESOLVE_NO_XDEV);
}
