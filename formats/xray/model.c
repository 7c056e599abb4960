/* SPDX-License-Identifier: MIT */
#include "formats/xray/xray.h"

static const struct pf_note_kind negative = {
    "warning", "negative-time",
    "ticks (and time) of a context in a thread are below zero, as of clocks that run "
    "backwards, so that others may exceed 100 %; how often"};

static const char *const kinds[] = {"function"};

int xray_model_begin(struct xray_model *model, const struct pf_model *profile, unsigned measures,
                     struct pf_error *error)
{
    const struct xray_state *state = xray_state(profile);
    *model = (struct xray_model){
        .tree = pf_tree_new(kinds),
        .fold = xray_fold_new(measures, state->derivations, profile->n_metrics, profile->options->cache),
        .fields = pf_rows_new(profile->partitions.n_fields),
    };
    return model->tree && model->fold && model->fields ? 0 : pf_fail_memory(error);
}

int xray_model_end(struct xray_model *model, struct pf_model *profile, int failed, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    pf_notes_sort(&model->notes);
    if (model->negative)
        xray_note_number(&model->notes, &negative, UINT64_MAX, model->negative);
    failed = failed || pf_tree_finish(model->tree, error) ||
             pf_notes_publish(&model->notes, profile, error) ||
             xray_names_tell(&state->names, model->tree, profile, error);
    if (!failed) {
        state->fold.fold = model->fold;
        profile->contexts = model->tree;
        profile->partitions.fields = model->fields;
    } else {
        pf_tree_free(model->tree);
        xray_fold_free(model->fold);
        pf_rows_free(model->fields);
    }
    pf_notes_free(&model->notes);
    return failed ? -1 : 0;
}
