/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBEDIR_H
#define PF_CUBEDIR_H

#include "formats/extrap/pointstudy.h"

/*
 * A folder whose folders are points and hold Cube files, as an Extra-P experiment. Call paths are the names of regions,
 * one below the other, whatever the call paths of each file are called; metrics are those at the top of the files' trees of
 * metrics, each exclusive (NAME) and inclusive ("NAME (inc)").
 *
 * What one call path of one file has, a value a location, is a group. Each group is a record of its own (see measured.h),
 * or, of many locations, some: the first of them counts one repetition, the others none.
 */
struct pf_cubedir {
    struct pf_pointstudy points; /* first */

    /* How series are reduced, from PF_MODELLED on. */
    bool *inclusive; /* of each metric */
    size_t room_inclusive;
    struct pf_merge {
        uint32_t into;        /* the series that this one is merged into: itself, or PF_NO_SERIES: dropped */
        uint32_t first, next; /* the series merged into this one; beside this one. PF_NO_SERIES: no more */
    } * merged;               /* of each series */

    struct pf_column statistics[PF_PARAMETERS_MAX + 11]; /* scaling, then the common ones */
};

/*
 * Adds what a file measured to the study, at a point. Files that cannot be read, and damage, are noted. (cubedir_read.c)
 */
int pf_cubedir_read(struct pf_profile *profile, struct pf_study *study, const char *path, uint32_t point,
                    struct pf_pass *pass, struct pf_error *error);

/* Walks statistics. (cubedir_statistics.c) */
extern const struct pf_numbered pf_cubedir_statistics;

#endif
