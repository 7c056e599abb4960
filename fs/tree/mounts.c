/* SPDX-License-Identifier: MIT */
#include "fs/tree/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

int pf_device_at(int directory, const char *name, dev_t *device)
{
    /* Asked for nothing, the kernel tells the device all the same, and needs no answer of the file system for it. */
    struct statx stx;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &stx))
        return -1;
    *device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
    return 0;
}

/* One line: `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS`. */
static bool tells_of(const char *line, dev_t device, uid_t *owner)
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
        found = tells_of(line, device, owner);
    free(line);
    if (mounts)
        fclose(mounts);
    return found;
}
