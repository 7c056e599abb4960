/* SPDX-License-Identifier: MIT */
#ifndef PF_INFLATER_H
#define PF_INFLATER_H

#include <zlib.h>

#include "formats/input/packing.h"

/*
 * One run through zlib or gzip data, from its start or from a seek point, text coming in blocks. The part of
 * pf_inflate that knows the two formats. Belongs to one thread at a time.
 */
#define PF_INFLATER_BLOCK  ((size_t)64 * 1024)
#define PF_INFLATER_INPUT  ((size_t)16 * 1024)
#define PF_INFLATER_WINDOW ((size_t)32 * 1024)

enum pf_wrapping { PF_NOT_KNOWN, PF_ZLIB, PF_GZIP, PF_BARE /* deflate data alone: only a point tells */ };

/* Where a run may start: at the start of a member, or between two of its deflate blocks. */
struct pf_seek_point {
    uint64_t text;        /* offset in the text */
    uint64_t packed;      /* offset in the compressed bytes, of the first byte not used at all */
    uint64_t member;      /* bytes of text of the member before this place */
    uint64_t window;      /* where the text before it is kept: for who keeps it */
    uint32_t window_size; /* in bytes, at most PF_INFLATER_WINDOW */
    uint32_t check;       /* the check sum over the member so far */
    uint8_t bits;         /* of the byte before `packed` that are not used yet: 0 to 7, the upper ones */
    uint8_t wrapping;     /* enum pf_wrapping */
    bool inside;          /* a member; else before its header */
};

struct pf_inflater {
    pf_inflate_source *source;
    void *arg;

    bool lost;     /* stands nowhere: to be started */
    uint64_t base; /* offset in the text of block[0] */
    size_t have;   /* bytes of the block */
    bool ended;    /* no text follows */
    bool damaged;  /* because of this: */
    struct pf_error damage;

    /* Within the run. */
    uint64_t filled; /* offset in the compressed bytes behind what `input` holds */
    enum pf_wrapping wrapping;
    bool inside;      /* a member */
    bool at_boundary; /* a seek point may be taken here */
    uint64_t member;
    uint32_t check;
    z_stream z;
    unsigned char input[PF_INFLATER_INPUT];
    unsigned char block[PF_INFLATER_BLOCK];
};

/* A run that stands nowhere yet; NULL: out of memory. */
struct pf_inflater *pf_inflater_new(pf_inflate_source *source, void *arg);
void pf_inflater_free(struct pf_inflater *run);

/*
 * Stand at a point, or at the start (point NULL), with an empty block. `window` holds the point's window_size
 * bytes. -1 with *error filled on failure: the run is then lost.
 */
int pf_inflater_start(struct pf_inflater *run, const struct pf_seek_point *point, const unsigned char *window,
                      struct pf_error *error);

/*
 * Make the next block: full, or shorter where the text ends or, from the offset `wanted` in the text on, where a
 * seek point may be taken (at_boundary). -1 with *error filled if the thread's pass was stopped, or if the compressed bytes cannot be
 * read: then the run is lost.
 */
int pf_inflater_next(struct pf_inflater *run, uint64_t wanted, struct pf_error *error);

/* The point behind the block (if at_boundary), all but point->window; its window is written to `window`. */
void pf_inflater_point(struct pf_inflater *run, struct pf_seek_point *point,
                       unsigned char window[PF_INFLATER_WINDOW]);

/* The offset in the compressed bytes of the first byte not used yet. */
uint64_t pf_inflater_packed(const struct pf_inflater *run);

#endif
