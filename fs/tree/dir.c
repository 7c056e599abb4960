/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/recognise.h"
#include "fs/clock.h"
#include "fs/profile/names.h"
#include "fs/tree/vfs_private.h"

/*
 * An open directory: a folder of SOURCE, whose names are read once so that offsets stay valid; a folder inside a
 * profile, whose entries are numbered; or a virtual folder.
 *
 * Opening reads only names. A child is classified when its entry is returned, so a child that hangs blocks only the
 * reader that waits for it. Virtual folders follow the children, once all children have been classified: whether a
 * virtual folder is listed depends on the number of profiles in the folder.
 *
 * Several threads may read a directory at once, each from its own offset. Crawlers keep directories open long after
 * they have read them, so the folder (or the reference into the profile) is closed at the end of the listing and
 * reopened on demand.
 */
struct pf_dir {
    struct pf_fs *fs;
    atomic_uint references;
    uint64_t ino;
    const struct pf_virtual *within; /* the virtual folder that the directory belongs to, or NULL */
    void *self;                      /* state of `within` */
    uint64_t dots[2];                /* d_ino of "." and ".." as shown to programs */
    struct pf_entry *entry;          /* a folder of SOURCE, held; otherwise NULL */
    char *names;                     /* names in the folder of SOURCE; concatenated, each NUL-terminated */
    size_t names_size;
    struct pf_stamp stamp; /* of the folder of SOURCE, before its names were read */
    uint64_t opened;       /* when the folder was opened, in monotonic ms */
    bool in_profile;       /* a folder inside a profile */
    bool superseded;       /* the node number belongs to an old version */

    /* Guarded by fs->lock; `folder` and `ref` are not closed while a reader uses them: */
    unsigned readers;         /* calls of pf_fs_readdir in progress */
    bool at_end;              /* a reader has reached the end: the last reader closes `folder` and `ref` */
    struct pf_folder *folder; /* NULL: closed */
    struct pf_node_ref ref;   /* ref.version NULL: closed */
    size_t counted;           /* the names before this offset are covered by the four members below */
    uint64_t profiles;        /* number of profiles counted */
    bool beside;              /* one of the profiles is made from the folder itself */
    bool plain;               /* the stamp is settled, and no profile or archive has been counted */
    bool folders;             /* a folder has been counted */
    uint64_t end;             /* only virtual folders are shown from this offset on; 0: not known yet */
};

static bool dirent_is_among(const char *names, size_t size, const char *name)
{
    for (size_t at = 0; at < size; at += strlen(names + at) + 1)
        if (!strcmp(names + at, name))
            return true;
    return false;
}

struct dir_names {
    struct pf_buf text;
    const struct pf_dir *dir;
    bool folders; /* at least one entry is a folder or of unknown type */
};

static int add_dirent_name(void *arg, const char *name, unsigned char type)
{
    struct dir_names *names = arg;
    names->folders |= type == DT_DIR || type == DT_UNKNOWN;
    if (!pf_virtual_hides(names->dir->fs, names->dir->ino, name))
        pf_buf_add(&names->text, name, strlen(name) + 1);
    return names->text.failed;
}

/*
 * Reads the names of the folder. A folder with subfolders may be the source of a profile named PF_BESIDE_NAME, so this name
 * is then added to the names, unless an entry has it.
 */
static int read_names(struct pf_dir *dir)
{
    struct dir_names names = {.dir = dir};
    int result = pf_folder_list(dir->folder, add_dirent_name, &names);
    if (names.folders && !dirent_is_among(names.text.data, names.text.size, PF_BESIDE_NAME))
        pf_buf_add(&names.text, PF_BESIDE_NAME, sizeof PF_BESIDE_NAME);
    dir->names = names.text.data;
    dir->names_size = names.text.size;
    return names.text.failed ? ENOMEM : result;
}

/* Sets the inode numbers of "." and ".." to those of the folder `entry` and of its parent. */
static void set_dots(struct pf_dir *dir, const struct pf_entry *entry)
{
    dir->dots[0] = pf_entry_shown_ino(entry);
    dir->dots[1] = entry->parent ? pf_entry_shown_ino(entry->parent) : dir->dots[0];
}

static int open_source_dir(struct pf_dir *dir, struct pf_op *op)
{
    struct pf_fs *fs = dir->fs;
    dir->entry = pf_entry_hold(fs, dir->ino);
    if (!dir->entry)
        return ESTALE;
    set_dots(dir, dir->entry);
    int result = pf_entry_probe(fs, dir->entry);
    if (!result)
        result = pf_prepare_index(fs, dir->entry, op);
    if (result)
        return result;
    dir->folder = pf_entry_folder(fs, dir->entry, false);
    if (!dir->folder)
        return errno == ENOENT ? ESTALE : errno;
    result = pf_prepare_look(fs, dir->entry, dir->folder, NULL, op);
    if (result)
        return result;
    struct stat st;
    dir->opened = pf_monotonic_ms();
    if (pf_folder_fd(dir->folder) >= 0 && !pf_folder_stat(dir->folder, ".", &st)) {
        dir->stamp = pf_stamp_of(&st);
        dir->plain = pf_stamp_is_settled(&dir->stamp);
    }
    return read_names(dir);
}

/* Opens a reference to the folder of a profile. 0 with *ref filled, or an errno value with ref->version NULL. */
static int open_ref(const struct pf_dir *dir, struct pf_node_ref *ref, struct pf_op *op)
{
    int result = pf_node_ref_open(dir->fs, dir->ino, PF_CHECK_NOW, ref, op);
    if (result) {
        ref->version = NULL;
        return result;
    }
    if (!pf_is_folder(ref->node.kind)) {
        result = ENOTDIR;
    } else if (ref->profile) {
        result = pf_op_errno(op, pf_profile_ready(ref->profile, ref->node, op));
        if (!result && ref->node.kind != PF_TOP && pf_node_ref_is_restricted(ref))
            result = ESTALE;
    }
    if (result) {
        pf_node_ref_close(ref);
        ref->version = NULL;
    }
    return result;
}

static int open_profile_dir(struct pf_dir *dir, struct pf_op *op)
{
    int result = open_ref(dir, &dir->ref, op);
    if (result)
        return result;
    dir->in_profile = true;
    dir->superseded = dir->ref.superseded;
    if (dir->ref.node.kind == PF_TOP)
        set_dots(dir, dir->ref.version->entry);
    return 0;
}

static int open_dir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir, struct pf_op *op)
{
    struct pf_dir *new = calloc(1, sizeof *new);
    if (!new)
        return ENOMEM;
    *new = (struct pf_dir){.fs = fs, .references = 1, .ino = ino, .dots = {ino, ino}};
    int result = 0;
    new->within = pf_virtual_of(fs, ino, &new->self);
    if (new->within)
        result = new->within->opendir(new->self, ino, op);
    else if (pf_in_source(fs, ino))
        result = open_source_dir(new, op);
    else
        result = open_profile_dir(new, op);
    if (result) {
        pf_fs_closedir(new);
        return result;
    }
    *dir = new;
    return 0;
}

int pf_fs_opendir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir, struct pf_op *op)
{
    int result;
    PF_RETRY_FOR_DESCRIPTORS(fs, result, open_dir(fs, ino, dir, op));
    return result;
}

struct pf_dir *pf_dir_hold(struct pf_dir *dir)
{
    atomic_fetch_add(&dir->references, 1);
    return dir;
}

void pf_fs_closedir(struct pf_dir *dir)
{
    struct pf_fs *fs = dir->fs;
    if (atomic_fetch_sub(&dir->references, 1) > 1)
        return;
    if (dir->ref.version)
        pf_node_ref_close(&dir->ref);
    pf_folder_free(dir->folder);
    if (dir->entry)
        pf_entry_release(fs, dir->entry);
    free(dir->names);
    free(dir);
}

bool pf_dir_keeps_cache(const struct pf_dir *dir)
{
    return dir->in_profile && !dir->superseded && dir->ino != PF_ROOT_INO;
}

/* ---- readers ------------------------------------------------------------------------------------ */

/* Prevents the closing of `folder` and `ref` until end_reading. */
static void begin_reading(struct pf_dir *dir)
{
    pf_lock_take(&dir->fs->lock);
    dir->readers++;
    pf_lock_drop(&dir->fs->lock);
}

static void end_reading(struct pf_dir *dir)
{
    struct pf_folder *folder = NULL;
    struct pf_node_ref ref = {.version = NULL};
    pf_lock_take(&dir->fs->lock);
    if (--dir->readers == 0 && dir->at_end) {
        folder = dir->folder;
        ref = dir->ref;
        dir->folder = NULL;
        dir->ref.version = NULL;
        dir->at_end = false;
    }
    pf_lock_drop(&dir->fs->lock);
    pf_folder_free(folder);
    if (ref.version)
        pf_node_ref_close(&ref);
}

static uint64_t known_end(const struct pf_dir *dir)
{
    pf_lock_take(&dir->fs->lock);
    uint64_t end = dir->end;
    pf_lock_drop(&dir->fs->lock);
    return end;
}

/* Records that a reader has reached the end: from `offset` on there are only virtual folders. */
static void note_end(struct pf_dir *dir, uint64_t offset)
{
    pf_lock_take(&dir->fs->lock);
    dir->at_end = true;
    dir->end = offset;
    pf_lock_drop(&dir->fs->lock);
}

/* The folder of SOURCE, opened again if it has been closed; NULL with errno. Borrowed until end_reading. */
static struct pf_folder *folder_of(struct pf_dir *dir)
{
    struct pf_fs *fs = dir->fs;
    pf_lock_take(&fs->lock);
    struct pf_folder *folder = dir->folder, *new = NULL;
    pf_lock_drop(&fs->lock);
    if (folder)
        return folder;
    int code;
    PF_RETRY_FOR_DESCRIPTORS(fs, code, (new = pf_entry_folder(fs, dir->entry, false)) ? 0 : errno);
    if (code) {
        errno = code;
        return NULL;
    }
    pf_lock_take(&fs->lock);
    folder = dir->folder; /* another reader may have opened it meanwhile */
    if (!folder)
        dir->folder = new;
    pf_lock_drop(&fs->lock);
    if (!folder)
        return new;
    pf_folder_free(new);
    return folder;
}

/* As folder_of, for a folder of a profile. 0 with *ref filled, or an errno value. */
static int ref_of(struct pf_dir *dir, struct pf_node_ref *ref, struct pf_op *op)
{
    struct pf_fs *fs = dir->fs;
    pf_lock_take(&fs->lock);
    *ref = dir->ref;
    pf_lock_drop(&fs->lock);
    if (ref->version)
        return 0;
    struct pf_node_ref new;
    int result = open_ref(dir, &new, op);
    if (result)
        return result;
    if (new.superseded) { /* the version that was listed is no longer the newest */
        pf_node_ref_close(&new);
        return ESTALE;
    }
    pf_lock_take(&fs->lock);
    bool first = !dir->ref.version;
    if (first)
        dir->ref = new;
    *ref = dir->ref;
    pf_lock_drop(&fs->lock);
    if (!first)
        pf_node_ref_close(&new);
    return 0;
}

/* ---- entries ------------------------------------------------------------------------------------ */

/*
 * Offsets: 1 is after ".", 2 is after "..". Larger offsets are DOTS + the position in the folder: an offset into the
 * names, or an entry number.
 */
enum { DOTS = 2 };

static int dot_entry(const struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry)
{
    strcpy(entry->name, offset ? ".." : ".");
    entry->ino = dir->dots[offset];
    entry->type = DT_DIR;
    entry->next = offset + 1;
    return 1;
}

static unsigned char dirent_type_of(const struct stat *st)
{
    return (unsigned char)((st->st_mode & S_IFMT) >> 12);
}

/*
 * Finds the first virtual folder of the directory from number *number on; *number receives its number. Fills *attr only
 * if the virtual folder hides entries of SOURCE: the attributes of the others depend on all profiles in the directory.
 * Returns 1, or 0 if there is none.
 */
static int virtual_entry(const struct pf_dir *dir, size_t *number, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr)
{
    struct pf_fs *fs = dir->fs;
    const struct pf_virtual *at;
    pf_lock_take(&fs->lock);
    uint64_t profiles = dir->profiles;
    bool beside = dir->beside;
    pf_lock_drop(&fs->lock);
    for (; fs->options.virtuals && (at = fs->options.virtuals[*number]); ++*number) {
        void *self = fs->virtuals[*number];
        if (dirent_is_among(dir->names, dir->names_size, at->name) ||
            !at->is_listed(self, dir->ino, profiles, beside))
            continue;
        struct pf_attr top = {.st = {.st_ino = 0}};
        struct pf_op op = PF_OP;
        if (at->hides && at->find(self, &(struct pf_virtual_parent){.ino = dir->ino}, &top, &op))
            continue;
        strcpy(entry->name, at->name);
        entry->ino = at->hides ? top.st.st_ino : pf_shown_ino(dir->entry, at->name);
        entry->type = DT_DIR;
        if (want_attr)
            *attr = top;
        return 1;
    }
    return 0;
}

/* Fills an entry for a child whose type could not be determined. */
static int unknown_entry(const struct pf_dir *dir, uint64_t at, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr)
{
    strcpy(entry->name, dir->names + at);
    entry->next = DOTS + at + strlen(entry->name) + 1;
    entry->ino = pf_shown_ino(dir->entry, entry->name);
    entry->type = DT_UNKNOWN;
    if (want_attr)
        attr->st.st_ino = 0;
    return 1;
}

/* Classifies the child whose name is at an offset, and counts it if it has not been counted. 0 or an errno value. */
static int look_at_child(struct pf_dir *dir, const struct pf_folder *folder, size_t at,
                         struct pf_entry_info *info)
{
    const char *name = dir->names + at;
    int code = ENAMETOOLONG;
    if (strlen(name) <= NAME_MAX)
        PF_RETRY_FOR_DESCRIPTORS(dir->fs, code, pf_classify_in_time(dir->fs, folder, name, info));
    bool profile = !code && info->type == PF_ENTRY_PROFILE;
    bool beside = profile && pf_driver_extra_of(info->driver)->beside;
    pf_lock_take(&dir->fs->lock);
    if (at == dir->counted && !pf_is_out_of_resources(code)) {
        dir->counted += strlen(name) + 1;
        dir->profiles += profile;
        dir->beside |= beside;
        dir->plain &= (!code || code == ENOENT) && !profile && !info->packed;
        dir->folders |= !code && info->type == PF_ENTRY_DIR;
    }
    pf_lock_drop(&dir->fs->lock);
    return code;
}

static size_t next_uncounted(const struct pf_dir *dir)
{
    pf_lock_take(&dir->fs->lock);
    size_t at = dir->counted;
    pf_lock_drop(&dir->fs->lock);
    return at;
}

/* Classifies and counts the remaining children: readers need not have started at the first one. 0 or an errno value. */
static int count_children(struct pf_dir *dir)
{
    size_t at = next_uncounted(dir);
    struct pf_folder *folder = at < dir->names_size ? folder_of(dir) : NULL;
    if (at < dir->names_size && !folder)
        return errno;
    for (; at < dir->names_size; at = next_uncounted(dir)) {
        struct pf_entry_info info = {0};
        int code = look_at_child(dir, folder, at, &info);
        if (pf_is_out_of_resources(code))
            return code;
    }
    return 0;
}

/* Fills an entry for a child, with attributes if wanted. False: the child is hidden. */
static bool child_entry(struct pf_dir *dir, const char *name, struct pf_entry_info *info,
                        struct pf_dirent *entry, bool want_attr, struct pf_attr *attr)
{
    struct pf_fs *fs = dir->fs;
    if (fs->options.only_profiles && info->type != PF_ENTRY_PROFILE && info->type != PF_ENTRY_DIR)
        return false;
    strcpy(entry->name, name);
    entry->type = info->type == PF_ENTRY_PROFILE ? DT_DIR : dirent_type_of(&info->st);
    entry->ino = pf_shown_ino(dir->entry, name);
    if (want_attr) {
        pf_lock_take(&fs->lock);
        if (pf_entry_register(fs, dir->entry, name, info, attr))
            attr->st.st_ino = 0;
        pf_lock_drop(&fs->lock);
    }
    return true;
}

/*
 * Fills *entry with the first shown entry from `at` on: an offset into the names, or names_size + the number of a virtual
 * folder. Returns 1; 0 at the end; or a negative errno value.
 */
static int source_entry(struct pf_dir *dir, uint64_t at, struct pf_dirent *entry, bool want_attr,
                        struct pf_attr *attr)
{
    uint64_t end = known_end(dir), start = at < dir->names_size ? at : dir->names_size;
    if (end && DOTS + start >= end && at < dir->names_size)
        at = dir->names_size;
    struct pf_folder *folder = at < dir->names_size ? folder_of(dir) : NULL;
    if (at < dir->names_size && !folder)
        return -errno;
    for (; at < dir->names_size; at += strlen(dir->names + at) + 1) {
        struct pf_entry_info info = {0};
        const char *name = dir->names + at;
        int code = look_at_child(dir, folder, at, &info);
        if (pf_is_out_of_resources(code))
            return -code;
        entry->next = DOTS + at + strlen(name) + 1;
        if (pf_is_transient(code)) /* report the error at look-up; do not hide the other entries */
            return unknown_entry(dir, at, entry, want_attr, attr);
        /* skip an entry that is hidden or was removed meanwhile */
        if (!code && child_entry(dir, name, &info, entry, want_attr, attr))
            return 1;
    }
    int failure = count_children(dir);
    if (failure)
        return -failure;
    note_end(dir, DOTS + start);
    if (dir->plain)
        pf_entry_set_plain(dir->fs, dir->entry, &dir->stamp, dir->opened, dir->folders);
    size_t number = at - dir->names_size;
    int more = virtual_entry(dir, &number, entry, want_attr, attr);
    entry->next = DOTS + dir->names_size + number + 1;
    return more;
}

/* Finds the first visible entry of the folder from number *number on; *number receives its number. False at the end. */
static bool next_listed(const struct pf_node_ref *ref, uint64_t *number, char *name, struct pf_node *node)
{
    while (pf_folder_entry(ref->profile, ref->node, *number, name, node)) {
        if (!pf_is_hidden(node->kind))
            return true;
        ++*number;
    }
    return false;
}

static bool has_entry(const struct pf_node_ref *ref, uint64_t number)
{
    char name[PF_NAME_MAX + 1];
    struct pf_node node;
    return ref->profile ? pf_folder_entry(ref->profile, ref->node, number, name, &node) : number == 0;
}

/* If SOURCE is a profile, virtual folders follow the entries of the profile and continue the numbering. */
static int end_of_profile(const struct pf_dir *dir, const struct pf_node_ref *ref, uint64_t asked,
                          struct pf_dirent *entry, bool want_attr, struct pf_attr *attr)
{
    size_t number = 0;
    if (dir->ino != PF_ROOT_INO)
        return 0;
    while (asked && !has_entry(ref, asked - 1)) {
        asked--;
        number++;
    }
    while (has_entry(ref, asked))
        asked++;
    int more = virtual_entry(dir, &number, entry, want_attr, attr);
    entry->next = DOTS + asked + number + 1;
    return more;
}

static int profile_entry(const struct pf_dir *dir, const struct pf_node_ref *ref, uint64_t number,
                         struct pf_dirent *entry, bool want_attr, struct pf_attr *attr, struct pf_op *op)
{
    struct pf_node node = {PF_ERROR, 0};
    uint64_t asked = number;
    bool more = ref->profile ? next_listed(ref, &number, entry->name, &node) : number == 0;
    entry->next = DOTS + number + 1;
    if (!more)
        return end_of_profile(dir, ref, asked, entry, want_attr, attr);
    if (!ref->profile)
        strcpy(entry->name, "error.txt");
    entry->type = pf_is_folder(node.kind) ? DT_DIR : pf_is_link(node.kind) ? DT_LNK : DT_REG;
    entry->ino = pf_ino(ref->version->id, node.kind, node.item);
    if (want_attr && node.kind != PF_SOURCE_FOLDER) {
        if (pf_node_ref_attr(ref, node, false, attr, op)) {
            attr->st.st_ino = 0;
        } else {
            pf_lock_take(&dir->fs->lock);
            ref->version->lookups++;
            pf_lock_drop(&dir->fs->lock);
        }
    }
    return 1;
}

static int counted_entry(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr, struct pf_op *op)
{
    struct pf_node_ref ref;
    uint64_t end = known_end(dir);
    if (end && offset >= end)
        return 0;
    int result = ref_of(dir, &ref, op);
    if (result)
        return -result;
    int more = profile_entry(dir, &ref, offset - DOTS, entry, want_attr, attr, op);
    if (!more)
        note_end(dir, offset);
    return more;
}

static int find_entry(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                      struct pf_attr *attr, struct pf_op *op)
{
    *entry = (struct pf_dirent){0};
    if (want_attr)
        *attr = (struct pf_attr){0};
    if (offset < DOTS)
        return dot_entry(dir, offset, entry);
    if (dir->entry)
        return source_entry(dir, offset - DOTS, entry, want_attr, attr);
    if (dir->in_profile)
        return counted_entry(dir, offset, entry, want_attr, attr, op);
    entry->next = offset + 1;
    return dir->within->entry(dir->self, dir->ino, offset - DOTS, entry);
}

int pf_fs_readdir(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                  struct pf_attr *attr, struct pf_op *op)
{
    begin_reading(dir);
    int more = find_entry(dir, offset, entry, want_attr, attr, op);
    end_reading(dir);
    return more;
}
