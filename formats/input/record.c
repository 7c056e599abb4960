/* SPDX-License-Identifier: MIT */
#include "formats/input/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/array.h"

/* ---- inputs by name ----------------------------------------------------------------------------- */

static uint64_t record_hash_of(const char *name)
{
    return pf_siphash(name != NULL, name, name ? strlen(name) : 0);
}

static bool is_input(const void *of, uint32_t number, const void *key)
{
    const struct pf_source *source = of;
    const char *name = source->inputs[number]->name;
    return name && key ? !strcmp(name, key) : name == key;
}

struct pf_input *pf_record_find(const struct pf_source *source, const char *name)
{
    pf_assert_held(&source->lock);
    int64_t found = pf_hash_find(&source->by_name, record_hash_of(name), is_input, source, name);
    return found == PF_NOT_THERE ? NULL : source->inputs[found];
}

struct pf_input *pf_record_add(struct pf_source *source, const char *name, struct pf_error *error)
{
    pf_assert_held(&source->lock);
    if (pf_array_room(&source->inputs, &source->room, source->count, sizeof *source->inputs, error))
        return NULL;
    struct pf_input *input = calloc(1, sizeof *input);
    if (!input || (name && !(input->name = strdup(name)))) {
        free(input);
        pf_fail_memory(error);
        return NULL;
    }
    if (pf_hash_add(&source->by_name, record_hash_of(name), (uint32_t)source->count, error)) {
        pf_input_free(input);
        return NULL;
    }
    input->source = source;
    source->inputs[source->count++] = input;
    return input;
}

int pf_record_stamp(struct pf_source *source, const char *name, const struct pf_stamp *stamp, bool present,
                    struct pf_error *error)
{
    pf_lock_take(&source->lock);
    struct pf_input *input = pf_record_find(source, name);
    if (!input && (input = pf_record_add(source, name, error))) {
        input->present = present;
        input->stamp = *stamp;
    }
    pf_lock_drop(&source->lock);
    return input ? 0 : -1;
}

/* ---- places ------------------------------------------------------------------------------------- */

struct pf_source_folders *pf_source_folders_hold(struct pf_source *source)
{
    pf_lock_take(&source->lock);
    struct pf_source_folders *folders = source->folders;
    if (folders)
        atomic_fetch_add(&folders->references, 1);
    pf_lock_drop(&source->lock);
    return folders;
}

void pf_source_folders_release(struct pf_source_folders *folders)
{
    if (!folders || atomic_fetch_sub(&folders->references, 1) != 1)
        return;
    pf_folder_free(folders->directory);
    pf_folder_free(folders->parent);
    free(folders);
}

/*
 * Returns the path of an input relative to the top folder: the path of the source or of its folder, then the input's
 * name.
 */
static const char *path_from_top(const struct pf_source *source, const char *name, char room[PATH_MAX])
{
    if (!name)
        return source->path;
    size_t above = source->name == source->path ? 0 : (size_t)(source->name - source->path - 1);
    size_t size = source->within ? strlen(source->path) : above;
    if (*name == '/' || size == 0 || !strcmp(source->path, "."))
        return name;
    bool itself = !strcmp(name, PF_FOLDER);
    snprintf(room, PATH_MAX, "%.*s%s%s", (int)size, source->path, itself ? "" : "/", itself ? "" : name);
    return room;
}

void pf_input_place_find(struct pf_source *source, const char *name, struct pf_input_place *place)
{
    struct pf_source_folders *folders = place->folders = pf_source_folders_hold(source);
    if (folders) {
        place->folder = name && folders->directory ? folders->directory : folders->parent;
        place->relative = name ? name : source->name;
    } else {
        place->folder = source->top;
        place->relative = path_from_top(source, name, place->room);
    }
}

void pf_input_place_release(struct pf_input_place *place)
{
    pf_source_folders_release(place->folders);
}

int pf_input_place_stat(const struct pf_input_place *place, struct stat *st)
{
    pf_may_block();
    if (*place->relative != '/')
        return pf_folder_stat(place->folder, place->relative, st);
    return stat(place->relative, st) ? errno : 0;
}

/* ---- access ------------------------------------------------------------------------------------- */

void pf_record_access(struct pf_source *source, int directory, const char *name, const struct stat *st,
                      bool through)
{
    struct stat bare = *st;
    if (source->lists && directory != -1)
        bare.st_mode = pf_mode_without_list(directory, name, bare.st_mode);
    struct pf_access access = through ? pf_access_through(&bare) : pf_access_of(&bare);
    pf_lock_take(&source->lock);
    pf_access_restrict(&source->access, &access, getuid());
    pf_lock_drop(&source->lock);
}

void pf_record_input_access(struct pf_source *source, const struct pf_input_place *place,
                            const struct stat *st)
{
    const char *relative = place->relative;
    bool absolute = *relative == '/';
    for (const char *slash = strchr(relative, '/'); !absolute && slash; slash = strchr(slash + 1, '/')) {
        struct stat above;
        char *path = strndup(relative, (size_t)(slash - relative));
        if (!path || pf_folder_stat(place->folder, path, &above))
            above = (struct stat){.st_mode = S_IFDIR | 0700, .st_uid = getuid()};
        pf_record_access(source, pf_folder_fd(place->folder), path ? path : "", &above, true);
        free(path);
    }
    pf_record_access(source, absolute ? AT_FDCWD : pf_folder_fd(place->folder), relative, st, false);
}
