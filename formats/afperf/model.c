/* SPDX-License-Identifier: MIT */
#include "formats/afperf/model.h"

#include <stdlib.h>

static const char *const kinds[] = {[AFPERF_KIND_REGION] = "region", [AFPERF_KIND_SECTION] = "section"};

void afperf_model_free(struct afperf_model *model)
{
    if (!model)
        return;
    if (!model->published)
        pf_tree_free(model->tree);
    pf_strings_free(model->strings);
    void *const arrays[] = {
        model->runs,
        model->names[AFPERF_RUNS].refs,
        model->names[AFPERF_RUNS].index.keys,
        model->names[AFPERF_SECTIONS].refs,
        model->names[AFPERF_SECTIONS].index.keys,
        model->measures,
        model->sections,
        model->segments,
        model->pauses,
        model->nodes,
        model->first_node,
        model->last_node,
        model->log,
        model->stops,
        model->timeline,
        model->regions.items,
        model->regions.index.keys,
        model->intervals.items,
        model->intervals.index.keys,
        model->interval_order,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    pf_store_free(model->data);
    pf_store_free(model->targets);
    pf_notes_free(&model->notes);
    free(model);
}

static int make(struct afperf_model *model, struct pf_error *error)
{
    if (!model->strings || !model->tree || !model->data || !model->targets)
        return pf_fail_memory(error);
    if (afperf_read(model, error) || afperf_resolve_names(model, error) || afperf_pair_stops(model, error) ||
        afperf_number_intervals(model, error) || afperf_find_targets(model, error) ||
        afperf_number_runs(model, error) || afperf_check_data(model, error) || afperf_nest(model, error))
        return -1;
    pf_notes_sort(&model->notes);
    return pf_tree_finish(model->tree, error);
}

/* Memory limit of what grows with the data, in bytes; more is spilled. */
#define HELD ((uint64_t)4 << 20)

struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_error *error)
{
    struct afperf_model *model = calloc(1, sizeof *model);
    if (!model) {
        pf_fail_memory(error);
        return NULL;
    }
    model->input = input;
    model->intervals.scoped = true;
    model->strings = pf_strings_new();
    model->tree = pf_tree_new(kinds);
    model->data = pf_store_new(HELD);
    model->targets = pf_store_new(HELD);
    if (make(model, error)) {
        afperf_model_free(model);
        return NULL;
    }
    pf_store_free(model->data);
    free(model->log);
    free(model->stops);
    model->data = NULL;
    model->log = NULL;
    model->stops = NULL;
    return model;
}
