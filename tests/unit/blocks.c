/* SPDX-License-Identifier: MIT */
#include "fs/text/blocks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* True if the block is cached (its reference is released at once); otherwise adds it with this size. */
static bool is_there(struct pf_blocks *blocks, uint64_t text, uint64_t index, size_t size)
{
    struct pf_claim claim;
    struct pf_block *block = pf_blocks_get(blocks, text, index, &claim);
    bool there = block != NULL;
    if (!block)
        block = pf_blocks_put(blocks, &claim, calloc(1, size), size);
    pf_blocks_release(blocks, block);
    return there;
}

/* True if the block is cached; never adds it. */
static bool holds(struct pf_blocks *blocks, uint64_t text, uint64_t index)
{
    struct pf_claim claim;
    struct pf_block *block = pf_blocks_get(blocks, text, index, &claim);
    if (block)
        pf_blocks_release(blocks, block);
    else
        pf_blocks_abandon(blocks, &claim);
    return block != NULL;
}

static void test_age(void)
{
    struct pf_blocks *blocks = pf_blocks_new(1000);
    ok(!is_there(blocks, 1, 0, 400) && is_there(blocks, 1, 0, 400), "a block that was put in is there");
    ok(!is_there(blocks, 2, 0, 400) && !is_there(blocks, 1, 1, 100),
       "blocks of other texts and places are others");
    ok(pf_blocks_held(blocks) == 900, "bytes are counted");
    is_there(blocks, 1, 0, 400);
    is_there(blocks, 3, 7, 300);
    ok(!holds(blocks, 2, 0), "the least recently used goes when there are too many bytes");
    ok(holds(blocks, 1, 0) && holds(blocks, 1, 1) && holds(blocks, 3, 7), "the others stay");
    is_there(blocks, 4, 0, 5000);
    ok(pf_blocks_held(blocks) == 0, "one that is larger than the limit goes as soon as it is not in use");
    pf_blocks_free(blocks);
    pf_blocks_free(NULL);
}

static void test_in_use(void)
{
    struct pf_blocks *blocks = pf_blocks_new(1000);
    struct pf_claim claim;
    pf_blocks_get(blocks, 1, 0, &claim);
    char *data = malloc(800);
    memset(data, 'x', 800);
    struct pf_block *used = pf_blocks_put(blocks, &claim, data, 800);
    for (uint64_t i = 0; i < 20; i++)
        is_there(blocks, 2, i, 300);
    ok(used->data == data && used->data[799] == 'x' && holds(blocks, 1, 0),
       "a block in use stays, whatever comes");
    ok(pf_blocks_held(blocks) <= 1100, "and does not keep others from going");
    pf_blocks_release(blocks, used);
    ok(pf_blocks_held(blocks) <= 1000, "let go of, it counts like others");
    pf_blocks_free(blocks);
}

/* ---- claims ------------------------------------------------------------------------------------- */

struct asker {
    struct pf_blocks *blocks;
    struct gate started;
    bool got, claimed;
};

static void *ask(void *arg)
{
    struct asker *asker = arg;
    struct pf_claim claim;
    gate_open(&asker->started);
    struct pf_block *block = pf_blocks_get(asker->blocks, 1, 1, &claim);
    asker->got = block != NULL;
    asker->claimed = !block;
    if (block)
        pf_blocks_release(asker->blocks, block);
    else
        pf_blocks_abandon(asker->blocks, &claim);
    return NULL;
}

static void check_claim(bool abandon)
{
    struct pf_claim claim;
    struct asker asker = {.blocks = pf_blocks_new(1000), .started = GATE_CLOSED};
    pthread_t thread;
    pf_blocks_get(asker.blocks, 1, 1, &claim);
    pthread_create(&thread, NULL, ask, &asker);
    gate_pass(&asker.started);
    usleep(3000);
    if (abandon)
        pf_blocks_abandon(asker.blocks, &claim);
    else
        pf_blocks_release(asker.blocks, pf_blocks_put(asker.blocks, &claim, calloc(1, 10), 10));
    pthread_join(thread, NULL);
    if (abandon)
        ok(asker.claimed, "if who makes a block gives up, who waits for it may make it");
    else
        ok(asker.got, "who asks for a block that is being made waits and gets it");
    pf_blocks_free(asker.blocks);
}

/* ---- many threads ------------------------------------------------------------------------------- */

struct worker {
    struct pf_blocks *blocks;
    atomic_int *making; /* per index: the number of threads that make the block now */
    atomic_int wrong, made;
    unsigned seed;
};

enum { PLACES = 60 };

static void *work(void *arg)
{
    struct worker *worker = arg;
    for (int i = 0; i < 3000; i++) {
        uint64_t place = (uint64_t)rand_r(&worker->seed) % PLACES;
        struct pf_claim claim;
        struct pf_block *block = pf_blocks_get(worker->blocks, place % 3, place, &claim);
        if (!block) {
            worker->wrong += atomic_fetch_add(&worker->making[place], 1) != 0;
            bool give_up = rand_r(&worker->seed) % 8 == 0;
            char *data = give_up ? NULL : malloc(100);
            if (data)
                memset(data, (int)place, 100);
            atomic_fetch_sub(&worker->making[place], 1);
            if (give_up)
                pf_blocks_abandon(worker->blocks, &claim);
            else
                block = pf_blocks_put(worker->blocks, &claim, data, 100);
            worker->made++;
        }
        if (block) {
            worker->wrong +=
                block->text != place % 3 || block->index != place || block->data[99] != (char)place;
            pf_blocks_release(worker->blocks, block);
        }
    }
    return NULL;
}

static void test_threads(void)
{
    struct worker workers[4];
    pthread_t threads[4];
    atomic_int making[PLACES] = {0};
    struct pf_blocks *blocks = pf_blocks_new(3000);
    int wrong = 0;
    for (unsigned t = 0; t < 4; t++) {
        workers[t] = (struct worker){.blocks = blocks, .making = making, .seed = t};
        pthread_create(&threads[t], NULL, work, &workers[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        wrong += workers[t].wrong;
    }
    ok(wrong == 0, "among many threads nobody gets a wrong block, and none is made twice at once");
    ok(pf_blocks_held(blocks) <= 3000, "and the limit holds");
    pf_blocks_free(blocks);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_age();
    test_in_use();
    check_claim(false);
    check_claim(true);
    test_threads();
    return done();
}
