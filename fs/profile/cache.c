/* SPDX-License-Identifier: MIT */
#include "fs/profile/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/array.h"
#include "formats/kit/hash.h"

enum { DAY = 86400 };

/* ---- where the database may stand --------------------------------------------------------------- */

/* By their numbers in statfs: not all have a name in every system's headers. */
static bool is_remote(const char *path)
{
    static const uint32_t remote[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 and 3 */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x5346414f, /* AFS */
        0x6b414653, /* the kernel's own AFS */
        0x00c36400, /* Ceph */
        0x01021997, /* 9P */
        0x19830326, /* BeeGFS */
        0xaad7aaea, /* PanFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0x73757245, /* Coda */
        0x65735546, /* FUSE: sshfs and others */
    };
    struct statfs st;
    if (statfs(path, &st))
        return true;
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((uint32_t)st.f_type == remote[i])
            return true;
    return false;
}

/* The path, or what it will be made in. */
static bool will_be_remote(const char *folder)
{
    struct stat st;
    char *path = strdup(folder);
    char *slash;
    while (path && lstat(path, &st) && (slash = strrchr(path, '/')) && slash != path)
        *slash = 0;
    bool remote = !path || is_remote(path);
    free(path);
    return remote;
}

bool pf_cache_is_private(const char *path)
{
    struct stat st;
    return (!mkdir(path, 0700) || errno == EEXIST) && !lstat(path, &st) && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && !(st.st_mode & 077);
}

char *pf_cache_db_folder(const char *folder)
{
    char *local = NULL;
    if (!folder)
        return NULL;
    if (!will_be_remote(folder))
        return strdup(folder);
    if (is_remote("/var/tmp") || asprintf(&local, "/var/tmp/profilefs-%lu", (unsigned long)geteuid()) < 0)
        return NULL;
    if (pf_cache_is_private(local))
        return local;
    free(local);
    return NULL;
}

/* ---- files -------------------------------------------------------------------------------------- */

struct kept_file {
    char name[64];
    uint64_t bytes;
    time_t used;
};

struct kept_files {
    struct kept_file *files;
    size_t n, room;
    uint64_t bytes;
};

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), last = strlen(end);
    return size >= last && !strcmp(name + size - last, end);
}

/* All cache files in the folder; what writers that were killed have left of theirs is removed. */
static void list_files(const char *folder, struct kept_files *kept)
{
    struct pf_error error;
    struct stat st;
    DIR *listing = opendir(folder);
    time_t now = time(NULL);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        bool unfinished = *entry->d_name == '.' && strstr(entry->d_name, ".pfc.");
        bool whole = *entry->d_name != '.' && ends_in(entry->d_name, ".pfc");
        if ((!unfinished && !whole) || strlen(entry->d_name) >= sizeof kept->files->name ||
            fstatat(dirfd(listing), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (unfinished && now - st.st_mtime > DAY)
            unlinkat(dirfd(listing), entry->d_name, 0);
        if (unfinished || pf_array_room(&kept->files, &kept->room, kept->n, sizeof *kept->files, &error))
            continue;
        struct kept_file *file = &kept->files[kept->n++];
        *file = (struct kept_file){.bytes = (uint64_t)st.st_size, .used = st.st_mtime};
        strcpy(file->name, entry->d_name);
        kept->bytes += file->bytes;
    }
    if (listing)
        closedir(listing);
}

static int by_use(const void *a, const void *b)
{
    const struct kept_file *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

/* Removes files, those that were used longest ago first, that are older or too much. */
static void prune_files(const char *folder, time_t oldest, uint64_t limit)
{
    struct kept_files kept = {0};
    list_files(folder, &kept);
    if (kept.n)
        qsort(kept.files, kept.n, sizeof *kept.files, by_use);
    for (size_t i = 0; i < kept.n && (kept.files[i].used < oldest || kept.bytes > limit); i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder, kept.files[i].name) >= 0) {
            unlink(path);
            free(path);
        }
        kept.bytes -= kept.files[i].bytes;
    }
    free(kept.files);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

void pf_cache_prune(const char *folder, struct pf_cachedb *db, uint64_t limit)
{
    uint64_t entries, bytes = 0;
    if (db) {
        pf_cachedb_prune(db, limit / 2, PF_CACHE_DAYS);
        pf_cachedb_usage(db, &entries, &bytes);
    }
    prune_files(folder, time(NULL) - (time_t)PF_CACHE_DAYS * DAY, bytes < limit ? limit - bytes : 0);
}

void pf_cache_usage(const char *folder, struct pf_cachedb *db, struct pf_cache_usage *usage)
{
    struct kept_files kept = {0};
    *usage = (struct pf_cache_usage){0};
    list_files(folder, &kept);
    usage->files = kept.n;
    usage->file_bytes = kept.bytes;
    free(kept.files);
    if (db)
        pf_cachedb_usage(db, &usage->entries, &usage->entry_bytes);
}

void pf_cache_clear(const char *folder, struct pf_cachedb *db)
{
    prune_files(folder, time(NULL) + DAY, 0);
    if (db)
        pf_cachedb_clear(db);
}

/* ---- one file ----------------------------------------------------------------------------------- */

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
    /* A profile may be open twice (runs/ opens its members on its own), and then two threads write its file. */
    static atomic_uint writes;
    snprintf(temporary, sizeof temporary, ".%.200s.%ld.%u", name, (long)getpid(),
             atomic_fetch_add(&writes, 1));
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

/*
 * The modification time of a cache file is the day of its last use. The sandbox forbids setting times, since Landlock does not say of
 * which files, so the magic number is written again.
 */
static void note_use(int fd, int at, const char *name)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_mtime >= time(NULL) - 86400)
        return;
    int writable = openat(at, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (writable < 0)
        return;
    if (pwrite(writable, &MAGIC, sizeof MAGIC, 0) < 0) { /* the file is pruned earlier */
    }
    close(writable);
}

char *pf_cachefile_read(const char *folder, const char *name, size_t *size)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *payload = fd < 0 ? NULL : read_payload(fd, size);
    if (payload)
        note_use(fd, at, name);
    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
    return payload;
}
