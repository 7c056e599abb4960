/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_MODEL_H
#define PF_NSIGHT_MODEL_H

#include "formats/nsight/nsight.h"
#include "formats/nsight/paths.h"
#include "formats/nsight/sums.h"

/* What is made by the pass over an export. All owned, until it is handed over to the profile. */
struct nsight_model {
    struct pf_profile *profile; /* borrowed, as the next */
    struct nsight_db *db;
    uint64_t limit; /* bytes that one part may hold in memory */
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct nsight_names names;
    struct nsight_paths paths;
    struct nsight_lookup calls;
    struct nsight_sums sums;
    struct nsight_damage damage[NSIGHT_TABLES];
    uint64_t bad_times; /* rows whose end is absent or before their start */
};

/* Reads ranges and API calls: values of the threads, contexts of calls. */
int nsight_read_calls(struct nsight_model *model, struct pf_error *error);

/* Reads what GPUs did: values of the streams. */
int nsight_read_activities(struct nsight_model *model, struct pf_error *error);

#endif
