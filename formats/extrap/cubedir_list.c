/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/cubedir.h"

/* ---- names -------------------------------------------------------------------------------------- */

struct names {
    char **at; /* owned, and each of them */
    size_t count, room;
    bool files;  /* wanted: Cube files, else folders */
    bool failed; /* out of memory */
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
    if (*name == '.' || (names->files && !pf_pointdirs_is_file(name, ".cubex")))
        return 0;
    if (names->count == names->room) {
        size_t room = names->room ? names->room * 2 : 16;
        char **grown = realloc(names->at, room * sizeof *grown);
        names->failed = !grown;
        if (!grown)
            return 1;
        names->at = grown;
        names->room = room;
    }
    names->at[names->count] = strdup(name);
    names->failed = !names->at[names->count];
    names->count += !names->failed;
    return names->failed;
}

/* ---- files -------------------------------------------------------------------------------------- */

static int add_file(struct pf_cubedir *cubedir, const char *folder, const char *name, struct pf_error *error)
{
    if (cubedir->n_files == cubedir->room_files) {
        size_t room = cubedir->room_files ? cubedir->room_files * 2 : 16;
        struct pf_cubedir_file *grown = realloc(cubedir->files, room * sizeof *grown);
        if (!grown)
            return pf_fail_memory(error);
        cubedir->files = grown;
        cubedir->room_files = room;
    }
    struct pf_cubedir_file file = {strdup(folder), strdup(name)};
    cubedir->files[cubedir->n_files++] = file;
    return file.folder && file.name ? 0 : pf_fail_memory(error);
}

/* A folder without Cube files, or one that cannot be looked into, is no point. */
static int take_folder(struct pf_cubedir *cubedir, struct pf_source *source, const char *folder,
                       struct pf_error *error)
{
    struct names names = {.files = true};
    int result = pf_source_list_in(source, folder, take_name, &names, error);
    if (result && (error->code == EACCES || error->code == ENOENT))
        result = 0;
    else if (!result && names.failed)
        result = pf_fail_memory(error);
    for (size_t i = 0; i < names.count && !result; i++)
        result = add_file(cubedir, folder, names.at[i], error);
    if (!result && names.count)
        result = pf_pointdirs_add(&cubedir->dirs, folder, error);
    free_names(&names);
    return result;
}

static int by_path(const void *left, const void *right)
{
    const struct pf_cubedir_file *a = left, *b = right;
    int order = strcmp(a->folder, b->folder);
    return order ? order : strcmp(a->name, b->name);
}

int pf_cubedir_list(struct pf_cubedir *cubedir, struct pf_source *source, struct pf_error *error)
{
    struct names folders = {0};
    int result = pf_source_list_folders(source, take_name, &folders, error);
    if (!result && folders.failed)
        result = pf_fail_memory(error);
    for (size_t i = 0; i < folders.count && !result; i++)
        result = take_folder(cubedir, source, folders.at[i], error);
    free_names(&folders);
    if (result)
        return -1;
    if (cubedir->n_files)
        qsort(cubedir->files, cubedir->n_files, sizeof *cubedir->files, by_path);
    return pf_pointdirs_finish(&cubedir->dirs, error);
}

void pf_cubedir_list_free(struct pf_cubedir *cubedir)
{
    for (size_t i = 0; i < cubedir->n_files; i++) {
        free(cubedir->files[i].folder);
        free(cubedir->files[i].name);
    }
    free(cubedir->files);
    pf_pointdirs_free(&cubedir->dirs);
}

size_t pf_cubedir_first_file(const struct pf_cubedir *cubedir, const char *folder)
{
    size_t low = 0, high = cubedir->n_files;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(cubedir->files[middle].folder, folder) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cubedir->n_files && !strcmp(cubedir->files[low].folder, folder) ? low : cubedir->n_files;
}
