/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/*
 * The versions that have an open profile. An open version without users is idle: it is in an LRU list, whose oldest
 * versions the reaper closes. All functions are called with fs->lock held and do no I/O.
 */

static void unlist(struct pf_fs *fs, struct pf_instance *instance)
{
    if (!instance->listed)
        return;
    *(instance->newer ? &instance->newer->older : &fs->idle.newest) = instance->older;
    *(instance->older ? &instance->older->newer : &fs->idle.oldest) = instance->newer;
    instance->newer = instance->older = NULL;
    instance->listed = false;
    fs->idle.count--;
    fs->idle.with_files -= instance->has_files;
    instance->has_files = false;
}

void pf_open_add(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile)
{
    instance->profile = profile;
    fs->open_instances++;
}

void pf_open_use(struct pf_fs *fs, struct pf_instance *instance)
{
    unlist(fs, instance);
}

void pf_open_rest(struct pf_fs *fs, struct pf_instance *instance)
{
    unlist(fs, instance);
    instance->listed = true;
    instance->idle_since = pf_monotonic_ms();
    instance->has_files = true;
    instance->older = fs->idle.newest;
    *(fs->idle.newest ? &fs->idle.newest->newer : &fs->idle.oldest) = instance;
    fs->idle.newest = instance;
    fs->idle.count++;
    fs->idle.with_files++;
}

/* Stores the inputs of a profile, shrunk to fit: there may be 100,000 versions. */
static void note_inputs(struct pf_instance *instance, const struct pf_profile *profile)
{
    struct pf_buf *inputs = &instance->inputs;
    inputs->size = 0;
    pf_profile_inputs(profile, inputs);
    char *fitting = inputs->size ? realloc(inputs->data, inputs->size) : NULL;
    if (fitting) {
        inputs->data = fitting;
        inputs->room = inputs->size;
    }
}

struct pf_profile *pf_open_close(struct pf_fs *fs, struct pf_instance *instance)
{
    struct pf_profile *profile = instance->profile;
    note_inputs(instance, profile);
    unlist(fs, instance);
    fs->open_instances--;
    instance->profile = NULL;
    return profile;
}

void pf_instance_free_if_unused(struct pf_fs *fs, struct pf_instance *instance)
{
    struct pf_entry *entry = instance->entry;
    bool present = entry->instance == instance;
    if (instance->profile && !present)
        pf_reaper_wake(fs);
    if (instance->lookups || atomic_load(&instance->owner.references) || instance->profile)
        return;
    if (present)
        entry->instance = NULL;
    pf_map_remove(&fs->instances, instance->id);
    pf_owner_end(&instance->owner);
    pf_buf_free(&instance->inputs);
    free(instance->failure);
    free(instance);
    pf_entry_drop(fs, entry);
}
