/* SPDX-License-Identifier: MIT */
#include "formats/nsight/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct pf_driver pf_nsight_folder_driver;

#define SUFFIX ".sqlite"

/* ---- what there is ------------------------------------------------------------------------------- */

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    if (pf_pointdirs_probe(probe->fd, SUFFIX, 2))
        verdict->confidence = 16;
}

/* Names of folders, and of files in the last of them. */
struct listing {
    struct nsight_folder *folder;
    char **dirs; /* owned */
    size_t n_dirs, dirs_room;
    const char *dir; /* that is being listed */
    struct pf_error *error;
    bool failed;
};

static void *room_for(void *array, size_t *room, size_t used, size_t size)
{
    if (used < *room)
        return array;
    size_t more = *room ? *room * 2 : 16;
    void *grown = realloc(array, more * size);
    if (grown)
        *room = more;
    return grown;
}

static int take_dir(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    (void)type;
    if (*name == '.')
        return 0;
    char **dirs = room_for(listing->dirs, &listing->dirs_room, listing->n_dirs, sizeof *dirs);
    if (dirs)
        listing->dirs = dirs;
    listing->failed = !dirs || !(dirs[listing->n_dirs] = strdup(name));
    listing->n_dirs += !listing->failed;
    return listing->failed;
}

static int take_file(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    struct nsight_folder *folder = listing->folder;
    (void)type;
    if (!pf_pointdirs_is_file(name, SUFFIX))
        return 0;
    struct nsight_file *files = room_for(folder->files, &folder->files_room, folder->n_files, sizeof *files);
    listing->failed = !files;
    if (!files)
        return 1;
    folder->files = files;
    struct nsight_file file = {strdup(listing->dir), strdup(name)};
    listing->failed = !file.dir || !file.name;
    files[folder->n_files++] = file;
    return listing->failed;
}

/* The exports of each folder; folders without any are no points. */
static int list_files(struct listing *listing, struct pf_profile *profile, struct pf_error *error)
{
    for (size_t i = 0; i < listing->n_dirs; i++) {
        size_t before = listing->folder->n_files;
        listing->dir = listing->dirs[i];
        if (pf_source_list_in(profile->source, listing->dir, take_file, listing, error)) {
            if (error->code == EACCES || error->code == ENOENT)
                continue;
            return -1;
        }
        if (listing->failed)
            return pf_fail_memory(error);
        if (listing->folder->n_files > before &&
            pf_pointdirs_add(&listing->folder->dirs, listing->dir, error))
            return -1;
    }
    return 0;
}

static int by_path(const void *left, const void *right)
{
    const struct nsight_file *a = left, *b = right;
    int order = strcmp(a->dir, b->dir);
    return order ? order : strcmp(a->name, b->name);
}

static int list_all(struct nsight_folder *folder, struct pf_profile *profile, struct pf_error *error)
{
    struct listing listing = {.folder = folder};
    int failed = pf_source_list_folders(profile->source, take_dir, &listing, error);
    if (!failed && listing.failed)
        failed = pf_fail_memory(error);
    if (!failed)
        failed = list_files(&listing, profile, error);
    for (size_t i = 0; i < listing.n_dirs; i++)
        free(listing.dirs[i]);
    free(listing.dirs);
    if (failed || pf_pointdirs_finish(&folder->dirs, error))
        return -1;
    if (folder->n_files)
        qsort(folder->files, folder->n_files, sizeof *folder->files, by_path);
    return 0;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static struct pf_experiment *new_experiment(const struct pf_pointdirs *dirs, struct pf_error *error)
{
    struct pf_experiment *experiment = pf_experiment_new();
    if (!experiment)
        pf_fail_memory(error);
    for (unsigned i = 0; experiment && i < dirs->parameters; i++)
        if (pf_experiment_add_parameter(experiment, dirs->names[i], strlen(dirs->names[i]), error) < 0) {
            pf_experiment_free(experiment);
            experiment = NULL;
        }
    return experiment;
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    static const struct pf_experiment_ops ops = {
        .values = &pf_stored_rows, .statistics = &pf_stored_rows, .cells = &pf_stored_rows};
    struct nsight_folder *folder = profile->state = calloc(1, sizeof *folder);
    if (!folder)
        return pf_fail_memory(error);
    profile->partitions.singular = "point";
    profile->partitions.plural = "points";
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->metrics_stage = PF_MODELLED;
    pf_experiment_declare(&folder->stored.tables, &ops, profile);
    if (list_all(folder, profile, error))
        return -1;
    folder->stored.head = new_experiment(&folder->dirs, error);
    if (!folder->stored.head || pf_experiment_info(profile, folder->stored.head, error))
        return -1;
    struct pf_cell exports[] = {pf_string("Exports"), pf_uint(folder->n_files)};
    return pf_rows_add(profile->info, exports, error) ||
                   pf_experiment_columns(&folder->stored.tables, folder->stored.head, profile, error)
               ? -1
               : 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* The first export of a folder; the number of exports if there is none. */
static size_t first_file(const struct nsight_folder *folder, const char *dir)
{
    size_t low = 0, high = folder->n_files;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(folder->files[middle].dir, dir) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int read_dir(struct nsight_folder *folder, struct pf_study *study, struct pf_profile *profile,
                    const struct pf_pointdir_entry *dir, struct pf_pass *pass, struct pf_error *error)
{
    if (dir->problem)
        return pf_experiment_note(study->experiment, PF_BAD_POINT, 0, -1, error,
                                  "folder %.100s %s: it is left out", dir->name, dir->problem);
    uint32_t point =
        pf_experiment_point(study->experiment, dir->values, folder->dirs.parameters, false, error);
    if (point == PF_NO_POINT)
        return -1;
    for (size_t i = first_file(folder, dir->name); i < folder->n_files; i++) {
        char path[1024];
        if (strcmp(folder->files[i].dir, dir->name) != 0)
            break;
        snprintf(path, sizeof path, "%s/%s", dir->name, folder->files[i].name);
        if (nsight_read_point(study, profile, path, point, pass, error))
            return -1;
    }
    return 0;
}

static int read_dirs(struct nsight_folder *folder, struct pf_study *study, struct pf_profile *profile,
                     struct pf_pass *pass, struct pf_error *error)
{
    for (size_t i = 0; i < folder->dirs.count; i++)
        if (read_dir(folder, study, profile, &folder->dirs.entries[i], pass, error))
            return -1;
    if (!folder->dirs.points &&
        pf_experiment_note(study->experiment, PF_NOTHING, 0, -1, error, "no folder is a point"))
        return -1;
    return pf_measured_finish(study->measured, study->experiment, pass, error);
}

static void free_study(struct pf_study *study)
{
    pf_experiment_free(study->experiment);
    pf_measured_free(study->measured);
    free(study);
}

static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct nsight_folder *folder = profile->state;
    struct pf_study *study = calloc(1, sizeof *study);
    if (!study)
        return pf_fail_memory(error);
    study->experiment = new_experiment(&folder->dirs, error);
    study->measured = pf_measured_new();
    int failed = -1;
    if (study->experiment && !study->measured)
        pf_fail_memory(error);
    else if (study->experiment && !read_dirs(folder, study, profile, pass, error))
        failed = pf_experiment_publish(study->experiment, profile, error);
    if (failed) {
        free_study(study);
        return -1;
    }
    folder->stored.study = study;
    return pf_experiment_columns(&folder->stored.tables, study->experiment, profile, error);
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    const struct nsight_folder *folder = profile->state;
    return stage == PF_PARTITIONED && !folder->stored.study ? read_all(profile, pass, error) : 0;
}

static void close_folder(struct pf_profile *profile)
{
    struct nsight_folder *folder = profile->state;
    if (!folder)
        return;
    for (size_t i = 0; i < folder->n_files; i++) {
        free(folder->files[i].dir);
        free(folder->files[i].name);
    }
    free(folder->files);
    pf_pointdirs_free(&folder->dirs);
    pf_stored_close(profile);
}

const struct pf_driver pf_nsight_folder_driver = {
    .name = "nsight-experiment",
    .title = "Folders of points that hold Nsight Systems exports, as an Extra-P experiment",
    .version = 1,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = close_folder,
};
