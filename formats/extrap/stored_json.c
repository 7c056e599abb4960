/* SPDX-License-Identifier: MIT */
#include "formats/extrap/stored.h"

ssize_t pf_study_input_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct pf_study_input *input = arg;
    if (offset >= input->next_step) {
        input->next_step = offset + PF_STUDY_STEP;
        if (pf_pass_step(input->pass, offset, pf_input_size(input->input), error) < 0)
            return -1;
    }
    if (offset >= input->end)
        return 0;
    uint64_t left = input->end - offset;
    return pf_input_read(input->input, buffer, size < left ? size : (size_t)left, offset, error);
}

bool pf_study_number(const struct pf_json_token *token, double *value)
{
    struct pf_fraction fraction;
    if (token->event == PF_JSON_NUMBER) {
        *value = pf_json_double(token);
        return true;
    }
    if (token->event != PF_JSON_STRING || !pf_fraction_parse(token->text, token->size, &fraction))
        return false;
    *value = fraction.value;
    return true;
}

int pf_study_check_text(struct pf_study *study, const struct pf_json_token *token, struct pf_error *error)
{
    if (token->cut && pf_experiment_note(study->experiment, PF_CUT_NAME, token->line, (int64_t)token->offset,
                                         error, "the name is too long and cut") < 0)
        return -1;
    if (!token->replaced)
        return 0;
    return pf_experiment_note(study->experiment, PF_REPLACED_TEXT, token->line, (int64_t)token->offset, error,
                              "a name holds what is no text, shown as U+FFFD: '%.*s'",
                              pf_experiment_clip(token->text, token->size), token->text);
}
