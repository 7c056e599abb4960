/* SPDX-License-Identifier: MIT */
#include "formats/extrap/stored.h"

#include <stdio.h>
#include <stdlib.h>

void pf_study_made(struct pf_study_reading *reading, struct pf_study *study)
{
    if (reading->head)
        pf_notes_free(&study->run->notes); /* reading the whole file later finds the same problems */
    else
        pf_study_prepare(study);
    reading->study = pf_disown(study->run, study);
}

int pf_study_read(struct pf_model *model, struct pf_study_reading *reading, struct pf_error *error)
{
    reading->study = NULL;
    if (pf_run(model, reading->read, reading, error)) {
        pf_study_free(reading->study);
        return -1;
    }
    pf_study_adopt(model, reading->study, reading->head);
    return 0;
}

/* Adds the parameters and the scaling to info.txt, and sets the format's version. */
static void add_study_info(const struct pf_study *study)
{
    struct pf_model *model = study->run->model;
    struct pf_cell scaling[] = {pf_string("Scaling"), pf_string(study->scaling)};
    snprintf(model->version, sizeof model->version, "%s", study->version);
    pf_study_info(study);
    if (*study->scaling)
        pf_run_check(study->run, pf_rows_add(model->info, scaling, study->run->error));
}

static void read_study(struct pf_run *run, void *arg)
{
    struct pf_study_reading *reading = arg;
    const struct pf_study_format *format = run->model->driver->kit;
    const struct pf_study_profile *stored = run->model->state;
    struct pf_study *study = pf_study_new(run, reading->input, reading->head ? PF_STUDY_HEAD : UINT64_MAX);
    format->read(study);
    pf_study_finish(study);
    const char *missing = !pf_study_parameters(study)                     ? "parameters"
                          : !pf_study_points(study)                       ? "points"
                          : !study->values.count && !study->figures.count ? "measurements"
                                                                          : NULL;
    if (missing)
        pf_study_note(study, PF_NOTHING, 0, -1, "the file has no %s", missing);
    if (!stored->head)
        add_study_info(study);
    pf_study_made(reading, study);
}

/*
 * Reads a small file completely, and only the head of a large one. If the parameters come first in the file, the head is
 * enough to name the columns of the tables.
 */
int pf_study_open(struct pf_model *model, struct pf_error *error)
{
    const struct pf_study_format *format = model->driver->kit;
    struct pf_study_reading reading = {.read = read_study};
    model->state = calloc(1, sizeof(struct pf_study_profile));
    if (!model->state)
        return pf_fail_memory(error);
    if (pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &reading.input, error) < 0)
        return -1;
    pf_study_declare(model, format->models);
    reading.head = pf_input_size(reading.input) > format->whole;
    return pf_study_read(model, &reading, error);
}

int pf_study_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    const struct pf_study_profile *stored = model->state;
    if (stage != PF_PARTITIONED || stored->study)
        return 0;
    struct pf_study_reading reading = {.read = read_study, .input = stored->head->input};
    return pf_study_read(model, &reading, error);
}

void pf_study_close(struct pf_model *model)
{
    struct pf_study_profile *stored = model->state;
    if (!stored)
        return;
    pf_study_free(stored->study);
    pf_study_free(stored->head);
    free(stored);
    model->state = NULL;
}
