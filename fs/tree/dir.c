/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/recognise.h"
#include "fs/profile/names.h"
#include "fs/tree/vfs_private.h"

/*
 * An open directory: a folder of SOURCE, whose names are read once so that offsets stay valid; a folder inside a
 * profile, whose entries are numbered; or a virtual folder.
 *
 * Opening reads only names. A child is classified when its entry is returned, so a child that hangs blocks only the
 * rest of this listing. Virtual folders follow the children, once all children have been classified: whether a virtual
 * folder is listed depends on the number of profiles in the folder.
 */
struct pf_dir {
    struct pf_fs *fs;
    atomic_uint references;
    struct pf_lock listing; /* held while an entry is computed; guards the members below */
    uint64_t ino;
    bool root;
    const struct pf_virtual *within; /* the virtual folder that the directory belongs to, or NULL */
    void *self;                      /* state of `within` */
    uint64_t dots[2];                /* d_ino of "." and ".." as shown to programs */
    /* a folder of SOURCE: */
    struct pf_entry *entry;   /* held; NULL: not a folder of SOURCE */
    struct pf_folder *folder; /* NULL after the end has been reached: crawlers keep directories open long after that */
    char *names;              /* concatenated, each NUL-terminated */
    size_t names_size;
    size_t counted;    /* names up to this offset have been counted in: */
    uint64_t profiles; /* number of profiles */
    bool beside;       /* one of the profiles is made from the folder itself */
    /* a folder inside a profile: */
    bool in_profile;
    struct pf_place place; /* place.instance is NULL after the end has been reached */
    uint64_t end;          /* the offset after the last entry; 0: not known yet */
};

static bool is_among(const char *names, size_t size, const char *name)
{
    for (size_t at = 0; at < size; at += strlen(names + at) + 1)
        if (!strcmp(names + at, name))
            return true;
    return false;
}

struct names {
    struct pf_buf text;
    const struct pf_dir *dir;
    bool folders; /* some entries are folders, or may be */
};

static int add_name(void *arg, const char *name, unsigned char type)
{
    struct names *names = arg;
    names->folders |= type == DT_DIR || type == DT_UNKNOWN;
    if (!pf_virtual_hides(names->dir->fs, names->dir->ino, name))
        pf_buf_add(&names->text, name, strlen(name) + 1);
    return names->text.failed;
}

/*
 * Reads the names of the folder. A folder with subfolders may itself make a profile, although most do not: appends
 * PF_BESIDE_NAME unless an entry has that name.
 */
static int read_names(struct pf_dir *dir)
{
    struct names names = {.dir = dir};
    int result = pf_folder_list(dir->folder, add_name, &names);
    if (names.folders && !is_among(names.text.data, names.text.size, PF_BESIDE_NAME))
        pf_buf_add(&names.text, PF_BESIDE_NAME, sizeof PF_BESIDE_NAME);
    dir->names = names.text.data;
    dir->names_size = names.text.size;
    return names.text.failed ? ENOMEM : result;
}

/* Sets the inode numbers of "." and ".." for a folder with an entry. */
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
    return result ? result : read_names(dir);
}

static void leave_profile(struct pf_dir *dir)
{
    pf_place_leave(&dir->place);
    dir->place.instance = NULL;
}

static int open_profile_dir(struct pf_dir *dir, struct pf_op *op)
{
    struct pf_place *place = &dir->place;
    int result = pf_place_enter(dir->fs, dir->ino, PF_CHECK_NOW, place, op);
    if (result) {
        place->instance = NULL;
        return result;
    }
    dir->in_profile = true;
    if (place->node.kind == PF_TOP)
        set_dots(dir, place->instance->entry);
    if (!pf_is_folder(place->node.kind)) {
        result = ENOTDIR;
    } else if (place->profile) {
        result = pf_op_errno(op, pf_profile_ready(place->profile, place->node, op));
        if (!result && place->node.kind != PF_TOP && pf_place_has_narrowed(dir->fs, place))
            result = ESTALE;
    }
    if (result)
        leave_profile(dir);
    return result;
}

static int open_dir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir, struct pf_op *op)
{
    struct pf_dir *new = calloc(1, sizeof *new);
    if (!new)
        return ENOMEM;
    *new = (struct pf_dir){.fs = fs,
                           .references = 1,
                           .listing = PF_LOCK_INITIALIZER(PF_RANK_DIRECTORY),
                           .ino = ino,
                           .root = ino == PF_ROOT_INO,
                           .dots = {ino, ino}};
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
    PF_WITH_DESCRIPTORS(fs, result, open_dir(fs, ino, dir, op));
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
    if (dir->place.instance)
        leave_profile(dir);
    pf_folder_free(dir->folder);
    if (dir->entry)
        pf_entry_release(fs, dir->entry);
    free(dir->names);
    pf_lock_destroy(&dir->listing);
    free(dir);
}

bool pf_dir_keeps_cache(const struct pf_dir *dir)
{
    return dir->in_profile && !dir->place.moved && dir->ino != PF_ROOT_INO;
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

static unsigned char type_of(const struct stat *st)
{
    return (unsigned char)((st->st_mode & S_IFMT) >> 12);
}

/*
 * Returns the first virtual folder listed here whose number is at least *number, and sets *number to it. Attributes are
 * included only if they do not require examining the contents of the folder.
 */
static int virtual_entry(struct pf_dir *dir, size_t *number, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr)
{
    const struct pf_fs *fs = dir->fs;
    const struct pf_virtual *at;
    for (; fs->options.virtuals && (at = fs->options.virtuals[*number]); ++*number) {
        void *self = fs->virtuals[*number];
        if (is_among(dir->names, dir->names_size, at->name) ||
            !at->is_listed(self, dir->ino, dir->profiles, dir->beside))
            continue;
        struct pf_attr top = {.st = {.st_ino = 0}};
        if (at->hides && at->find(self, &(struct pf_virtual_place){.ino = dir->ino}, &top))
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

/* Reopens the folder if it is listed again after its end, or closes it at the end of the names. 0 or an errno value. */
static int reopen(struct pf_dir *dir, uint64_t at)
{
    int result = 0;
    if (at < dir->names_size && !dir->folder) {
        PF_WITH_DESCRIPTORS(dir->fs, result,
                            (dir->folder = pf_entry_folder(dir->fs, dir->entry, false)) ? 0 : errno);
    } else if (at >= dir->names_size) {
        pf_folder_free(dir->folder);
        dir->folder = NULL;
    }
    return result;
}

/* Fills an entry of unknown type. */
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
static int look_at_child(struct pf_dir *dir, size_t at, struct pf_entry_info *info)
{
    const char *name = dir->names + at;
    int code = ENAMETOOLONG;
    if (strlen(name) <= NAME_MAX)
        PF_WITH_DESCRIPTORS(dir->fs, code, pf_classify_in_time(dir->fs, dir->folder, name, info));
    if (at == dir->counted && !pf_is_lack(code)) {
        bool profile = !code && info->type == PF_ENTRY_PROFILE;
        dir->counted += strlen(name) + 1;
        dir->profiles += profile;
        dir->beside |= profile && pf_driver_extra_of(info->driver)->beside;
    }
    return code;
}

/* Counts the children that have not been counted, because the listing started after them. 0 or an errno value. */
static int count_children(struct pf_dir *dir)
{
    int lack = dir->counted < dir->names_size ? reopen(dir, dir->counted) : 0;
    while (!lack && dir->counted < dir->names_size) {
        struct pf_entry_info info = {0};
        int code = look_at_child(dir, dir->counted, &info);
        lack = pf_is_lack(code) ? code : 0;
    }
    return lack;
}

/* Fills an entry for a child, with attributes if wanted. False: the child is hidden. */
static bool child_entry(struct pf_dir *dir, const char *name, struct pf_entry_info *info,
                        struct pf_dirent *entry, bool want_attr, struct pf_attr *attr)
{
    struct pf_fs *fs = dir->fs;
    if (fs->options.only_profiles && info->type != PF_ENTRY_PROFILE && info->type != PF_ENTRY_DIR)
        return false;
    strcpy(entry->name, name);
    entry->type = info->type == PF_ENTRY_PROFILE ? DT_DIR : type_of(&info->st);
    entry->ino = pf_shown_ino(dir->entry, name);
    if (want_attr) {
        pf_lock_take(&fs->lock);
        if (pf_entry_attr(fs, dir->entry, name, info, attr))
            attr->st.st_ino = 0;
        pf_lock_drop(&fs->lock);
    }
    return true;
}

/* Returns the entry at position `at`: an offset into the names, followed by the numbers of virtual folders. */
static int source_entry(struct pf_dir *dir, uint64_t at, struct pf_dirent *entry, bool want_attr,
                        struct pf_attr *attr)
{
    int lack = at < dir->names_size ? reopen(dir, at) : 0;
    for (; !lack && at < dir->names_size; at += strlen(dir->names + at) + 1) {
        struct pf_entry_info info = {0};
        const char *name = dir->names + at;
        int code = look_at_child(dir, at, &info);
        if (pf_is_lack(code))
            return -code;
        entry->next = DOTS + at + strlen(name) + 1;
        if (pf_is_transient(code)) /* report the error at look-up; do not hide the other entries */
            return unknown_entry(dir, at, entry, want_attr, attr);
        if (!code && child_entry(dir, name, &info, entry, want_attr,
                                 attr)) /* otherwise removed meanwhile, or hidden */
            return 1;
    }
    if (!lack)
        lack = count_children(dir);
    if (lack)
        return -lack;
    size_t number = at - dir->names_size;
    reopen(dir, dir->names_size);
    int more = virtual_entry(dir, &number, entry, want_attr, attr);
    entry->next = DOTS + dir->names_size + number + 1;
    return more;
}

/* Enters a folder of a profile again if it is listed again after its end. 0 or an errno value. */
static int enter_again(struct pf_dir *dir, struct pf_op *op)
{
    int result = open_profile_dir(dir, op);
    if (!result && dir->place.moved) { /* the listed version is gone */
        leave_profile(dir);
        result = ESTALE;
    }
    return result;
}

/*
 * Returns the first listed entry whose number is at least *number, and sets *number to it; at the end, to the number of
 * entries. False at the end.
 */
static bool next_listed(const struct pf_place *place, uint64_t *number, char *name, struct pf_node *node)
{
    while (pf_folder_entry(place->profile, place->node, *number, name, node)) {
        if (!pf_is_hidden(node->kind))
            return true;
        ++*number;
    }
    return false;
}

static bool has_entry(const struct pf_place *place, uint64_t number)
{
    char name[PF_NAME_MAX + 1];
    struct pf_node node;
    return place->profile ? pf_folder_entry(place->profile, place->node, number, name, &node) : number == 0;
}

/* If SOURCE is a profile, virtual folders follow the entries of the profile and continue their numbers. */
static int end_of_profile(struct pf_dir *dir, uint64_t asked, struct pf_dirent *entry, bool want_attr,
                          struct pf_attr *attr)
{
    size_t number = 0;
    if (!dir->root)
        return 0;
    while (asked && !has_entry(&dir->place, asked - 1)) {
        asked--;
        number++;
    }
    while (has_entry(&dir->place, asked))
        asked++;
    int more = virtual_entry(dir, &number, entry, want_attr, attr);
    entry->next = DOTS + asked + number + 1;
    return more;
}

static int profile_entry(struct pf_dir *dir, uint64_t number, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr, struct pf_op *op)
{
    struct pf_place *place = &dir->place;
    struct pf_node node = {PF_ERROR, 0};
    uint64_t asked = number;
    bool more = place->profile ? next_listed(place, &number, entry->name, &node) : number == 0;
    entry->next = DOTS + number + 1;
    if (!more)
        return end_of_profile(dir, asked, entry, want_attr, attr);
    if (!place->profile)
        strcpy(entry->name, "error.txt");
    entry->type = pf_is_folder(node.kind) ? DT_DIR : pf_is_link(node.kind) ? DT_LNK : DT_REG;
    entry->ino = pf_ino(place->instance->id, node.kind, node.item);
    if (want_attr && node.kind != PF_SOURCE_FOLDER) {
        if (pf_place_attr(dir->fs, place, node, false, attr, op)) {
            attr->st.st_ino = 0;
        } else {
            pf_lock_take(&dir->fs->lock);
            place->instance->lookups++;
            pf_lock_drop(&dir->fs->lock);
        }
    }
    return 1;
}

static int counted_entry(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr, struct pf_op *op)
{
    int lack = dir->place.instance ? 0 : enter_again(dir, op);
    int more = lack ? -lack : profile_entry(dir, offset - DOTS, entry, want_attr, attr, op);
    if (!more) {
        dir->end = offset;
        leave_profile(dir);
    }
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
        return dir->end && offset >= dir->end ? 0 : counted_entry(dir, offset, entry, want_attr, attr, op);
    entry->next = offset + 1;
    return dir->within->entry(dir->self, dir->ino, offset - DOTS, entry);
}

int pf_fs_readdir(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                  struct pf_attr *attr, struct pf_op *op)
{
    pf_lock_take(&dir->listing);
    int more = find_entry(dir, offset, entry, want_attr, attr, op);
    pf_lock_drop(&dir->listing);
    return more;
}
