/* SPDX-License-Identifier: MIT */
#ifndef PF_UNPACKED_H
#define PF_UNPACKED_H

#include "formats/input/unpacker.h"

/*
 * What a compressed file unpacks to, read at any offset as pread of a plain file. It is unpacked from its start on as far as
 * somebody reads, and kept, in memory or in an unlinked file; what all of them keep is bounded. What had to go is unpacked again
 * when it is read again, from the start on. (gzip data that are read alone have seek points instead: formats/input/inflate.h.)
 *
 * What is damaged or cut off ends there, and so does what unpacks to more than is sound. Safe to use from many threads.
 */
struct pf_unpacked;

/* All that share a bound of `limit` bytes. NULL: out of memory. Freed after the last of them. */
struct pf_unpackings;
struct pf_unpackings *pf_unpackings_new(uint64_t limit);
void pf_unpackings_free(struct pf_unpackings *all);
/* How many bytes they keep. */
uint64_t pf_unpackings_held(struct pf_unpackings *all);
/* Drops what takes a descriptor and is not being read. */
void pf_unpackings_relieve(struct pf_unpackings *all);

/*
 * The compressed bytes that `source` reads from `start` to `end`; nothing is read yet. all NULL: for itself. size: what is known to come out (more is not
 * unpacked), or UINT64_MAX. `arg` stays the caller's and must outlive it. One reference is the caller's; NULL: out of memory.
 */
struct pf_unpacked *pf_unpacked_new(struct pf_unpackings *all, enum pf_packing_kind kind,
                                    pf_inflate_source *source, void *arg, uint64_t start, uint64_t end,
                                    uint64_t size);
struct pf_unpacked *pf_unpacked_hold(struct pf_unpacked *unpacked);
void pf_unpacked_release(struct pf_unpacked *unpacked);

/* Up to `size` bytes at an offset, fewer only at the end; -1 with *error filled if compressed bytes cannot be read or there is no
 * room. */
ssize_t pf_unpacked_read(struct pf_unpacked *unpacked, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error);

/* Unpacks as far as an offset and reports progress to the thread's pass. 0, or -1 with *error filled. */
int pf_unpacked_reach(struct pf_unpacked *unpacked, uint64_t offset, struct pf_error *error);

/* How many bytes there are; UINT64_MAX until the end has been met. */
uint64_t pf_unpacked_size(struct pf_unpacked *unpacked);

/* How much must be unpacked before a byte can be read: 0 if it is there. */
uint64_t pf_unpacked_distance(struct pf_unpacked *unpacked, uint64_t offset);

/* True if damage ends it, once that has been met. */
bool pf_unpacked_damage(struct pf_unpacked *unpacked, struct pf_error *damage);

/* About how many compressed bytes lie before an offset: for progress. */
uint64_t pf_unpacked_packed_before(struct pf_unpacked *unpacked, uint64_t offset);

#endif
