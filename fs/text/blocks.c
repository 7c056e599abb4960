/* SPDX-License-Identifier: MIT */
#include "fs/text/blocks.h"

#include <stdlib.h>

#include "formats/kit/lock.h"

enum { CHAINS = 4096 };

struct pf_blocks {
    struct pf_lock lock;
    uint64_t limit, held;
    struct pf_block *newest, *oldest;
    struct pf_block *chains[CHAINS];
};

struct pf_blocks *pf_blocks_new(uint64_t limit)
{
    struct pf_blocks *blocks = calloc(1, sizeof *blocks);
    if (!blocks)
        return NULL;
    blocks->limit = limit;
    pf_lock_init(&blocks->lock, PF_RANK_BLOCKS);
    return blocks;
}

static void free_block(struct pf_block *block)
{
    free(block->data);
    free(block);
}

void pf_blocks_free(struct pf_blocks *blocks)
{
    if (!blocks)
        return;
    for (struct pf_block *block = blocks->newest, *next; block; block = next) {
        next = block->older;
        free_block(block);
    }
    pf_lock_destroy(&blocks->lock);
    free(blocks);
}

static struct pf_block **chain_of(struct pf_blocks *blocks, uint64_t text, uint64_t start)
{
    uint64_t hash = (text * 0x9e3779b97f4a7c15u ^ start) * 0xff51afd7ed558ccdu;
    return &blocks->chains[hash >> 52];
}

static void unlink_age(struct pf_blocks *blocks, struct pf_block *block)
{
    *(block->newer ? &block->newer->older : &blocks->newest) = block->older;
    *(block->older ? &block->older->newer : &blocks->oldest) = block->newer;
}

static void link_newest(struct pf_blocks *blocks, struct pf_block *block)
{
    block->newer = NULL;
    block->older = blocks->newest;
    *(blocks->newest ? &blocks->newest->newer : &blocks->oldest) = block;
    blocks->newest = block;
}

static struct pf_block *find_block(struct pf_blocks *blocks, uint64_t text, uint64_t start)
{
    struct pf_block *block = *chain_of(blocks, text, start);
    while (block && (block->text != text || block->start != start))
        block = block->chain;
    return block;
}

static struct pf_block *add_empty(struct pf_blocks *blocks, uint64_t text, uint64_t start)
{
    struct pf_block *block = calloc(1, sizeof *block), **chain = chain_of(blocks, text, start);
    if (!block)
        return NULL;
    *block = (struct pf_block){.text = text, .start = start, .chain = *chain};
    *chain = block;
    link_newest(blocks, block);
    return block;
}

static void remove_block(struct pf_blocks *blocks, struct pf_block *block)
{
    struct pf_block **at = chain_of(blocks, block->text, block->start);
    while (*at != block)
        at = &(*at)->chain;
    *at = block->chain;
    unlink_age(blocks, block);
    blocks->held -= block->size;
    free_block(block);
}

/* Evicts the least recently used blocks. Blocks with references are in use, so they stay even beyond the limit. */
static void shrink(struct pf_blocks *blocks)
{
    for (struct pf_block *block = blocks->oldest, *newer; block && blocks->held > blocks->limit;
         block = newer) {
        newer = block->newer;
        if (!block->references)
            remove_block(blocks, block);
    }
}

struct pf_block *pf_blocks_get(struct pf_blocks *blocks, uint64_t text, uint64_t start, bool *filled)
{
    pf_lock_take(&blocks->lock);
    struct pf_block *block = find_block(blocks, text, start);
    if (block) {
        unlink_age(blocks, block);
        link_newest(blocks, block);
    } else {
        block = add_empty(blocks, text, start);
    }
    if (block)
        block->references++;
    *filled = block && block->data;
    pf_lock_drop(&blocks->lock);
    return block;
}

void pf_blocks_fill(struct pf_blocks *blocks, struct pf_block *block, char *data, size_t size)
{
    pf_lock_take(&blocks->lock);
    if (!block->data) {
        block->data = data;
        block->size = size;
        blocks->held += size;
        data = NULL;
        shrink(blocks);
    }
    pf_lock_drop(&blocks->lock);
    free(data);
}

void pf_blocks_release(struct pf_blocks *blocks, struct pf_block *block)
{
    pf_lock_take(&blocks->lock);
    if (--block->references == 0 && !block->data)
        remove_block(blocks, block);
    if (blocks->held > blocks->limit)
        shrink(blocks);
    pf_lock_drop(&blocks->lock);
}

uint64_t pf_blocks_held(struct pf_blocks *blocks)
{
    pf_lock_take(&blocks->lock);
    uint64_t held = blocks->held;
    pf_lock_drop(&blocks->lock);
    return held;
}
