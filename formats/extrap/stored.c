/* SPDX-License-Identifier: MIT */
#include "formats/extrap/stored.h"

#include <stdio.h>
#include <stdlib.h>

/* Reads the input up to `end` into a new study. NULL with *error filled. */
static struct pf_study *read_study(const struct pf_model *model, struct pf_input *input, uint64_t end,
                                   struct pf_error *error)
{
    const struct pf_stored_format *format = model->driver->kit;
    struct pf_study *study = pf_study_new(input, end, error);
    if (!study)
        return NULL;
    format->read(study);
    if (study->failed || !pf_study_finish(study)) {
        pf_study_free(study);
        return NULL;
    }
    const char *missing = !pf_study_parameters(study)                     ? "parameters"
                          : !pf_study_points(study)                       ? "points"
                          : !study->values.count && !study->figures.count ? "measurements"
                                                                          : NULL;
    if (missing)
        pf_study_note(study, PF_NOTHING, 0, -1, "the file has no %s", missing);
    return study;
}

static int add_info(struct pf_model *model, const struct pf_study *study, struct pf_error *error)
{
    struct pf_cell scaling[] = {pf_string("Scaling"), pf_string(study->scaling)};
    snprintf(model->version, sizeof model->version, "%s", study->version);
    if (pf_study_info(study, model, error) < 0)
        return -1;
    return *study->scaling ? pf_rows_add(model->info, scaling, error) : 0;
}

/*
 * Small files are read completely; of a large file, only the head, which names the tables' columns if the parameters
 * come first.
 */
int pf_stored_open(struct pf_model *model, struct pf_error *error)
{
    const struct pf_stored_format *format = model->driver->kit;
    struct pf_input *input;
    model->state = calloc(1, sizeof(struct pf_study_profile));
    if (!model->state)
        return pf_fail_memory(error);
    if (pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &input, error) < 0)
        return -1;
    pf_stored_declare(model, format->models);
    bool whole = pf_input_size(input) <= format->whole;
    struct pf_study *study = read_study(model, input, whole ? UINT64_MAX : PF_STUDY_HEAD, error);
    if (!study ||
        (whole ? pf_stored_publish(model, study, error) : pf_stored_keep_head(model, study, error)) < 0)
        return -1;
    return add_info(model, study, error);
}

int pf_stored_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    const struct pf_study_profile *stored = model->state;
    if (stage != PF_PARTITIONED || stored->study)
        return 0;
    struct pf_study *study = read_study(model, stored->head->input, UINT64_MAX, error);
    return study ? pf_stored_publish(model, study, error) : -1;
}

void pf_stored_close(struct pf_model *model)
{
    struct pf_study_profile *stored = model->state;
    if (!stored)
        return;
    pf_study_free(stored->study);
    pf_study_free(stored->head);
    free(stored->scaling);
    free(stored);
    model->state = NULL;
}
