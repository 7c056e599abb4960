/* SPDX-License-Identifier: MIT */
#ifndef PF_BLOCKS_H
#define PF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The LRU cache of generated blocks. It evicts the least recently used blocks without references when the bytes held exceed the
 * limit. Thread-safe.
 */
struct pf_blocks;

struct pf_block {
    uint64_t text;  /* key: id of the text, never reused */
    uint64_t index; /* key: block within the text, here the offset of its first byte */
    char *data;
    size_t size;
    /* private to the cache: */
    unsigned references;
    struct pf_block *chain, *newer, *older;
};

struct pf_blocks *pf_blocks_new(uint64_t limit); /* limit in bytes. NULL: out of memory */
void pf_blocks_free(struct pf_blocks *blocks);

/*
 * Returns a reference to the block on a hit. On a miss, returns NULL and registers the claim (on the caller's stack); the caller then
 * makes the block and calls pf_blocks_put or pf_blocks_abandon with the claim. Until then, other threads that ask for this block
 * wait.
 */
struct pf_claim {
    uint64_t text, index;
    struct pf_claim *next;
};
struct pf_block *pf_blocks_get(struct pf_blocks *blocks, uint64_t text, uint64_t index,
                               struct pf_claim *claim);

/* Inserts the claimed block; takes ownership of `data` (from malloc). Returns a reference. NULL: out of memory (data is freed). */
struct pf_block *pf_blocks_put(struct pf_blocks *blocks, struct pf_claim *claim, char *data, size_t size);
/* Withdraws a claim without a block; one of the waiting threads gets the next claim. */
void pf_blocks_abandon(struct pf_blocks *blocks, struct pf_claim *claim);

/* Drops a reference. */
void pf_blocks_release(struct pf_blocks *blocks, struct pf_block *block);

/* Returns the bytes of text held now. */
uint64_t pf_blocks_held(struct pf_blocks *blocks);

#endif
