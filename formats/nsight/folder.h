/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_FOLDER_H
#define PF_NSIGHT_FOLDER_H

#include "formats/extrap/pointdirs.h"
#include "formats/extrap/stored.h"
#include "formats/nsight/nsight.h"

/*
 * A folder whose folders are points and hold exports, as an Extra-P experiment: each export is a rank or a repetition, and
 * its values are what it measured in all its threads and streams together.
 */
struct nsight_folder {
    struct pf_stored stored; /* first: its cursors and its end are those of a stored experiment */
    struct pf_pointdirs dirs;
    struct nsight_file {
        char *dir, *name; /* owned */
    } * files;            /* by folder and name */
    size_t n_files, files_room;
};

/* Adds what an export measured to the study's experiment, at a point. Exports that cannot be read are noted. */
int nsight_read_point(struct pf_study *study, struct pf_profile *profile, const char *path, uint32_t point,
                      struct pf_pass *pass, struct pf_error *error);

#endif
