/* SPDX-License-Identifier: MIT */
#ifndef PF_TRACK_H
#define PF_TRACK_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * The checkpoints of a text: at which byte a walk can be taken up again, and the position to restore there.
 * The text between two marks is a gap; gap 0 begins at byte 0 and needs no position, gap k at mark k - 1. A mark has two offsets, since the rows of one partition are part of two texts: the whole table and the
 * partition's own file.
 */
enum {
    PF_MARK = 64 * 1024,   /* bytes of text from mark to mark, at least */
    PF_BLOCK = 256 * 1024, /* that are made at once for who reads on */
};

struct pf_mark {
    uint64_t full; /* offset in the whole text */
    uint64_t part; /* offset in the partition's text */
    uint64_t blob; /* where the position stands in blobs */
    uint64_t size; /* bytes of the position */
};

struct pf_track {
    struct pf_mark *marks;
    size_t count, room;
    unsigned char *blobs;
    size_t used, blobs_room;
};

/* Appends a mark whose position has `size` bytes; the caller fills them at the address returned. NULL: *error
 * filled. */
void *pf_track_add(struct pf_track *track, uint64_t full, uint64_t part, size_t size, struct pf_error *error);
void pf_track_free(struct pf_track *track);

/*
 * Positions are small, but a deep call stack makes them large: marks are set so far apart that positions take
 * at most 1/16 of the text's size. True if a mark is due `distance` bytes after the last one for a position
 * of this size.
 */
static inline int pf_mark_due(uint64_t distance, size_t position)
{
    return distance >= PF_MARK && distance / 16 >= position;
}

#endif
