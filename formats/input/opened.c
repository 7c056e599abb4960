/* SPDX-License-Identifier: MIT */
#include "formats/input/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/unpacked.h"
#include "formats/kit/lock.h"

void pf_opened_close(struct pf_opened *opened)
{
    if (opened->fd >= 0)
        close(opened->fd);
    pf_unpacked_release(opened->unpacked);
    if (opened->owner)
        opened->owner->release(opened->owner);
    opened->fd = -1;
    opened->unpacked = NULL;
    opened->owner = NULL;
}

int pf_opened_stat(const struct pf_opened *opened, struct stat *st)
{
    pf_may_block();
    while (opened->fd < 0 && opened->owner)
        opened = opened->owner->file;
    return fstat(opened->fd, st);
}

int pf_opened_copy(const struct pf_opened *opened, struct pf_opened *copy)
{
    *copy = *opened;
    if (opened->fd >= 0 && (copy->fd = fcntl(opened->fd, F_DUPFD_CLOEXEC, 3)) < 0)
        return errno;
    if (opened->unpacked)
        pf_unpacked_hold(opened->unpacked);
    if (opened->owner)
        opened->owner->hold(opened->owner);
    return 0;
}

ssize_t pf_opened_read(const struct pf_opened *opened, void *buffer, size_t size, uint64_t offset,
                       struct pf_error *error)
{
    pf_may_block();
    size_t done = 0;
    if (opened->unpacked)
        return pf_unpacked_read(opened->unpacked, buffer, size, opened->start + offset, error);
    while (done < size) {
        ssize_t n =
            pread(opened->fd, (char *)buffer + done, size - done, (off_t)(opened->start + offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pf_fail_at(error, errno, (int64_t)(offset + done), "%s", strerror(errno));
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}
