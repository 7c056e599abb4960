/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/tree/vfs_private.h"

/* A profile's links stand in its folder, and lead from where that stands. */
#define UP "../"

size_t pf_link_size(const struct pf_profile *profile, uint32_t link)
{
    return strlen(UP) + strlen(profile->links[link].target);
}

static char *link_target(const struct pf_profile *profile, uint32_t link)
{
    char *target = malloc(pf_link_size(profile, link) + 1);
    if (target)
        stpcpy(stpcpy(target, UP), profile->links[link].target);
    return target;
}

static int readlink_in_profile(struct pf_fs *fs, uint64_t ino, char **target)
{
    struct pf_place place = {0};
    struct pf_job *job = NULL;
    int result = pf_place_enter(fs, ino, false, &place, &job);
    if (result) {
        if (job)
            pf_job_release(job);
        return result == PF_PARKED ? ESTALE : result;
    }
    if (place.live && place.node.kind == PF_LINK && place.node.item < pf_live_profile(place.live)->n_links) {
        *target = link_target(pf_live_profile(place.live), place.node.item);
        result = *target ? 0 : ENOMEM;
    } else {
        result = EINVAL;
    }
    pf_place_leave(fs, &place);
    return result;
}

static int readlink_in_source(struct pf_fs *fs, uint64_t ino, char **target)
{
    pthread_mutex_lock(&fs->lock);
    struct pf_entry *entry = pf_entry_get(fs, ino);
    struct pf_entry *folder = entry ? entry->parent : NULL;
    char *name = folder ? strdup(entry->name) : NULL;
    if (folder)
        folder->holds++;
    pthread_mutex_unlock(&fs->lock);
    if (!folder)
        return entry ? EINVAL : ESTALE;
    int fd = pf_entry_open(fs, folder, O_PATH | O_DIRECTORY);
    int result = fd < 0 ? errno : 0;
    *target = name && !result ? malloc(PATH_MAX) : NULL;
    if (!result && !*target)
        result = ENOMEM;
    ssize_t n = result ? 0 : readlinkat(fd, name, *target, PATH_MAX - 1);
    if (n < 0) {
        result = errno;
        free(*target);
    } else if (!result) {
        (*target)[n] = 0;
    }
    if (fd >= 0)
        close(fd);
    free(name);
    pthread_mutex_lock(&fs->lock);
    pf_entry_drop(fs, folder);
    pthread_mutex_unlock(&fs->lock);
    return result;
}

int pf_fs_readlink(struct pf_fs *fs, uint64_t ino, char **target)
{
    return ino >> 32 ? readlink_in_profile(fs, ino, target) : readlink_in_source(fs, ino, target);
}
