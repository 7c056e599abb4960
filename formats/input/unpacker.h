/* SPDX-License-Identifier: MIT */
#ifndef PF_UNPACKER_H
#define PF_UNPACKER_H

#include "formats/input/packing.h"

/* A sequential run through compressed bytes from their start, which returns the unpacked bytes piece by piece. This is
 * the part of pf_unpacked that knows the formats, through libarchive and zlib. One thread at a time. */
struct pf_unpacker;

/* Creates a run through the compressed bytes that `source` reads from `start` to `end`. NULL with *error filled. */
struct pf_unpacker *pf_unpacker_new(enum pf_packing_kind kind, pf_inflate_source *source, void *arg,
                                    uint64_t start, uint64_t end, struct pf_error *error);
void pf_unpacker_free(struct pf_unpacker *run);

/*
 * Gets the next piece, valid until the next call. Returns 1; 0 at the end, or at damage, which *damage describes (code
 * 0: no damage; its offset is in the compressed bytes); -1 with *error filled if the compressed bytes cannot be read.
 */
int pf_unpacker_next(struct pf_unpacker *run, const void **bytes, size_t *size, struct pf_error *damage,
                     struct pf_error *error);

/* The offset up to which compressed bytes have been read. */
uint64_t pf_unpacker_packed(const struct pf_unpacker *run);

#endif
