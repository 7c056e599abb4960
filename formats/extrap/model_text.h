/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_MODEL_TEXT_H
#define PF_EXTRAP_MODEL_TEXT_H

#include "formats/extrap/models.h"
#include "formats/json/json.h"

/* Reads the models of saved experiments, each from its JSON: {"hypothesis": {"function": {...}, "RSS": ...}}. */
struct pf_model_text;

struct pf_model_text *pf_model_text_new(void); /* NULL: out of memory */
void pf_model_text_free(struct pf_model_text *reader);

/*
 * Fills model->fits and model->has, and *formula, the function's text. text[size] must be NUL. experiment: whose
 * parameters the functions have. 1; 0: this is no model, and *what tells why; -1 with *error filled.
 */
int pf_model_text_read(struct pf_model_text *reader, char *text, size_t size,
                       const struct pf_experiment *experiment, struct pf_model *model,
                       const struct pf_formula **formula, const char **what, struct pf_error *error);

#endif
