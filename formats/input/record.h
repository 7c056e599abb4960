/* SPDX-License-Identifier: MIT */
#ifndef PF_RECORD_H
#define PF_RECORD_H

#include <limits.h>

#include "formats/input/access.h"
#include "formats/input/folder.h"
#include "formats/input/input_private.h"
#include "formats/kit/lock.h"
#include "formats/kit/table.h"

/* A source's record of inputs, by name, and their locations. */

/* The open folders of a source; reference-counted. */
struct pf_source_folders {
    atomic_uint references;
    struct pf_folder *parent;    /* contains the source's entry */
    struct pf_folder *directory; /* the entry itself if it is a directory; NULL if it is a file */
};

struct pf_source {
    const struct pf_folder *top; /* `path` is relative to it; borrowed; NULL: the source stays open */
    char *path;                  /* of the entry */
    const char *name;            /* last component of `path` */
    bool within;                 /* expected to be a directory: input names are relative to the entry */
    bool lists;                  /* access control lists are taken into account */
    pf_matters *matters;         /* selects the names in the source's folder that can be inputs; NULL: all */

    /*
     * Guards the members below, and `present`, `counted`, `file`, `idle` and `view` of each recorded input; never held during
     * I/O. The stamp of a recorded input is immutable.
     */
    struct pf_lock lock;
    struct pf_source_folders *folders; /* NULL: the source is closed */
    unsigned uses;                     /* number of users; files stay open while it is not 0 */
    bool idle;                         /* files were closed by pf_source_close_files */
    size_t idle_inputs;                /* number of inputs whose `idle` is set */
    struct pf_input **inputs;          /* in the order of opening; freed with the source */
    struct pf_hash_table by_name;
    size_t count, room;
    struct pf_stamp names[2]; /* last digests of PF_FOLDER and PF_FOLDERS, with the folder's times */
    struct pf_access access;  /* permission to read all inputs recorded so far */
};

/* The input of this name, or NULL. The caller holds source->lock. */
struct pf_input *pf_record_find(const struct pf_source *source, const char *name);
/* Records an input. NULL with *error filled. The caller holds source->lock. */
struct pf_input *pf_record_add(struct pf_source *source, const char *name, struct pf_error *error);
/* Records an input with this stamp without opening it; a no-op if the name is already recorded. present: false for a
 * file that could not be opened. Returns 0, or -1 with *error filled. */
int pf_record_stamp(struct pf_source *source, const char *name, const struct pf_stamp *stamp, bool present,
                    struct pf_error *error);

/* Takes a reference to the open folders; NULL if the source is closed. The caller drops it with
 * pf_source_folders_release (NULL is a no-op). */
struct pf_source_folders *pf_source_folders_hold(struct pf_source *source);
void pf_source_folders_release(struct pf_source_folders *folders);

/* The location of an input: `relative` to `folder`, or absolute if the user specified the path. */
struct pf_input_place {
    /* A reference; NULL: the source is closed, and `folder` is source->top. */
    struct pf_source_folders *folders;
    const struct pf_folder *folder;
    const char *relative;
    char room[PATH_MAX];
};
void pf_input_place_find(struct pf_source *source, const char *name, struct pf_input_place *place);
void pf_input_place_release(struct pf_input_place *place);
/* Attributes of the file at a location. Symbolic links are followed in an absolute path only. Returns 0 or an errno
 * value. May block. */
int pf_input_place_stat(const struct pf_input_place *place, struct stat *st);

/*
 * Restricts source->access to users who may read (if `through`: search) `name` in `directory`; "" is `directory`
 * itself. `st`: attributes of `name`. May block.
 */
void pf_record_access(struct pf_source *source, int directory, const char *name, const struct stat *st,
                      bool through);
/* Restricts source->access to users who may read an input with these attributes, and reach it from the source's
 * folder. May block. */
void pf_record_input_access(struct pf_source *source, const struct pf_input_place *place,
                            const struct stat *st);

#endif
