/* SPDX-License-Identifier: MIT */
#ifndef PF_TEXT_H
#define PF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/lock.h"
#include "fs/text/blocks.h"
#include "fs/text/checkpoints.h"
#include "fs/text/walk.h"
#include "fs/work.h"

/*
 * A generated file: a walk over records, the file's exact size, and checkpoints for cheap random access. The text is read in blocks; a
 * block is an interval between two checkpoints, or a piece of a long interval. The bytes never change. Thread-safe.
 */
struct pf_text {
    /* Set by the owner before use. */
    uint64_t id; /* never reused in this process */
    /* Returns a new walk at the start of the text. For files of a profile, fs/profile/texts.c sets it to call pf_node_walk. */
    struct pf_walk *(*walk)(void *owner, struct pf_error *error);
    void *owner;

    struct pf_lock lock; /* guards the members below */
    bool sized;
    uint64_t size;
    struct pf_checkpoints own;           /* grown by measuring */
    const struct pf_checkpoints *shared; /* the checkpoints of the whole table, used instead of `own`; or NULL */
    size_t first, end;                   /* range of the shared checkpoints that belongs to this text */
    bool of_partition;                   /* use `partition` of the shared checkpoints as offset, not `full` */
    uint64_t measured;                   /* checkpoints are complete up to this offset */
    struct pf_reader *idle;              /* a walk that the next sequential read may continue, or NULL */
};

void pf_text_init(struct pf_text *text, uint64_t id,
                  struct pf_walk *(*walk)(void *owner, struct pf_error *error), void *owner);
void pf_text_close(struct pf_text *text);

/* Returns true if the size is known, and stores it in *size unless size is NULL. A known size never changes. */
bool pf_text_is_sized(struct pf_text *text, uint64_t *size);

/*
 * Walks through the text up to offset `until`, sets checkpoints and discards the text. UINT64_MAX: to the end, which also determines the
 * size. Returns 0, or -1 with *error filled (ECANCELED if the pass was stopped); the checkpoints set so far are kept.
 */
int pf_text_measure(struct pf_text *text, uint64_t until, struct pf_error *error);

/* Returns the number of bytes that pf_text_measure has to walk through before `offset` can be read; 0: no measuring is needed. */
uint64_t pf_text_distance(struct pf_text *text, uint64_t offset);

/* A range of bytes in a cached block; the caller releases the block. */
struct pf_span {
    struct pf_block *block;
    size_t offset, size;
};
/* Maximum number of blocks that a read of 1 MB touches. */
enum { PF_SPANS = (1 << 20) / PF_INTERVAL + 2 };

/*
 * Makes a missing block, which starts at offset `start`: calls pf_text_render in a job that all readers of the block share. `owner` is
 * text->owner. Returns 0, or -1 with op->error filled.
 */
typedef int pf_text_need(void *owner, uint64_t start, struct pf_op *op);

/*
 * Reads [offset, offset + size) as spans of blocks, up to the end of the text and at most PF_SPANS blocks. need NULL: missing
 * blocks are rendered on this thread. The size must be known, and pf_text_distance must be 0 for the last byte. Returns the
 * number of spans, or -1 with op->error filled.
 */
int pf_text_read(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size,
                 struct pf_span spans[PF_SPANS], pf_text_need *need, struct pf_op *op);

/* Renders the block that starts at offset `start`, unless it is cached. Returns 0, or -1 with *error filled. */
int pf_text_render(struct pf_text *text, struct pf_blocks *blocks, uint64_t start, struct pf_error *error);

/* Closes the idle walk, to free its memory while no handle of the text is open. */
void pf_text_close_idle(struct pf_text *text);

#endif
