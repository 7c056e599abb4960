/* SPDX-License-Identifier: MIT */
#ifndef PF_INFLATE_H
#define PF_INFLATE_H

#include "formats/input/packing.h"

/*
 * Random access to the text (the uncompressed bytes) of a zlib stream (RFC 1950) or of consecutive gzip members (RFC
 * 1952).
 *
 * While inflating, a reader records a seek point every few MB: a position where inflating can resume. A seek point
 * holds an offset in the compressed bytes and the last 32 KiB of text, because later text may refer to them. Seek
 * points take up to 1/64 of the text's size, in an unlinked file beyond 2 MB. A few inflaters are kept at their
 * positions, so that several sequential readers do not disturb each other. Each inflater takes about 120 KB.
 *
 * The text of a truncated or damaged stream ends at the damage, which pf_inflate_damage reports. The text before the
 * damage is served, even after a checksum error, since the checksum comes last. Bytes after a zlib stream are ignored
 * (pf_inflate_trailing reports them), and so are zeros after a gzip member.
 *
 * Thread-safe.
 */
struct pf_inflate;

/* Creates a reader of `packed_size` compressed bytes, without reading yet. `arg` is borrowed. NULL: out of memory. */
struct pf_inflate *pf_inflate_new(pf_inflate_source *source, void *arg, uint64_t packed_size);
void pf_inflate_free(struct pf_inflate *inflate);

/*
 * Reads up to `size` bytes at `offset` of the text. Returns fewer only at the end of the text (or where damage ends
 * it); -1 with *error filled if the compressed bytes cannot be read or memory runs out. Inflates no further than the
 * end of the 64 KiB block that holds the last requested byte.
 */
ssize_t pf_inflate_read(struct pf_inflate *inflate, void *buffer, size_t size, uint64_t offset,
                        struct pf_error *error);

/* The size of the text in bytes; UINT64_MAX until a read has reached the end. */
uint64_t pf_inflate_size(struct pf_inflate *inflate);

/* True if a read has reached damage; *damage holds the reason and the offset in the compressed bytes. */
bool pf_inflate_damage(struct pf_inflate *inflate, struct pf_error *damage);

/* True if a read has reached the end of a zlib stream that is followed by other bytes; *offset is where these begin. */
bool pf_inflate_trailing(struct pf_inflate *inflate, uint64_t *offset);

/*
 * The approximate number of compressed bytes before text offset `offset`, which a read must have reached; for
 * displaying progress.
 */
uint64_t pf_inflate_packed_before(struct pf_inflate *inflate, uint64_t offset);

/*
 * Inflates the beginning of gzip or zlib data: fills `text` with up to `room` bytes and returns their number; 0 if
 * `packed` is neither, is too short, or is damaged from the start; -1 with *error filled if memory runs out. The work
 * is bounded by `room` and `packed_size`.
 */
ssize_t pf_inflate_head(const unsigned char *packed, size_t packed_size, unsigned char *text, size_t room,
                        struct pf_error *error);

#endif
