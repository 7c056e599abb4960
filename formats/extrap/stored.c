/* SPDX-License-Identifier: MIT */
#include "formats/extrap/stored.h"

#include <stdio.h>
#include <stdlib.h>

static void note_nothing(const struct pf_study *study)
{
    const struct pf_experiment *experiment = study->experiment;
    const char *missing = !pf_experiment_parameters(experiment)    ? "parameters"
                          : !experiment->n_points                  ? "points"
                          : !pf_store_size(study->measured->store) ? "measurements"
                                                                   : NULL;
    if (missing)
        pf_experiment_note(study->experiment, PF_NOTHING, 0, -1, "the file has no %s", missing);
}

/* Reads the input up to `end`. NULL with *error filled. */
static struct pf_study *read_study(const struct pf_profile *profile, uint64_t end, struct pf_pass *pass,
                                   struct pf_error *error)
{
    const struct pf_stored *stored = profile->state;
    const struct pf_stored_format *format = profile->driver->kit;
    struct pf_study *study = pf_study_new();
    if (!study) {
        pf_fail_memory(error);
        return NULL;
    }
    study->input = stored->input;
    study->end = end;
    study->pass = pass;
    study->error = error;
    format->read(study);
    if (study->failed || pf_measured_finish(study->measured, study->experiment, pass, error) < 0 ||
        pf_models_finish(study->models, study->experiment, error) < 0) {
        pf_study_free(study);
        return NULL;
    }
    note_nothing(study);
    study->experiment->statistics_only = study->measured->figures && !study->measured->values;
    return study;
}

/* The pass over the whole file. */
static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_stored *stored = profile->state;
    struct pf_study *study = read_study(profile, UINT64_MAX, pass, error);
    if (!study)
        return -1;
    if (pf_experiment_publish(study->experiment, profile, error) < 0) {
        pf_study_free(study);
        return -1;
    }
    stored->study = study;
    return pf_experiment_columns(&stored->tables, study->experiment, profile, error);
}

static int add_info(struct pf_profile *profile, const struct pf_study *study, struct pf_error *error)
{
    struct pf_cell scaling[] = {pf_string("Scaling"), pf_string(study->scaling)};
    snprintf(profile->version, sizeof profile->version, "%s", study->version);
    if (pf_experiment_info(profile, study->experiment, error) < 0)
        return -1;
    return *study->scaling ? pf_rows_add(profile->info, scaling, error) : 0;
}

/* Of a big file, enough to name the columns of its tables, if these names come first. */
static int read_head(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_stored *stored = profile->state;
    struct pf_study *study = read_study(profile, PF_STUDY_HEAD, NULL, error);
    if (!study)
        return -1;
    int result = add_info(profile, study, error);
    stored->head = study->experiment;
    stored->head->statistics_only = false; /* what follows may have values */
    study->experiment = NULL;
    pf_study_free(study);
    return result < 0 ? -1 : pf_experiment_columns(&stored->tables, stored->head, profile, error);
}

int pf_stored_open(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_stored_format *format = profile->driver->kit;
    struct pf_stored *stored = profile->state = calloc(1, sizeof *stored);
    if (!stored)
        return pf_fail_memory(error);
    if (pf_source_open(profile->source, NULL, &stored->input, error) < 0)
        return -1;
    pf_experiment_declare(&stored->tables, format->models, profile);
    if (pf_input_size(stored->input) > format->whole) {
        profile->metrics_stage = PF_MODELLED;
        return read_head(profile, error);
    }
    profile->metrics_stage = PF_OPENED;
    return read_all(profile, NULL, error) < 0 ? -1 : add_info(profile, stored->study, error);
}

int pf_stored_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                   struct pf_error *error)
{
    const struct pf_stored *stored = profile->state;
    if (stage != PF_PARTITIONED || stored->study)
        return 0;
    return read_all(profile, pass, error);
}

void pf_stored_close(struct pf_profile *profile)
{
    struct pf_stored *stored = profile->state;
    if (!stored)
        return;
    pf_study_free(stored->study);
    pf_experiment_free(stored->head);
    pf_experiment_tables_free(&stored->tables);
    free(stored);
    profile->state = NULL;
}
