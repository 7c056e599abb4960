/* SPDX-License-Identifier: MIT */
#include "formats/input/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "formats/kit/lock.h"

static int open_beneath(int folder, const char *name, int flags, uint64_t further)
{
    pf_may_block();
    /* Avoid blocking on a FIFO; openat2 rejects these flags in combination with O_PATH. */
    int careful = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct open_how how = {.flags = (uint64_t)(flags | careful),
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | further};
    long fd = syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)fd;
    /* Without openat2 (old kernel, seccomp): open each component on its own, and reject symbolic links. */
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
