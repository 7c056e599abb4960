/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/clock.h"
#include "fs/profile/names.h"
#include "fs/tree/vfs_private.h"

enum {
    DEPTH_MAX = 4096, /* maximum depth at which a folder of an old version is found in the new one */
    LATELY_MS = 1000, /* how long a look-up trusts the last check of the inputs */
};

/* ---- resolving node numbers --------------------------------------------------------------------- */

void pf_place_leave(struct pf_place *place)
{
    if (place->holds_files)
        pf_profile_release_files(place->profile);
    pf_profile_release(place->profile);
    pf_version_release(place->version);
}

/* Finds the node of the same path in a newer version. */
static int follow(struct pf_profile *from, struct pf_profile *to, struct pf_node *node, struct pf_op *op)
{
    char(*names)[PF_NAME_MAX + 1] = NULL;
    size_t depth = 0;
    int result = 0;
    while (!result && node->kind != PF_TOP) {
        void *grown = depth < DEPTH_MAX ? realloc(names, (depth + 1) * sizeof *names) : NULL;
        if (!grown) {
            result = depth < DEPTH_MAX ? ENOMEM : ESTALE;
            break;
        }
        names = grown;
        struct pf_node parent = {PF_TOP, 0};
        result = pf_op_errno(op, pf_profile_parent_ready(from, *node, op));
        if (!result && !pf_node_parent(from, *node, &parent, names[depth++]))
            result = ESTALE;
        *node = parent;
    }
    *node = (struct pf_node){PF_TOP, 0};
    while (!result && depth) {
        result = pf_op_errno(op, pf_profile_ready(to, *node, op));
        struct pf_node entry = {0};
        if (!result && !pf_folder_find(to, *node, names[--depth], &entry))
            result = ESTALE;
        if (!result)
            *node = entry;
    }
    free(names);
    return result;
}

/* Opens the profile's files if they are closed. 0; ESTALE if they belong to an old version; or another errno value. */
static int hold_files(struct pf_place *place, struct pf_op *op)
{
    int result = place->profile ? pf_op_errno(op, pf_profile_hold_files(place->profile, &op->error)) : 0;
    place->holds_files = place->profile && !result;
    return result;
}

/* Opens the version that is on disk now. 0, or an errno value with nothing to leave. */
static int enter_present(struct pf_fs *fs, const struct pf_version *old, struct pf_place *to,
                         struct pf_op *op)
{
    int result = pf_version_renew(fs, old, &to->version);
    if (result)
        return result == ENOENT ? ESTALE : result; /* the next look-up of the path finds the new node */
    result = to->version->failed ? 0 : pf_prepare_profile(fs, to->version, op);
    if (!result)
        to->profile = pf_version_profile(fs, to->version, op);
    if (!result && !to->profile && !to->version->failed)
        result = pf_op_errno(op, -1);
    if (!result)
        result = hold_files(to, op);
    if (result)
        pf_place_leave(to);
    return result;
}

/* Replaces a place in an old version by the same place in the current version. */
static int move(struct pf_fs *fs, struct pf_place *place, struct pf_op *op)
{
    struct pf_place to = {.node = place->node, .moved = true};
    if (!place->profile && place->node.kind != PF_TOP)
        place->profile = pf_version_recall(
            fs, place->version); /* before the names of the current version replace them in the cache */
    int result = enter_present(fs, place->version, &to, op);
    if (!result && place->node.kind != PF_TOP) {
        result = to.profile && place->profile ? follow(place->profile, to.profile, &to.node, op) : ESTALE;
        if (result)
            pf_place_leave(&to);
    }
    pf_place_leave(place);
    *place = to;
    return result;
}

/*
 * True if the inputs have been checked within LATELY_MS. Always false if users other than the mounter have access: the
 * access rights must be current.
 */
static bool checked_lately(const struct pf_fs *fs, const struct pf_version *version)
{
    pf_assert_held(&fs->lock);
    return !fs->options.others && version->entry->version == version &&
           pf_monotonic_ms() - version->checked < LATELY_MS;
}

/* Compares the inputs with the disk. 0; ESTALE if they have changed; or another errno value. */
static int check_inputs(struct pf_fs *fs, const struct pf_place *place, struct pf_op *op)
{
    uint64_t now = pf_monotonic_ms();
    int result = pf_op_errno(op, pf_profile_check(place->profile, &op->error));
    pf_lock_take(&fs->lock);
    place->version->checked = result ? 0 : now;
    pf_lock_drop(&fs->lock);
    return result;
}

int pf_place_enter(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_place *place,
                   struct pf_op *op)
{
    *place = (struct pf_place){.node = {(unsigned)(ino >> 32 & 0xff), (uint32_t)ino}};
    pf_lock_take(&fs->lock);
    if (ino == PF_ROOT_INO) {
        struct pf_entry *root = pf_entry_get(fs, PF_ROOT_INO);
        place->node = (struct pf_node){PF_TOP, 0};
        struct pf_entry_info info = {.type = root->type, .st = root->st, .driver = root->driver};
        place->version = root->version ? root->version : pf_version_of(fs, root, &info);
    } else {
        place->version = pf_map_get(&fs->versions, ino >> 40);
    }
    if (place->version) {
        pf_version_hold(fs, place->version);
        place->told = place->version->access;
        if (check == PF_CHECK_LATELY && checked_lately(fs, place->version))
            check = PF_CHECK_NOT;
    }
    pf_lock_drop(&fs->lock);
    if (!place->version)
        return ESTALE;
    place->profile = pf_version_profile_now(fs, place->version);
    bool open = place->profile != NULL, stale = false;
    int result = open || place->version->failed ? 0 : pf_prepare_profile(fs, place->version, op);
    if (!result && !open) {
        place->profile = pf_version_profile(fs, place->version, op);
        stale = !place->profile && op->error.code == ESTALE;
        if (!place->profile && !place->version->failed && !stale)
            result = pf_op_errno(op, -1);
    }
    if (result) {
        pf_place_leave(place);
        return result;
    }
    pf_version_access(fs, place->version, place->profile);
    if (place->version->failed && place->node.kind != PF_TOP && place->node.kind != PF_ERROR)
        stale = true;
    int changed = check && open ? check_inputs(fs, place, op) : 0;
    if (!changed)
        changed = hold_files(place, op);
    if (changed && changed != ESTALE) {
        pf_place_leave(place);
        return changed;
    }
    if (!stale && !changed)
        return 0;
    result = move(fs, place, op);
    if (!result)
        place->told = pf_version_access(fs, place->version, place->profile);
    return result;
}

bool pf_place_has_narrowed(struct pf_fs *fs, const struct pf_place *place)
{
    struct pf_access now = pf_version_access(fs, place->version, place->profile);
    return fs->options.others && !pf_access_same(&now, &place->told);
}
