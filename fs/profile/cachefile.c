/* SPDX-License-Identifier: MIT */
#include "fs/profile/cachefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/hash.h"

/* Read as another number where bytes are ordered otherwise. */
static const uint64_t MAGIC = 0x0131656863614650; /* "PFcache1" + 0x01 */

enum { HEADER = 24, PAYLOAD_MAX = 1 << 30 };

/* The folder and what it stands in. */
void pf_cachefile_make_folder(const char *folder)
{
    char *path = strdup(folder);
    if (!path)
        return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    free(path);
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static int open_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    pf_cachefile_make_folder(folder);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool pf_cachefile_write(const char *folder, const char *name, const struct pf_buf *payload)
{
    char temporary[300];
    uint64_t header[3] = {MAGIC, payload->size, pf_hash(0, payload->data, payload->size)};
    if (payload->failed || payload->size > PAYLOAD_MAX)
        return false;
    int at = open_folder(folder);
    if (at < 0)
        return false;
    /* One process writes a name from one thread at a time; other processes have other numbers. */
    snprintf(temporary, sizeof temporary, ".%.200s.%ld", name, (long)getpid());
    int fd = openat(at, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written = fd >= 0 && write_all(fd, (const char *)header, sizeof header) &&
                   write_all(fd, payload->data, payload->size);
    if (fd >= 0 && close(fd))
        written = false;
    if (written && renameat(at, temporary, at, name))
        written = false;
    if (fd >= 0 && !written)
        unlinkat(at, temporary, 0);
    close(at);
    return written;
}

static bool read_all(int fd, void *buffer, size_t size)
{
    char *at = buffer;
    while (size) {
        ssize_t n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static char *read_payload(int fd, size_t *size)
{
    uint64_t header[3];
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < HEADER ||
        !read_all(fd, header, sizeof header) || header[0] != MAGIC ||
        header[1] != (uint64_t)st.st_size - HEADER || header[1] > PAYLOAD_MAX)
        return NULL;
    char *payload = malloc(header[1] + 1);
    if (payload && read_all(fd, payload, header[1]) && pf_hash(0, payload, header[1]) == header[2]) {
        *size = header[1];
        return payload;
    }
    free(payload);
    return NULL;
}

/* The time of writing tells the last day of use. */
static void note_use(int fd)
{
    struct stat st;
    if (!fstat(fd, &st) && st.st_mtime < time(NULL) - 86400)
        futimens(fd, NULL);
}

char *pf_cachefile_read(const char *folder, const char *name, size_t *size)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *payload = fd < 0 ? NULL : read_payload(fd, size);
    if (payload)
        note_use(fd);
    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
    return payload;
}
