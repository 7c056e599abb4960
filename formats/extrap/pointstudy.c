/* SPDX-License-Identifier: MIT */
#include "formats/extrap/pointstudy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pf_pointstudy_probe(struct pf_probe *probe, const char *suffix, struct pf_verdict *verdict)
{
    if (pf_pointdirs_probe(probe, suffix, 2))
        verdict->confidence = 16;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static int add_parameters(struct pf_experiment *experiment, const struct pf_pointdirs *dirs,
                          struct pf_error *error)
{
    for (unsigned i = 0; i < dirs->parameters; i++)
        if (pf_experiment_add_parameter(experiment, dirs->names[i], strlen(dirs->names[i]), error) < 0)
            return -1;
    return 0;
}

static struct pf_experiment *new_experiment(const struct pf_pointdirs *dirs, struct pf_error *error)
{
    struct pf_experiment *experiment = pf_experiment_new();
    if (!experiment) {
        pf_fail_memory(error);
        return NULL;
    }
    if (!add_parameters(experiment, dirs, error))
        return experiment;
    pf_experiment_free(experiment);
    return NULL;
}

int pf_pointstudy_open(struct pf_profile *profile, const char *suffix, const char *what,
                       const struct pf_experiment_ops *ops, struct pf_error *error)
{
    struct pf_pointstudy *points = profile->state;
    profile->partitions.singular = "point";
    profile->partitions.plural = "points";
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->metrics_stage = PF_MODELLED;
    pf_experiment_declare(&points->stored.tables, ops, profile);
    if (pf_pointdirs_list(&points->dirs, profile->source, suffix, error))
        return -1;
    points->stored.head = new_experiment(&points->dirs, error);
    if (!points->stored.head || pf_experiment_info(profile, points->stored.head, error))
        return -1;
    struct pf_cell files[] = {pf_string(what), pf_uint(points->dirs.n_files)};
    if (pf_rows_add(profile->info, files, error))
        return -1;
    return pf_experiment_columns(&points->stored.tables, points->stored.head, profile, error);
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* What all folders are read with. */
struct reading {
    struct pf_profile *profile;
    struct pf_study *study;
    pf_pointstudy_file *read_file;
    struct pf_pass *pass;
};

static int read_folder(const struct reading *reading, const struct pf_pointdir_entry *folder,
                       struct pf_error *error)
{
    const struct pf_pointstudy *points = reading->profile->state;
    const struct pf_pointdirs *dirs = &points->dirs;
    struct pf_experiment *experiment = reading->study->experiment;
    if (folder->problem) {
        pf_experiment_note(experiment, PF_BAD_POINT, 0, -1, "folder %.100s %s: it is left out", folder->name,
                           folder->problem);
        return 0;
    }
    uint32_t point = pf_experiment_point(experiment, folder->values, dirs->parameters, false, error);
    if (point == PF_NO_POINT)
        return -1;
    for (size_t i = pf_pointdirs_first_file(dirs, folder->name);
         i < dirs->n_files && !strcmp(dirs->files[i].folder, folder->name); i++) {
        char path[2 * 256 + 2]; /* two names of a file system */
        snprintf(path, sizeof path, "%s/%s", folder->name, dirs->files[i].name);
        if (reading->read_file(reading->profile, reading->study, path, point, reading->pass, error))
            return -1;
    }
    return 0;
}

static int read_folders(const struct reading *reading, struct pf_error *error)
{
    const struct pf_pointstudy *points = reading->profile->state;
    struct pf_study *study = reading->study;
    for (size_t i = 0; i < points->dirs.count; i++)
        if (read_folder(reading, &points->dirs.entries[i], error))
            return -1;
    if (!points->dirs.points)
        pf_experiment_note(study->experiment, PF_NOTHING, 0, -1, "no folder is a point");
    return pf_measured_finish(study->measured, study->experiment, reading->pass, error);
}

static struct pf_study *new_study(const struct pf_pointdirs *dirs, struct pf_error *error)
{
    struct pf_study *study = calloc(1, sizeof *study);
    if (!study) {
        pf_fail_memory(error);
        return NULL;
    }
    study->measured = pf_measured_new();
    if (study->measured)
        study->experiment = new_experiment(dirs, error);
    else
        pf_fail_memory(error);
    if (study->experiment)
        return study;
    pf_study_free(study);
    return NULL;
}

struct pf_study *pf_pointstudy_read(struct pf_profile *profile, pf_pointstudy_file *read_file,
                                    struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_pointstudy *points = profile->state;
    struct reading reading = {profile, new_study(&points->dirs, error), read_file, pass};
    if (reading.study && !read_folders(&reading, error))
        return reading.study;
    pf_study_free(reading.study);
    return NULL;
}

int pf_pointstudy_publish(struct pf_profile *profile, struct pf_study *study, struct pf_error *error)
{
    struct pf_pointstudy *points = profile->state;
    if (pf_experiment_publish(study->experiment, profile, error)) {
        pf_study_free(study);
        return -1;
    }
    points->stored.study = study;
    return pf_experiment_columns(&points->stored.tables, study->experiment, profile, error);
}

void pf_pointstudy_close(struct pf_profile *profile)
{
    struct pf_pointstudy *points = profile->state;
    if (!points)
        return;
    pf_pointdirs_free(&points->dirs);
    pf_stored_close(profile);
}
