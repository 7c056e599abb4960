/* SPDX-License-Identifier: MIT */
#ifndef PF_RECORD_H
#define PF_RECORD_H

#include <limits.h>

#include "formats/input/access.h"
#include "formats/input/folder.h"
#include "formats/input/input_private.h"
#include "formats/kit/lock.h"
#include "formats/kit/table.h"

/* The inputs that a source has recorded, by name, and the places where they are. */

/* The open folders of a source, with a reference count. */
struct pf_source_folders {
    atomic_uint references;
    struct pf_folder *parent;    /* that the source's entry is in */
    struct pf_folder *directory; /* the entry itself; NULL: it is a file */
};

struct pf_source {
    const struct pf_folder *top; /* that the path is below; borrowed; NULL: the source stays open */
    char *path;                  /* of the entry */
    const char *name;            /* the last name of the path */
    bool within;                 /* expected to be a directory: names of inputs begin in it */
    bool lists;                  /* access control lists count */
    pf_matters *matters;         /* which names of its folder can be of interest; NULL: all */

    struct pf_lock lock; /* guards the following, and `file` and `view` of each input; held only in memory */
    struct pf_source_folders *folders; /* NULL: the source is closed */
    unsigned uses;                     /* files stay open as long as there are any */
    bool idle;                         /* pf_source_close_files has closed the files */
    size_t idle_inputs;                /* number of inputs that it has closed, and that are still closed */
    struct pf_input **inputs;          /* in the order of opening; never freed before the source */
    struct pf_hash_table by_name;
    size_t count, room;
    struct pf_stamp names[2]; /* the last digest of each listing of its folder, with the folder's times */
    struct pf_access access;  /* of whoever may read all inputs looked at so far */
};

/* The input of this name, or NULL. The caller holds source->lock. */
struct pf_input *pf_record_find(const struct pf_source *source, const char *name);
/* Records an input. NULL with *error filled. The caller holds source->lock. */
struct pf_input *pf_record_add(struct pf_source *source, const char *name, struct pf_error *error);
/*
 * Records an input of this stamp without opening it, unless the name is recorded already. present: false for a file that could not be
 * opened. 0, or -1 with *error filled.
 */
int pf_record_stamp(struct pf_source *source, const char *name, const struct pf_stamp *stamp, bool present,
                    struct pf_error *error);

/* The open folders, held; NULL: the source is closed. Released with pf_source_folders_release (NULL is fine). */
struct pf_source_folders *pf_source_folders_hold(struct pf_source *source);
void pf_source_folders_release(struct pf_source_folders *folders);

/* The place of an input: `relative` to `folder`, or absolute if the user has named it. */
struct pf_input_place {
    struct pf_source_folders
        *folders; /* held; NULL: the source is closed, its inputs are looked for from the top */
    const struct pf_folder *folder;
    const char *relative;
    char room[PATH_MAX];
};
void pf_input_place_find(struct pf_source *source, const char *name, struct pf_input_place *place);
void pf_input_place_release(struct pf_input_place *place);
/* Attributes of what is at a place, an absolute path being followed as the system does. 0 or an errno value. May block. */
int pf_input_place_stat(const struct pf_input_place *place, struct stat *st);

/* Narrows source->access to those who may read (through: reach what is in) `name` of a directory ("": the directory). May block. */
void pf_record_access(struct pf_source *source, int directory, const char *name, const struct stat *st,
                      bool through);
/* Narrows it to those who may read an input with these attributes, and reach it from the source's folder. May block. */
void pf_record_input_access(struct pf_source *source, const struct pf_input_place *place,
                            const struct stat *st);

#endif
