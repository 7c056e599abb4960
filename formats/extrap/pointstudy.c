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

/* A study of the folder's parameters. NULL with *error filled. */
static struct pf_study *new_study(const struct pf_pointdirs *dirs, struct pf_pass *pass,
                                  struct pf_error *error)
{
    struct pf_study *study = pf_study_new();
    if (!study) {
        pf_fail_memory(error);
        return NULL;
    }
    study->pass = pass;
    study->error = error;
    for (unsigned i = 0; i < dirs->parameters; i++)
        pf_study_parameter(study, dirs->names[i], strlen(dirs->names[i]), 0, -1);
    if (!study->failed)
        return study;
    pf_study_free(study);
    return NULL;
}

int pf_pointstudy_open(struct pf_profile *profile, const char *suffix, const char *what,
                       struct pf_error *error)
{
    struct pf_pointstudy *points = profile->state;
    profile->metrics_stage = PF_MODELLED;
    pf_experiment_declare(&points->stored.tables, false, profile);
    if (pf_pointdirs_list(&points->dirs, profile->source, suffix, error))
        return -1;
    struct pf_study *study = new_study(&points->dirs, NULL, error);
    if (!study)
        return -1;
    points->stored.head = study->experiment;
    study->experiment = NULL;
    pf_study_free(study);
    struct pf_cell files[] = {pf_string(what), pf_uint(points->dirs.files)};
    if (pf_experiment_info(profile, points->stored.head, error) || pf_rows_add(profile->info, files, error))
        return -1;
    return pf_experiment_columns(&points->stored.tables, points->stored.head, profile, error);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static int read_folder(struct pf_profile *profile, struct pf_study *study,
                       const struct pf_pointdir_entry *folder, pf_pointstudy_file *read_file)
{
    const struct pf_pointstudy *points = profile->state;
    if (folder->problem) {
        pf_experiment_note(study->experiment, PF_BAD_POINT, 0, -1, "folder %.100s %s: it is left out",
                           folder->name, folder->problem);
        return 0;
    }
    uint32_t point = pf_study_point(study, folder->values, points->dirs.parameters, false, 0, -1);
    for (size_t i = 0; i < folder->files.count && !study->failed; i++) {
        char path[2 * 256 + 2]; /* two names of a file system */
        snprintf(path, sizeof path, "%s/%s", folder->name, folder->files.at[i]);
        if (read_file(profile, study, path, point, study->pass, study->error))
            return -1;
    }
    return study->failed ? -1 : 0;
}

struct pf_study *pf_pointstudy_read(struct pf_profile *profile, pf_pointstudy_file *read_file,
                                    struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_pointdirs *dirs = &((const struct pf_pointstudy *)profile->state)->dirs;
    struct pf_study *study = new_study(dirs, pass, error);
    int result = study ? 0 : -1;
    for (size_t i = 0; i < dirs->count && !result; i++)
        result = read_folder(profile, study, &dirs->entries[i], read_file);
    if (!result && !dirs->points)
        pf_experiment_note(study->experiment, PF_NOTHING, 0, -1, "no folder is a point");
    if (!result && !pf_measured_finish(study->measured, study->experiment, pass, error))
        return study;
    pf_study_free(study);
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
