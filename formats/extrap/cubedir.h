/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBEDIR_H
#define PF_CUBEDIR_H

#include "formats/extrap/pointdirs.h"
#include "formats/extrap/stored.h"

/*
 * A folder whose folders are points and hold Cube files, as an Extra-P experiment. Call paths are the names of regions,
 * one below the other, whatever the call paths of each file are called; metrics are those at the top of the files' trees of
 * metrics, each exclusive (NAME) and inclusive ("NAME (inc)").
 *
 * What one call path of one file has, a value a location, is a group. Each group is a record of its own (see measured.h),
 * or, of many locations, some: the first of them counts one repetition, the others none.
 */
struct pf_cubedir_file {
    char *folder, *name; /* owned */
};

struct pf_cubedir {
    struct pf_stored stored; /* first: its cursors and its end are those of a stored experiment */
    struct pf_pointdirs dirs;
    struct pf_cubedir_file *files; /* by folder and name */
    size_t n_files, room_files;

    /* How series are reduced, from PF_MODELLED on (cubedir_merge.c). */
    bool *inclusive; /* of each metric */
    size_t room_inclusive;
    uint32_t *into;         /* the series that each one is merged into: itself, or PF_NO_SERIES: dropped */
    uint32_t *first, *next; /* the series merged into one; PF_NO_SERIES: no more */

    struct pf_column statistics[PF_PARAMETERS_MAX + 11]; /* scaling, then the common ones */
};

/* Finds the folders and files; to be called once. (cubedir_list.c) */
int pf_cubedir_list(struct pf_cubedir *cubedir, struct pf_source *source, struct pf_error *error);
void pf_cubedir_list_free(struct pf_cubedir *cubedir);

/* The first file of a folder; the number of files if there is none. */
size_t pf_cubedir_first_file(const struct pf_cubedir *cubedir, const char *folder);

/*
 * Adds what a file measured to the study, at a point. Files that cannot be read, and damage, are noted. (cubedir_read.c)
 */
int pf_cubedir_read(struct pf_cubedir *cubedir, struct pf_study *study, struct pf_source *source,
                    const char *path, uint32_t point, struct pf_pass *pass, struct pf_error *error);

/* Finds which series are merged into which, once all are there. (cubedir_merge.c) */
int pf_cubedir_merge(struct pf_cubedir *cubedir, const struct pf_study *study, struct pf_pass *pass,
                     struct pf_error *error);
void pf_cubedir_merge_free(struct pf_cubedir *cubedir);

/* Walks statistics. (cubedir_statistics.c) */
extern const struct pf_cursor_ops pf_cubedir_statistics;

#endif
