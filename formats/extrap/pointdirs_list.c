/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

#include "formats/extrap/pointdirs.h"

/* ---- names -------------------------------------------------------------------------------------- */

struct names {
    char **at; /* owned, and each of them */
    size_t count, room;
    const char *suffix; /* of the files that are wanted; NULL: folders are */
    bool failed;        /* out of memory */
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
    *names = (struct names){0};
}

static int take_name(void *arg, const char *name, unsigned char type)
{
    struct names *names = arg;
    (void)type;
    if (*name == '.' || (names->suffix && !pf_pointdirs_is_file(name, names->suffix)))
        return 0;
    struct pf_error lack;
    names->failed = pf_array_room(&names->at, &names->room, names->count, sizeof *names->at, &lack) != 0;
    if (names->failed)
        return 1;
    names->at[names->count] = strdup(name);
    names->failed = !names->at[names->count];
    names->count += !names->failed;
    return names->failed;
}

/* ---- files -------------------------------------------------------------------------------------- */

static int add_file(struct pf_pointdirs *dirs, const char *folder, const char *name, struct pf_error *error)
{
    if (pf_array_room(&dirs->files, &dirs->files_room, dirs->n_files, sizeof *dirs->files, error))
        return -1;
    struct pf_pointdir_file file = {strdup(folder), strdup(name)};
    dirs->files[dirs->n_files++] = file;
    return file.folder && file.name ? 0 : pf_fail_memory(error);
}

/* A folder without such files, or one that cannot be looked into, is no point. */
static int take_folder(struct pf_pointdirs *dirs, struct pf_source *source, const char *folder,
                       const char *suffix, struct pf_error *error)
{
    struct names names = {.suffix = suffix};
    int result = pf_source_list_in(source, folder, take_name, &names, error);
    if (result && (error->code == EACCES || error->code == ENOENT))
        result = 0;
    else if (!result && names.failed)
        result = pf_fail_memory(error);
    for (size_t i = 0; i < names.count && !result; i++)
        result = add_file(dirs, folder, names.at[i], error);
    if (!result && names.count)
        result = pf_pointdirs_add(dirs, folder, error);
    free_names(&names);
    return result;
}

static int by_path(const void *left, const void *right)
{
    const struct pf_pointdir_file *a = left, *b = right;
    int order = strcmp(a->folder, b->folder);
    return order ? order : strcmp(a->name, b->name);
}

int pf_pointdirs_list(struct pf_pointdirs *dirs, struct pf_source *source, const char *suffix,
                      struct pf_error *error)
{
    struct names folders = {0};
    int result = pf_source_list_folders(source, take_name, &folders, error);
    if (!result && folders.failed)
        result = pf_fail_memory(error);
    for (size_t i = 0; i < folders.count && !result; i++)
        result = take_folder(dirs, source, folders.at[i], suffix, error);
    free_names(&folders);
    if (result)
        return -1;
    if (dirs->n_files)
        qsort(dirs->files, dirs->n_files, sizeof *dirs->files, by_path);
    return pf_pointdirs_finish(dirs, error);
}

size_t pf_pointdirs_first_file(const struct pf_pointdirs *dirs, const char *folder)
{
    size_t low = 0, high = dirs->n_files;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(dirs->files[middle].folder, folder) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < dirs->n_files && !strcmp(dirs->files[low].folder, folder) ? low : dirs->n_files;
}
