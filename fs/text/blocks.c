/* SPDX-License-Identifier: MIT */
#include "fs/text/blocks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/kit/lock.h"

enum { CHAINS = 4096 };

struct pf_blocks {
    struct pf_lock lock;
    pthread_cond_t made;
    struct pf_claim *claims;
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
    pthread_cond_init(&blocks->made, NULL);
    return blocks;
}

static void destroy(struct pf_block *block)
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
        destroy(block);
    }
    pthread_cond_destroy(&blocks->made);
    pf_lock_destroy(&blocks->lock);
    free(blocks);
}

static struct pf_block **chain_of(struct pf_blocks *blocks, uint64_t text, uint64_t index)
{
    uint64_t hash = (text * 0x9e3779b97f4a7c15u ^ index) * 0xff51afd7ed558ccdu;
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

static struct pf_block *find(struct pf_blocks *blocks, uint64_t text, uint64_t index)
{
    struct pf_block *block = *chain_of(blocks, text, index);
    while (block && (block->text != text || block->index != index))
        block = block->chain;
    return block;
}

/* Evicts blocks from the oldest on. Blocks with references stay, so that blocks being sent can exceed the limit. */
static void shrink(struct pf_blocks *blocks)
{
    for (struct pf_block *block = blocks->oldest, *newer; block && blocks->held > blocks->limit;
         block = newer) {
        newer = block->newer;
        if (block->references)
            continue;
        struct pf_block **at = chain_of(blocks, block->text, block->index);
        while (*at != block)
            at = &(*at)->chain;
        *at = block->chain;
        unlink_age(blocks, block);
        blocks->held -= block->size;
        destroy(block);
    }
}

static bool claimed(const struct pf_blocks *blocks, uint64_t text, uint64_t index)
{
    const struct pf_claim *claim = blocks->claims;
    while (claim && (claim->text != text || claim->index != index))
        claim = claim->next;
    return claim != NULL;
}

struct pf_block *pf_blocks_get(struct pf_blocks *blocks, uint64_t text, uint64_t index,
                               struct pf_claim *claim)
{
    pf_lock_take(&blocks->lock);
    while (claimed(blocks, text, index))
        pf_lock_wait(&blocks->lock, &blocks->made);
    struct pf_block *block = find(blocks, text, index);
    if (block) {
        block->references++;
        unlink_age(blocks, block);
        link_newest(blocks, block);
    } else {
        *claim = (struct pf_claim){.text = text, .index = index, .next = blocks->claims};
        blocks->claims = claim;
    }
    pf_lock_drop(&blocks->lock);
    return block;
}

static void settle(struct pf_blocks *blocks, const struct pf_claim *claim)
{
    struct pf_claim **at = &blocks->claims;
    while (*at != claim)
        at = &(*at)->next;
    *at = claim->next;
    pthread_cond_broadcast(&blocks->made);
}

struct pf_block *pf_blocks_put(struct pf_blocks *blocks, struct pf_claim *claim, char *data, size_t size)
{
    struct pf_block *block = calloc(1, sizeof *block);
    pf_lock_take(&blocks->lock);
    if (block) {
        struct pf_block **chain = chain_of(blocks, claim->text, claim->index);
        *block = (struct pf_block){.text = claim->text,
                                   .index = claim->index,
                                   .data = data,
                                   .size = size,
                                   .references = 1,
                                   .chain = *chain};
        *chain = block;
        link_newest(blocks, block);
        blocks->held += size;
        shrink(blocks);
    }
    settle(blocks, claim);
    pf_lock_drop(&blocks->lock);
    if (!block)
        free(data);
    return block;
}

void pf_blocks_abandon(struct pf_blocks *blocks, struct pf_claim *claim)
{
    pf_lock_take(&blocks->lock);
    settle(blocks, claim);
    pf_lock_drop(&blocks->lock);
}

void pf_blocks_release(struct pf_blocks *blocks, struct pf_block *block)
{
    pf_lock_take(&blocks->lock);
    block->references--;
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
