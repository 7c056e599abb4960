/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/hash.h"

#include "formats/input/source_private.h"

/* Listings of a source's folders. A listing is an input too: what comes and goes in the folder is a change. */

/* What a listing is of; its input's name. */
enum listed { FILES, FOLDERS };
static const char *const listings[] = {PF_FOLDER, PF_FOLDERS};

static int folder_of(const struct pf_source *source)
{
    return source->directory >= 0 ? source->directory : source->folder;
}

/* A listing of its own: two at once must not move each other's place. NULL with errno. */
static DIR *open_folder(const struct pf_source *source)
{
    int fd = openat(folder_of(source), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing && fd >= 0)
        close(fd);
    return listing;
}

static bool is_folder(DIR *listing, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return !fstatat(dirfd(listing), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* The next entry that matters, either of the folders or of everything else; or NULL. */
static const struct dirent *next_that_matters(const struct pf_source *source, DIR *listing,
                                              enum listed listed)
{
    const struct dirent *found;
    while ((found = readdir(listing)))
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0 &&
            (!source->matters || source->matters(found->d_name)) &&
            is_folder(listing, found) == (listed == FOLDERS))
            break;
    return found;
}

/* Names in any order come to the same digest. */
static struct pf_stamp digest_of(const struct pf_source *source, DIR *listing, enum listed listed)
{
    struct pf_stamp digest = {.device = 1}; /* not all zero: the folder is there */
    const struct dirent *found;
    while ((found = next_that_matters(source, listing, listed))) {
        digest.size++;
        digest.inode += pf_hash(0, found->d_name, strlen(found->d_name));
    }
    return digest;
}

/*
 * The digest of the folder's names, zero if there is none; they are gone through only if its times have changed. 0, or an
 * errno value if memory or descriptors lack.
 */
static int folder_now(struct pf_source *source, enum listed listed, struct pf_stamp *digest)
{
    struct folder_names *names = &source->names[listed];
    struct stat st;
    int lack = 0;
    *digest = (struct pf_stamp){0};
    if (fstat(folder_of(source), &st) || !S_ISDIR(st.st_mode))
        return 0;
    struct pf_stamp times = pf_stamp_of(&st);
    pf_source_note_access(source, folder_of(source), "", &st, false);
    pthread_mutex_lock(&source->folder_lock);
    if (!pf_stamp_same(&times, &names->times)) {
        DIR *listing = open_folder(source);
        names->digest = (struct pf_stamp){0};
        names->times = (struct pf_stamp){0};
        if (listing) {
            pf_outlast_clock_tick(dirfd(listing), &st);
            names->times = pf_stamp_of(&st);
            names->digest = digest_of(source, listing, listed);
            closedir(listing);
        } else if (pf_is_lack(errno)) {
            lack = errno;
        }
    }
    *digest = names->digest;
    pthread_mutex_unlock(&source->folder_lock);
    return lack;
}

/* True for the name of an input that is the listing of a folder in the source. */
static bool is_inner_folder(const char *name)
{
    size_t size = strlen(name);
    return size > 1 && *name != '/' && name[size - 1] == '/' && strcmp(name, listings[FOLDERS]) != 0;
}

/* What its times tell: they change with the names in it. */
static int inner_folder_now(struct pf_source *source, const char *name, struct pf_stamp *stamp)
{
    struct stat st;
    errno = 0;
    int fd = source->directory < 0 ? -1 : pf_open_beneath(source->directory, name, O_PATH | O_DIRECTORY);
    int lack = fd < 0 && pf_is_lack(errno) ? errno : 0;
    *stamp = (struct pf_stamp){0};
    if (fd >= 0 && !fstat(fd, &st)) {
        pf_source_note_access(source, fd, "", &st, false);
        *stamp = pf_stamp_of(&st);
    }
    if (fd >= 0)
        close(fd);
    return lack;
}

bool pf_source_listing_now(struct pf_source *source, const char *name, struct pf_stamp *stamp, int *lack)
{
    if (!strcmp(name, listings[FILES]))
        *lack = folder_now(source, FILES, stamp);
    else if (!strcmp(name, listings[FOLDERS]))
        *lack = folder_now(source, FOLDERS, stamp);
    else if (is_inner_folder(name))
        *lack = inner_folder_now(source, name, stamp);
    else
        return false;
    return true;
}

void pf_source_mind_others(struct pf_source *source, pf_matters *matters)
{
    source->lists = true;
    DIR *listing = source->directory < 0 ? NULL : open_folder(source);
    for (const struct dirent *found; listing && (found = readdir(listing));) {
        struct stat st;
        if ((!matters || matters(found->d_name)) && found->d_type != DT_DIR &&
            !fstatat(source->directory, found->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
            pf_source_note_access(source, source->directory, found->d_name, &st, false);
    }
    if (listing)
        closedir(listing);
}

/* ---- listing ------------------------------------------------------------------------------------ */

/* Records the folder as it is now. An earlier listing's stamp stays: if they differ, the profile is stale. */
static int record_folder(struct pf_source *source, enum listed listed, struct pf_error *error)
{
    struct pf_stamp digest;
    int lack = folder_now(source, listed, &digest);
    if (lack)
        return pf_fail(error, lack, "%s", strerror(lack));
    pthread_mutex_lock(&source->lock);
    struct pf_input *input = pf_source_find(source, listings[listed]);
    if (!input && (input = pf_source_add(source, listings[listed], error))) {
        input->present = true;
        input->stamp = digest;
    }
    pthread_mutex_unlock(&source->lock);
    return input ? 0 : -1;
}

static int list(struct pf_source *source, enum listed listed, pf_entry *entry, void *arg,
                struct pf_error *error)
{
    DIR *listing = open_folder(source);
    if (!listing)
        return pf_fail(error, errno, "%s", strerror(errno));
    const struct dirent *found;
    int failed = record_folder(source, listed, error), ended = failed;
    while (!ended && (found = next_that_matters(source, listing, listed)))
        ended = entry(arg, found->d_name, found->d_type);
    closedir(listing);
    return failed;
}

int pf_source_list(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error)
{
    return list(source, FILES, entry, arg, error);
}

int pf_source_list_folders(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error)
{
    return list(source, FOLDERS, entry, arg, error);
}

/* Records the folder as it was when its listing was opened. */
static int record_inner_folder(struct pf_source *source, const char *name, DIR *listing,
                               struct pf_error *error)
{
    struct stat st;
    if (fstat(dirfd(listing), &st))
        return pf_fail(error, errno, "%s", strerror(errno));
    pf_outlast_clock_tick(dirfd(listing), &st);
    pf_source_note_access(source, dirfd(listing), "", &st, false);
    pthread_mutex_lock(&source->lock);
    struct pf_input *input = pf_source_find(source, name);
    if (!input && (input = pf_source_add(source, name, error))) {
        input->present = true;
        input->stamp = pf_stamp_of(&st);
    }
    pthread_mutex_unlock(&source->lock);
    return input ? 0 : -1;
}

int pf_source_list_in(struct pf_source *source, const char *folder, pf_entry *entry, void *arg,
                      struct pf_error *error)
{
    char name[NAME_MAX + 2];
    if ((size_t)snprintf(name, sizeof name, "%s/", folder) >= sizeof name)
        return pf_fail(error, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    int fd = source->directory < 0 ? -1 : pf_open_beneath(source->directory, name, O_RDONLY | O_DIRECTORY);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing) {
        pf_fail(error, errno, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    const struct dirent *found;
    int failed = record_inner_folder(source, name, listing, error), ended = failed;
    while (!ended && (found = readdir(listing)))
        if (!is_folder(listing, found))
            ended = entry(arg, found->d_name, found->d_type);
    closedir(listing);
    return failed;
}
