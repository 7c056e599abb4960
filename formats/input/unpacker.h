/* SPDX-License-Identifier: MIT */
#ifndef PF_UNPACKER_H
#define PF_UNPACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/inflate.h"

/*
 * One run through compressed bytes from their start: what they unpack to, piece by piece. The part of pf_unpacked that knows the
 * formats, through libarchive and zlib. Belongs to one thread at a time.
 */
struct pf_unpacker;

/* What nothing tells: bare deflate data, as in a zip; a member of a tar, from its header on, which leaves out zeros. */
enum pf_packing_kind {
    PF_UNPACKED,
    PF_GZIP_PACKED,
    PF_ZSTD_PACKED,
    PF_XZ_PACKED,
    PF_BZIP2_PACKED,
    PF_DEFLATED,
    PF_SPARSE
};

/* How long a name is without the ending that tells of compression, which it may lack. */
size_t pf_packing_stem(const char *name);
/* As what bytes begin. */
enum pf_packing_kind pf_packing_kind_of(const unsigned char *head, size_t size);

/* To how much compressed bytes may unpack: more is not sound, and is left out. */
uint64_t pf_packing_limit(uint64_t packed);
#define PF_PACKING_BEYOND "it unpacks to more than is sound: the rest is left out"

/* The compressed bytes that `source` reads from `start` to `end`. NULL with *error filled. */
struct pf_unpacker *pf_unpacker_new(enum pf_packing_kind kind, pf_inflate_source *source, void *arg,
                                    uint64_t start, uint64_t end, struct pf_error *error);
void pf_unpacker_free(struct pf_unpacker *run);

/*
 * The next piece, valid until the next call: 1; 0 at the end, or where damage ends it (damage->code is then not 0, its offset one
 * in the compressed bytes); -1 with *error filled if the compressed bytes cannot be read.
 */
int pf_unpacker_next(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage,
                     struct pf_error *error);

/* Up to where compressed bytes have been read. */
uint64_t pf_unpacker_packed(const struct pf_unpacker *run);

#endif
