/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_PUBLISH_H
#define PF_AFPERF_PUBLISH_H

#include "formats/afperf/tables.h"

/* Hands a model's runs, contexts, short tables and warnings to its profile. 0; -1 with *error filled: the model is as it was. */
int afperf_publish(struct afperf_model *model, struct pf_profile *profile, struct pf_error *error);

#endif
