/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/tree/vfs_private.h"

static int readlink_in_profile(struct pf_fs *fs, uint64_t ino, char **target, struct pf_job **job)
{
    struct pf_place place = {0};
    struct pf_error error;
    int result = pf_place_enter(fs, ino, PF_CHECK_NOT, &place, job);
    if (result)
        return result;
    if (place.live && pf_is_link(place.node.kind)) {
        result = pf_live_link(place.live, place.node.kind, place.node.item, target, job, &error);
        result = result == PF_WAIT ? PF_PARKED : result ? pf_fs_errno(fs, &error) : 0;
    } else {
        result = EINVAL;
    }
    pf_place_leave(fs, &place);
    return result;
}

static int readlink_in_runs(struct pf_fs *fs, uint64_t ino, char **target, struct pf_job **job)
{
    struct pf_attr attr;
    struct pf_store *text = NULL;
    uint64_t base, size;
    int result = pf_runs_getattr(fs, ino, &attr, job);
    if (!result && !S_ISLNK(attr.st.st_mode))
        return EINVAL;
    return result ? result : pf_runs_open(fs, ino, target, &text, &base, &size, job);
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
    struct pf_folder *open = pf_entry_folder(fs, folder, true);
    int result = open ? 0 : errno;
    *target = name && !result ? malloc(PATH_MAX) : NULL;
    if (!result && !*target)
        result = ENOMEM;
    if (!result && (result = pf_folder_link(open, name, *target, PATH_MAX)))
        free(*target);
    pf_folder_free(open);
    free(name);
    pthread_mutex_lock(&fs->lock);
    pf_entry_drop(fs, folder);
    pthread_mutex_unlock(&fs->lock);
    return result;
}

int pf_fs_readlink(struct pf_fs *fs, uint64_t ino, char **target, struct pf_job **job)
{
    if (pf_runs_is(ino))
        return readlink_in_runs(fs, ino, target, job);
    return ino >> 32 ? readlink_in_profile(fs, ino, target, job) : readlink_in_source(fs, ino, target);
}
