/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_POINTS_H
#define PF_EXTRAP_POINTS_H

#include "formats/extrap/stored.h"

/*
 * Folders of points as an Extra-P experiment, which stands beside them: what the drivers for such folders share. A driver
 * says which files it wants and reads one; the rest (stages, points, tables, cursors) is here.
 *
 * The folders, one a point, are named by it as Extra-P reads them: PREFIX.x4.y10.r1 is the point x=4, y=10, measured for the
 * first time. What stands before the first dot is a prefix, and the number of the repetition, from ".r" on, tells nothing.
 * Between them names of parameters and their values take turns; a value is made of digits, dots and commas, where a comma is a
 * dot too, and dots at its end only separate.
 */
struct pf_pointdir {
    unsigned count;
    struct pf_pointdir_parameter {
        const char *name; /* in the folder's name; not terminated */
        size_t size;
        double value;
    } parameters[PF_PARAMETERS_MAX];
};

/*
 * Takes a folder's name apart. NULL: *point is filled; else why it is no point, as the rest of a sentence that begins
 * with the folder. For all threads.
 */
const char *pf_pointdir_parse(const char *name, struct pf_pointdir *point);

/*
 * The folders that stand in one: each is a point of the same parameters, which the first one (by name) that is a point
 * tells; others are left out. A parameter that has the same value everywhere is no parameter, unless none would be
 * left. For one thread.
 */
struct pf_pointdirs {
    struct pf_pointdir_entry {
        char *name;   /* of the folder; owned */
        char **files; /* in it, sorted; owned, and each of them */
        size_t n_files, room_files;
        const char *problem;      /* why it is left out; NULL: it is a point */
        struct pf_pointdir point; /* as its name says */
    } * entries; /* once finished: points by their values, then by name; then what is left out */
    size_t count, room, points;          /* points: how many entries are */
    unsigned parameters;                 /* that are left, */
    unsigned numbers[PF_PARAMETERS_MAX]; /* and which of a point's each is */
};

/* Adds a folder by its name, copied. 0, or -1 with *error filled. */
int pf_pointdirs_add(struct pf_pointdirs *dirs, const char *name, struct pf_error *error);
void pf_pointdirs_finish(struct pf_pointdirs *dirs);
void pf_pointdirs_free(struct pf_pointdirs *dirs);

/*
 * For probing: whether a directory has at least `least` folders that are named like points and hold a file whose name ends
 * so (".cubex"). Looks at no more than a few thousand entries.
 */
bool pf_points_probe(struct pf_probe *probe, const char *suffix, unsigned least);

/* The state of such a profile. */
struct pf_points {
    struct pf_study_profile stored; /* first: its cursors are those of a stored study */
    struct pf_pointdirs dirs;
};

/*
 * Opens: lists the files whose names end so, and declares the tables. profile->state begins with a struct pf_points, zeroed. what:
 * the key of info.txt under which the number of files stands. 0, or -1 with *error filled.
 */
int pf_points_open(struct pf_model *model, const char *suffix, const char *what, struct pf_error *error);

/*
 * Adds what a file (FOLDER/NAME in the source) measured to the study, at a point. Files that cannot be read are noted.
 * 0, or -1 with *error filled.
 */
typedef int pf_points_file(struct pf_model *model, struct pf_study *study, const char *path, uint32_t point,
                           struct pf_error *error);

/* Reads all files, by point. NULL with *error filled; else finished, to be given to pf_stored_publish. */
struct pf_study *pf_points_read(struct pf_model *model, pf_points_file *read_file, struct pf_error *error);

/* Notes what is wrong with a file: the rest of a sentence that begins with its path. */
void pf_points_note(struct pf_study *study, const char *path, const char *what);

/* Frees the state as well. */
void pf_points_close(struct pf_model *model);

#endif
