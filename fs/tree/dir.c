/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/profile/names.h"
#include "fs/tree/vfs_private.h"

/*
 * An open directory: a folder of SOURCE, whose names are read once so that offsets stay what they are; a
 * folder inside a profile, whose entries are counted; or .profilefs.
 */
struct pf_dir {
    struct pf_fs *fs;
    atomic_uint references;
    pthread_mutex_t listing; /* held while an entry is found out about; guards what follows */
    uint64_t ino;
    bool root;
    uint64_t dots[2]; /* what programs see as d_ino of "." and ".." */
    /* SOURCE: */
    struct pf_entry *entry;   /* held; NULL: not in SOURCE */
    struct pf_folder *folder; /* NULL: all has been listed; crawlers keep folders open long after that */
    char *names;              /* one after the other, each with its NUL */
    size_t names_size;
    bool runs; /* the last of them is runs/, which is no entry of the folder */
    /* a profile: */
    bool in_profile;
    struct pf_place place; /* place.instance NULL: all has been listed, as above */
    uint64_t end;          /* the offset behind the last entry; 0: not known yet */
};

static bool is_among(const struct pf_buf *names, const char *name)
{
    for (size_t at = 0; at < names->size; at += strlen(names->data + at) + 1)
        if (!strcmp(names->data + at, name))
            return true;
    return false;
}

/*
 * Adds what stands in this folder beside what it holds: a profile made of that, or runs/; a real entry of their names wins. 0, or an
 * errno value if it could not be found out for want of something.
 */
static int add_beside(struct pf_dir *dir, struct pf_buf *names)
{
    struct pf_found found;
    int code =
        is_among(names, PF_BESIDE_NAME) ? ENOENT : pf_classify(dir->fs, dir->folder, PF_BESIDE_NAME, &found);
    if (!code) {
        pf_buf_add(names, PF_BESIDE_NAME, sizeof PF_BESIDE_NAME);
    } else if (!pf_is_lack(code) && !is_among(names, PF_RUNS_NAME)) {
        code = pf_runs_present(dir->fs, dir->folder, names);
        dir->runs = !code;
        if (!code)
            pf_buf_add(names, PF_RUNS_NAME, sizeof PF_RUNS_NAME);
    }
    return pf_is_lack(code) ? code : 0;
}

struct names {
    struct pf_buf text;
    bool root;
};

static int add_name(void *arg, const char *name, unsigned char type)
{
    struct names *names = arg;
    (void)type;
    if (!names->root || strcmp(name, PF_CONTROL_NAME) != 0)
        pf_buf_add(&names->text, name, strlen(name) + 1);
    return names->text.failed;
}

static int read_names(struct pf_dir *dir)
{
    struct names names = {.root = dir->root};
    int result = pf_folder_list(dir->folder, add_name, &names);
    if (!result && !names.text.failed)
        result = add_beside(dir, &names.text);
    dir->names = names.text.data;
    dir->names_size = names.text.size;
    return names.text.failed ? ENOMEM : result;
}

/* The folder that is an entry. */
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
    int result = pf_prepare_index(fs, dir->entry, op);
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
    pf_place_leave(dir->fs, &dir->place);
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
                           .listing = PTHREAD_MUTEX_INITIALIZER,
                           .ino = ino,
                           .root = ino == PF_ROOT_INO,
                           .dots = {ino, ino}};
    int result = 0;
    if (pf_in_source(fs, ino))
        result = open_source_dir(new, op);
    else if (pf_runs_is(ino))
        result = pf_runs_ready(fs, ino, op);
    else if (!pf_control_is(ino))
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
    pthread_mutex_destroy(&dir->listing);
    free(dir);
}

bool pf_dir_keeps_cache(const struct pf_dir *dir)
{
    return dir->in_profile && !dir->place.moved && dir->ino != PF_ROOT_INO;
}

/* ---- entries ------------------------------------------------------------------------------------ */

/* Offsets: 1 behind ".", 2 behind "..", then 3 + what counts the entries of this folder. */
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

static int control_dir(struct pf_dir *dir, struct pf_dirent *entry, bool want_attr, struct pf_attr *attr,
                       struct pf_op *op)
{
    strcpy(entry->name, PF_CONTROL_NAME);
    entry->ino = pf_control_ino();
    entry->type = DT_DIR;
    if (want_attr)
        pf_control_lookup(dir->fs, PF_ROOT_INO, PF_CONTROL_NAME, attr, op);
    return 1;
}

/* Opens a folder again that is listed once more, or closes it at its end. 0 or an errno value. */
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

/* Its attributes take a listing of all that the folder holds and are left out. */
static int runs_entry(const struct pf_dir *dir, uint64_t at, struct pf_dirent *entry, bool want_attr,
                      struct pf_attr *attr)
{
    strcpy(entry->name, PF_RUNS_NAME);
    entry->next = DOTS + at + sizeof PF_RUNS_NAME;
    entry->ino = pf_shown_ino(dir->entry, PF_RUNS_NAME);
    entry->type = DT_DIR;
    if (want_attr)
        attr->st.st_ino = 0;
    return 1;
}

/* An entry of which only the name is known. */
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

/* The names' bytes are counted, so that an offset is where the next name begins. */
static int source_entry(struct pf_dir *dir, uint64_t at, struct pf_dirent *entry, bool want_attr,
                        struct pf_attr *attr, struct pf_op *op)
{
    struct pf_fs *fs = dir->fs;
    int lack = reopen(dir, at);
    if (lack)
        return -lack;
    for (; at < dir->names_size; at += strlen(dir->names + at) + 1) {
        const char *name = dir->names + at;
        struct pf_found found = {0};
        int code = ENAMETOOLONG;
        if (dir->runs && at + sizeof PF_RUNS_NAME == dir->names_size)
            return runs_entry(dir, at, entry, want_attr, attr);
        if (strlen(name) < sizeof entry->name)
            PF_WITH_DESCRIPTORS(fs, code, pf_classify(fs, dir->folder, name, &found));
        if (pf_is_lack(code))
            return -code;
        if (pf_is_transient(code)) /* its look-up reports the error, which must not hide the other entries */
            return unknown_entry(dir, at, entry, want_attr, attr);
        if (code)
            continue; /* gone since */
        if (fs->options.only_profiles && found.type != PF_ENTRY_PROFILE && found.type != PF_ENTRY_DIR)
            continue;
        strcpy(entry->name, name);
        entry->next = DOTS + at + strlen(name) + 1;
        entry->type = found.type == PF_ENTRY_PROFILE ? DT_DIR : type_of(&found.st);
        entry->ino = pf_shown_ino(dir->entry, name);
        if (want_attr) {
            pthread_mutex_lock(&fs->lock);
            if (pf_entry_attr(fs, dir->entry, name, &found, attr))
                attr->st.st_ino = 0;
            pthread_mutex_unlock(&fs->lock);
        }
        return 1;
    }
    if (dir->root && at == dir->names_size) {
        entry->next = DOTS + at + 1;
        return control_dir(dir, entry, want_attr, attr, op);
    }
    return 0;
}

/* Enters a profile's folder again that is listed once more after its end. 0 or an errno value. */
static int enter_again(struct pf_dir *dir, struct pf_op *op)
{
    int result = open_profile_dir(dir, op);
    if (!result && dir->place.moved) { /* what was listed is no more */
        leave_profile(dir);
        result = ESTALE;
    }
    return result;
}

/* The entry at *number or the first one after it that is listed; *number becomes its own, or the count of all. False past the end. */
static bool next_listed(const struct pf_place *place, uint64_t *number, char *name, struct pf_node *node)
{
    while (pf_folder_entry(place->profile, place->node, *number, name, node)) {
        if (!pf_is_hidden(node->kind))
            return true;
        ++*number;
    }
    return false;
}

static int profile_entry(struct pf_dir *dir, uint64_t number, struct pf_dirent *entry, bool want_attr,
                         struct pf_attr *attr, struct pf_op *op)
{
    struct pf_place *place = &dir->place;
    struct pf_node node = {PF_ERROR, 0};
    bool more = place->profile ? next_listed(place, &number, entry->name, &node) : number == 0;
    entry->next = DOTS + number + 1;
    if (!more) {
        /* One more at the root of a mount that is one profile; its number is the first that has no entry. */
        if (!dir->root || (number && !(place->profile ? pf_folder_entry(place->profile, place->node, number - 1,
                                                                     entry->name, &node)
                                                   : number == 1)))
            return 0;
        return control_dir(dir, entry, want_attr, attr, op);
    }
    if (!place->profile)
        strcpy(entry->name, "error.txt");
    entry->type = pf_is_folder(node.kind) ? DT_DIR : pf_is_link(node.kind) ? DT_LNK : DT_REG;
    entry->ino = pf_ino(place->instance->id, node.kind, node.item);
    if (want_attr && node.kind != PF_SOURCE_FOLDER) {
        if (pf_place_attr(dir->fs, place, node, false, attr, op)) {
            attr->st.st_ino = 0;
        } else {
            pthread_mutex_lock(&dir->fs->lock);
            place->instance->lookups++;
            pthread_mutex_unlock(&dir->fs->lock);
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
        return source_entry(dir, offset - DOTS, entry, want_attr, attr, op);
    if (dir->in_profile)
        return dir->end && offset >= dir->end ? 0 : counted_entry(dir, offset, entry, want_attr, attr, op);
    entry->next = offset + 1;
    if (pf_runs_is(dir->ino))
        return pf_runs_entry(dir->fs, dir->ino, offset - DOTS, entry);
    return pf_control_entry(dir->ino, offset - DOTS, entry);
}

int pf_fs_readdir(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                  struct pf_attr *attr, struct pf_op *op)
{
    pthread_mutex_lock(&dir->listing);
    int more = find_entry(dir, offset, entry, want_attr, attr, op);
    pthread_mutex_unlock(&dir->listing);
    return more;
}
