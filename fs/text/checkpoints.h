/* SPDX-License-Identifier: MIT */
#ifndef PF_CHECKPOINTS_H
#define PF_CHECKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/* Bytes of text between two checkpoints, at least. */
enum { PF_INTERVAL = 32 * 1024 };

/*
 * A place where a walk over a text can be taken up again. Two checkpoints delimit an interval: interval 0 begins at byte 0 and needs no
 * position, interval k at checkpoint k - 1. A checkpoint has two offsets, since the rows of one partition are part of two texts: the
 * whole table and the partition's own file.
 */
struct pf_checkpoint {
    uint64_t full; /* offset in the whole text */
    uint64_t part; /* offset in the partition's text */
    uint64_t blob; /* where the walk's position is in `blobs` */
    uint64_t size; /* bytes of the position */
};

/* The checkpoints of a text, in ascending order. */
struct pf_checkpoints {
    struct pf_checkpoint *items;
    size_t count, room;
    unsigned char *blobs;
    size_t used, blobs_room;
};

/* Appends a checkpoint; the caller fills the `size` bytes of its position at the address returned. NULL with *error filled. */
void *pf_checkpoints_add(struct pf_checkpoints *checkpoints, uint64_t full, uint64_t part, size_t size,
                         struct pf_error *error);
void pf_checkpoints_free(struct pf_checkpoints *checkpoints);

/*
 * True if a checkpoint with a position of this size is due `distance` bytes after the last one. Positions are small, but those of deep
 * call stacks are large: intervals are so long that positions take at most 1/16 of the text's size.
 */
static inline bool pf_checkpoint_is_due(uint64_t distance, size_t position)
{
    return distance >= PF_INTERVAL && distance / 16 >= position;
}

#endif
