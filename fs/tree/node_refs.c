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

void pf_node_ref_close(struct pf_node_ref *ref)
{
    if (ref->holds_files)
        pf_profile_release_files(ref->profile);
    pf_profile_release(ref->profile);
    pf_version_release(ref->version);
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
static int hold_files(struct pf_node_ref *ref, struct pf_op *op)
{
    int result = ref->profile ? pf_op_errno(op, pf_profile_hold_files(ref->profile, &op->error)) : 0;
    ref->holds_files = ref->profile && !result;
    return result;
}

/* Opens the version that is on disk now. 0, or an errno value with nothing to close. */
static int open_present(struct pf_fs *fs, const struct pf_version *old, struct pf_node_ref *to,
                        struct pf_op *op)
{
    int result = pf_version_renew(fs, old, &to->version);
    if (result)
        return result == ENOENT ? ESTALE : result; /* the next look-up of the path finds the new node */
    result = pf_version_is_broken(to->version) ? 0 : pf_prepare_profile(fs, to->version, op);
    if (!result)
        to->profile = pf_version_profile(fs, to->version, op);
    if (!result && !to->profile && !pf_version_is_broken(to->version))
        result = pf_op_errno(op, -1);
    if (!result)
        result = hold_files(to, op);
    if (result)
        pf_node_ref_close(to);
    return result;
}

/* Replaces a reference to a node of an old version by one to the node of the same path in the current version. */
static int follow_to_present(struct pf_fs *fs, struct pf_node_ref *ref, struct pf_op *op)
{
    struct pf_node_ref to = {.node = ref->node, .superseded = true};
    if (!ref->profile && ref->node.kind != PF_TOP)
        /* read now: the names of the current version will replace the cached ones */
        ref->profile = pf_version_old_names(fs, ref->version);
    int result = open_present(fs, ref->version, &to, op);
    if (!result && ref->node.kind != PF_TOP) {
        result = to.profile && ref->profile ? follow(ref->profile, to.profile, &to.node, op) : ESTALE;
        if (result)
            pf_node_ref_close(&to);
    }
    pf_node_ref_close(ref);
    *ref = to;
    return result;
}

/*
 * True if the inputs have been checked within LATELY_MS. Always false if users other than the mounter have access: the
 * access rights must be current.
 */
static bool checked_lately(const struct pf_fs *fs, const struct pf_version *version)
{
    pf_assert_held(&fs->lock);
    return !fs->options.others && !pf_version_is_stale(version) &&
           pf_monotonic_ms() - version->checked < LATELY_MS;
}

/* Compares the inputs with the disk. 0; ESTALE if they have changed; or another errno value. */
static int check_inputs(struct pf_fs *fs, const struct pf_node_ref *ref, struct pf_op *op)
{
    uint64_t now = pf_monotonic_ms();
    int result = pf_op_errno(op, pf_profile_check(ref->profile, &op->error));
    pf_lock_take(&fs->lock);
    ref->version->checked = result ? 0 : now;
    pf_lock_drop(&fs->lock);
    return result;
}

int pf_node_ref_open(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_node_ref *ref,
                     struct pf_op *op)
{
    *ref = (struct pf_node_ref){.node = {(unsigned)(ino >> 32 & 0xff), (uint32_t)ino}};
    pf_lock_take(&fs->lock);
    if (ino == PF_ROOT_INO) {
        struct pf_entry *root = pf_entry_get(fs, PF_ROOT_INO);
        ref->node = (struct pf_node){PF_TOP, 0};
        struct pf_entry_info info = {.type = root->type, .st = root->st, .driver = root->driver};
        ref->version = root->version ? root->version : pf_version_of(fs, root, &info);
    } else {
        ref->version = pf_map_get(&fs->versions, ino >> 40);
    }
    if (ref->version) {
        pf_version_hold(fs, ref->version);
        ref->reported = ref->version->access;
        if (check == PF_CHECK_LATELY && checked_lately(fs, ref->version))
            check = PF_CHECK_NOT;
    }
    pf_lock_drop(&fs->lock);
    if (!ref->version)
        return ESTALE;
    ref->profile = pf_version_profile_now(fs, ref->version);
    bool open = ref->profile != NULL, stale = false;
    int result = open || pf_version_is_broken(ref->version) ? 0 : pf_prepare_profile(fs, ref->version, op);
    if (!result && !open) {
        ref->profile = pf_version_profile(fs, ref->version, op);
        stale = !ref->profile && op->error.code == ESTALE;
        if (!ref->profile && !pf_version_is_broken(ref->version) && !stale)
            result = pf_op_errno(op, -1);
    }
    if (result) {
        pf_node_ref_close(ref);
        return result;
    }
    pf_version_access(fs, ref->version, ref->profile);
    if (pf_version_is_broken(ref->version) && ref->node.kind != PF_TOP && ref->node.kind != PF_ERROR)
        stale = true;
    int changed = check && open ? check_inputs(fs, ref, op) : 0;
    if (!changed)
        changed = hold_files(ref, op);
    if (changed && changed != ESTALE) {
        pf_node_ref_close(ref);
        return changed;
    }
    if (!stale && !changed)
        return 0;
    result = follow_to_present(fs, ref, op);
    if (!result)
        ref->reported = pf_version_access(fs, ref->version, ref->profile);
    return result;
}

bool pf_node_ref_is_restricted(struct pf_fs *fs, const struct pf_node_ref *ref)
{
    struct pf_access now = pf_version_access(fs, ref->version, ref->profile);
    return fs->options.others && !pf_access_same(&now, &ref->reported);
}
