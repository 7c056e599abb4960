/* SPDX-License-Identifier: MIT */
#ifndef PF_BLOCKS_H
#define PF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The cache of generated blocks: least recently used go first when their bytes exceed the limit. Shared by
 * all threads.
 */
struct pf_blocks;

struct pf_block {
    uint64_t text;  /* which text (a number that is never used again) */
    uint64_t index; /* which block of it */
    char *data;
    size_t size;
    /* the cache's own: */
    unsigned references;
    struct pf_block *chain, *newer, *older;
};

struct pf_blocks *pf_blocks_new(uint64_t limit); /* NULL: out of memory */
void pf_blocks_free(struct pf_blocks *blocks);

/*
 * A reference to the block if it is there. Else NULL, and the caller makes the block and calls pf_blocks_put
 * or pf_blocks_abandon with this claim (on the caller's stack): others who ask for it meanwhile wait.
 */
struct pf_claim {
    uint64_t text, index;
    struct pf_claim *next;
};
struct pf_block *pf_blocks_get(struct pf_blocks *blocks, uint64_t text, uint64_t index,
                               struct pf_claim *claim);

/* Puts the claimed block in; takes `data` (from malloc) over. Returns a reference. NULL: out of memory (data
 * freed). */
struct pf_block *pf_blocks_put(struct pf_blocks *blocks, struct pf_claim *claim, char *data, size_t size);
void pf_blocks_abandon(struct pf_blocks *blocks, struct pf_claim *claim);

void pf_blocks_release(struct pf_blocks *blocks, struct pf_block *block);

/* Bytes held now. */
uint64_t pf_blocks_held(struct pf_blocks *blocks);

#endif
