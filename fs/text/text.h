/* SPDX-License-Identifier: MIT */
#ifndef PF_TEXT_H
#define PF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/lock.h"
#include "fs/text/blocks.h"
#include "fs/text/lines.h"
#include "fs/text/track.h"

/*
 * One generated file: an iterator of records behind the face of a file with an exact size and cheap reads
 * anywhere. Its bytes never change. Safe for many threads.
 */
struct pf_text {
    /* Set by the owner before use. */
    uint64_t id;                                                   /* never used again in this process */
    struct pf_lines *(*walk)(void *owner, struct pf_error *error); /* a walk from the start */
    void *owner;

    struct pf_lock lock; /* guards what follows */
    bool sized;
    uint64_t size;
    /* Checkpoints: the text's own (grown by measuring), or a range of a table's. */
    struct pf_track own;
    const struct pf_track *shared; /* borrowed; NULL: own */
    size_t first, end;             /* range of shared marks */
    bool part;                     /* use the marks' partition offsets */
    uint64_t covered;              /* marks are known up to here; the size when they are complete */
    struct pf_reader *idle;        /* a walk that may be taken up where it stands */
};

void pf_text_init(struct pf_text *text, uint64_t id,
                  struct pf_lines *(*walk)(void *owner, struct pf_error *error), void *owner);
void pf_text_close(struct pf_text *text);

/* True if the size is known (it never changes then); *size is it (NULL: not asked for). */
bool pf_text_is_sized(struct pf_text *text, uint64_t *size);

/*
 * Goes through the text, without keeping it, until marks cover `until` (UINT64_MAX: to its end, which gives
 * the size). -1 with *error filled; ECANCELED if the pass was stopped: what was covered stays.
 */
int pf_text_cover(struct pf_text *text, uint64_t until, struct pf_error *error);

/* How many bytes pf_text_cover would have to go through before `offset` can be read; 0: it can be read at
 * once. */
uint64_t pf_text_distance(struct pf_text *text, uint64_t offset);

/* A run of bytes in a cached block; the reader releases the block. */
struct pf_piece {
    struct pf_block *block;
    size_t offset, size;
};
enum { PF_PIECES = 16 };

/*
 * Reads [offset, offset + size), cut at the end of the text and at PF_PIECES blocks, as pieces of blocks; `alone`: no more is made
 * than these bytes' pages, since nothing tells that what stands around them will be asked for. The text is sized and covers the
 * range. Returns how many pieces, -1 with *error filled.
 */
int pf_text_read(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size, bool alone,
                 struct pf_piece pieces[PF_PIECES], struct pf_error *error);

/* Lets go of a walk that only makes the next read quicker: nobody has the text open any more. */
void pf_text_rest(struct pf_text *text);

#endif
