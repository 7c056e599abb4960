/* SPDX-License-Identifier: MIT */
#include "formats/extrap/models.h"

#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/kit/array.h"

struct pf_models *pf_models_new(void)
{
    struct pf_models *models = calloc(1, sizeof *models);
    if (!models)
        return NULL;
    models->names = pf_strings_new();
    models->functions = pf_strings_new();
    if (models->names && models->functions)
        return models;
    pf_models_free(models);
    return NULL;
}

void pf_models_free(struct pf_models *models)
{
    if (!models)
        return;
    pf_strings_free(models->names);
    pf_strings_free(models->functions);
    free(models->items);
    free(models->by_context);
    free(models);
}

int pf_models_replace(struct pf_models *models, uint32_t at, const struct pf_model *model,
                      const char *function, size_t size, struct pf_error *error)
{
    struct pf_model *put = &models->items[at];
    *put = *model;
    put->next = PF_NO_MODEL;
    put->function = pf_intern(models->functions, function, size, error);
    return put->function == PF_NO_STRING ? -1 : 0;
}

int pf_models_add(struct pf_models *models, const struct pf_model *model, const char *function, size_t size,
                  struct pf_error *error)
{
    if (models->count >= PF_NO_MODEL)
        return pf_fail_memory(error);
    if (pf_array_room(&models->items, &models->room, models->count, sizeof *models->items, error))
        return -1;
    if (pf_models_replace(models, (uint32_t)models->count, model, function, size, error) < 0)
        return -1;
    models->count++;
    return 0;
}

/* Backwards, so that each list begins with the first model. */
int pf_models_finish(struct pf_models *models, const struct pf_experiment *experiment, struct pf_error *error)
{
    models->n_contexts = experiment->contexts->count;
    models->by_context = malloc((models->n_contexts + 1) * sizeof *models->by_context);
    if (!models->by_context)
        return pf_fail_memory(error);
    for (size_t i = 0; i < models->n_contexts; i++)
        models->by_context[i] = PF_NO_MODEL;
    for (size_t i = models->count; i-- > 0;) {
        struct pf_model *model = &models->items[i];
        model->next = models->by_context[model->context];
        models->by_context[model->context] = (uint32_t)i;
    }
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static const struct pf_study *study_of(const struct pf_cursor *cursor)
{
    return ((const struct pf_stored *)cursor->profile->state)->study;
}

static uint64_t number_of(uint32_t model)
{
    return model == PF_NO_MODEL ? PF_NO_NUMBER : model;
}

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    (void)error;
    const struct pf_models *models = study_of(cursor)->models;
    int64_t context = cursor->only.context;
    numbers->end = models->count;
    if (context >= 0)
        numbers->next =
            (uint64_t)context < models->n_contexts ? number_of(models->by_context[context]) : PF_NO_NUMBER;
    return 0;
}

static uint64_t after(const struct pf_cursor *cursor, uint64_t number)
{
    return cursor->only.context < 0 ? number + 1 : number_of(study_of(cursor)->models->items[number].next);
}

/* A metric restricts only where the models' metrics are metrics of the profile. */
static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    (void)own, (void)error;
    const struct pf_study *study = study_of(cursor);
    const struct pf_model *model = &study->models->items[number];
    bool figures = study->experiment->statistics_only;
    if (!pf_wanted(cursor->only.context, model->context) ||
        (!figures && !pf_wanted(cursor->only.metric, model->metric)))
        return 0;
    cells[0] = pf_interned(study->models->names, model->modeler);
    cells[1] = pf_int(model->context);
    cells[2] = figures ? pf_string(pf_experiment_metric_name(study->experiment, model->metric))
                       : pf_int(model->metric);
    for (int i = 0; i < PF_FITS; i++)
        cells[3 + i] = model->has >> i & 1 ? pf_double(model->fits[i]) : pf_absent();
    cells[3 + PF_FITS] = pf_interned(study->models->functions, model->function);
    return 1;
}

const struct pf_numbered pf_models_cursor = {PF_NUMBERED, .begin = begin, .row = row, .after = after};
