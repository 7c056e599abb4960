/* SPDX-License-Identifier: MIT */
#include "fs/tree/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "formats/kit/lock.h"

int pf_device_at(int directory, const char *name, dev_t *device)
{
    pf_may_block();
    /* With an empty mask the kernel returns the device without a request to the file system. */
    struct statx stx;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &stx))
        return -1;
    *device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
    return 0;
}

int pf_stat_at(int directory, const char *name, struct stat *st)
{
    struct statx stx;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
              &stx))
        return errno;
    *st = (struct stat){
        .st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
        .st_ino = stx.stx_ino,
        .st_mode = stx.stx_mode,
        .st_nlink = stx.stx_nlink,
        .st_uid = stx.stx_uid,
        .st_gid = stx.stx_gid,
        .st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
        .st_size = (off_t)stx.stx_size,
        .st_blksize = (blksize_t)stx.stx_blksize,
        .st_blocks = (blkcnt_t)stx.stx_blocks,
        .st_atim = {stx.stx_atime.tv_sec, stx.stx_atime.tv_nsec},
        .st_mtim = {stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec},
        .st_ctim = {stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec},
    };
    return 0;
}

/* True if a line of mountinfo is a mount of this program with this device; then sets *owner, which may be NULL. The line is
 * `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS`. */
static bool is_line_of(const char *line, dev_t device, uid_t *owner)
{
    unsigned major, minor;
    const char *type = strstr(line, " - ");
    if (!type || sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 || makedev(major, minor) != device ||
        strncmp(type, " - fuse.profilefs ", strlen(" - fuse.profilefs ")) != 0)
        return false;
    const char *user = strstr(type, "user_id=");
    if (user && owner)
        *owner = (uid_t)strtoul(user + strlen("user_id="), NULL, 10);
    return user != NULL;
}

bool pf_is_own_mount(dev_t device, uid_t *owner)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (mounts && !found && getline(&line, &room, mounts) > 0)
        found = is_line_of(line, device, owner);
    free(line);
    if (mounts)
        fclose(mounts);
    return found;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Replaces the octal escapes of mountinfo (\040 is a blank) in place. */
static void unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; to++) {
        if (*from == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* The part of `path` below a mount point, or NULL. */
static const char *below(const char *path, const char *point)
{
    size_t size = strcmp(point, "/") != 0 ? strlen(point) : 0;
    bool within = !strncmp(path, point, size) && (!path[size] || path[size] == '/');
    return within ? path + size : NULL;
}

/* The fields of a mountinfo line that determine the path in SOURCE, unescaped; they point into the line. */
struct mounted {
    char *top, *point, *source;
};

static bool parse_mount(char *line, struct mounted *mount)
{
    char *fields[5] = {0}, *rest = NULL, *separator = strstr(line, " - ");
    *separator = '\0';
    for (size_t i = 0; i < 5; i++)
        fields[i] = strtok_r(i ? NULL : line, " ", &rest);
    strtok_r(separator + strlen(" - "), " ", &rest); /* the type */
    *mount = (struct mounted){fields[3], fields[4], strtok_r(NULL, " ", &rest)};
    if (!mount->point || !mount->source)
        return false;
    unescape(mount->top);
    unescape(mount->point);
    unescape(mount->source);
    return true;
}

char *pf_path_in_source(const char *path, bool *root)
{
    char *line = NULL, *found = NULL;
    size_t room = 0, longest = 0;
    int code = 0;
    dev_t device;
    if (pf_device_at(AT_FDCWD, path, &device))
        return NULL;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    if (!mounts)
        return NULL;
    /* If one device is mounted several times (bind mounts), the longest matching mount point wins. */
    while (!code && getline(&line, &room, mounts) > 0) {
        struct mounted mount;
        const char *rest =
            is_line_of(line, device, NULL) && parse_mount(line, &mount) ? below(path, mount.point) : NULL;
        if (!rest || strlen(mount.point) < longest)
            continue;
        longest = strlen(mount.point);
        free(found);
        if (asprintf(&found, "%s%s%s", mount.source, strcmp(mount.top, "/") != 0 ? mount.top : "", rest) <
            0) {
            found = NULL;
            code = ENOMEM;
        } else if (root) {
            *root = !*rest;
        }
    }
    free(line);
    fclose(mounts);
    errno = code;
    return found;
}
