/* SPDX-License-Identifier: MIT */
#ifndef PF_NOTED_H
#define PF_NOTED_H

#include <stdint.h>

#include "formats/extrap/experiment.h"

/* A problem as it was noted: kept until the pass is over, since a cancelled pass must leave no trace. */
struct pf_noted {
    uint64_t line;
    int64_t offset;
    enum pf_problem problem;
    char text[208];
};

/* Adds what was noted to the profile's warnings. 0, or -1 with *error filled. */
int pf_noted_publish(const struct pf_experiment *experiment, struct pf_profile *profile,
                     struct pf_error *error);

#endif
