/* SPDX-License-Identifier: MIT */
#include "fs/text/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* Returns true if the block was cached, otherwise fills it. Drops the reference. */
static bool is_there(struct pf_blocks *blocks, uint64_t text, uint64_t index, size_t size)
{
    bool filled;
    struct pf_block *block = pf_blocks_get(blocks, text, index, &filled);
    if (!filled)
        pf_blocks_fill(blocks, block, calloc(1, size), size);
    pf_blocks_release(blocks, block);
    return filled;
}

/* Returns true if the block is cached; does not fill it. */
static bool holds(struct pf_blocks *blocks, uint64_t text, uint64_t index)
{
    bool filled;
    pf_blocks_release(blocks, pf_blocks_get(blocks, text, index, &filled));
    return filled;
}

static void test_age(void)
{
    struct pf_blocks *blocks = pf_blocks_new(1000);
    ok(!is_there(blocks, 1, 0, 400) && is_there(blocks, 1, 0, 400), "a block that was added is cached");
    ok(!is_there(blocks, 2, 0, 400) && !is_there(blocks, 1, 1, 100),
       "blocks of other texts or indexes are other blocks");
    ok(pf_blocks_held(blocks) == 900, "the bytes of cached blocks are counted");
    is_there(blocks, 1, 0, 400);
    is_there(blocks, 3, 7, 300);
    ok(!holds(blocks, 2, 0), "the least recently used block is evicted when the limit is exceeded");
    ok(holds(blocks, 1, 0) && holds(blocks, 1, 1) && holds(blocks, 3, 7),
       "blocks that were used more recently stay cached");
    is_there(blocks, 4, 0, 5000);
    ok(pf_blocks_held(blocks) == 0, "a block larger than the limit is evicted when it is released");
    pf_blocks_free(blocks);
    pf_blocks_free(NULL);
}

static void test_in_use(void)
{
    struct pf_blocks *blocks = pf_blocks_new(1000);
    bool filled;
    struct pf_block *used = pf_blocks_get(blocks, 1, 0, &filled);
    char *data = malloc(800);
    memset(data, 'x', 800);
    pf_blocks_fill(blocks, used, data, 800);
    for (uint64_t i = 0; i < 20; i++)
        is_there(blocks, 2, i, 300);
    ok(used->data == data && used->data[799] == 'x' && holds(blocks, 1, 0),
       "a block with a reference is not evicted");
    ok(pf_blocks_held(blocks) <= 1100,
       "blocks without a reference are evicted instead of one with a reference");
    pf_blocks_release(blocks, used);
    ok(pf_blocks_held(blocks) <= 1000, "a released block can be evicted");
    pf_blocks_free(blocks);
}

/* ---- empty blocks ------------------------------------------------------------------------------- */

static void test_empty(void)
{
    struct pf_blocks *blocks = pf_blocks_new(1000);
    bool filled;
    struct pf_block *first = pf_blocks_get(blocks, 1, 1, &filled), *second;
    ok(first && !filled && pf_blocks_held(blocks) == 0, "a miss returns an empty block");
    second = pf_blocks_get(blocks, 1, 1, &filled);
    ok(second == first && !filled, "two readers that miss get the same block");
    pf_blocks_fill(blocks, first, calloc(1, 900), 900);
    is_there(blocks, 2, 0, 900);
    ok(second->data && second->size == 900,
       "a block that one of two readers fills stays until the other has read it");
    const char *data = first->data;
    pf_blocks_fill(blocks, second, calloc(1, 900), 900);
    ok(second->data == data && pf_blocks_held(blocks) <= 1800, "a block is filled only once");
    pf_blocks_release(blocks, first);
    pf_blocks_release(blocks, second);
    pf_blocks_release(blocks, pf_blocks_get(blocks, 3, 0, &filled));
    ok(!holds(blocks, 3, 0), "a block that was never filled is removed with its last reference");
    pf_blocks_free(blocks);
}

/* ---- many threads ------------------------------------------------------------------------------- */

struct worker {
    struct pf_blocks *blocks;
    int wrong;
    unsigned seed;
};

enum { PLACES = 60 };

static void *work(void *arg)
{
    struct worker *worker = arg;
    for (int i = 0; i < 3000; i++) {
        uint64_t place = (uint64_t)rand_r(&worker->seed) % PLACES;
        bool filled, gives_up = rand_r(&worker->seed) % 8 == 0;
        struct pf_block *block = pf_blocks_get(worker->blocks, place % 3, place, &filled);
        worker->wrong += block->text != place % 3 || block->start != place;
        if (!filled && !gives_up) {
            char *data = malloc(100);
            memset(data, (int)place, 100);
            pf_blocks_fill(worker->blocks, block, data, 100);
            filled = true;
        }
        worker->wrong += filled && (block->size != 100 || block->data[99] != (char)place);
        pf_blocks_release(worker->blocks, block);
    }
    return NULL;
}

static void test_threads(void)
{
    struct worker workers[4];
    pthread_t threads[4];
    struct pf_blocks *blocks = pf_blocks_new(3000);
    int wrong = 0;
    for (unsigned t = 0; t < 4; t++) {
        workers[t] = (struct worker){.blocks = blocks, .seed = t};
        pthread_create(&threads[t], NULL, work, &workers[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        wrong += workers[t].wrong;
    }
    ok(wrong == 0, "concurrent threads get the blocks of their keys");
    ok(pf_blocks_held(blocks) <= 3000, "concurrent threads do not exceed the limit");
    pf_blocks_free(blocks);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_age();
    test_in_use();
    test_empty();
    test_threads();
    return done();
}
