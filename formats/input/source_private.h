/* SPDX-License-Identifier: MIT */
#ifndef PF_SOURCE_PRIVATE_H
#define PF_SOURCE_PRIVATE_H

#include <limits.h>
#include <stdatomic.h>

#include "formats/input/folder.h"
#include "formats/input/source.h"
#include "formats/kit/lock.h"

/* What the source's own files share. */

struct pf_inflate;
struct pf_unpacked;
struct pf_driver;

struct pf_input {
    struct pf_source *source;
    char *name;   /* as given to pf_source_open; NULL: the source itself; absolute: named by the user */
    bool present; /* when it was opened */
    bool open;    /* false: absent, a listing, no longer needed, or: */
    bool closed;  /* pf_source_acquire opens it again */
    struct pf_opened file;
    struct pf_stamp stamp;
    struct pf_stamp held;         /* of what its bytes stand in, and */
    nlink_t links;                /* how many names that had when it was opened */
    struct pf_input *view;        /* what the file unpacks to, once somebody has asked for it */
    struct pf_input *packed;      /* of such a view: the file */
    struct pf_inflate *inflate;   /* and how it is read; or */
    struct pf_unpacked *unpacked; /* if it is not gzip or zlib data */
};

struct pf_source {
    const struct pf_folder *top; /* that the path is below */
    char *path;                  /* of the entry */
    const char *name;            /* the last one of that */
    bool within;                 /* names of inputs begin in the entry, not in the folder that it stands in */
    struct pf_folder *folder;    /* that the entry stands in; NULL: the source is closed */
    struct pf_folder *directory; /* the entry itself if it is a directory, else NULL */
    bool gone;                   /* let go of: never to be opened again */
    atomic_uint users;           /* acquisitions; raised from 0 with `lock` held */
    bool closed;                 /* by pf_source_close_files */
    struct pf_lock lock;
    struct pf_input **inputs;
    size_t count;
    const struct pf_driver *driver; /* whose profile it is; NULL: not known */
    bool lists;                     /* access control lists count */
    pf_matters *matters;            /* NULL: all names in the folder do */
    struct pf_lock folder_lock;     /* guards the following */
    struct pf_stamp names[2];       /* what listings of its folder came to */
    struct pf_access access;        /* of whoever may read all inputs looked at so far */
};

/* The input of this name, or NULL; with source->lock held. */
struct pf_input *pf_source_find(struct pf_source *source, const char *name);

/*
 * Where an input stands: in the returned folder at *relative, which may point into `room`. NULL is the source itself. What a
 * closed source has is looked for from the topmost folder.
 */
const struct pf_folder *pf_source_place(const struct pf_source *source, const char *name, char room[PATH_MAX],
                                        const char **relative);

/* An input, or a folder on the way to it, has been looked at, which is `name` in a directory ("": that itself). */
void pf_source_note_access(struct pf_source *source, int directory, const char *name, const struct stat *st,
                           bool through);

/* pf_source_open, but the file itself. */
int pf_source_open_file(struct pf_source *source, const char *name, struct pf_input **input,
                        struct pf_error *error);

/* From the source's own file to what it unpacks to, if that is what the driver wants. whole: its size is to be known. */
int pf_source_through(struct pf_source *source, struct pf_input **input, bool whole, struct pf_error *error);

/* Records an input; NULL with *error filled. With source->lock held. */
struct pf_input *pf_source_add(struct pf_source *source, const char *name, struct pf_error *error);

/*
 * True if the bytes behind the descriptor of an open input are those of when it was opened. The time of change tells of a writer
 * who puts the time of writing back; it also changes when the file gains or loses a name, which its links tell, so that a file
 * that was deleted or replaced can be read to its end.
 */
bool pf_input_intact(const struct pf_input *input);

/* pf_input_read for an input that is a file, not a view of one. */
ssize_t pf_input_read_file(const struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                           struct pf_error *error);

/*
 * If the name is that of an input that is a listing: true, and *stamp is what the folder is now, or *lack an errno value that
 * tells why it could not be seen (source_folders.c).
 */
bool pf_source_listing_now(struct pf_source *source, const char *name, struct pf_stamp *stamp, int *lack);
/* True if the inputs are the same: of a listing, only what its names come to counts. */
bool pf_source_same(const char *name, const struct pf_stamp *a, const struct pf_stamp *b);
/* If it is a listing, that need not be gone through again while the folder's times are the same. */
void pf_source_know_listing(struct pf_source *source, const char *name, const struct pf_stamp *stamp);

#endif
