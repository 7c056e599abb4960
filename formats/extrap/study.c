/* SPDX-License-Identifier: MIT */
#include "formats/extrap/study.h"

#include <errno.h>
#include <stdlib.h>

void pf_study_free(struct pf_study *study)
{
    if (!study)
        return;
    pf_experiment_free(study->experiment);
    pf_measured_free(study->measured);
    pf_models_free(study->models);
    free(study);
}

struct pf_study *pf_study_new(void)
{
    struct pf_study *study = calloc(1, sizeof *study);
    if (!study)
        return NULL;
    study->experiment = pf_experiment_new();
    study->measured = pf_measured_new();
    study->models = pf_models_new();
    if (study->experiment && study->measured && study->models)
        return study;
    pf_study_free(study);
    return NULL;
}

bool pf_study_step(struct pf_study *study, uint64_t at)
{
    if (study->failed || at < study->next_step)
        return !study->failed;
    study->next_step = at + PF_STUDY_STEP;
    return pf_study_check(study, pf_pass_step(study->pass, at, pf_input_size(study->input), study->error));
}

bool pf_study_is_damage(const struct pf_error *error)
{
    return error->code == EBADMSG || error->code == ENODATA || error->code == E2BIG;
}

void pf_study_damage(struct pf_study *study)
{
    const struct pf_error *error = study->error;
    if (pf_study_is_damage(error))
        pf_experiment_note(study->experiment, PF_CUT_FILE, (uint64_t)error->line, error->offset,
                           "%.150s: what follows is not read", error->what);
    else
        study->failed = true;
}

/* ---- names -------------------------------------------------------------------------------------- */

int pf_study_parameter(struct pf_study *study, const char *name, size_t size, uint64_t line, int64_t offset)
{
    struct pf_experiment *experiment = study->experiment;
    if (pf_experiment_parameters(experiment) == PF_PARAMETERS_MAX)
        pf_experiment_note(experiment, PF_LIMIT, line, offset,
                           "more than 16 parameters, the rest are passed over");
    if (study->failed ||
        !pf_study_check(study, pf_experiment_add_parameter(experiment, name, size, study->error)))
        return -1;
    return pf_experiment_parameter_named(experiment, name, size, 0);
}

uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size)
{
    uint32_t metric =
        study->failed ? PF_NO_STRING : pf_experiment_metric(study->experiment, name, size, study->error);
    study->failed |= metric == PF_NO_STRING;
    return metric;
}

uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size)
{
    uint32_t context = study->failed
                           ? PF_NO_CONTEXT
                           : pf_experiment_callpath(study->experiment, parent, path, size, study->error);
    study->failed |= context == PF_NO_CONTEXT;
    return context;
}

/* Parents come first. */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree)
{
    uint32_t *contexts = malloc(((size_t)tree->count + 1) * sizeof *contexts);
    if (!contexts) {
        pf_study_check(study, pf_fail_memory(study->error));
        return NULL;
    }
    for (uint32_t c = 0; c < tree->count && !study->failed; c++) {
        struct pf_cell name = pf_interned(tree->strings, tree->name[c]);
        uint32_t parent = tree->parent[c] == PF_NO_CONTEXT ? PF_NO_CONTEXT : contexts[tree->parent[c]];
        contexts[c] = pf_study_callpath(study, parent, name.text, name.size);
    }
    if (!study->failed)
        return contexts;
    free(contexts);
    return NULL;
}

/* ---- measurements ------------------------------------------------------------------------------- */

uint32_t pf_study_series(struct pf_study *study, uint32_t context, uint32_t metric, bool anew, uint64_t line,
                         int64_t offset)
{
    struct pf_experiment *experiment = study->experiment;
    size_t before = experiment->n_series;
    uint32_t series =
        study->failed ? PF_NO_SERIES : pf_experiment_series(experiment, context, metric, anew, study->error);
    study->failed |= series == PF_NO_SERIES;
    if (!study->failed && experiment->n_series > before) {
        experiment->series[series].line = line;
        experiment->series[series].offset = offset;
    }
    return series;
}

uint32_t pf_study_point(struct pf_study *study, const double *coordinates, unsigned count, bool broken,
                        uint64_t line, int64_t offset)
{
    struct pf_experiment *experiment = study->experiment;
    unsigned parameters = pf_experiment_parameters(experiment);
    if (study->failed)
        return PF_NO_POINT;
    if (parameters && count != parameters)
        pf_experiment_note(experiment, PF_POINT_SIZE, line, offset,
                           "a point with %u of %u coordinates: Extra-P refuses the file", count, parameters);
    uint32_t point = pf_experiment_point(
        experiment, coordinates, count < PF_PARAMETERS_MAX ? count : PF_PARAMETERS_MAX, broken, study->error);
    study->failed |= point == PF_NO_POINT;
    return point;
}

void pf_study_begin(struct pf_study *study, uint32_t series, uint32_t point, bool starts)
{
    if (!study->failed)
        pf_study_check(study, pf_measured_begin(study->measured, series, point, starts, study->error));
}
