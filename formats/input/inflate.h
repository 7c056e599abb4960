/* SPDX-License-Identifier: MIT */
#ifndef PF_INFLATE_H
#define PF_INFLATE_H

#include "formats/input/packing.h"

/*
 * What a zlib stream (RFC 1950) or gzip members one after the other (RFC 1952) inflate to, read at any offset:
 * as pread of a plain file. On the way, seek points are noted every few MB (the place in the compressed bytes,
 * and the 32 KiB of text before it that what follows may refer to), from which reading goes on later; a few
 * streams are kept where they stand, so that several readers at different places each go on without going
 * back. Memory: a few hundred KB; seek points take 1/64 of the text, in an unlinked file beyond 2 MB.
 *
 * A stream that is cut off or damaged ends where the damage is; pf_inflate_damage tells. Text before it is served,
 * for a wrong check sum as well (it is known at the end only). What follows a zlib stream is ignored
 * (pf_inflate_trailing tells), zeros after a gzip member too.
 *
 * Safe to use from many threads at once.
 */
struct pf_inflate;

/*
 * A view of `packed_size` compressed bytes; nothing is read yet. `arg` stays the caller's and must outlive it. NULL: out of
 * memory.
 */
struct pf_inflate *pf_inflate_new(pf_inflate_source *source, void *arg, uint64_t packed_size);
void pf_inflate_free(struct pf_inflate *inflate);

/*
 * Up to `size` bytes at `offset` of the text; less only at its end (or where damage ends it). -1 with *error filled if
 * the compressed bytes cannot be read, or memory is out. Inflates no further than to the end of the block of
 * 64 KiB that holds the last byte asked for.
 */
ssize_t pf_inflate_read(struct pf_inflate *inflate, void *buffer, size_t size, uint64_t offset,
                        struct pf_error *error);

/* The size of the text in bytes; UINT64_MAX until a read has met its end. */
uint64_t pf_inflate_size(struct pf_inflate *inflate);

/* True if a read has met damage; *damage says what and where (offset in the compressed bytes). */
bool pf_inflate_damage(struct pf_inflate *inflate, struct pf_error *damage);

/* True if a read has met the end of a zlib stream and bytes follow it; *offset is where they begin. */
bool pf_inflate_trailing(struct pf_inflate *inflate, uint64_t *offset);

/*
 * About how many compressed bytes lie before an offset of the text that has been read before: for progress.
 */
uint64_t pf_inflate_packed_before(struct pf_inflate *inflate, uint64_t offset);

/*
 * The first bytes of the text of which `packed` is the head (of gzip or zlib data): fills `text` with up to `room`
 * bytes and returns how many there are; 0 if it is neither, too short or damaged from the start; -1 with *error filled
 * if memory runs out. The work is bounded by `room` and `packed_size`.
 */
ssize_t pf_inflate_head(const unsigned char *packed, size_t packed_size, unsigned char *text, size_t room,
                        struct pf_error *error);

#endif
