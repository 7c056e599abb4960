/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_PRIVATE_H
#define PF_INPUT_PRIVATE_H

#include <stdatomic.h>

#include "formats/input/input.h"
#include "formats/input/opened.h"
#include "formats/input/packing.h"

/* A reference-counted open file, so that a thread can use it while another thread closes the input. All members
 * except `references` are immutable. */
struct pf_input_file {
    atomic_uint references;
    struct pf_opened opened;
    struct pf_stamp held; /* stamp at opening; for a member of an archive, the outermost archive's */
    nlink_t links;        /* link count at opening; for a member of an archive, the outermost archive's */
};

struct pf_input {
    struct pf_source *source;
    char *name;       /* as passed to pf_source_open; NULL: the source itself; absolute: given by the user */
    bool present;     /* the file existed at the first opening */
    unsigned counted; /* number of openings with PF_COUNTED that pf_input_done has not ended yet */
    struct pf_stamp stamp;      /* of the file at the first opening */
    uint64_t disk;              /* size of the file; for a member of an archive, the outermost archive's */
    struct pf_input_file *file; /* NULL: absent, a listing, or closed */
    bool idle;                  /* closed by pf_source_close_files; must be reopened before use */
    struct pf_input *view;      /* the unpacked view of the file, if requested; owned */
    struct pf_input *packed;    /* in an unpacked view: the input of the compressed file; NULL: not a view */
    struct pf_inflate *inflate; /* for gzip or zlib data; other views have `unpacked` */
    struct pf_unpacked *unpacked;
};

/* Takes ownership of *opened, even on failure. NULL with errno. May block. */
struct pf_input_file *pf_input_file_new(struct pf_opened *opened);
struct pf_input_file *pf_input_file_hold(struct pf_input_file *file);
/* Drops a reference; the last one closes the file. NULL is a no-op. */
void pf_input_file_release(struct pf_input_file *file);

/*
 * True if an open file's bytes are unchanged since opening. Compares ctime, because a writer can reset mtime. A change
 * of the link count also updates ctime, so ctime is not compared if the link count differs: a deleted or replaced file
 * can still be read to its end. May block.
 */
bool pf_input_file_intact(const struct pf_input_file *file);

/*
 * Creates the unpacked view of the input `packed`. `kind`: its compression; PF_UNPACKED stands for a zlib stream. A
 * view of zstd, xz or bzip2 data shares the size limit of the group `all`. NULL: out of memory.
 */
struct pf_unpackings;
struct pf_input *pf_input_view_new(struct pf_input *packed, enum pf_packing_kind kind,
                                   struct pf_unpackings *all);

#endif
