/* SPDX-License-Identifier: MIT */
#include "formats/input/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/access.h"
#include "formats/input/archive_index.h"
#include "formats/input/archive_kept.h"
#include "formats/input/stamp.h"
#include "formats/input/unpacked.h"
#include "formats/kit/digest.h"
#include "formats/kit/lock.h"

enum {
    IDLE_MAX = 8,   /* maximum number of archives without users that stay cached */
    NESTED_MAX = 2, /* maximum nesting of archives; an archive nested deeper is a file */
    KEPT_MAX = 16,  /* maximum number of an archive's deflated or sparse members that stay unpacked */
    HEAD = 4096     /* bytes that suffice to detect an archive */
};

/* A cached unpacked member. */
struct kept_member {
    struct pf_unpacked *unpacked; /* NULL: unused */
    uint32_t member;
};

struct pf_archive {
    struct pf_holder holder; /* first member, for the cast from pf_holder */
    struct pf_archives *archives;
    struct pf_archive *older;
    unsigned users, within; /* within: nesting depth; 1 if not in another archive */
    bool made;              /* the index is complete; guarded by archives->lock, as are users and older */
    struct pf_archive_place place; /* of the archive's file; owns the reference, descriptor and string */
    struct pf_stamp stamp;
    struct stat st;
    struct pf_opened file;
    struct pf_archive_tree tree;
    struct pf_archive_bytes bytes;
    struct pf_lock lock; /* guards the members below */
    struct kept_member kept[KEPT_MAX];
    unsigned next_kept;
};

struct pf_archives {
    bool enter;
    struct pf_unpackings *unpackings;
    struct pf_archive_keeper keeper;
    pthread_cond_t over; /* signalled when an index has been made or has failed */
    struct pf_lock lock; /* guards the members below, and `made`, `users` and `older` of each archive */
    struct pf_archive *newest;
};

struct pf_archives *pf_archives_new(uint64_t limit, bool enter)
{
    struct pf_archives *archives = calloc(1, sizeof *archives);
    if (!archives || !(archives->unpackings = pf_unpackings_new(limit))) {
        free(archives);
        return NULL;
    }
    archives->enter = enter;
    pthread_cond_init(&archives->over, NULL);
    pf_lock_init(&archives->lock, PF_RANK_ARCHIVES);
    return archives;
}

struct pf_unpackings *pf_archives_unpackings(struct pf_archives *archives)
{
    return archives ? archives->unpackings : NULL;
}

bool pf_archives_are_entered(const struct pf_archives *archives)
{
    return archives && archives->enter;
}

static void free_archive(struct pf_archive *archive)
{
    if (!archive)
        return;
    for (size_t i = 0; i < KEPT_MAX; i++)
        pf_unpacked_release(archive->kept[i].unpacked);
    pf_unpacked_release(archive->bytes.unpacked);
    pf_opened_close(&archive->file);
    pf_archive_release(archive->place.outer);
    if (archive->place.folder >= 0)
        close(archive->place.folder);
    pf_archive_tree_end(&archive->tree);
    pf_lock_destroy(&archive->lock);
    free((char *)(uintptr_t)archive->place.path);
    free(archive);
}

struct pf_archive *pf_archive_hold(struct pf_archive *archive)
{
    if (archive) {
        pf_lock_take(&archive->archives->lock);
        archive->users++;
        pf_lock_drop(&archive->archives->lock);
    }
    return archive;
}

/* If more than `max` archives have no users, unlinks and returns one of them, but never the `max` most recently used; else NULL. */
static struct pf_archive *archive_pop_idle(struct pf_archives *archives, unsigned max)
{
    pf_assert_held(&archives->lock);
    unsigned idle = 0;
    for (struct pf_archive **link = &archives->newest; *link; link = &(*link)->older) {
        idle += !(*link)->users;
        if ((*link)->users || idle <= max)
            continue;
        struct pf_archive *taken = *link;
        *link = taken->older;
        return taken;
    }
    return NULL;
}

void pf_archive_release(struct pf_archive *archive)
{
    if (!archive)
        return;
    struct pf_archives *archives = archive->archives;
    pf_lock_take(&archives->lock);
    archive->users--;
    struct pf_archive *taken = archive_pop_idle(archives, IDLE_MAX);
    pf_lock_drop(&archives->lock);
    free_archive(taken);
}

/* Frees all archives without users. A nested archive is a user of the outer one, so the nested one is freed first. */
static void free_idle(struct pf_archives *archives)
{
    struct pf_archive *taken;
    do {
        pf_lock_take(&archives->lock);
        taken = archive_pop_idle(archives, 0);
        pf_lock_drop(&archives->lock);
        free_archive(taken);
    } while (taken);
}

void pf_archives_relieve(struct pf_archives *archives)
{
    free_idle(archives);
    pf_unpackings_relieve(archives->unpackings);
}

void pf_archives_free(struct pf_archives *archives)
{
    if (!archives)
        return;
    free_idle(archives);
    pf_unpackings_free(archives->unpackings);
    pthread_cond_destroy(&archives->over);
    pf_lock_destroy(&archives->lock);
    free(archives);
}

/* Finds the cached archive with this stamp, moves it to the front and takes a reference; NULL if there is none. */
static struct pf_archive *find_archive(struct pf_archives *archives, const struct pf_stamp *stamp)
{
    pf_assert_held(&archives->lock);
    struct pf_archive **link = &archives->newest;
    while (*link && !pf_stamp_same(&(*link)->stamp, stamp))
        link = &(*link)->older;
    struct pf_archive *found = *link;
    if (found) {
        *link = found->older;
        found->older = archives->newest;
        archives->newest = found;
        found->users++;
    }
    return found;
}

static void hold_archive(struct pf_holder *holder)
{
    pf_archive_hold((struct pf_archive *)holder);
}

static void release_archive(struct pf_holder *holder)
{
    pf_archive_release((struct pf_archive *)holder);
}

/* Creates an archive with one user and no index yet. Returns NULL with errno on failure. */
static struct pf_archive *new_archive(struct pf_archives *archives, const struct pf_archive_place *place,
                                      const struct pf_opened *file)
{
    struct pf_archive *archive = calloc(1, sizeof *archive);
    if (!archive)
        return NULL;
    *archive = (struct pf_archive){.holder = {hold_archive, release_archive, &archive->file},
                                   .archives = archives,
                                   .stamp = pf_stamp_of(&file->st),
                                   .st = file->st,
                                   .within = file->within + 1,
                                   .users = 1,
                                   .place = {pf_archive_hold(place->outer),
                                             place->outer ? -1 : fcntl(place->folder, F_DUPFD_CLOEXEC, 3),
                                             strdup(place->path)},
                                   .bytes = {.file = &archive->file}};
    pf_lock_init(&archive->lock, PF_RANK_ARCHIVE);
    bool memory = pf_archive_tree_begin(&archive->tree, (uint64_t)file->st.st_size) && archive->place.path;
    int failed = !place->outer && archive->place.folder < 0 ? errno : pf_opened_copy(file, &archive->file);
    if (file->fd >= 0)
        archive->st.st_mode = pf_mode_without_list(file->fd, "", file->st.st_mode);
    if (!failed && memory)
        return archive;
    if (failed)
        archive->file = (struct pf_opened){.fd = -1};
    free_archive(archive);
    errno = failed ? failed : ENOMEM;
    return NULL;
}

/* Like find_archive, but waits while another thread makes the index. */
static struct pf_archive *find_made(struct pf_archives *archives, const struct pf_stamp *stamp)
{
    pf_assert_held(&archives->lock);
    struct pf_archive *found;
    while ((found = find_archive(archives, stamp)) && !found->made) {
        found->users--;
        pf_lock_wait(&archives->lock, &archives->over);
    }
    return found;
}

static void unlist_archive(struct pf_archives *archives, const struct pf_archive *archive)
{
    pf_assert_held(&archives->lock);
    struct pf_archive **link = &archives->newest;
    while (*link != archive)
        link = &(*link)->older;
    *link = archive->older;
}

/* ---- the index ---------------------------------------------------------------------------------- */

/* The last component of a path. */
static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int unpack_tar(struct pf_archive *archive, enum pf_packing_kind kind, struct pf_error *error)
{
    struct pf_archive_tree *tree = &archive->tree;
    archive->bytes.unpacked = pf_unpacked_new(archive->archives->unpackings, kind, pf_archive_read_file,
                                              &archive->bytes, 0, tree->size, UINT64_MAX);
    tree->size = INT64_MAX;
    return archive->bytes.unpacked ? 0 : pf_fail_memory(error);
}

/* Fills the tree from the stored index of this version. Returns false if there is none. */
static bool archive_get_index(struct pf_archive *archive, const struct pf_archive_keeper *keeper)
{
    size_t size = 0;
    void *bytes = keeper->get ? keeper->get(keeper->arg, &archive->stamp, &size) : NULL;
    bool sound = bytes && pf_archive_unpack_index(&archive->tree, &archive->stamp, bytes, size);
    free(bytes);
    return sound;
}

static void archive_put_index(const struct pf_archive *archive, const struct pf_archive_keeper *keeper)
{
    size_t size;
    void *bytes = keeper->put ? pf_archive_pack(&archive->tree, &archive->stamp, &size) : NULL;
    if (bytes)
        keeper->put(keeper->arg, &archive->stamp, bytes, size);
    free(bytes);
}

static int fill_index(struct pf_archive *archive, struct pf_error *error)
{
    const struct pf_archive_keeper *keeper = &archive->archives->keeper;
    unsigned char head[HEAD];
    ssize_t have = pf_archive_read_file(&archive->bytes, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    enum pf_archive_kind kind = pf_archive_kind_of(last_name(archive->place.path), head, (size_t)have);
    if (kind == PF_NO_ARCHIVE)
        return pf_fail(error, ENOTDIR, "not an archive");
    if (kind == PF_TAR_PACKED && unpack_tar(archive, pf_packing_kind_of(head, (size_t)have), error))
        return -1;
    if (archive_get_index(archive, keeper))
        return 0;
    if (pf_archive_index(&archive->tree, &archive->bytes, kind, error))
        return -1;
    archive_put_index(archive, keeper);
    return 0;
}

/*
 * Makes the index of an archive that find_archive already finds. Other threads that enter the archive wait. On failure,
 * frees the archive and returns NULL with errno.
 */
static struct pf_archive *archive_make_index(struct pf_archive *archive)
{
    struct pf_archives *archives = archive->archives;
    struct pf_error error;
    int failed = fill_index(archive, &error);
    pf_lock_take(&archives->lock);
    archive->made = !failed;
    if (failed)
        unlist_archive(archives, archive);
    pthread_cond_broadcast(&archives->over);
    pf_lock_drop(&archives->lock);
    if (!failed)
        return archive;
    free_archive(archive);
    errno = error.code;
    return NULL;
}

struct pf_archive *pf_archive_enter(struct pf_archives *archives, const struct pf_archive_place *place,
                                    const struct pf_opened *file)
{
    struct pf_stamp stamp = pf_stamp_of(&file->st);
    if (!pf_archives_are_entered(archives) || file->within >= NESTED_MAX) {
        errno = ENOTDIR;
        return NULL;
    }
    pf_lock_take(&archives->lock);
    struct pf_archive *found = find_made(archives, &stamp);
    pf_lock_drop(&archives->lock);
    struct pf_archive *new = found ? NULL : new_archive(archives, place, file);
    if (!new)
        return found;
    pf_lock_take(&archives->lock);
    found = find_made(archives, &stamp); /* another thread may have added it meanwhile */
    if (!found) {
        new->older = archives->newest;
        archives->newest = new;
    }
    pf_lock_drop(&archives->lock);
    if (!found)
        return archive_make_index(new);
    free_archive(new);
    return found;
}

bool pf_archive_is_current(const struct pf_archive *archive)
{
    pf_may_block();
    struct stat st;
    while (archive->place.outer)
        archive = archive->place.outer;
    if (fstatat(archive->place.folder, archive->place.path, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    struct pf_stamp now = pf_stamp_of(&st);
    return pf_stamp_same(&now, &archive->stamp);
}

bool pf_archives_know(struct pf_archives *archives, const struct pf_stamp *stamp)
{
    pf_lock_take(&archives->lock);
    struct pf_archive *at = archives->newest;
    while (at && !(at->made && pf_stamp_same(&at->stamp, stamp)))
        at = at->older;
    pf_lock_drop(&archives->lock);
    return at != NULL;
}

void pf_archives_keep(struct pf_archives *archives, const struct pf_archive_keeper *keeper)
{
    archives->keeper = *keeper;
}

bool pf_archive_is(const char *name, const struct pf_opened *file, const unsigned char *head, size_t size)
{
    return file->within < NESTED_MAX && pf_archive_kind_of(name, head, size) != PF_NO_ARCHIVE;
}

uint32_t pf_archive_find(const struct pf_archive *archive, uint32_t from, const char *path)
{
    return pf_archive_tree_find(&archive->tree, from, path);
}

/* ---- members ------------------------------------------------------------------------------------ */

void pf_archive_stat(const struct pf_archive *archive, uint32_t member, struct stat *st)
{
    const struct pf_member *about = &archive->tree.members[member];
    mode_t readable = archive->st.st_mode & 0444;
    uint64_t inode = archive->st.st_ino;
    *st = archive->st;
    st->st_ino = member ? (pf_digest(1, &inode, sizeof inode) << 24) + member
                        : inode; /* the members' numbers are consecutive */
    st->st_mode = about->type == DT_DIR   ? S_IFDIR | readable | readable >> 2
                  : about->type == DT_LNK ? S_IFLNK | 0777
                                          : S_IFREG | readable;
    uint64_t size =
        about->type == DT_LNK ? pf_interned(archive->tree.strings, about->link).size : about->size;
    st->st_size = (off_t)size;
    st->st_blocks = (blkcnt_t)((size + 511) / 512);
    st->st_nlink = 1;
    if (member)
        st->st_mtim = st->st_atim = (struct timespec){.tv_sec = about->mtime};
}

const char *pf_archive_link(const struct pf_archive *archive, uint32_t member)
{
    const struct pf_member *about = &archive->tree.members[member];
    return about->type == DT_LNK ? pf_interned(archive->tree.strings, about->link).text
                                 : NULL; /* NUL-terminated */
}

void pf_archive_list(const struct pf_archive *archive, uint32_t folder, pf_folder_visit *each, void *arg)
{
    for (uint32_t i = archive->tree.members[folder].first; i != PF_NO_MEMBER;
         i = archive->tree.members[i].next)
        if (each(arg, pf_interned(archive->tree.strings, archive->tree.members[i].name).text,
                 archive->tree.members[i].type))
            return;
}

/* The element of `kept` for a member; NULL if the member is not cached. */
static struct kept_member *find_kept(struct pf_archive *archive, uint32_t member)
{
    pf_assert_held(&archive->lock);
    for (unsigned i = 0; i < KEPT_MAX; i++)
        if (archive->kept[i].unpacked && archive->kept[i].member == member)
            return &archive->kept[i];
    return NULL;
}

static struct pf_unpacked *start_unpacking(struct pf_archive *archive, uint32_t member)
{
    const struct pf_member *about = &archive->tree.members[member];
    enum pf_packing_kind kind = about->method == PF_MEMBER_SPARSE ? PF_SPARSE : PF_DEFLATED;
    return pf_unpacked_new(archive->archives->unpackings, kind, pf_archive_read, &archive->bytes,
                           about->start, archive->tree.size, about->size);
}

/* Returns a reference to the unpacked view of a deflated or sparse member; NULL if out of memory. */
static struct pf_unpacked *member_unpacked(struct pf_archive *archive, uint32_t member)
{
    pf_lock_take(&archive->lock);
    struct kept_member *kept = find_kept(archive, member);
    struct pf_unpacked *unpacked = kept ? kept->unpacked : start_unpacking(archive, member), *old = NULL;
    if (unpacked && !kept) {
        kept = &archive->kept[archive->next_kept++ % KEPT_MAX];
        old = kept->unpacked;
        *kept = (struct kept_member){unpacked, member};
    }
    if (unpacked)
        pf_unpacked_hold(unpacked);
    pf_lock_drop(&archive->lock);
    pf_unpacked_release(old);
    return unpacked;
}

int pf_archive_open(struct pf_archive *archive, uint32_t member, struct pf_opened *opened)
{
    const struct pf_member *about = &archive->tree.members[member];
    *opened = (struct pf_opened){.fd = -1};
    if (about->type != DT_REG)
        return about->type == DT_DIR ? EISDIR : ELOOP;
    if (about->method == PF_MEMBER_UNREADABLE)
        return EBADMSG;
    int result = 0;
    if (about->method != PF_MEMBER_PLAIN) {
        opened->unpacked = member_unpacked(archive, member);
        result = opened->unpacked ? 0 : ENOMEM;
    } else if (archive->bytes.unpacked) {
        opened->unpacked = pf_unpacked_hold(archive->bytes.unpacked);
        opened->start = about->start;
    } else {
        result = pf_opened_copy(&archive->file, opened);
        opened->start += about->start;
    }
    if (result)
        return result;
    if (opened->fd < 0 && !opened->owner)
        opened->owner = &pf_archive_hold(archive)->holder;
    opened->within = archive->within;
    pf_archive_stat(archive, member, &opened->st);
    return 0;
}

uint64_t pf_archive_distance(struct pf_archive *archive, uint32_t member, uint64_t bytes)
{
    const struct pf_member *about = &archive->tree.members[member];
    uint64_t wanted = about->size < bytes ? about->size : bytes;
    if (about->type != DT_REG || !wanted || about->method == PF_MEMBER_UNREADABLE)
        return 0;
    if (about->method != PF_MEMBER_PLAIN)
        return wanted;
    return archive->bytes.unpacked ? pf_unpacked_distance(archive->bytes.unpacked, about->start + wanted - 1)
                                   : 0;
}

void pf_archive_problems(const struct pf_archive *archive, pf_folder_problem *each, void *arg)
{
    for (size_t i = 0; i < pf_rows_count(archive->tree.problems); i++)
        if (each(arg, pf_rows_at(archive->tree.problems, i)))
            break;
}
