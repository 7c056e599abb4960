/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_PRIVATE_H
#define PF_INPUT_PRIVATE_H

#include <stdatomic.h>

#include "formats/input/input.h"
#include "formats/input/opened.h"
#include "formats/input/packing.h"

/* An open file with a reference count, so that it can be looked at while another thread closes the input. Immutable otherwise. */
struct pf_input_file {
    atomic_uint references;
    struct pf_opened opened;
    struct pf_stamp held; /* of the file of the file system that holds the bytes, when it was opened */
    nlink_t links;        /* number of names that that file had then */
};

struct pf_input {
    struct pf_source *source;
    char *name;   /* as given to pf_source_open; NULL: the source itself; absolute: named by the user */
    bool present; /* when it was first opened */
    struct pf_stamp stamp;      /* of the file, then */
    uint64_t disk;              /* bytes of the file of the file system that holds the bytes */
    struct pf_input_file *file; /* NULL: absent, a listing, or closed */
    bool idle;                  /* closed by pf_source_close_files: opened again before the next use */
    struct pf_input *view;      /* what the file unpacks to, once that was asked for; owned */
    struct pf_input *packed;    /* of such a view: the file's input; then one of */
    struct pf_inflate *inflate; /* gzip and zlib data, and */
    struct pf_unpacked *unpacked;
};

/* Takes *opened over, also on failure. NULL with errno. May block. */
struct pf_input_file *pf_input_file_new(struct pf_opened *opened);
struct pf_input_file *pf_input_file_hold(struct pf_input_file *file);
void pf_input_file_release(
    struct pf_input_file *file); /* closes the file with the last reference; NULL is fine */

/*
 * True if the bytes of an open file are those of when it was opened. Compares the time of change, since a writer can reset the
 * time of writing; but that changes, too, when the file gains or loses a name, so not if the number of names differs: a file that
 * was deleted or replaced can be read to its end. May block.
 */
bool pf_input_file_intact(const struct pf_input_file *file);

/* A view of what a file's input unpacks to (PF_UNPACKED: a zlib stream), bounded by `all`. NULL: out of memory. */
struct pf_unpackings;
struct pf_input *pf_input_view_new(struct pf_input *packed, enum pf_packing_kind kind,
                                   struct pf_unpackings *all);

#endif
