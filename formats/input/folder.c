/* SPDX-License-Identifier: MIT */
#include "formats/input/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/input/beneath.h"
#include "formats/kit/lock.h"

struct pf_folder {
    int fd;      /* -1: in an archive */
    char *below; /* the folder is the root of the archive at this path in `fd` (pf_folder_below); or NULL */
    struct pf_archives *archives;
    struct pf_archive *archive; /* a reference; NULL: in the file system */
    uint32_t member;
};

struct pf_folder *pf_folder_new(int fd, struct pf_archives *archives)
{
    struct pf_folder *folder = malloc(sizeof *folder);
    if (folder)
        *folder = (struct pf_folder){.fd = fd, .archives = archives};
    else
        close(fd);
    return folder;
}

void pf_folder_free(struct pf_folder *folder)
{
    if (!folder)
        return;
    if (folder->fd >= 0)
        close(folder->fd);
    pf_archive_release(folder->archive);
    free(folder->below);
    free(folder);
}

struct pf_folder *pf_folder_below(const struct pf_folder *folder, const char *archive)
{
    int fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
    struct pf_folder *below = fd < 0 ? NULL : pf_folder_new(fd, folder->archives);
    if (below && !(below->below = strdup(archive))) {
        pf_folder_free(below);
        return NULL;
    }
    return below;
}

bool pf_folder_is_current(const struct pf_folder *folder)
{
    return !folder->archive || pf_archive_is_current(folder->archive);
}

uint64_t pf_folder_distance(const struct pf_folder *folder, const char *name, uint64_t bytes)
{
    uint32_t member = folder->archive ? pf_archive_find(folder->archive, folder->member, name) : UINT32_MAX;
    return member == UINT32_MAX ? 0 : pf_archive_distance(folder->archive, member, bytes);
}

struct pf_unpackings *pf_folder_unpackings(const struct pf_folder *folder)
{
    return folder ? pf_archives_unpackings(folder->archives) : NULL;
}

int pf_folder_fd(const struct pf_folder *folder)
{
    return folder->below ? -1 : folder->fd;
}

/* ---- archives ----------------------------------------------------------------------------------- */

/* A member of an archive, as the result of resolving a path. */
struct folder_place {
    struct pf_archive *archive; /* a reference */
    uint32_t member;
};

/* Opens the archive that a folder was made for (pf_folder_below). NULL with errno. */
static struct pf_folder *open_below(const struct pf_folder *folder)
{
    const struct pf_folder outer = {.fd = folder->fd, .archives = folder->archives};
    return pf_folder_open(&outer, folder->below);
}

static int find_through(const struct pf_folder *folder, const char *path, struct folder_place *place);

/* Enters the archive in a file and resolves the rest of the path in it, through nested archives if necessary. Returns 0
 * or an errno value. */
static int folder_enter(const struct pf_folder *from, const char *path, const struct pf_opened *file,
                        const char *rest, struct folder_place *place)
{
    const struct pf_archive_place at = {from->archive, from->fd, path};
    place->archive = pf_archive_enter(from->archives, &at, file);
    if (!place->archive)
        return errno;
    place->member = *rest ? pf_archive_find(place->archive, 0, rest) : 0;
    if (place->member != UINT32_MAX)
        return 0;
    struct pf_folder inner = {.fd = -1, .archives = from->archives, .archive = place->archive};
    int result = strchr(rest, '/') ? find_through(&inner, rest, place) : ENOENT;
    pf_archive_release(inner.archive);
    return result;
}

/* Resolves a path within one archive, not through nested ones. Returns 0 or an errno value. */
static int folder_find_member(const struct pf_folder *folder, const char *path, struct folder_place *place)
{
    uint32_t member =
        !strcmp(path, ".") ? folder->member : pf_archive_find(folder->archive, folder->member, path);
    if (member == UINT32_MAX)
        return ENOENT;
    *place = (struct folder_place){pf_archive_hold(folder->archive), member};
    return 0;
}

/* Attributes of an entry whose path does not lead through an archive. Returns 0 or an errno value. */
static int stat_here(const struct pf_folder *folder, const char *path, struct stat *st)
{
    pf_may_block();
    struct folder_place place = {0};
    if (folder->fd >= 0)
        return (!strcmp(path, ".") ? fstat(folder->fd, st)
                                   : fstatat(folder->fd, path, st, AT_SYMLINK_NOFOLLOW))
                   ? errno
                   : 0;
    int result = folder_find_member(folder, path, &place);
    if (result)
        return result;
    pf_archive_stat(place.archive, place.member, st);
    pf_archive_release(place.archive);
    return 0;
}

static int open_member(const struct folder_place *place, struct pf_opened *opened)
{
    int result = pf_archive_open(place->archive, place->member, opened);
    pf_archive_release(place->archive);
    return result;
}

static int file_here(const struct pf_folder *folder, const char *path, struct pf_opened *opened)
{
    struct folder_place place = {0};
    if (folder->fd < 0) {
        int result = folder_find_member(folder, path, &place);
        return result ? result : open_member(&place, opened);
    }
    *opened = (struct pf_opened){.fd = pf_open_beneath(folder->fd, path, O_RDONLY)};
    if (opened->fd < 0)
        return errno;
    int result = fstat(opened->fd, &opened->st) ? errno : S_ISREG(opened->st.st_mode) ? 0 : EINVAL;
    if (result)
        pf_opened_close(opened);
    return result;
}

/* True if a path, whose look-up without entering archives returned `result`, may lead into an archive. */
static bool may_lead_through(const struct pf_folder *folder, const char *path, int result)
{
    return folder->archives && (folder->fd >= 0 ? result == ENOTDIR : result == ENOENT && strchr(path, '/'));
}

/*
 * Resolves a path of which some prefix is a file, which may be an archive. Finds the file by trying prefixes from the
 * shortest on. ENOTDIR if there is no such file.
 */
static int find_through(const struct pf_folder *folder, const char *path, struct folder_place *place)
{
    char *part = strdup(path);
    int result = part ? ENOTDIR : ENOMEM;
    for (size_t end = part ? strcspn(part, "/") : 0; part && result == ENOTDIR;) {
        struct pf_opened file;
        struct stat st;
        char cut = part[end];
        part[end] = 0;
        int missing = stat_here(folder, part, &st);
        if (missing)
            result = pf_is_transient(missing) ? missing : ENOENT;
        else if (S_ISREG(st.st_mode)) {
            result = file_here(folder, part, &file);
            if (!result) {
                result = folder_enter(folder, part, &file, cut ? path + end + 1 : "", place);
                pf_opened_close(&file);
            }
            break;
        }
        part[end] = cut;
        if (!cut)
            break;
        end += 1 + strcspn(part + end + 1, "/");
    }
    free(part);
    return result;
}

/* ---- folders ------------------------------------------------------------------------------------ */

static struct pf_folder *folder_at(const struct pf_folder *from, const struct folder_place *place)
{
    struct pf_folder *folder = pf_folder_new(-1, from->archives);
    if (!folder) {
        pf_archive_release(place->archive);
        return NULL;
    }
    folder->archive = place->archive;
    folder->member = place->member;
    return folder;
}

/* Opens a folder in the file system, only for searching if reading it is denied. Returns NULL with errno on failure. */
static struct pf_folder *open_real(const struct pf_folder *folder, const char *path)
{
    int fd = pf_open_beneath(folder->fd, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && errno == EACCES)
        fd = pf_open_beneath(folder->fd, path, O_PATH | O_DIRECTORY);
    return fd < 0 ? NULL : pf_folder_new(fd, folder->archives);
}

static bool place_is_folder(const struct folder_place *place)
{
    struct stat st;
    pf_archive_stat(place->archive, place->member, &st);
    return S_ISDIR(st.st_mode);
}

/* Enters the archive at *place, a file in another archive, and sets *place to its root. Returns 0 or an errno value. */
static int enter_member(const struct pf_folder *folder, const char *path, struct folder_place *place)
{
    struct pf_opened file;
    const struct pf_folder outer = {.fd = -1, .archives = folder->archives, .archive = place->archive};
    int result = pf_archive_open(place->archive, place->member, &file);
    if (!result) {
        result = folder_enter(&outer, path, &file, "", place);
        pf_opened_close(&file);
    }
    pf_archive_release(outer.archive);
    return result == ELOOP ? ENOTDIR : result;
}

struct pf_folder *pf_folder_open(const struct pf_folder *folder, const char *path)
{
    struct folder_place place = {0};
    struct stat st;
    if (folder->below) {
        struct pf_folder *top = open_below(folder), *below = top ? pf_folder_open(top, path) : NULL;
        pf_folder_free(top);
        return below;
    }
    if (folder->fd >= 0) {
        struct pf_folder *real = open_real(folder, path);
        if (real || errno != ENOTDIR || !folder->archives)
            return real;
    } else if (!stat_here(folder, path, &st) && S_ISDIR(st.st_mode)) {
        folder_find_member(folder, path, &place);
        return folder_at(folder, &place);
    }
    int result = find_through(folder, path, &place);
    if (!result && !place_is_folder(&place))
        result = enter_member(folder, path, &place);
    if (!result)
        return folder_at(folder, &place);
    errno = result;
    return NULL;
}

int pf_folder_stat(const struct pf_folder *folder, const char *path, struct stat *st)
{
    struct folder_place place = {0};
    if (folder->below) {
        struct pf_folder *top = open_below(folder);
        int result = top ? pf_folder_stat(top, path, st) : errno;
        pf_folder_free(top);
        return result;
    }
    int result = stat_here(folder, path, st);
    if (!may_lead_through(folder, path, result) || (result = find_through(folder, path, &place)))
        return result;
    pf_archive_stat(place.archive, place.member, st);
    pf_archive_release(place.archive);
    return 0;
}

int pf_folder_link(const struct pf_folder *folder, const char *name, char *target, size_t room)
{
    pf_may_block();
    if (folder->fd >= 0) {
        ssize_t size = readlinkat(folder->fd, name, target, room - 1);
        if (size >= 0)
            target[size] = 0;
        return size < 0 ? errno : 0;
    }
    uint32_t member = pf_archive_find(folder->archive, folder->member, name);
    const char *link = member == UINT32_MAX ? NULL : pf_archive_link(folder->archive, member);
    if (!link || strlen(link) >= room)
        return link ? ENAMETOOLONG : EINVAL;
    strcpy(target, link);
    return 0;
}

int pf_folder_list(const struct pf_folder *folder, pf_folder_visit *each, void *arg)
{
    pf_may_block();
    if (folder->fd < 0) {
        pf_archive_list(folder->archive, folder->member, each, arg);
        return 0;
    }
    /* Opens a new file description, since concurrent listings must not share a directory position. */
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing) {
        int result = errno;
        if (fd >= 0)
            close(fd);
        return result;
    }
    const struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(listing);
    } while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
                       !each(arg, entry->d_name, entry->d_type)));
    int result = entry ? 0 : errno;
    closedir(listing);
    return result;
}

void pf_folder_problems(const struct pf_folder *folder, pf_folder_problem *each, void *arg)
{
    if (folder->archive && !folder->member)
        pf_archive_problems(folder->archive, each, arg);
}

int pf_folder_file(const struct pf_folder *folder, const char *path, struct pf_opened *opened)
{
    struct folder_place place = {0};
    if (folder->below) {
        struct pf_folder *top = open_below(folder);
        int result = top ? pf_folder_file(top, path, opened) : errno;
        pf_folder_free(top);
        return result;
    }
    int result = file_here(folder, path, opened);
    if (!may_lead_through(folder, path, result) || (result = find_through(folder, path, &place)))
        return result;
    return open_member(&place, opened);
}
