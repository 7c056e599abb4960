/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_FOLDER_H
#define PF_NSIGHT_FOLDER_H

#include "formats/extrap/pointstudy.h"
#include "formats/nsight/nsight.h"

/*
 * A folder whose folders are points and hold exports, as an Extra-P experiment: each export is a rank or a repetition, and
 * its values are what it measured in all its threads and streams together.
 */

/* Adds what an export measured to the study's experiment, at a point. Exports that cannot be read are noted. */
int nsight_read_point(struct pf_profile *profile, struct pf_study *study, const char *path, uint32_t point,
                      struct pf_pass *pass, struct pf_error *error);

#endif
