/* SPDX-License-Identifier: MIT */
#ifndef PF_CHECKPOINTS_H
#define PF_CHECKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/* Minimum distance between two checkpoints, in bytes of text. */
enum { PF_INTERVAL = 32 * 1024 };

/*
 * An offset in a text where a walk can resume. Two checkpoints delimit an interval: interval 0 begins at byte 0 and needs no
 * position, interval k begins at checkpoint k - 1. A checkpoint has two offsets, since the rows of a partition are in two texts: the
 * whole table and the partition's own file.
 */
struct pf_checkpoint {
    uint64_t full;      /* offset in the whole text */
    uint64_t partition; /* offset in the partition's text */
    uint64_t position;  /* offset in `positions` at which the walk's saved position begins */
    uint64_t size;      /* bytes of the position */
};

/* The checkpoints of a text, in ascending order. */
struct pf_checkpoints {
    struct pf_checkpoint *items;
    size_t count, room;
    unsigned char *positions;
    size_t used, positions_room;
};

/*
 * Appends a checkpoint. Returns the address at which the caller writes the walk's position, of `size` bytes, before the next
 * call; NULL with *error filled.
 */
void *pf_checkpoints_add(struct pf_checkpoints *checkpoints, uint64_t full, uint64_t partition, size_t size,
                         struct pf_error *error);
void pf_checkpoints_free(struct pf_checkpoints *checkpoints);

/*
 * Returns true if a checkpoint with a position of this size is due `distance` bytes after the last one. Positions are mostly small,
 * but deep call stacks have large ones: intervals are then longer, so that positions take at most 1/16 of the text's size.
 */
static inline bool pf_checkpoint_is_due(uint64_t distance, size_t position)
{
    return distance >= PF_INTERVAL && distance / 16 >= position;
}

#endif
