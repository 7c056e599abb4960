/* SPDX-License-Identifier: MIT */
#include "formats/extrap/cubedir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct pf_driver pf_cubedir_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    if (pf_pointdirs_probe(probe->fd, ".cubex", 2))
        verdict->confidence = 16;
}

/* ---- opening ------------------------------------------------------------------------------------ */

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

/* The common columns of statistics, with the scaling before them. */
static int set_columns(struct pf_profile *profile, const struct pf_experiment *experiment,
                       struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state;
    struct pf_experiment_tables *tables = &cubedir->stored.tables;
    if (pf_experiment_columns(tables, experiment, profile, error))
        return -1;
    struct pf_table *statistics = &tables->tables[PF_STATISTICS_TABLE];
    cubedir->statistics[0] = (struct pf_column){"scaling", PF_PLAIN, 0};
    memcpy(cubedir->statistics + 1, statistics->columns, statistics->n_columns * sizeof *statistics->columns);
    statistics->columns = cubedir->statistics;
    statistics->n_columns++;
    return 0;
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    static const struct pf_experiment_ops ops = {
        .values = &pf_stored_rows, .statistics = &pf_cubedir_statistics, .cells = &pf_stored_rows};
    struct pf_cubedir *cubedir = profile->state = calloc(1, sizeof *cubedir);
    if (!cubedir)
        return pf_fail_memory(error);
    profile->partitions.singular = "point";
    profile->partitions.plural = "points";
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->metrics_stage = PF_MODELLED;
    pf_experiment_declare(&cubedir->stored.tables, &ops, profile);
    if (pf_cubedir_list(cubedir, profile->source, error))
        return -1;
    cubedir->stored.head = new_experiment(&cubedir->dirs, error);
    if (!cubedir->stored.head || pf_experiment_info(profile, cubedir->stored.head, error))
        return -1;
    struct pf_cell files[] = {pf_string("Files"), pf_uint(cubedir->n_files)};
    return pf_rows_add(profile->info, files, error) ? -1 : set_columns(profile, cubedir->stored.head, error);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int read_folder(struct pf_profile *profile, struct pf_study *study,
                       const struct pf_pointdir_entry *folder, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state;
    if (folder->problem)
        return pf_experiment_note(study->experiment, PF_BAD_POINT, 0, -1, error,
                                  "folder %.100s %s: it is left out", folder->name, folder->problem);
    uint32_t point =
        pf_experiment_point(study->experiment, folder->values, cubedir->dirs.parameters, false, error);
    if (point == PF_NO_POINT)
        return -1;
    for (size_t i = pf_cubedir_first_file(cubedir, folder->name);
         i < cubedir->n_files && !strcmp(cubedir->files[i].folder, folder->name); i++) {
        char path[2 * 256 + 2]; /* two names of a file system */
        snprintf(path, sizeof path, "%s/%s", folder->name, cubedir->files[i].name);
        if (pf_cubedir_read(cubedir, study, profile->source, path, point, pass, error))
            return -1;
    }
    return 0;
}

static int read_folders(struct pf_profile *profile, struct pf_study *study, struct pf_pass *pass,
                        struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state;
    for (size_t i = 0; i < cubedir->dirs.count; i++)
        if (read_folder(profile, study, &cubedir->dirs.entries[i], pass, error))
            return -1;
    if (!cubedir->dirs.points &&
        pf_experiment_note(study->experiment, PF_NOTHING, 0, -1, error, "no folder is a point"))
        return -1;
    if (pf_measured_finish(study->measured, study->experiment, pass, error))
        return -1;
    return pf_cubedir_merge(cubedir, study, pass, error);
}

/* The sides of a metric know each other. Called with the metrics that have been published. */
static void set_sides(const struct pf_cubedir *cubedir, const struct pf_experiment *experiment)
{
    struct pf_metric *metrics = experiment->metric_list;
    size_t n = pf_strings_count(experiment->metrics);
    for (size_t i = 0; i < n; i++) {
        metrics[i].scope = cubedir->inclusive[i] ? "inclusive" : "exclusive";
        size_t length = strlen(metrics[i].name);
        bool twins = i + 1 < n && !cubedir->inclusive[i] && cubedir->inclusive[i + 1] &&
                     !strncmp(metrics[i].name, metrics[i + 1].name, length) &&
                     !strcmp(metrics[i + 1].name + length, " (inc)");
        if (twins) {
            metrics[i].partner = (int)i + 1;
            metrics[i + 1].partner = (int)i;
        }
    }
}

static void free_study(struct pf_study *study)
{
    pf_experiment_free(study->experiment);
    pf_measured_free(study->measured);
    free(study);
}

static struct pf_study *new_study(const struct pf_cubedir *cubedir, struct pf_error *error)
{
    struct pf_study *study = calloc(1, sizeof *study);
    if (!study) {
        pf_fail_memory(error);
        return NULL;
    }
    study->experiment = new_experiment(&cubedir->dirs, error);
    study->measured = pf_measured_new();
    if (study->experiment && study->measured)
        return study;
    if (study->experiment)
        pf_fail_memory(error);
    free_study(study);
    return NULL;
}

static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state;
    struct pf_study *study = new_study(cubedir, error);
    if (!study)
        return -1;
    if (read_folders(profile, study, pass, error) ||
        pf_experiment_publish(study->experiment, profile, error)) {
        pf_cubedir_merge_free(cubedir);
        free_study(study);
        return -1;
    }
    set_sides(cubedir, study->experiment);
    cubedir->stored.study = study;
    return set_columns(profile, study->experiment, error);
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_cubedir *cubedir = profile->state;
    return stage == PF_PARTITIONED && !cubedir->stored.study ? read_all(profile, pass, error) : 0;
}

static void close_folder(struct pf_profile *profile)
{
    struct pf_cubedir *cubedir = profile->state;
    if (!cubedir)
        return;
    pf_cubedir_list_free(cubedir);
    pf_cubedir_merge_free(cubedir);
    free(cubedir->inclusive);
    pf_stored_close(profile);
}

const struct pf_driver pf_cubedir_driver = {
    .name = "cube-experiment",
    .title = "Folders of points that hold Cube profiles, as an Extra-P experiment",
    .version = 1,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = close_folder,
};
