/* SPDX-License-Identifier: MIT */
#ifndef PF_UNPACKED_H
#define PF_UNPACKED_H

#include "formats/input/unpacker.h"

/*
 * Random access to the unpacked bytes of a compressed file. The file is unpacked sequentially, as far as it is read,
 * into a cache in memory or in an unlinked file. All caches of a group share a size limit. Evicted bytes are unpacked
 * again, from the start of the file, when they are read again. (gzip data outside archives have seek points instead:
 * formats/input/inflate.h.)
 *
 * A damaged or truncated file ends at the damage. A file that expands too far ends at pf_packing_limit. Thread-safe.
 */
struct pf_unpacked;

/* Creates a group of files that share a limit of `limit` bytes. NULL: out of memory. Must be freed after the last of
 * its files. */
struct pf_unpackings;
struct pf_unpackings *pf_unpackings_new(uint64_t limit);
void pf_unpackings_free(struct pf_unpackings *all);
/* Frees descriptors: evicts the caches that are in unlinked files, except those in use. */
void pf_unpackings_relieve(struct pf_unpackings *all);

/*
 * Creates the unpacked view of the compressed bytes that `source` reads from `start` to `end`, without reading yet.
 * `all` is the group; NULL: no limit. `size` is the unpacked size, beyond which nothing is unpacked; UINT64_MAX:
 * unknown. `arg` is borrowed and must outlive the view. Returns one reference; NULL: out of memory.
 */
struct pf_unpacked *pf_unpacked_new(struct pf_unpackings *all, enum pf_packing_kind kind,
                                    pf_inflate_source *source, void *arg, uint64_t start, uint64_t end,
                                    uint64_t size);
struct pf_unpacked *pf_unpacked_hold(struct pf_unpacked *unpacked);
void pf_unpacked_release(struct pf_unpacked *unpacked);

/* Reads up to `size` bytes at an offset, fewer only at the end; -1 with *error filled if the compressed bytes cannot be
 * read or there is no space. */
ssize_t pf_unpacked_read(struct pf_unpacked *unpacked, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error);

/* Unpacks up to an offset and reports progress to the thread's pass. Returns 0, or -1 with *error filled. */
int pf_unpacked_reach(struct pf_unpacked *unpacked, uint64_t offset, struct pf_error *error);

/* The number of unpacked bytes; UINT64_MAX until the end has been reached. */
uint64_t pf_unpacked_size(struct pf_unpacked *unpacked);

/* The number of bytes to unpack until the byte at `offset` can be read; 0 if that byte is cached or known to be
 * after the end. */
uint64_t pf_unpacked_distance(struct pf_unpacked *unpacked, uint64_t offset);

/* True if unpacking has reached damage that ends the file. */
bool pf_unpacked_damage(struct pf_unpacked *unpacked, struct pf_error *damage);

/* The approximate number of compressed bytes before an offset; for displaying progress. */
uint64_t pf_unpacked_packed_before(struct pf_unpacked *unpacked, uint64_t offset);

#endif
