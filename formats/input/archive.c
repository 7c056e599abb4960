/* SPDX-License-Identifier: MIT */
#include "formats/input/archive_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/access.h"
#include "formats/input/source.h"
#include "formats/kit/hash.h"

/* Archives that stay known while nobody is in them. */
enum { IDLE_MAX = 8 };

struct pf_archives {
    bool enter;
    struct pf_unpackings *unpackings;
    struct pf_archive_keeper keeper;
    pthread_cond_t over;  /* an index has been made, or could not be */
    pthread_mutex_t lock; /* guards the following, and users of archives */
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
    pthread_mutex_init(&archives->lock, NULL);
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
    for (size_t i = 0; i < PF_ARCHIVE_KEPT; i++)
        pf_unpacked_release(archive->kept[i].unpacked);
    pf_unpacked_release(archive->unpacked);
    pf_opened_close(&archive->file);
    pf_archive_release(archive->outer);
    if (archive->folder >= 0)
        close(archive->folder);
    pf_strings_free(archive->strings);
    pf_map_free(&archive->by_place);
    pf_rows_free(archive->problems);
    pthread_mutex_destroy(&archive->lock);
    free(archive->members);
    free(archive->path);
    free(archive);
}

struct pf_archive *pf_archive_hold(struct pf_archive *archive)
{
    if (archive) {
        pthread_mutex_lock(&archive->archives->lock);
        archive->users++;
        pthread_mutex_unlock(&archive->archives->lock);
    }
    return archive;
}

/* Under the lock: forgets the one that was used longest ago, if more than `max` are there which nobody is in. */
static struct pf_archive *take_idle(struct pf_archives *archives, unsigned max)
{
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
    pthread_mutex_lock(&archives->lock);
    archive->users--;
    struct pf_archive *taken = take_idle(archives, IDLE_MAX);
    pthread_mutex_unlock(&archives->lock);
    free_archive(taken);
}

/* Forgets all that nobody is in. One in another is in that. */
static void free_idle(struct pf_archives *archives)
{
    struct pf_archive *taken;
    do {
        pthread_mutex_lock(&archives->lock);
        taken = take_idle(archives, 0);
        pthread_mutex_unlock(&archives->lock);
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
    pthread_mutex_destroy(&archives->lock);
    free(archives);
}

/* Under the lock: the archive of this version, moved to the front. */
static struct pf_archive *find(struct pf_archives *archives, const struct pf_stamp *stamp)
{
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

static struct pf_archive *new_archive(struct pf_archives *archives, const struct pf_archive_place *place,
                                      const struct pf_opened *file)
{
    struct pf_archive *archive = calloc(1, sizeof *archive);
    if (!archive)
        return NULL;
    *archive = (struct pf_archive){.archives = archives,
                                   .stamp = pf_stamp_of(&file->st),
                                   .st = file->st,
                                   .within = file->within + 1,
                                   .users = 1,
                                   .outer = pf_archive_hold(place->outer),
                                   .folder = place->outer ? -1 : fcntl(place->folder, F_DUPFD_CLOEXEC, 3),
                                   .path = strdup(place->path),
                                   .size = (uint64_t)file->st.st_size,
                                   .strings = pf_strings_new(),
                                   .problems = pf_rows_new(3)};
    pthread_mutex_init(&archive->lock, NULL);
    int failed = !place->outer && archive->folder < 0 ? errno : pf_opened_copy(file, &archive->file);
    if (file->fd >= 0)
        archive->st.st_mode = pf_mode_without_list(file->fd, "", file->st.st_mode);
    if (!failed && archive->path && archive->strings && archive->problems)
        return archive;
    if (failed)
        archive->file = (struct pf_opened){.fd = -1};
    free_archive(archive);
    errno = failed ? failed : ENOMEM;
    return NULL;
}

/* Under the lock: the archive of this version once its index has been made, by whom that may be; NULL: nobody has. */
static struct pf_archive *find_made(struct pf_archives *archives, const struct pf_stamp *stamp)
{
    struct pf_archive *found;
    while ((found = find(archives, stamp)) && !found->made) {
        found->users--;
        pthread_cond_wait(&archives->over, &archives->lock);
    }
    return found;
}

/* Under the lock. */
static void take_off(struct pf_archives *archives, const struct pf_archive *archive)
{
    struct pf_archive **link = &archives->newest;
    while (*link != archive)
        link = &(*link)->older;
    *link = archive->older;
}

/* Makes the index of an archive that has been listed without one; who else wants it waits meanwhile. */
static struct pf_archive *make(struct pf_archive *archive, struct pf_pass *pass)
{
    struct pf_archives *archives = archive->archives;
    struct pf_error error;
    int failed = pf_archive_index(archive, pass, &archives->keeper, &error);
    pthread_mutex_lock(&archives->lock);
    archive->made = !failed;
    if (failed)
        take_off(archives, archive);
    pthread_cond_broadcast(&archives->over);
    pthread_mutex_unlock(&archives->lock);
    if (!failed)
        return archive;
    free_archive(archive);
    errno = error.code;
    return NULL;
}

struct pf_archive *pf_archive_enter(struct pf_archives *archives, const struct pf_archive_place *place,
                                    const struct pf_opened *file, struct pf_pass *pass)
{
    struct pf_stamp stamp = pf_stamp_of(&file->st);
    if (!pf_archives_are_entered(archives) || file->within >= PF_ARCHIVES_NESTED) {
        errno = ENOTDIR;
        return NULL;
    }
    pthread_mutex_lock(&archives->lock);
    struct pf_archive *found = find_made(archives, &stamp);
    pthread_mutex_unlock(&archives->lock);
    struct pf_archive *new = found ? NULL : new_archive(archives, place, file);
    if (!new)
        return found;
    pthread_mutex_lock(&archives->lock);
    found = find_made(archives, &stamp); /* by now */
    if (!found) {
        new->older = archives->newest;
        archives->newest = new;
    }
    pthread_mutex_unlock(&archives->lock);
    if (!found)
        return make(new, pass);
    free_archive(new);
    return found;
}

bool pf_archive_is_current(const struct pf_archive *archive)
{
    struct stat st;
    while (archive->outer)
        archive = archive->outer;
    if (fstatat(archive->folder, archive->path, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    struct pf_stamp now = pf_stamp_of(&st);
    return pf_stamp_same(&now, &archive->stamp);
}

bool pf_archives_know(struct pf_archives *archives, const struct pf_stamp *stamp)
{
    pthread_mutex_lock(&archives->lock);
    struct pf_archive *at = archives->newest;
    while (at && !(at->made && pf_stamp_same(&at->stamp, stamp)))
        at = at->older;
    pthread_mutex_unlock(&archives->lock);
    return at != NULL;
}

void pf_archives_keep(struct pf_archives *archives, const struct pf_archive_keeper *keeper)
{
    archives->keeper = *keeper;
}

/* ---- names -------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size > tail && !strcasecmp(name + size - tail, end);
}

/* "ustar" is in every tar header that has been written since 1988. */
static bool is_tar(const unsigned char *head, size_t size)
{
    return size > 262 && !memcmp(head + 257, "ustar", 5);
}

static bool is_zip(const unsigned char *head, size_t size)
{
    return size > 4 && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

bool pf_archive_begins(const unsigned char *head, size_t size)
{
    return is_tar(head, size) || is_zip(head, size);
}

enum pf_packing pf_packing_of(const char *name, const unsigned char *head, size_t size)
{
    static const struct {
        const char *end;
        enum pf_packing packing;
    } ends[] = {{".tar", PF_TAR},           {".tar.gz", PF_TAR_PACKED},
                {".tgz", PF_TAR_PACKED},    {".tar.zst", PF_TAR_PACKED},
                {".tar.xz", PF_TAR_PACKED}, {".zip", PF_ZIP}};
    enum pf_packing packing = PF_NO_ARCHIVE;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i].end))
            packing = ends[i].packing;
    switch (packing) {
    case PF_TAR:
        return is_tar(head, size) ? PF_TAR : PF_NO_ARCHIVE;
    case PF_TAR_PACKED:
        return size > 6 && (!memcmp(head, "\x1f\x8b", 2) || !memcmp(head, "\x28\xb5\x2f\xfd", 4) ||
                            !memcmp(head,
                                    "\xfd"
                                    "7zXZ",
                                    5))
                   ? PF_TAR_PACKED
                   : PF_NO_ARCHIVE;
    case PF_ZIP:
        return is_zip(head, size) ? PF_ZIP : PF_NO_ARCHIVE;
    default:
        return PF_NO_ARCHIVE;
    }
}

bool pf_archive_is(const char *name, const struct pf_opened *file, const unsigned char *head, size_t size)
{
    return file->within < PF_ARCHIVES_NESTED && pf_packing_of(name, head, size) != PF_NO_ARCHIVE;
}

uint32_t pf_archive_child(const struct pf_archive *archive, uint32_t folder, const char *name, size_t size)
{
    uint32_t number = pf_string_of(archive->strings, name, size);
    uintptr_t member = number == PF_NO_STRING
                           ? 0
                           : (uintptr_t)pf_map_get(&archive->by_place, (uint64_t)folder << 32 | number);
    return member ? (uint32_t)(member - 1) : PF_NO_MEMBER;
}

uint32_t pf_archive_find(const struct pf_archive *archive, uint32_t from, const char *path)
{
    while (*path && from != PF_NO_MEMBER) {
        size_t size = strcspn(path, "/");
        if (size && !(size == 1 && *path == '.'))
            from = archive->members[from].type == DT_DIR ? pf_archive_child(archive, from, path, size)
                                                         : PF_NO_MEMBER;
        path += size + (path[size] == '/');
    }
    return from;
}

/* ---- members ------------------------------------------------------------------------------------ */

void pf_archive_stat(const struct pf_archive *archive, uint32_t member, struct stat *st)
{
    const struct pf_member *about = &archive->members[member];
    mode_t readable = archive->st.st_mode & 0444;
    uint64_t inode = archive->st.st_ino;
    *st = archive->st;
    st->st_ino =
        member ? (pf_hash(1, &inode, sizeof inode) << 24) + member : inode; /* members of one are near */
    st->st_mode = about->type == DT_DIR   ? S_IFDIR | readable | readable >> 2
                  : about->type == DT_LNK ? S_IFLNK | 0777
                                          : S_IFREG | readable;
    uint64_t size = about->type == DT_LNK ? pf_interned(archive->strings, about->link).size : about->size;
    st->st_size = (off_t)size;
    st->st_blocks = (blkcnt_t)((size + 511) / 512);
    st->st_nlink = 1;
    if (member)
        st->st_mtim = st->st_atim = (struct timespec){.tv_sec = about->mtime};
}

const char *pf_archive_link(const struct pf_archive *archive, uint32_t member)
{
    const struct pf_member *about = &archive->members[member];
    return about->type == DT_LNK ? pf_interned(archive->strings, about->link).text
                                 : NULL; /* a NUL stands behind it */
}

void pf_archive_list(const struct pf_archive *archive, uint32_t folder, pf_folder_visit *each, void *arg)
{
    for (uint32_t i = archive->members[folder].first; i != PF_NO_MEMBER; i = archive->members[i].next)
        if (each(arg, pf_interned(archive->strings, archive->members[i].name).text, archive->members[i].type))
            return;
}

const struct pf_opened *pf_archive_file(const struct pf_archive *archive)
{
    return &archive->file;
}

ssize_t pf_archive_read_file(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_archive *archive = arg;
    uint64_t all = (uint64_t)archive->file.st.st_size;
    uint64_t left = offset < all ? all - offset : 0;
    return pf_opened_read(&archive->file, buffer, size < left ? size : (size_t)left, offset, error);
}

ssize_t pf_archive_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_archive *archive = arg;
    return archive->unpacked ? pf_unpacked_read(archive->unpacked, buffer, size, offset, error)
                             : pf_archive_read_file(arg, buffer, size, offset, error);
}

/* The place of a member among those that are kept; NULL: it is not. With archive->lock held. */
static struct kept *find_kept(struct pf_archive *archive, uint32_t member)
{
    for (unsigned i = 0; i < PF_ARCHIVE_KEPT; i++)
        if (archive->kept[i].unpacked && archive->kept[i].member == member)
            return &archive->kept[i];
    return NULL;
}

static struct pf_unpacked *start_unpacking(struct pf_archive *archive, uint32_t member)
{
    const struct pf_member *about = &archive->members[member];
    enum pf_packing_kind kind = about->method == PF_MEMBER_SPARSE ? PF_SPARSE : PF_DEFLATED;
    return pf_unpacked_new(pf_archives_unpackings(archive->archives), kind, pf_archive_read, archive,
                           about->start, archive->size, about->size);
}

/* What a deflated or sparse member unpacks to, held; NULL: out of memory. */
static struct pf_unpacked *member_unpacked(struct pf_archive *archive, uint32_t member)
{
    pthread_mutex_lock(&archive->lock);
    struct kept *kept = find_kept(archive, member);
    struct pf_unpacked *unpacked = kept ? kept->unpacked : start_unpacking(archive, member), *old = NULL;
    if (unpacked && !kept) {
        kept = &archive->kept[archive->next_kept++ % PF_ARCHIVE_KEPT];
        old = kept->unpacked;
        *kept = (struct kept){unpacked, member};
    }
    if (unpacked)
        pf_unpacked_hold(unpacked);
    pthread_mutex_unlock(&archive->lock);
    pf_unpacked_release(old);
    return unpacked;
}

int pf_archive_open(struct pf_archive *archive, uint32_t member, struct pf_opened *opened)
{
    const struct pf_member *about = &archive->members[member];
    *opened = (struct pf_opened){.fd = -1};
    if (about->type != DT_REG)
        return about->type == DT_DIR ? EISDIR : ELOOP;
    if (about->method == PF_MEMBER_UNREADABLE)
        return EBADMSG;
    int result = 0;
    if (about->method != PF_MEMBER_PLAIN) {
        opened->unpacked = member_unpacked(archive, member);
        result = opened->unpacked ? 0 : ENOMEM;
    } else if (archive->unpacked) {
        opened->unpacked = pf_unpacked_hold(archive->unpacked);
        opened->start = about->start;
    } else {
        result = pf_opened_copy(&archive->file, opened);
        opened->start += about->start;
    }
    if (result)
        return result;
    if (opened->fd < 0 && !opened->archive)
        opened->archive = pf_archive_hold(archive);
    opened->within = archive->within;
    pf_archive_stat(archive, member, &opened->st);
    return 0;
}

uint64_t pf_archive_distance(struct pf_archive *archive, uint32_t member, uint64_t bytes)
{
    const struct pf_member *about = &archive->members[member];
    uint64_t wanted = about->size < bytes ? about->size : bytes;
    if (about->type != DT_REG || !wanted || about->method == PF_MEMBER_UNREADABLE)
        return 0;
    if (about->method != PF_MEMBER_PLAIN)
        return wanted;
    return archive->unpacked ? pf_unpacked_distance(archive->unpacked, about->start + wanted - 1) : 0;
}

void pf_archive_problems(struct pf_archive *archive, pf_folder_problem *each, void *arg)
{
    pthread_mutex_lock(&archive->lock);
    for (size_t i = 0; i < pf_rows_count(archive->problems); i++)
        if (each(arg, pf_rows_at(archive->problems, i)))
            break;
    pthread_mutex_unlock(&archive->lock);
}
