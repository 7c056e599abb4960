/* SPDX-License-Identifier: MIT */
#include "formats/xray/xray.h"

static const struct pf_note_kind negative = {
    "warning", "negative-time",
    "ticks (and time) of a context in a thread are below zero, as of clocks that run "
    "backwards, so that others may exceed 100 %; how often"};

static const char *const kinds[] = {"function"};

void xray_model_begin(struct pf_run *run, struct xray_model *model, unsigned measures)
{
    const struct pf_model *profile = run->model;
    model->run = run;
    model->tree = pf_run_memory(run, pf_tree_new(kinds));
    model->fields = pf_run_memory(run, pf_rows_new(profile->partitions.n_fields));
    model->fold = pf_run_memory(run, xray_fold_new(measures, xray_state(profile)->derivations,
                                                   profile->n_metrics, profile->options->cache));
}

uint32_t xray_model_context(struct xray_model *model, uint32_t parent, uint32_t id, uint32_t name)
{
    uint8_t flags = parent == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    uint32_t context = pf_tree_child(model->tree, parent, id, name, 0, flags, model->run->error);
    pf_run_check(model->run, context == PF_NO_CONTEXT ? -1 : 0);
    return context;
}

void xray_model_end_thread(struct xray_model *model, const struct pf_cell *fields)
{
    pf_run_check(model->run, pf_rows_add(model->fields, fields, model->run->error));
    pf_run_check(model->run, xray_fold_end_partition(model->fold, model->run->error));
}

void xray_model_finish(struct xray_model *model)
{
    struct pf_run *run = model->run;
    pf_notes_sort(&run->notes);
    if (model->negative)
        xray_note_number(run, &negative, UINT64_MAX, model->negative);
    xray_names_warn(run, &xray_state(run->model)->names, model->tree);
    pf_run_check(run, pf_tree_finish(model->tree, run->error));
}

int xray_model_end(struct xray_model *model, struct pf_model *profile, int failed)
{
    if (!failed) {
        xray_state(profile)->fold.fold = model->fold;
        profile->contexts = model->tree;
        profile->partitions.fields = model->fields;
    } else {
        pf_tree_free(model->tree);
        xray_fold_free(model->fold);
        pf_rows_free(model->fields);
    }
    return failed;
}
