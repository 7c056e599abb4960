/* SPDX-License-Identifier: MIT */
#ifndef PF_BLOCKS_H
#define PF_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The LRU cache of generated blocks. It evicts the least recently used blocks without references when the bytes held exceed the
 * limit. Thread-safe; no function waits.
 */
struct pf_blocks;

struct pf_block {
    uint64_t text;  /* key: id of the text, never reused */
    uint64_t start; /* key: offset of the first byte in the text */
    char *data;     /* set once, by pf_blocks_fill */
    size_t size;
    /* private to the cache: */
    unsigned references;
    struct pf_block *chain, *newer, *older;
};

struct pf_blocks *pf_blocks_new(uint64_t limit); /* limit in bytes. NULL: out of memory */
void pf_blocks_free(struct pf_blocks *blocks);

/*
 * Returns a reference to the block of a key, adding an empty block on a miss; NULL: out of memory. *filled is set to true if the block
 * has its data.
 * A block that is empty when its last reference is dropped is removed.
 */
struct pf_block *pf_blocks_get(struct pf_blocks *blocks, uint64_t text, uint64_t start, bool *filled);

/*
 * Sets the data of a block, to which the caller must have a reference; takes ownership of `data` (from malloc). Frees `data` if another
 * thread has already filled the block.
 */
void pf_blocks_fill(struct pf_blocks *blocks, struct pf_block *block, char *data, size_t size);

/* Drops a reference. */
void pf_blocks_release(struct pf_blocks *blocks, struct pf_block *block);

/* Returns the number of bytes of text in the cache. */
uint64_t pf_blocks_held(struct pf_blocks *blocks);

#endif
