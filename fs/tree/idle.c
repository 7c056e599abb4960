/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/*
 * The versions that have a profile. A loaded version without users is idle and is in an LRU list; the reaper
 * unloads the oldest versions of this list. All functions except pf_version_free are called with fs->lock held and do
 * no I/O.
 */

void pf_idle_remove(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    if (!version->listed)
        return;
    *(version->newer ? &version->newer->older : &fs->idle.newest) = version->older;
    *(version->older ? &version->older->newer : &fs->idle.oldest) = version->newer;
    version->newer = version->older = NULL;
    version->listed = false;
    fs->idle.count--;
    fs->idle.with_files -= version->has_files;
    version->has_files = false;
}

void pf_version_attach(struct pf_version *version, struct pf_profile *profile)
{
    assert(version->state == PF_VERSION_UNLOADED);
    version->profile = profile;
    version->state = PF_VERSION_LOADED;
    version->fs->loaded_profiles++;
}

void pf_version_break(struct pf_version *version, struct pf_error *failure)
{
    pf_assert_held(&version->fs->lock);
    assert(version->state == PF_VERSION_UNLOADED);
    version->failure = failure;
    version->state = PF_VERSION_BROKEN;
}

void pf_idle_add(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    pf_idle_remove(version);
    version->listed = true;
    version->idle_since = pf_monotonic_ms();
    version->has_files = true;
    version->older = fs->idle.newest;
    *(fs->idle.newest ? &fs->idle.newest->newer : &fs->idle.oldest) = version;
    fs->idle.newest = version;
    fs->idle.count++;
    fs->idle.with_files++;
}

/* Stores the inputs of a profile, in a buffer without spare room since there may be 100,000 versions. */
static void note_inputs(struct pf_version *version, const struct pf_profile *profile)
{
    struct pf_buf *inputs = &version->inputs;
    inputs->size = 0;
    pf_profile_inputs(profile, inputs);
    char *fitting = inputs->size ? realloc(inputs->data, inputs->size) : NULL;
    if (fitting) {
        inputs->data = fitting;
        inputs->room = inputs->size;
    }
}

struct pf_profile *pf_version_detach(struct pf_version *version)
{
    assert(version->state == PF_VERSION_LOADED);
    struct pf_profile *profile = version->profile;
    note_inputs(version, profile);
    pf_idle_remove(version);
    version->fs->loaded_profiles--;
    version->profile = NULL;
    version->state = PF_VERSION_UNLOADED;
    return profile;
}

void pf_version_free_if_unused(struct pf_version *version)
{
    struct pf_fs *fs = version->fs;
    struct pf_entry *entry = version->entry;
    bool stale = pf_version_is_stale(version), loaded = version->state == PF_VERSION_LOADED;
    if (loaded && stale)
        pf_reaper_wake(fs);
    if (version->lookups || atomic_load(&version->owner.references) || loaded)
        return;
    if (!stale)
        entry->version = NULL;
    pf_map_remove(&fs->versions, version->id);
    pf_version_free(version);
    pf_entry_release_locked(fs, entry);
}

void pf_version_free(struct pf_version *version)
{
    if (version->state == PF_VERSION_LOADED)
        pf_profile_release(version->profile);
    if (version->state == PF_VERSION_BROKEN)
        free(version->failure);
    pf_owner_end(&version->owner);
    pf_buf_free(&version->inputs);
    free(version);
}
