/* SPDX-License-Identifier: MIT */
#include "fs/track.h"

#include <stdlib.h>

static int grow(void **array, size_t *room, size_t need, size_t item)
{
    if (need <= *room)
        return 0;
    size_t more = *room ? *room : 16;
    while (more < need)
        more *= 2;
    void *grown = realloc(*array, more * item);
    if (!grown)
        return -1;
    *array = grown;
    *room = more;
    return 0;
}

void *pf_track_add(struct pf_track *track, uint64_t full, uint64_t part, size_t size, struct pf_error *error)
{
    void *marks = track->marks, *blobs = track->blobs;
    int failed = grow(&marks, &track->room, track->count + 1, sizeof *track->marks);
    failed |= grow(&blobs, &track->blobs_room, track->used + size + 1, 1);
    track->marks = marks;
    track->blobs = blobs;
    if (failed) {
        pf_fail_memory(error);
        return NULL;
    }
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
