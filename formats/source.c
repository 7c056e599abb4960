/* SPDX-License-Identifier: MIT */
#include "formats/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Two writes within one tick of the kernel's clock leave the same mtime: a file younger than this is looked
 * at again later. */
#define YOUNG_NS 20000000

struct pf_input {
    struct pf_source *source;
    char *name; /* as given to pf_source_open; NULL: the source itself */
    int fd;     /* -1: absent */
    struct pf_stamp stamp;
};

struct pf_source {
    int folder;    /* that the entry stands in */
    char *name;    /* of the entry */
    int directory; /* the entry itself if it is a directory, else -1 */
    pthread_mutex_t lock;
    struct pf_input **inputs;
    size_t count;
};

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

int pf_open_beneath(int folder, const char *name, int flags)
{
    /* Never to hang on a FIFO; openat2 refuses such flags beside O_PATH. */
    int careful = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct open_how how = {.flags = (uint64_t)(flags | careful),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
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

struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error)
{
    struct pf_source *source = calloc(1, sizeof *source);
    if (!source) {
        pf_fail_memory(error);
        return NULL;
    }
    pthread_mutex_init(&source->lock, NULL);
    source->directory = -1;
    source->folder = fcntl(directory, F_DUPFD_CLOEXEC, 3);
    source->name = strdup(name);
    if (source->folder < 0 || !source->name) {
        pf_fail(error, errno, "%s", strerror(errno));
        pf_source_free(source);
        return NULL;
    }
    source->directory = pf_open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (source->directory < 0 && errno != ENOTDIR) {
        pf_fail(error, errno, "%s", strerror(errno));
        pf_source_free(source);
        return NULL;
    }
    return source;
}

void pf_source_free(struct pf_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->count; i++) {
        if (source->inputs[i]->fd >= 0)
            close(source->inputs[i]->fd);
        free(source->inputs[i]->name);
        free(source->inputs[i]);
    }
    free(source->inputs);
    if (source->directory >= 0)
        close(source->directory);
    if (source->folder >= 0)
        close(source->folder);
    pthread_mutex_destroy(&source->lock);
    free(source->name);
    free(source);
}

const char *pf_source_name(const struct pf_source *source)
{
    return source->name;
}

/* The folder that an input's name is relative to, and that name. */
static int place_of(const struct pf_source *source, const char *name, const char **relative)
{
    *relative = name ? name : source->name;
    return name && source->directory >= 0 ? source->directory : source->folder;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Lets a file that was written just now grow old enough for its times to tell a further write. */
static void outlast_clock_tick(int fd, struct stat *st)
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

static int open_input(struct pf_input *input, struct pf_error *error)
{
    const char *relative;
    int folder = place_of(input->source, input->name, &relative);
    struct stat st;
    input->fd = pf_open_beneath(folder, relative, O_RDONLY);
    if (input->fd < 0)
        return pf_fail(error, errno, "%s", strerror(errno));
    if (fstat(input->fd, &st) || !S_ISREG(st.st_mode)) {
        close(input->fd);
        input->fd = -1;
        return pf_fail(error, EINVAL, "not a regular file");
    }
    outlast_clock_tick(input->fd, &st);
    input->stamp = pf_stamp_of(&st);
    return 0;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static struct pf_input *find_input(struct pf_source *source, const char *name)
{
    for (size_t i = 0; i < source->count; i++)
        if (same_name(source->inputs[i]->name, name))
            return source->inputs[i];
    return NULL;
}

static struct pf_input *add_input(struct pf_source *source, const char *name, struct pf_error *error)
{
    struct pf_input **inputs = realloc(source->inputs, (source->count + 1) * sizeof *inputs);
    if (inputs)
        source->inputs = inputs;
    struct pf_input *input = calloc(1, sizeof *input);
    if (!inputs || !input || (name && !(input->name = strdup(name)))) {
        free(input);
        pf_fail_memory(error);
        return NULL;
    }
    input->source = source;
    input->fd = -1;
    source->inputs[source->count++] = input;
    return input;
}

int pf_source_open(struct pf_source *source, const char *name, struct pf_input **input,
                   struct pf_error *error)
{
    int result = 0;
    pthread_mutex_lock(&source->lock);
    struct pf_input *found = find_input(source, name);
    if (found && found->fd < 0)
        result = pf_fail(error, ENOENT, "%s", strerror(ENOENT));
    if (!found) {
        found = add_input(source, name, error);
        result = found ? open_input(found, error) : -1;
    }
    pthread_mutex_unlock(&source->lock);
    if (result && name)
        snprintf(error->where, sizeof error->where, "%s", name);
    *input = result ? NULL : found;
    return result;
}

ssize_t pf_input_read(struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                      struct pf_error *error)
{
    uint64_t end = input->stamp.size;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    unsigned char *at = buffer;
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(input->fd, at + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pf_fail_at(error, errno, (int64_t)(offset + done), "%s", strerror(errno));
        if (n == 0)
            return pf_fail_at(error, ESTALE, (int64_t)(offset + done), "the file has been truncated");
        done += (size_t)n;
    }
    return (ssize_t)size;
}

uint64_t pf_input_size(const struct pf_input *input)
{
    return input->stamp.size;
}

const struct pf_stamp *pf_input_stamp(const struct pf_input *input)
{
    return &input->stamp;
}

/* By path, which sees a replaced file, and by descriptor, which sees one that was written to after it was
 * moved away. */
static bool unchanged(const struct pf_input *input)
{
    const char *relative;
    int folder = place_of(input->source, input->name, &relative);
    struct stat st;
    if (fstatat(folder, relative, &st, AT_SYMLINK_NOFOLLOW))
        return input->fd < 0;
    struct pf_stamp stamp = pf_stamp_of(&st);
    if (input->fd < 0)
        return !S_ISREG(st.st_mode);
    return pf_stamp_same(&stamp, &input->stamp);
}

int pf_source_check(struct pf_source *source, struct pf_error *error)
{
    int result = 0;
    pthread_mutex_lock(&source->lock);
    for (size_t i = 0; i < source->count && !result; i++)
        if (!unchanged(source->inputs[i])) {
            result = pf_fail(error, ESTALE, "the file has changed");
            if (source->inputs[i]->name)
                snprintf(error->where, sizeof error->where, "%s", source->inputs[i]->name);
        }
    pthread_mutex_unlock(&source->lock);
    return result;
}

bool pf_source_intact(struct pf_source *source)
{
    bool intact = true;
    pthread_mutex_lock(&source->lock);
    for (size_t i = 0; i < source->count && intact; i++) {
        const struct pf_input *input = source->inputs[i];
        struct stat st;
        if (input->fd < 0)
            continue;
        intact = !fstat(input->fd, &st) && (uint64_t)st.st_size == input->stamp.size &&
                 pf_stamp_of(&st).mtime_ns == input->stamp.mtime_ns;
    }
    pthread_mutex_unlock(&source->lock);
    return intact;
}

size_t pf_source_input_count(const struct pf_source *source)
{
    return source->count;
}

const char *pf_source_input_at(const struct pf_source *source, size_t i, struct pf_stamp *stamp)
{
    *stamp = i < source->count ? source->inputs[i]->stamp : (struct pf_stamp){0};
    return i < source->count ? source->inputs[i]->name : NULL;
}

bool pf_source_matches(const struct pf_source *source, const char *name, const struct pf_stamp *stamp)
{
    const char *relative;
    int folder = place_of(source, name, &relative);
    struct stat st;
    struct pf_stamp now = {0};
    if (!fstatat(folder, relative, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
        now = pf_stamp_of(&st);
    return pf_stamp_same(&now, stamp);
}
