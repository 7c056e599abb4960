/* SPDX-License-Identifier: MIT */
#ifndef PF_TEXT_H
#define PF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/lock.h"
#include "fs/text/blocks.h"
#include "fs/text/checkpoints.h"
#include "fs/text/lines.h"

/*
 * One generated file: a walk over records, its exact size, and checkpoints, which make reads cheap anywhere. It is read in blocks, and
 * a block is what lies between two checkpoints. Its bytes never change. Safe for many threads.
 */
struct pf_text {
    /* Set by the owner before use. */
    uint64_t id;                                                   /* never used again in this process */
    struct pf_lines *(*walk)(void *owner, struct pf_error *error); /* a walk from the start */
    void *owner;

    struct pf_lock lock; /* guards what follows */
    bool sized;
    uint64_t size;
    struct pf_checkpoints own;           /* grown by measuring */
    const struct pf_checkpoints *shared; /* of a table, used instead of `own`; borrowed, or NULL */
    size_t first, end;                   /* range of shared checkpoints */
    bool part;                           /* use the shared checkpoints' partition offsets */
    uint64_t measured;                   /* checkpoints are known up to here; the size when they are complete */
    struct pf_reader *idle;              /* a walk that the next read may continue */
};

void pf_text_init(struct pf_text *text, uint64_t id,
                  struct pf_lines *(*walk)(void *owner, struct pf_error *error), void *owner);
void pf_text_close(struct pf_text *text);

/* True if the size is known (it never changes then); *size is set to it unless size is NULL. */
bool pf_text_is_sized(struct pf_text *text, uint64_t *size);

/*
 * Walks through the text without keeping it until checkpoints reach `until` (UINT64_MAX: to its end, which gives the size). 0, or -1
 * with *error filled; ECANCELED if the pass was stopped: the checkpoints set so far stay.
 */
int pf_text_measure(struct pf_text *text, uint64_t until, struct pf_error *error);

/* How many bytes pf_text_measure would have to walk through before `offset` can be read; 0: it can be read at once. */
uint64_t pf_text_distance(struct pf_text *text, uint64_t offset);

/* A run of bytes in a cached block; the reader releases the block. */
struct pf_piece {
    struct pf_block *block;
    size_t offset, size;
};
/* Enough for a read of 1 MB wherever it begins. */
enum { PF_PIECES = (1 << 20) / PF_INTERVAL + 2 };

/*
 * Reads [offset, offset + size), cut at the end of the text and at PF_PIECES blocks, as pieces of blocks. The text must be sized, and
 * pf_text_distance 0 for the last byte. Returns the number of pieces, -1 with *error filled.
 */
int pf_text_read(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size,
                 struct pf_piece pieces[PF_PIECES], struct pf_error *error);

/* Closes the idle walk. For a text that no handle is open on. */
void pf_text_rest(struct pf_text *text);

#endif
