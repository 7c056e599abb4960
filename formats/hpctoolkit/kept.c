/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A block is read in pieces of this many bytes. */
enum { PIECE = 64 * 1024 };

struct hpc_kept {
    pthread_mutex_t lock; /* guards all the rest */
    uint64_t offset;      /* of the block in the file */
    size_t size, room;    /* bytes it has, 0: there is none; bytes allocated */
    size_t most;
    unsigned char *bytes; /* owned */
    bool *pieces;         /* owned; which ones were read */
};

struct hpc_kept *hpc_kept_new(size_t most)
{
    struct hpc_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->most = most;
    kept->pieces = calloc(most / PIECE + 1, sizeof *kept->pieces);
    if (!kept->pieces) {
        free(kept);
        return NULL;
    }
    pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

void hpc_kept_free(struct hpc_kept *kept)
{
    if (!kept)
        return;
    pthread_mutex_destroy(&kept->lock);
    free(kept->pieces);
    free(kept->bytes);
    free(kept);
}

/* Memory that was only allocated takes no place until it is written to. */
static void change_block(struct hpc_kept *kept, uint64_t offset, size_t size)
{
    if (size > kept->room || size < kept->room / 4) {
        free(kept->bytes);
        kept->bytes = malloc(size);
        kept->room = kept->bytes ? size : 0;
    }
    memset(kept->pieces, 0, (kept->most / PIECE + 1) * sizeof *kept->pieces);
    kept->offset = offset;
    kept->size = kept->bytes ? size : 0;
}

void hpc_kept_claim(struct hpc_kept *kept, uint64_t offset, uint64_t size)
{
    if (!size || size > kept->most)
        return;
    pthread_mutex_lock(&kept->lock);
    if (kept->offset != offset || kept->size != size)
        change_block(kept, offset, (size_t)size);
    pthread_mutex_unlock(&kept->lock);
}

/* A piece that the file does not have in full, or that can't be read, is none: whoever wanted it finds out by itself. */
static bool have_piece(struct hpc_kept *kept, struct pf_input *input, size_t piece)
{
    struct pf_error ignored;
    size_t start = piece * PIECE, size = kept->size - start < PIECE ? kept->size - start : PIECE;
    if (!kept->pieces[piece])
        kept->pieces[piece] =
            pf_input_read(input, kept->bytes + start, size, kept->offset + start, &ignored) == (ssize_t)size;
    return kept->pieces[piece];
}

ssize_t hpc_kept_read(struct hpc_kept *kept, struct pf_input *input, void *buffer, size_t size,
                      uint64_t offset, struct pf_error *error)
{
    pthread_mutex_lock(&kept->lock);
    uint64_t skip = offset - kept->offset;
    bool held = size && offset >= kept->offset && skip <= kept->size && size <= kept->size - skip;
    for (size_t piece = (size_t)(skip / PIECE); held && piece <= (skip + size - 1) / PIECE; piece++)
        held = have_piece(kept, input, piece);
    if (held)
        memcpy(buffer, kept->bytes + skip, size);
    pthread_mutex_unlock(&kept->lock);
    return held ? (ssize_t)size : pf_input_read(input, buffer, size, offset, error);
}
