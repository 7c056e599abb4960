/* SPDX-License-Identifier: MIT */
#include "fs/fuse/channel.h"

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/fuse/ops.h"

/* Not by the C library's function: sanitizers look at the bytes when it has returned, and by then who has got them may have closed the
 * file, and they be freed. */
static ssize_t send_pieces(int fd, const struct iovec *iov, int count)
{
    return syscall(SYS_writev, fd, iov, count);
}

static ssize_t send_greeting(int fd, struct iovec *iov)
{
    struct fuse_init_out init = {0};
    size_t known = iov[1].iov_len < sizeof init ? iov[1].iov_len : sizeof init;
    memcpy(&init, iov[1].iov_base, known);
    init.flags |= FUSE_PARALLEL_DIROPS;
    struct iovec completed[2] = {iov[0], {&init, known}};
    return send_pieces(fd, completed, 2);
}

static ssize_t send_reply(int fd, struct iovec *iov, int count, void *userdata)
{
    struct pf_mount *mount = userdata;
    mount->sent++; /* see receive */
    /* The first reply of a session is the one to FUSE_INIT. */
    bool greeting = !atomic_exchange_explicit(&mount->greeted, true, memory_order_relaxed);
    if (greeting && count == 2 && iov[1].iov_len > offsetof(struct fuse_init_out, flags) + sizeof(uint32_t))
        return send_greeting(fd, iov);
    return send_pieces(fd, iov, count);
}

/*
 * A request may follow from a reply that another thread has sent: what that thread had written by then must be seen by this one. The
 * kernel's own locks see to it; the counter says so to those who check the order of threads, who can't see these.
 */
static ssize_t receive(int fd, void *buffer, size_t size, void *userdata)
{
    struct pf_mount *mount = userdata;
    ssize_t got = read(fd, buffer, size);
    (void)atomic_load(&mount->sent);
    return got;
}

int pf_fuse_channel(struct fuse_session *session)
{
    static const struct fuse_custom_io channel = {.writev = send_reply, .read = receive};
    return fuse_session_custom_io(session, &channel, fuse_session_fd(session));
}
