/* SPDX-License-Identifier: MIT */
#ifndef PF_INFLATER_H
#define PF_INFLATER_H

#include <zlib.h>

#include "formats/input/packing.h"

/* A run inflates zlib or gzip data sequentially, from the start or from a seek point, and returns the text in
 * blocks. This is the part of pf_inflate that knows the two formats. One thread at a time. */
#define PF_INFLATER_BLOCK  ((size_t)64 * 1024)
#define PF_INFLATER_INPUT  ((size_t)16 * 1024)
#define PF_INFLATER_WINDOW ((size_t)32 * 1024)

enum pf_wrapping { PF_NOT_KNOWN, PF_ZLIB, PF_GZIP, PF_BARE /* raw deflate data; needs a seek point */ };

/* A position where a run may start: the start of a member, or a boundary between two of its deflate blocks. */
struct pf_seek_point {
    uint64_t text;        /* offset in the text */
    uint64_t packed;      /* offset of the first compressed byte of which no bit has been used */
    uint64_t member;      /* size of the member's text before this position */
    uint64_t window;      /* where the caller has stored the window; not used here */
    uint32_t window_size; /* in bytes, at most PF_INFLATER_WINDOW */
    uint32_t check;       /* checksum of the member's text so far */
    uint8_t bits;         /* number of unused bits of the byte before `packed`, 0 to 7: its upper bits */
    uint8_t wrapping;     /* enum pf_wrapping */
    bool inside;          /* inside a member; otherwise before a header */
};

struct pf_inflater {
    pf_inflate_source *source;
    void *arg;

    bool lost;     /* the position is invalid: call pf_inflater_start */
    uint64_t base; /* offset of block[0] in the text */
    size_t have;   /* number of bytes in the block */
    bool ended;    /* no more text */
    bool damaged;  /* with the reason in `damage` */
    struct pf_error damage;

    uint64_t filled; /* offset of the end of `input` in the compressed bytes */
    enum pf_wrapping wrapping;
    bool inside;      /* inside a member */
    bool at_boundary; /* the position may become a seek point */
    uint64_t member;
    uint32_t check;
    z_stream z;
    unsigned char input[PF_INFLATER_INPUT];
    unsigned char block[PF_INFLATER_BLOCK];
};

/* A run without a position (`lost`). NULL: out of memory. */
struct pf_inflater *pf_inflater_new(pf_inflate_source *source, void *arg);
void pf_inflater_free(struct pf_inflater *run);

/* Moves to a seek point, or to the start (point NULL), with an empty block. `window` holds the point's window_size
 * bytes. Returns -1 with *error filled on failure, and the run is then lost. */
int pf_inflater_start(struct pf_inflater *run, const struct pf_seek_point *point, const unsigned char *window,
                      struct pf_error *error);

/*
 * Inflates the next block. The block is full unless the text ends, or a possible seek point (at_boundary) comes at or
 * after the text offset `wanted`. Returns -1 with *error filled if the compressed bytes cannot be read (the run is then
 * lost), or if the thread's pass was stopped.
 */
int pf_inflater_next(struct pf_inflater *run, uint64_t wanted, struct pf_error *error);

/* Sets *point to the seek point after the block (requires at_boundary). Sets point->window to 0. Copies the last
 * point->window_size bytes of text to `window`. */
void pf_inflater_point(struct pf_inflater *run, struct pf_seek_point *point,
                       unsigned char window[PF_INFLATER_WINDOW]);

/* The offset of the first unused byte in the compressed bytes. */
uint64_t pf_inflater_packed(const struct pf_inflater *run);

#endif
