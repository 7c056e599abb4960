/* SPDX-License-Identifier: MIT */
#ifndef PF_POINTDIRS_H
#define PF_POINTDIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/extrap/experiment.h"
#include "formats/input/source.h"
#include "formats/kit/error.h"

/*
 * Folders of measurements, one a point, that are named by it as Extra-P reads them: PREFIX.x4.y10.r1 is the point
 * x=4, y=10, measured for the first time. What stands before the first dot is a prefix, and the number of the
 * repetition, from ".r" on, tells nothing. Between them names of parameters and their values take turns; a value is
 * made of digits, dots and commas, where a comma is a dot too, and dots at its end only separate.
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

/* ---- all of a folder ----------------------------------------------------------------------------- */

struct pf_pointdir_names {
    char **at; /* owned, and each of them */
    size_t count, room;
};

struct pf_pointdir_entry {
    char *name;                       /* of the folder; owned */
    struct pf_pointdir_names files;   /* in it, sorted */
    const char *problem;              /* why it is left out; NULL: it is a point, */
    double values[PF_PARAMETERS_MAX]; /* of these coordinates, one a parameter that is left */
};

/*
 * The folders that stand in one: each is a point of the same parameters, which the first one (by name) that is a point
 * tells; others are left out. A parameter that has the same value everywhere is no parameter, unless none would be
 * left. For one thread.
 */
struct pf_pointdirs {
    struct pf_pointdir_entry
        *entries; /* once finished: points by their values, then by name; then what is left out */
    size_t count, room, points;     /* points: how many entries are */
    char *names[PF_PARAMETERS_MAX]; /* of parameters, owned */
    unsigned parameters;
    size_t files; /* of all folders */
};

/* Adds a folder by its name, copied. It is good until the next call; NULL with *error filled. */
struct pf_pointdir_entry *pf_pointdirs_add(struct pf_pointdirs *dirs, const char *name,
                                           struct pf_error *error);
int pf_pointdirs_finish(struct pf_pointdirs *dirs, struct pf_error *error);
void pf_pointdirs_free(struct pf_pointdirs *dirs);

/*
 * All that is in a source: its folders that hold files whose names end so, and these. dirs: zeroed; finished then. 0, or
 * -1 with *error filled.
 */
int pf_pointdirs_list(struct pf_pointdirs *dirs, struct pf_source *source, const char *suffix,
                      struct pf_error *error);

/*
 * True if the directory has at least `least` folders that are named like points and hold a file whose name ends
 * so (".cubex"). For probing: looks at no more than a few thousand entries.
 */
bool pf_pointdirs_probe(struct pf_probe *probe, const char *suffix, unsigned least);

#endif
