/* SPDX-License-Identifier: MIT */
#include "fs/text/track.h"

#include <stdlib.h>

#include "formats/kit/array.h"

void *pf_track_add(struct pf_track *track, uint64_t full, uint64_t part, size_t size, struct pf_error *error)
{
    if (pf_array_room(&track->marks, &track->room, track->count, sizeof *track->marks, error) ||
        pf_array_room(&track->blobs, &track->blobs_room, track->used + size, 1, error))
        return NULL;
    track->marks[track->count++] =
        (struct pf_mark){.full = full, .part = part, .blob = track->used, .size = size};
    track->used += size;
    return track->blobs + track->used - size;
}

void pf_track_free(struct pf_track *track)
{
    free(track->marks);
    free(track->blobs);
    *track = (struct pf_track){0};
}
