/* SPDX-License-Identifier: MIT */
#ifndef PF_POINTSTUDY_H
#define PF_POINTSTUDY_H

#include "formats/extrap/pointdirs.h"
#include "formats/extrap/stored.h"

/*
 * Folders of points as an Extra-P experiment, which stands beside them: what the drivers for such folders share. A driver
 * says which files it wants and reads one; the rest (stages, points, tables, cursors) is here.
 */
struct pf_pointstudy {
    struct pf_stored stored; /* first: its cursors and its end are those of a stored experiment */
    struct pf_pointdirs dirs;
};

/*
 * Adds what a file (FOLDER/NAME in the source) measured to the study, at a point. Files that cannot be read are noted.
 * 0, or -1 with *error filled.
 */
typedef int pf_pointstudy_file(struct pf_profile *profile, struct pf_study *study, const char *path,
                               uint32_t point, struct pf_pass *pass, struct pf_error *error);

/* The verdict for a directory: two folders of points that hold files whose names end so. */
void pf_pointstudy_probe(struct pf_probe *probe, const char *suffix, struct pf_verdict *verdict);

/*
 * Opens: lists the files and declares the tables. profile->state begins with a struct pf_pointstudy, zeroed. what: the
 * key of info.txt under which the number of files stands.
 */
int pf_pointstudy_open(struct pf_profile *profile, const char *suffix, const char *what,
                       struct pf_error *error);

/* Reads all files, by point. NULL with *error filled; else to be freed with pf_study_free, or to be published. */
struct pf_study *pf_pointstudy_read(struct pf_profile *profile, pf_pointstudy_file *read_file,
                                    struct pf_pass *pass, struct pf_error *error);

/*
 * Gives the profile the study's points, call paths, metrics and columns, and keeps it until the profile is closed. -1 with
 * *error filled: the study has been freed, if stored.study is not this one.
 */
int pf_pointstudy_publish(struct pf_profile *profile, struct pf_study *study, struct pf_error *error);

/* Frees the state as well. */
void pf_pointstudy_close(struct pf_profile *profile);

#endif
