/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/input/archive_private.h"
#include "formats/kit/store.h"

/* Members of a zip that are deflated, unpacked when they are opened. The last few are kept for who opens them again. */

enum { BLOCK = 64 * 1024 };

struct block {
    unsigned char in[BLOCK], out[BLOCK];
};

static int write_out(int fd, const unsigned char *bytes, size_t size, uint64_t *at)
{
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)*at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : ENOSPC;
        bytes += n;
        size -= (size_t)n;
        *at += (uint64_t)n;
    }
    return 0;
}

/* No more is written than the member says that it has; less is EIO. */
static int inflate_all(const struct pf_archive *archive, const struct pf_member *member, z_stream *stream,
                       struct block *block, int fd)
{
    uint64_t from = member->start, written = 0;
    int state = Z_OK;
    while (state == Z_OK && written < member->size) {
        if (!stream->avail_in) {
            uint64_t left = from < archive->size ? archive->size - from : 0;
            ssize_t got =
                pread(archive->fd, block->in, left < BLOCK ? left : BLOCK, (off_t)(archive->start + from));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return got ? errno : EIO;
            from += (uint64_t)got;
            stream->next_in = block->in;
            stream->avail_in = (uInt)got;
        }
        stream->next_out = block->out;
        stream->avail_out = BLOCK;
        state = inflate(stream, Z_NO_FLUSH);
        size_t made = BLOCK - stream->avail_out;
        if (made > member->size - written)
            made = (size_t)(member->size - written);
        int failed = write_out(fd, block->out, made, &written);
        if (failed)
            return failed;
        if (state == Z_BUF_ERROR)
            state = Z_OK;
    }
    return written == member->size ? 0 : EIO;
}

static int unpack(const struct pf_archive *archive, const struct pf_member *member, int *fd)
{
    struct pf_error error;
    z_stream stream = {0};
    struct block *block = malloc(sizeof *block);
    *fd = block ? pf_spill_file(&error) : -1;
    int result = !block                                      ? ENOMEM
                 : *fd < 0                                   ? error.code
                 : inflateInit2(&stream, -MAX_WBITS) != Z_OK ? ENOMEM
                                                             : 0;
    if (!result) {
        result = inflate_all(archive, member, &stream, block, *fd);
        inflateEnd(&stream);
    }
    free(block);
    if (result && *fd >= 0)
        close(*fd);
    return result;
}

int pf_archive_unpack(struct pf_archive *archive, uint32_t member, int *fd)
{
    int result = 0, mine = -1;
    pthread_mutex_lock(&archive->lock);
    for (unsigned i = 0; i < PF_ARCHIVE_KEPT && mine < 0; i++)
        if (archive->kept[i].fd && archive->kept[i].member == member)
            mine = archive->kept[i].fd;
    if (mine < 0 && !(result = unpack(archive, &archive->members[member], &mine))) {
        struct kept *kept = &archive->kept[archive->next_kept++ % PF_ARCHIVE_KEPT];
        if (kept->fd)
            close(kept->fd);
        *kept = (struct kept){mine, member};
    }
    *fd = result ? -1 : fcntl(mine, F_DUPFD_CLOEXEC, 3);
    if (!result && *fd < 0)
        result = errno;
    pthread_mutex_unlock(&archive->lock);
    return result;
}
