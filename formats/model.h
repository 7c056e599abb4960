/* SPDX-License-Identifier: MIT */
#ifndef PF_MODEL_H
#define PF_MODEL_H

#include "formats/driver.h"

/* The life of a model: begin, open, load, end. One thread at a time. */

/*
 * Makes an empty model of the driver, for its open(). The source, which stays the caller's, and the options must outlive the model.
 * 0, or -1 with *error filled. The caller calls pf_model_end in either case.
 */
int pf_model_begin(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                   const struct pf_options *options, struct pf_error *error);

/* pf_model_begin and the driver's open(). 0, or -1 with *error filled. The caller calls pf_model_end in either case. */
int pf_model_open(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                  const struct pf_options *options, struct pf_error *error);

/* Loads all stages after PF_OPENED up to and including `last`, none of which is loaded yet. 0, or -1 with *error filled. */
int pf_model_load(struct pf_model *model, enum pf_stage last, struct pf_error *error);

/* Closes the model, opened or not, and frees what the core made. The source stays open. */
void pf_model_end(struct pf_model *model);

#endif
