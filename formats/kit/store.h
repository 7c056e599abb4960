/* SPDX-License-Identifier: MIT */
#ifndef PF_STORE_H
#define PF_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/*
 * An append-only run of bytes that is held in memory up to a limit and in an unlinked file ($TMPDIR, else
 * /var/tmp) beyond it. Appending is for one thread; reading is for all once appending is over.
 */
struct pf_store;

struct pf_store *pf_store_new(uint64_t limit); /* NULL: out of memory */
/* One more owner, each of whom frees it. */
struct pf_store *pf_store_hold(struct pf_store *store);
void pf_store_free(struct pf_store *store);

int pf_store_append(struct pf_store *store, const void *bytes, size_t size, struct pf_error *error);
/* Will soon append so many bytes: if memory may not hold them, none of them is put there first. 0, or -1 with *error filled. */
int pf_store_expect(struct pf_store *store, uint64_t more, struct pf_error *error);
/* Overwrites or extends at an offset (extending leaves zeros). */
int pf_store_write(struct pf_store *store, uint64_t offset, const void *bytes, size_t size,
                   struct pf_error *error);
uint64_t pf_store_size(const struct pf_store *store);

/* Exactly `size` bytes at `offset`; -1 with *error filled if they are not there. */
int pf_store_read(const struct pf_store *store, uint64_t offset, void *buffer, size_t size,
                  struct pf_error *error);

/* An open, unlinked temporary file in $TMPDIR, else /var/tmp, that the caller closes; -1 with *error filled.
 */
int pf_spill_file(struct pf_error *error);

/* The bytes themselves if the store is in memory, else NULL. */
const void *pf_store_memory(const struct pf_store *store);

/* Puts all that was appended into the file, if there is one; before pf_store_file. 0, or -1 with *error filled. */
int pf_store_settle(struct pf_store *store, struct pf_error *error);
/* The file that the bytes are in, the store's; -1: they are in memory. */
int pf_store_file(const struct pf_store *store);

/*
 * A look at a store that is complete: in place where it is in memory, else in blocks of the file, which all windows of the store share,
 * so that cursors over a few rows each do not read the same blocks again. Given a store and zeroed otherwise, it has looked at
 * nothing. For one thread.
 */
struct pf_store_window {
    const struct pf_store *store;
    struct pf_store_block *block; /* held; NULL until it is needed */
    unsigned char *buffer;        /* owned; for what no block holds as a whole */
    size_t room;
};

/* `size` bytes at `offset`, in no alignment, valid until the next call; NULL with *error filled if they are not there. */
const void *pf_store_at(struct pf_store_window *window, uint64_t offset, size_t size, struct pf_error *error);
void pf_store_window_free(struct pf_store_window *window);

#endif
