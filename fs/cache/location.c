/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fs/cache/cache.h"

/* True for network file systems and FUSE, and on failure. Magic numbers are literals, since not all systems' headers define them. */
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
        0x6b414653, /* AFS, the kernel's client */
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

/* Returns is_remote() of a folder or, if the folder is missing, of its nearest existing ancestor. */
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

char *pf_cache_location(const char *folder)
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

void pf_cache_make_folder(const char *folder)
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
