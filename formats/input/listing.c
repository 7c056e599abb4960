/* SPDX-License-Identifier: MIT */
#include "formats/input/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/input/record.h"
#include "formats/kit/digest.h"

enum listed { FILES, FOLDERS };
static const char *const listings[] = {PF_FOLDER, PF_FOLDERS};

/* Returns FILES or FOLDERS; -1 if the name is neither PF_FOLDER nor PF_FOLDERS. */
static int listed_by(const char *name)
{
    for (int listed = FILES; listed <= FOLDERS; listed++)
        if (name && !strcmp(name, listings[listed]))
            return listed;
    return -1;
}

bool pf_listing_same(const char *name, const struct pf_stamp *a, const struct pf_stamp *b)
{
    if (listed_by(name) < 0)
        return pf_stamp_same(a, b);
    return a->device == b->device && a->inode == b->inode && a->size == b->size;
}

void pf_listing_record(struct pf_source *source, const char *name, const struct pf_stamp *stamp)
{
    int listed = listed_by(name);
    if (listed < 0)
        return;
    pf_lock_take(&source->lock);
    source->names[listed] = *stamp;
    pf_lock_drop(&source->lock);
}

/* ---- digests of names --------------------------------------------------------------------------- */

/* A walk over the relevant names in a folder: either the folders, or all other entries. */
struct listing_walk {
    const struct pf_folder *folder;
    pf_matters *matters;
    enum listed listed;
    pf_folder_visit *visit; /* NULL: add the names to the digest */
    void *arg;
    struct pf_stamp digest;
};

static bool listing_is_folder(const struct pf_folder *folder, const char *name, unsigned char type)
{
    struct stat st;
    if (type != DT_UNKNOWN)
        return type == DT_DIR;
    return !pf_folder_stat(folder, name, &st) && S_ISDIR(st.st_mode);
}

/* Visits a name that matters, or adds its hash to the digest. A sum of hashes does not depend on the order of the
 * names. */
static int visit_name(void *arg, const char *name, unsigned char type)
{
    struct listing_walk *walk = arg;
    if ((walk->matters && !walk->matters(name)) ||
        listing_is_folder(walk->folder, name, type) != (walk->listed == FOLDERS))
        return 0;
    if (walk->visit)
        return walk->visit(walk->arg, name, type);
    walk->digest.size++;
    walk->digest.inode += pf_digest(0, name, strlen(name));
    return 0;
}

/* Computes the digest of a folder with the attributes *st. Returns 0 or an errno value. */
static int digest_names(const struct pf_source *source, const struct pf_folder *folder, enum listed listed,
                        struct stat *st, struct pf_stamp *digest)
{
    struct listing_walk walk = {.folder = folder, .matters = source->matters, .listed = listed};
    if (pf_folder_fd(folder) >= 0)
        pf_outlast_clock_tick(pf_folder_fd(folder), st);
    int failed = pf_folder_list(folder, visit_name, &walk);
    const struct pf_stamp times = pf_stamp_of(st);
    *digest = walk.digest;
    digest->device = 1; /* not all zero, which would mean absent */
    digest->mtime_ns = times.mtime_ns;
    digest->ctime_ns = times.ctime_ns;
    return failed;
}

/* Like digest_names, for the folder at a location; opens the folder by path if the source is closed. */
static int digest_place(const struct pf_source *source, const struct pf_input_place *place,
                        enum listed listed, struct stat *st, struct pf_stamp *digest)
{
    struct pf_folder *own = place->folders ? NULL : pf_folder_open(place->folder, place->relative);
    if (!own && !place->folders)
        return errno;
    int failed = digest_names(source, own ? own : place->folder, listed, st, digest);
    pf_folder_free(own);
    return failed;
}

/* The current digest, all zero if there is no folder; recomputed only if the folder's times have changed. Returns 0 or
 * a transient errno value. */
static int digest_now(struct pf_source *source, enum listed listed, struct pf_stamp *digest)
{
    struct pf_input_place place;
    struct stat st;
    *digest = (struct pf_stamp){0};
    pf_input_place_find(source, PF_FOLDER, &place);
    int failed = pf_folder_stat(place.folder, place.relative, &st);
    if (!failed && S_ISDIR(st.st_mode)) {
        struct pf_stamp times = pf_stamp_of(&st);
        if (place.folders)
            pf_record_access(source, pf_folder_fd(place.folder), "", &st, false);
        pf_lock_take(&source->lock);
        *digest = source->names[listed];
        pf_lock_drop(&source->lock);
        if (times.mtime_ns != digest->mtime_ns || times.ctime_ns != digest->ctime_ns) {
            failed = digest_place(source, &place, listed, &st, digest);
            if (failed)
                *digest = (struct pf_stamp){0};
            pf_listing_record(source, listings[listed], digest);
        }
    }
    pf_input_place_release(&place);
    return pf_is_transient(failed) ? failed : 0;
}

/* ---- folders in the source ---------------------------------------------------------------------- */

/* True for the name of an input that is the listing of a subfolder of the source. */
static bool is_inner_folder(const char *name)
{
    size_t size = strlen(name);
    return size > 1 && *name != '/' && name[size - 1] == '/' && listed_by(name) < 0;
}

/* The stamp of a subfolder, whose times change with the names in the subfolder. */
static int inner_folder_now(struct pf_source *source, const char *name, struct pf_stamp *stamp)
{
    struct pf_input_place place;
    struct stat st;
    char folder[NAME_MAX + 1];
    size_t size = strlen(name) - 1; /* without the slash */
    int result = ENOENT;
    *stamp = (struct pf_stamp){0};
    if (size >= sizeof folder)
        return 0;
    memcpy(folder, name, size);
    folder[size] = 0;
    pf_input_place_find(source, folder, &place);
    if (place.folders ? place.folders->directory != NULL : source->within)
        result = pf_folder_stat(place.folder, place.relative, &st);
    if (!result && S_ISDIR(st.st_mode)) {
        if (place.folders)
            pf_record_access(source, pf_folder_fd(place.folder), folder, &st, false);
        *stamp = pf_stamp_of(&st);
    }
    pf_input_place_release(&place);
    return pf_is_transient(result) ? result : 0;
}

bool pf_listing_now(struct pf_source *source, const char *name, struct pf_stamp *stamp, int *transient)
{
    int listed = listed_by(name);
    if (listed >= 0)
        *transient = digest_now(source, (enum listed)listed, stamp);
    else if (name && is_inner_folder(name))
        *transient = inner_folder_now(source, name, stamp);
    else
        return false;
    return true;
}

/* ---- listing ------------------------------------------------------------------------------------ */

static int listing_list(struct pf_source *source, enum listed listed, pf_folder_visit *visit, void *arg,
                        struct pf_error *error)
{
    struct pf_stamp digest;
    int failed = digest_now(source, listed, &digest);
    if (failed)
        return pf_fail(error, failed, "%s", strerror(failed));
    /* The stamp of an earlier listing is kept. If the new one differs, the profile is stale. */
    if (pf_record_stamp(source, listings[listed], &digest, true, error))
        return -1;
    struct pf_input_place place;
    pf_input_place_find(source, PF_FOLDER, &place);
    struct listing_walk walk = {
        .folder = place.folder, .matters = source->matters, .listed = listed, .visit = visit, .arg = arg};
    failed = place.folders ? pf_folder_list(place.folder, visit_name, &walk) : ESTALE;
    pf_input_place_release(&place);
    return failed ? pf_fail(error, failed, "%s", strerror(failed)) : 0;
}

int pf_source_list(struct pf_source *source, pf_folder_visit *visit, void *arg, struct pf_error *error)
{
    return listing_list(source, FILES, visit, arg, error);
}

int pf_source_list_folders(struct pf_source *source, pf_folder_visit *visit, void *arg,
                           struct pf_error *error)
{
    return listing_list(source, FOLDERS, visit, arg, error);
}

/* Records an inner folder's stamp before it is listed. */
static int record_inner_folder(struct pf_source *source, const char *name, const struct pf_folder *folder,
                               struct pf_error *error)
{
    struct stat st;
    int result = pf_folder_stat(folder, ".", &st);
    if (result)
        return pf_fail(error, result, "%s", strerror(result));
    if (pf_folder_fd(folder) >= 0)
        pf_outlast_clock_tick(pf_folder_fd(folder), &st);
    pf_record_access(source, pf_folder_fd(folder), "", &st, false);
    struct pf_stamp stamp = pf_stamp_of(&st);
    return pf_record_stamp(source, name, &stamp, true, error);
}

int pf_source_list_in(struct pf_source *source, const char *folder, pf_folder_visit *visit, void *arg,
                      struct pf_error *error)
{
    char name[NAME_MAX + 2];
    if ((size_t)snprintf(name, sizeof name, "%s/", folder) >= sizeof name)
        return pf_fail(error, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
    struct pf_source_folders *folders = pf_source_folders_hold(source);
    errno = ENOTDIR;
    struct pf_folder *inner =
        folders && folders->directory ? pf_folder_open(folders->directory, folder) : NULL;
    int result = inner ? 0 : errno;
    pf_source_folders_release(folders);
    if (result)
        return pf_fail(error, result, "%s", strerror(result));
    struct listing_walk walk = {.folder = inner, .listed = FILES, .visit = visit, .arg = arg};
    int failed = record_inner_folder(source, name, inner, error);
    if (!failed && (result = pf_folder_list(inner, visit_name, &walk)))
        failed = pf_fail(error, result, "%s", strerror(result));
    pf_folder_free(inner);
    return failed;
}
