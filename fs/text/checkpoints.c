/* SPDX-License-Identifier: MIT */
#include "fs/text/checkpoints.h"

#include <stdlib.h>

#include "formats/kit/array.h"

void *pf_checkpoints_add(struct pf_checkpoints *checkpoints, uint64_t full, uint64_t partition, size_t size,
                         struct pf_error *error)
{
    if (pf_array_room(&checkpoints->items, &checkpoints->room, checkpoints->count, sizeof *checkpoints->items,
                      error) ||
        pf_array_room(&checkpoints->positions, &checkpoints->positions_room, checkpoints->used + size, 1,
                      error))
        return NULL;
    checkpoints->items[checkpoints->count++] = (struct pf_checkpoint){
        .full = full, .partition = partition, .position = checkpoints->used, .size = size};
    checkpoints->used += size;
    return checkpoints->positions + checkpoints->used - size;
}

void pf_checkpoints_free(struct pf_checkpoints *checkpoints)
{
    free(checkpoints->items);
    free(checkpoints->positions);
    *checkpoints = (struct pf_checkpoints){0};
}
