/* SPDX-License-Identifier: MIT */
#ifndef PF_MODEL_H
#define PF_MODEL_H

#include "formats/driver.h"

/* The life of a model: begin, open, load, end. One thread at a time. */

/*
 * Initialises an empty model for the driver's open(). The source and the options are borrowed and must outlive the model. Returns 0, or -1
 * with *error filled. The caller calls pf_model_end in either case.
 */
int pf_model_begin(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                   const struct pf_options *options, struct pf_error *error);

/* Calls pf_model_begin and the driver's open(). Returns 0, or -1 with *error filled. The caller calls pf_model_end in either case. */
int pf_model_open(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                  const struct pf_options *options, struct pf_error *error);

/* Loads the stages from PF_PARTITIONED to `last` of a model at PF_OPENED. Returns 0, or -1 with *error filled. */
int pf_model_load(struct pf_model *model, enum pf_stage last, struct pf_error *error);

/* Returns the stage from which on the metrics of an open model are known. */
static inline enum pf_stage pf_metrics_stage(const struct pf_model *model)
{
    return model->metrics_late ? PF_MODELLED : PF_OPENED;
}

/* Closes the model, opened or not, and frees the memory that the core allocated for it. The source stays open. */
void pf_model_end(struct pf_model *model);

#endif
