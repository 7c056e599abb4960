/* SPDX-License-Identifier: MIT */
#include "formats/extrap/models.h"

#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/kit/array.h"
#include "formats/kit/position.h"

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

/* A walk, and a saved position. */
struct walk {
    uint32_t next; /* model; PF_NO_MODEL: the end */
};

static const struct pf_stored *stored_of(const struct pf_cursor *cursor)
{
    return cursor->profile->state;
}

static const struct pf_models *models_of(const struct pf_cursor *cursor)
{
    return stored_of(cursor)->study->models;
}

static int models_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_models *models = models_of(cursor);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    int64_t context = cursor->only.context;
    if (context < 0)
        walk->next = models->count ? 0 : PF_NO_MODEL;
    else
        walk->next = (uint64_t)context < models->n_contexts ? models->by_context[context] : PF_NO_MODEL;
    return 0;
}

static void models_close(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static struct pf_cell metric_cell(const struct pf_experiment *experiment, uint32_t metric)
{
    if (experiment->statistics_only)
        return pf_string(pf_experiment_metric_name(experiment, metric));
    return pf_int(metric);
}

static void fill_row(const struct pf_study *study, const struct pf_model *model, struct pf_cell *cells)
{
    cells[0] = pf_interned(study->models->names, model->modeler);
    cells[1] = pf_int(model->context);
    cells[2] = metric_cell(study->experiment, model->metric);
    for (int i = 0; i < PF_FITS; i++)
        cells[3 + i] = model->has >> i & 1 ? pf_double(model->fits[i]) : pf_absent();
    cells[3 + PF_FITS] = pf_interned(study->models->functions, model->function);
}

/* A metric restricts only where the models' metrics are metrics of the profile. */
static int models_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    (void)error;
    struct walk *walk = cursor->state;
    const struct pf_study *study = stored_of(cursor)->study;
    int64_t metric = study->experiment->statistics_only ? -1 : cursor->only.metric;
    while (walk->next != PF_NO_MODEL) {
        const struct pf_model *model = &study->models->items[walk->next];
        uint32_t after = walk->next + 1 < study->models->count ? walk->next + 1 : PF_NO_MODEL;
        walk->next = cursor->only.context < 0 ? after : model->next;
        if (metric >= 0 && model->metric != metric)
            continue;
        fill_row(study, model, cells);
        return 1;
    }
    return 0;
}

static size_t models_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    return pf_position_save(cursor->state, sizeof(struct walk), blob, room);
}

static int models_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk walk;
    const struct pf_models *models = models_of(cursor);
    if (pf_position_restore(&walk, sizeof walk, blob, size, error))
        return -1;
    if (walk.next != PF_NO_MODEL &&
        (walk.next >= models->count ||
         (cursor->only.context >= 0 && models->items[walk.next].context != cursor->only.context)))
        return pf_position_refuse(error);
    *(struct walk *)cursor->state = walk;
    return 0;
}

const struct pf_cursor_ops pf_models_cursor = {
    .open = models_open,
    .next = models_next,
    .save = models_save,
    .restore = models_restore,
    .close = models_close,
};
