/* SPDX-License-Identifier: MIT */
#ifndef PF_STORE_H
#define PF_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * A growing sequence of bytes: in memory until its size exceeds the limit, then as a whole in an unlinked file (in
 * $TMPDIR, otherwise /var/tmp). One thread writes; then any number of threads may read.
 */
struct pf_store;

struct pf_store *pf_store_new(uint64_t limit); /* NULL: out of memory */
/* Takes a reference; each owner calls pf_store_free. */
struct pf_store *pf_store_hold(struct pf_store *store);
void pf_store_free(struct pf_store *store);

int pf_store_append(struct pf_store *store, const void *bytes, size_t size, struct pf_error *error);
/*
 * Announces that `more` bytes will be appended. If they may not fit in memory, the store moves to its file now. Returns
 * 0, or -1 with *error filled.
 */
int pf_store_expect(struct pf_store *store, uint64_t more, struct pf_error *error);
/* Overwrites or extends the store at an offset; a gap is filled with zeros. */
int pf_store_write(struct pf_store *store, uint64_t offset, const void *bytes, size_t size,
                   struct pf_error *error);
uint64_t pf_store_size(const struct pf_store *store);

/* Reads exactly `size` bytes at `offset`. Returns 0, or -1 with *error filled, also if the store is too short. */
int pf_store_read(const struct pf_store *store, uint64_t offset, void *buffer, size_t size,
                  struct pf_error *error);

/* Opens an unlinked temporary file in $TMPDIR, otherwise /var/tmp. Returns a descriptor, which the caller closes; -1
 * with *error filled. */
int pf_spill_file(struct pf_error *error);

/* The bytes of a store in memory; NULL if they are in its file, or if the store is empty. */
const void *pf_store_memory(const struct pf_store *store);

/* Flushes all appended bytes to the file, if there is one; must precede pf_store_file. Returns 0, or -1 with *error
 * filled. */
int pf_store_flush(struct pf_store *store, struct pf_error *error);
/* The descriptor of the file that contains the bytes, owned by the store; -1 if they are in memory. */
int pf_store_file(const struct pf_store *store);

/*
 * A reader of a complete store. A store in memory is read in place. A file is read in blocks, which all windows of the
 * store share, so that several cursors over a few rows do not each read the same blocks. Zero-initialize all members
 * except `store`. One thread at a time.
 */
struct pf_store_window {
    const struct pf_store *store;
    struct pf_store_block *block; /* reference; NULL until needed */
    unsigned char *buffer;        /* owned; for ranges that cross a block boundary */
    size_t room;
};

/* Returns `size` bytes at `offset`, unaligned, valid until the next call; NULL with *error filled if the store is too
 * short. */
const void *pf_store_at(struct pf_store_window *window, uint64_t offset, size_t size, struct pf_error *error);
void pf_store_window_free(struct pf_store_window *window);

#endif
