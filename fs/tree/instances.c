/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/profile/names.h"
#include "fs/tree/vfs_private.h"

enum {
    DEPTH_MAX = 4096, /* how deep a folder of an old version is found again in the new one */
    LATELY_MS = 1000, /* for which a look-up believes that nothing has changed */
};

/* ---- instances ---------------------------------------------------------------------------------- */

static bool same_version(const struct stat *a, const struct stat *b)
{
    struct pf_stamp x = pf_stamp_of(a), y = pf_stamp_of(b);
    return pf_stamp_same(&x, &y);
}

static struct pf_instance *new_instance(struct pf_fs *fs, struct pf_entry *entry,
                                        const struct pf_found *found)
{
    struct pf_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    do /* 24 bits; a number that is still known is passed over */
        instance->id = fs->next_instance = fs->next_instance % 0xffffff + 1;
    while (pf_map_get(&fs->instances, instance->id));
    if (!pf_map_put(&fs->instances, instance->id, instance)) {
        free(instance);
        return NULL;
    }
    instance->entry = entry;
    instance->driver = found->driver;
    instance->st = found->st;
    instance->access = pf_access_of(&found->st);
    pthread_mutex_init(&instance->opening, NULL);
    entry->holds++;
    return instance;
}

void pf_instance_leave(struct pf_fs *fs, struct pf_entry *entry)
{
    struct pf_instance *old = entry->instance;
    entry->instance = NULL;
    if (old)
        pf_instance_settle(fs, old);
}

struct pf_instance *pf_instance_of(struct pf_fs *fs, struct pf_entry *entry, const struct pf_found *found)
{
    struct pf_instance *present = entry->instance;
    if (present && present->driver == found->driver && same_version(&present->st, &found->st))
        return present;
    pf_instance_leave(fs, entry);
    entry->instance = new_instance(fs, entry, found);
    return entry->instance;
}

void pf_instance_settle(struct pf_fs *fs, struct pf_instance *instance)
{
    struct pf_entry *entry = instance->entry;
    bool present = entry->instance == instance;
    if (instance->profile && !present && !instance->uses)
        pf_open_let_go(fs, instance);
    if (instance->lookups || instance->uses)
        return;
    if (instance->profile && present)
        return; /* stays open until others push it out */
    if (instance->profile)
        pf_profile_release(pf_open_shut(fs, instance));
    if (present)
        entry->instance = NULL;
    pf_map_remove(&fs->instances, instance->id);
    pthread_mutex_destroy(&instance->opening);
    pf_buf_free(&instance->inputs);
    free(instance->failure);
    free(instance);
    pf_entry_drop(fs, entry);
}

void pf_instance_use(struct pf_fs *fs, struct pf_instance *instance)
{
    instance->uses++;
    pf_open_use(fs, instance);
}

void pf_instance_unuse(struct pf_fs *fs, struct pf_instance *instance)
{
    pthread_mutex_lock(&fs->lock);
    instance->uses--;
    if (instance->profile && !instance->uses)
        pf_open_rest(fs, instance);
    pf_instance_settle(fs, instance);
    pf_open_shrink(fs);
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* True for the version that its entry shows now. */
static bool is_present(struct pf_fs *fs, const struct pf_instance *instance)
{
    pthread_mutex_lock(&fs->lock);
    bool present = instance->entry->instance == instance;
    pthread_mutex_unlock(&fs->lock);
    return present;
}

/* Opens it, or opens it again. What stands there may be another version than the one that its numbers belong to: ESTALE. */
static struct pf_profile *open_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_error *error)
{
    char *path = is_present(fs, instance) ? pf_entry_path(fs, instance->entry) : NULL;
    struct pf_profile *profile = NULL;
    if (path)
        profile = pf_profile_at(&fs->core, instance->driver, path, &instance->st, &instance->inputs, error);
    else
        pf_fail(error, ESTALE, "the file has changed");
    free(path);
    if (!profile && error->code == ENOENT)
        error->code = ESTALE;
    return profile;
}

/* What is open, as a reference; NULL if nothing is, or nothing that is of use. The instance is in use. */
static struct pf_profile *live_now(struct pf_fs *fs, struct pf_instance *instance)
{
    struct pf_profile *spoilt = NULL;
    bool loaded = false;
    pthread_mutex_lock(&fs->lock);
    if (instance->profile && pf_profile_is_spoilt(instance->profile, &loaded) &&
        !pf_shortage_lasts(&instance->shortage))
        spoilt = pf_open_shut(fs, instance);
    if (loaded)
        instance->shortage = (struct pf_shortage){0};
    struct pf_profile *profile = instance->profile ? pf_profile_hold(instance->profile) : NULL;
    pthread_mutex_unlock(&fs->lock);
    pf_profile_release(spoilt);
    if (spoilt)
        pf_open_relieve(fs, 0);
    return profile;
}

struct pf_profile *pf_instance_live(struct pf_fs *fs, struct pf_instance *instance, struct pf_op *op)
{
    struct pf_profile *profile = live_now(fs, instance);
    if (profile)
        return profile;
    pthread_mutex_lock(&instance->opening);
    profile = live_now(fs, instance);
    if (!profile && !instance->failed) {
        uint64_t now = pf_monotonic_ms();
        profile = open_live(fs, instance, &op->error);
        pthread_mutex_lock(&fs->lock);
        if (profile) {
            pf_open_add(fs, instance, profile);
            instance->checked = now;
        } else if (!pf_is_transient(op->error.code)) {
            instance->failure = malloc(sizeof *instance->failure);
            if (instance->failure)
                *instance->failure = op->error;
            instance->failed = instance->failure != NULL;
        }
        pthread_mutex_unlock(&fs->lock);
    } else if (!profile) {
        op->error = *instance->failure;
    }
    pthread_mutex_unlock(&instance->opening);
    return profile;
}

struct pf_access pf_instance_access(struct pf_fs *fs, struct pf_instance *instance, struct pf_profile *profile)
{
    struct pf_access read = {.mode = 0444};
    if (profile)
        read = pf_profile_access(profile);
    pthread_mutex_lock(&fs->lock);
    pf_access_narrow(&instance->access, &read, fs->core.reader);
    struct pf_access access = instance->access;
    pthread_mutex_unlock(&fs->lock);
    return access;
}

void pf_node_stat(const struct pf_instance *instance, const struct pf_access *access, struct pf_node node,
                  struct stat *st)
{
    mode_t readable = access->mode;
    *st = (struct stat){.st_ino = pf_ino(instance->id, node.kind, node.item),
                        .st_nlink = 1,
                        .st_uid = access->uid,
                        .st_gid = access->gid,
                        .st_atim = instance->st.st_mtim,
                        .st_mtim = instance->st.st_mtim,
                        .st_ctim = instance->st.st_mtim,
                        .st_blksize = 4096};
    st->st_mode = pf_is_folder(node.kind) ? S_IFDIR | readable | readable >> 2
                  : pf_is_link(node.kind) ? S_IFLNK | 0777
                                          : S_IFREG | readable;
}

/* ---- places ------------------------------------------------------------------------------------- */

int pf_errno_shown(int code)
{
    switch (code) {
    case EAGAIN: /* rows that differ each time they are made: the file is being written */
        return ESTALE;
    case EBADMSG: /* damaged data, as on a damaged disk */
    case ENODATA:
        return EIO;
    default:
        return code > 0 ? code : EIO;
    }
}

void pf_place_leave(struct pf_fs *fs, struct pf_place *place)
{
    pf_profile_release(place->profile);
    pf_instance_unuse(fs, place->instance);
}

/* Looks at the source again and takes the instance of what is there now. 0 or an errno value. */
static int renew(struct pf_fs *fs, struct pf_instance *old, struct pf_instance **renewed)
{
    struct pf_found found = {0};
    struct pf_entry *entry = old->entry;
    int result;
    if (!entry->parent) {
        result = pf_classify(fs, fs->top, fs->root_name ? fs->root_name : ".", &found);
    } else {
        struct pf_folder *folder = pf_entry_folder(fs, entry->parent, true);
        result = folder ? pf_classify(fs, folder, entry->name, &found) : errno;
        pf_folder_free(folder);
    }
    if (result)
        return result;
    if (found.type != PF_ENTRY_PROFILE)
        return ESTALE;
    pthread_mutex_lock(&fs->lock);
    pf_entry_show(entry, &found);
    /* An input may have changed although the entry itself (a directory, say) looks the same. */
    if (entry->instance == old && same_version(&old->st, &found.st))
        pf_instance_leave(fs, entry);
    *renewed = pf_instance_of(fs, entry, &found);
    if (*renewed)
        pf_instance_use(fs, *renewed);
    pthread_mutex_unlock(&fs->lock);
    return *renewed ? 0 : ENOMEM;
}

/* The node of the same path in a newer version. */
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

/* From a place in an old version to the same in what is there now. */
static int move(struct pf_fs *fs, struct pf_place *place, struct pf_op *op)
{
    struct pf_place to = {.node = place->node, .moved = true};
    int result = renew(fs, place->instance, &to.instance);
    if (!result) {
        to.profile = pf_instance_live(fs, to.instance, op);
        if (!to.profile && !to.instance->failed)
            result = pf_op_errno(op, -1);
        else if (place->node.kind == PF_TOP)
            ;
        else if (to.profile && place->profile)
            result = follow(place->profile, to.profile, &to.node, op);
        else
            result = ESTALE;
        if (result)
            pf_place_leave(fs, &to);
    }
    pf_place_leave(fs, place);
    *place = to;
    return result;
}

/* Seen within a second to be what its entry shows; where others are let in, who may read must be known now. With fs->lock held. */
static bool checked_lately(const struct pf_fs *fs, const struct pf_instance *instance)
{
    return !fs->options.others && instance->entry->instance == instance &&
           pf_monotonic_ms() - instance->checked < LATELY_MS;
}

/* Looks at the inputs. 0; ESTALE if they have changed; or another errno value. */
static int check_inputs(struct pf_fs *fs, const struct pf_place *place, struct pf_op *op)
{
    uint64_t now = pf_monotonic_ms();
    int result = pf_op_errno(op, pf_profile_check(place->profile, &op->error));
    pthread_mutex_lock(&fs->lock);
    place->instance->checked = result ? 0 : now;
    pthread_mutex_unlock(&fs->lock);
    return result;
}

int pf_place_enter(struct pf_fs *fs, uint64_t ino, enum pf_check check, struct pf_place *place,
                   struct pf_op *op)
{
    *place = (struct pf_place){.node = {(unsigned)(ino >> 32 & 0xff), (uint32_t)ino}};
    pthread_mutex_lock(&fs->lock);
    if (ino == PF_ROOT_INO) {
        struct pf_entry *root = pf_entry_get(fs, PF_ROOT_INO);
        place->node = (struct pf_node){PF_TOP, 0};
        struct pf_found found = {.type = root->type, .st = root->st, .driver = root->driver};
        place->instance = root->instance ? root->instance : pf_instance_of(fs, root, &found);
    } else {
        place->instance = pf_map_get(&fs->instances, ino >> 40);
    }
    if (place->instance) {
        pf_instance_use(fs, place->instance);
        place->told = place->instance->access;
        if (check == PF_CHECK_LATELY && checked_lately(fs, place->instance))
            check = PF_CHECK_NOT;
    }
    pthread_mutex_unlock(&fs->lock);
    if (!place->instance)
        return ESTALE;
    place->profile = live_now(fs, place->instance);
    bool open = place->profile != NULL, stale = false;
    int result = open || place->instance->failed ? 0 : pf_prepare_profile(fs, place->instance, op);
    if (!result && !open) {
        place->profile = pf_instance_live(fs, place->instance, op);
        stale = !place->profile && op->error.code == ESTALE;
        if (!place->profile && !place->instance->failed && !stale)
            result = pf_op_errno(op, -1);
    }
    if (result) {
        pf_place_leave(fs, place);
        return result;
    }
    pf_instance_access(fs, place->instance, place->profile);
    if (place->instance->failed && place->node.kind != PF_TOP && place->node.kind != PF_ERROR)
        stale = true;
    int changed = check && open ? check_inputs(fs, place, op) : 0;
    if (changed && changed != ESTALE) {
        pf_place_leave(fs, place);
        return changed;
    }
    if (!stale && !changed)
        return 0;
    result = move(fs, place, op);
    if (!result)
        place->told = pf_instance_access(fs, place->instance, place->profile);
    return result;
}

bool pf_place_has_narrowed(struct pf_fs *fs, const struct pf_place *place)
{
    struct pf_access now = pf_instance_access(fs, place->instance, place->profile);
    return fs->options.others && !pf_access_same(&now, &place->told);
}
