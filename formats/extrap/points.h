/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_POINTS_H
#define PF_EXTRAP_POINTS_H

#include "formats/extrap/stored.h"

/*
 * Base of the drivers for folders of points, which are served as an Extra-P experiment. A driver declares the suffix of
 * the files it reads, and reads one file at a time. Points, tables and cursors are implemented here and in stored.h.
 *
 * Each subfolder is one point. Its name is parsed as Extra-P does: PREFIX.x4.y10.r1 is the first repetition of the point
 * x=4, y=10. The text before the first dot, and the text from ".r" on, are ignored. In between, names of parameters
 * alternate with values. A value consists of digits, dots and commas. A comma is a decimal point too. Dots at the end of a
 * value are separators.
 */
struct pf_pointdir {
    unsigned count;
    struct pf_pointdir_parameter {
        const char *name; /* points into the folder's name; not terminated */
        size_t size;
        double value;
    } parameters[PF_PARAMETERS_MAX];
};

/*
 * Parses a folder's name. Returns NULL with *point filled, or the reason why the folder is not a point, as the rest of a
 * sentence that begins with the folder's name. Thread-safe.
 */
const char *pf_pointdir_parse(const char *name, struct pf_pointdir *point);

/*
 * The subfolders of a profile. The first folder, by name, that is a point defines the parameters. Folders with other
 * parameters are skipped. A parameter that has the same value in all folders is dropped, unless no parameter would be left.
 * One thread at a time uses this struct.
 */
struct pf_pointdirs {
    struct pf_pointdir_entry {
        char *name;   /* of the folder; owned */
        char **files; /* names of its files, sorted; the array and each name are owned */
        size_t n_files, room_files;
        const char *problem;      /* why the folder is skipped; NULL: it is a point */
        struct pf_pointdir point; /* parsed from the name */
    } * entries; /* pf_pointdirs_finish sorts points by values and name, skipped folders last */
    size_t count, room, points;          /* the first `points` entries are points */
    unsigned parameters;                 /* number of parameters that are kept */
    unsigned numbers[PF_PARAMETERS_MAX]; /* index in point.parameters of each kept parameter */
};

/* Adds a folder. Copies its name. Returns 0, or -1 with *error filled. */
int pf_pointdirs_add(struct pf_pointdirs *dirs, const char *name, struct pf_error *error);
/* Parses the names of the folders, chooses the parameters and sorts the folders. */
void pf_pointdirs_finish(struct pf_pointdirs *dirs);
void pf_pointdirs_free(struct pf_pointdirs *dirs);

/*
 * For probing: returns true if a directory has at least `least` subfolders that are points and contain a file with this
 * suffix (".cubex"). Examines at most a few dozen subfolders, and at most a few thousand entries of each folder.
 */
bool pf_points_probe(struct pf_probe *probe, const char *suffix, unsigned least);

/* State of a profile that is a folder of points. */
struct pf_points {
    struct pf_study_profile stored; /* must be first: the cursors of a stored study expect it */
    struct pf_pointdirs dirs;
};

/*
 * Opens a profile: lists the files with this suffix, and declares the tables. model->state must begin with a zeroed
 * struct pf_points. Adds the number of files to info.txt with `what` as the key. Returns 0, or -1 with *error filled.
 */
int pf_points_open(struct pf_model *model, const char *suffix, const char *what, struct pf_error *error);

/*
 * Adds the measurements of a file to the study at a point. The path is FOLDER/NAME in the source. Notes a file that
 * cannot be read.
 */
typedef void pf_points_file(struct pf_study *study, const char *path, uint32_t point);

/* Reads all files of run->model, point by point. Returns a finished study, which the run owns. */
struct pf_study *pf_points_read(struct pf_run *run, pf_points_file *read_file);

/* Notes a problem of a file. `what` is the rest of a sentence that begins with the file's path. */
void pf_points_note(struct pf_study *study, const char *path, const char *what);

/* Closes a profile and frees its state. */
void pf_points_close(struct pf_model *model);

#endif
