/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "formats/kit/hash.h"

#include "formats/input/source_private.h"

/* Listings of a source's folders. A listing is an input too: what comes and goes in the folder is a change. */

/* What a listing is of; its input's name. */
enum listed { FILES, FOLDERS };
static const char *const listings[] = {PF_FOLDER, PF_FOLDERS};

bool pf_source_same(const char *name, const struct pf_stamp *a, const struct pf_stamp *b)
{
    if (!name || (strcmp(name, PF_FOLDER) != 0 && strcmp(name, PF_FOLDERS) != 0))
        return pf_stamp_same(a, b);
    return a->device == b->device && a->inode == b->inode && a->size == b->size;
}

void pf_source_know_listing(struct pf_source *source, const char *name, const struct pf_stamp *stamp)
{
    for (enum listed listed = FILES; listed <= FOLDERS; listed++)
        if (!strcmp(name, listings[listed]))
            source->names[listed] = *stamp;
}

static const struct pf_folder *folder_of(const struct pf_source *source)
{
    return source->directory ? source->directory : source->folder;
}

/* A walk over the entries of a folder that matter, either the folders among them or everything else. */
struct listing {
    const struct pf_source *source;
    const struct pf_folder *folder;
    enum listed listed;
    pf_entry *entry; /* what they are given to; NULL: */
    struct pf_stamp digest;
    void *arg;
};

static bool is_folder(const struct pf_folder *folder, const char *name, unsigned char type)
{
    struct stat st;
    if (type != DT_UNKNOWN)
        return type == DT_DIR;
    return !pf_folder_stat(folder, name, &st) && S_ISDIR(st.st_mode);
}

/* Names in any order come to the same digest. */
static int list_one(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    const struct pf_source *source = listing->source;
    if ((source->matters && !source->matters(name)) ||
        is_folder(listing->folder, name, type) != (listing->listed == FOLDERS))
        return 0;
    if (listing->entry)
        return listing->entry(listing->arg, name, type);
    listing->digest.size++;
    listing->digest.inode += pf_hash(0, name, strlen(name));
    return 0;
}

/* Goes through a folder's names. 0 or an errno value. */
static int digest_names(const struct pf_source *source, const struct pf_folder *folder, enum listed listed,
                        struct stat *st, struct pf_stamp *digest)
{
    struct listing listing = {.source = source, .folder = folder, .listed = listed};
    if (pf_folder_fd(folder) >= 0)
        pf_outlast_clock_tick(pf_folder_fd(folder), st);
    int failed = pf_folder_list(folder, list_one, &listing);
    const struct pf_stamp times = pf_stamp_of(st);
    *digest = listing.digest;
    digest->device = 1; /* not all zero: the folder is there */
    digest->mtime_ns = times.mtime_ns;
    digest->ctime_ns = times.ctime_ns;
    return failed;
}

/*
 * What the folder's names come to, and its times, all zero if there is none; they are gone through only if the times have changed.
 * 0, or a transient errno value.
 */
static int folder_now(struct pf_source *source, enum listed listed, struct pf_stamp *digest)
{
    struct pf_stamp *names = &source->names[listed];
    struct stat st;
    char room[PATH_MAX];
    const char *relative;
    const struct pf_folder *place = pf_source_place(source, PF_FOLDER, room, &relative);
    *digest = (struct pf_stamp){0};
    int failed = source->gone ? 0 : pf_folder_stat(place, relative, &st);
    if (source->gone || failed || !S_ISDIR(st.st_mode))
        return pf_is_transient(failed) ? failed : 0;
    struct pf_stamp times = pf_stamp_of(&st);
    if (source->folder)
        pf_source_note_access(source, pf_folder_fd(place), "", &st, false);
    pf_lock_take(&source->folder_lock);
    if (times.mtime_ns != names->mtime_ns || times.ctime_ns != names->ctime_ns) {
        struct pf_folder *own = source->folder ? NULL : pf_folder_open(place, relative);
        failed = own || source->folder ? digest_names(source, own ? own : place, listed, &st, names) : errno;
        if (failed)
            *names = (struct pf_stamp){0};
        pf_folder_free(own);
    }
    *digest = *names;
    pf_lock_drop(&source->folder_lock);
    return pf_is_transient(failed) ? failed : 0;
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
    char room[PATH_MAX], folder[NAME_MAX + 1];
    const char *relative;
    size_t size = strlen(name) - 1; /* without the slash */
    *stamp = (struct pf_stamp){0};
    if ((source->folder ? !source->directory : !source->within) || size >= sizeof folder)
        return 0;
    memcpy(folder, name, size);
    folder[size] = 0;
    const struct pf_folder *place = pf_source_place(source, folder, room, &relative);
    int result = pf_folder_stat(place, relative, &st);
    if (!result && S_ISDIR(st.st_mode)) {
        if (source->folder)
            pf_source_note_access(source, pf_folder_fd(place), folder, &st, false);
        *stamp = pf_stamp_of(&st);
    }
    return pf_is_transient(result) ? result : 0;
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

/* What may matter of a source that is a directory. */
struct minding {
    struct pf_source *source;
    pf_matters *matters;
};

static int mind_one(void *arg, const char *name, unsigned char type)
{
    const struct minding *minding = arg;
    const struct pf_folder *folder = minding->source->directory;
    struct stat st;
    if ((!minding->matters || minding->matters(name)) && type != DT_DIR &&
        !pf_folder_stat(folder, name, &st) && S_ISREG(st.st_mode))
        pf_source_note_access(minding->source, pf_folder_fd(folder), name, &st, false);
    return 0;
}

void pf_source_mind_others(struct pf_source *source, pf_matters *matters)
{
    struct minding minding = {source, matters};
    source->lists = true;
    if (source->directory)
        pf_folder_list(source->directory, mind_one, &minding);
}

/* ---- listing ------------------------------------------------------------------------------------ */

/* Records the folder as it is now. An earlier listing's stamp stays: if they differ, the profile is stale. */
static int record_folder(struct pf_source *source, enum listed listed, struct pf_error *error)
{
    struct pf_stamp digest;
    int lack = folder_now(source, listed, &digest);
    if (lack)
        return pf_fail(error, lack, "%s", strerror(lack));
    pf_lock_take(&source->lock);
    struct pf_input *input = pf_source_find(source, listings[listed]);
    if (!input && (input = pf_source_add(source, listings[listed], error))) {
        input->present = true;
        input->stamp = digest;
    }
    pf_lock_drop(&source->lock);
    return input ? 0 : -1;
}

static int list(struct pf_source *source, enum listed listed, pf_entry *entry, void *arg,
                struct pf_error *error)
{
    struct listing listing = {
        .source = source, .folder = folder_of(source), .listed = listed, .entry = entry, .arg = arg};
    if (source->gone)
        return pf_fail(error, ESTALE, "the file has changed");
    if (record_folder(source, listed, error))
        return -1;
    int result = pf_folder_list(listing.folder, list_one, &listing);
    return result ? pf_fail(error, result, "%s", strerror(result)) : 0;
}

int pf_source_list(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error)
{
    return list(source, FILES, entry, arg, error);
}

int pf_source_list_folders(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error)
{
    return list(source, FOLDERS, entry, arg, error);
}

/* Records the folder as it was before its listing. */
static int record_inner_folder(struct pf_source *source, const char *name, const struct pf_folder *folder,
                               struct pf_error *error)
{
    struct stat st;
    int result = pf_folder_stat(folder, ".", &st);
    if (result)
        return pf_fail(error, result, "%s", strerror(result));
    if (pf_folder_fd(folder) >= 0)
        pf_outlast_clock_tick(pf_folder_fd(folder), &st);
    pf_source_note_access(source, pf_folder_fd(folder), "", &st, false);
    pf_lock_take(&source->lock);
    struct pf_input *input = pf_source_find(source, name);
    if (!input && (input = pf_source_add(source, name, error))) {
        input->present = true;
        input->stamp = pf_stamp_of(&st);
    }
    pf_lock_drop(&source->lock);
    return input ? 0 : -1;
}

static int list_inner(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    return is_folder(listing->folder, name, type) ? 0 : listing->entry(listing->arg, name, type);
}

int pf_source_list_in(struct pf_source *source, const char *folder, pf_entry *entry, void *arg,
                      struct pf_error *error)
{
    char name[NAME_MAX + 2];
    if ((size_t)snprintf(name, sizeof name, "%s/", folder) >= sizeof name)
        return pf_fail(error, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    errno = ENOTDIR;
    struct pf_folder *inner = source->directory ? pf_folder_open(source->directory, folder) : NULL;
    if (!inner)
        return pf_fail(error, errno, "%s", strerror(errno));
    struct listing listing = {.source = source, .folder = inner, .entry = entry, .arg = arg};
    int failed = record_inner_folder(source, name, inner, error), result = 0;
    if (!failed && (result = pf_folder_list(inner, list_inner, &listing)))
        failed = pf_fail(error, result, "%s", strerror(result));
    pf_folder_free(inner);
    return failed;
}
