/* SPDX-License-Identifier: MIT */
#include "fs/map.h"

#include <stdlib.h>

#include "fs/text/buf.h"
#include "tests/unit/tap.h"

/* ---- maps --------------------------------------------------------------------------------------- */

static void test_map(void)
{
    struct pf_map map = {0};
    int a, b;
    ok(!pf_map_get(&map, 1), "a look-up in an empty map finds nothing");
    pf_map_remove(&map, 1);
    ok(pf_map_put(&map, 1, &a) && pf_map_get(&map, 1) == &a, "a key that was put is found");
    ok(pf_map_put(&map, 1, &b) && pf_map_get(&map, 1) == &b && map.count == 1, "a second put replaces the value");
    ok(pf_map_put(&map, 0, &a) && pf_map_put(&map, UINT64_MAX, &a) && pf_map_get(&map, 0) == &a &&
           pf_map_get(&map, UINT64_MAX) == &a,
       "any number can be a key");
    pf_map_remove(&map, 1);
    ok(!pf_map_get(&map, 1) && pf_map_get(&map, 0) == &a && map.count == 2, "a removed key is gone, and no other");
    pf_map_free(&map);
    ok(!pf_map_get(&map, 0) && map.count == 0, "a freed map is empty");
}

/* Compares a map with an array over random puts and removals of clustered keys. */
static void test_random(void)
{
    enum { KEYS = 3000, STEPS = 200000 };
    static char there[KEYS];
    struct pf_map map = {0};
    unsigned seed = 5;
    int wrong = 0;
    size_t count = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t key = (size_t)rand_r(&seed) % KEYS;
        uint64_t number = key % 3 ? key : (uint64_t)key << 40;
        wrong += (pf_map_get(&map, number) != NULL) != there[key];
        bool put = rand_r(&seed) % (i < STEPS / 2 ? 3 : 5) < 2;
        if (put)
            pf_map_put(&map, number, &there[key]);
        else
            pf_map_remove(&map, number);
        count += (size_t)put;
        count -= (size_t)(there[key] && put) + (size_t)(there[key] && !put);
        there[key] = put;
        wrong += map.count != count;
    }
    for (size_t key = 0; key < KEYS; key++) {
        const char *value = pf_map_get(&map, key % 3 ? key : (uint64_t)key << 40);
        wrong += value != (there[key] ? &there[key] : NULL);
    }
    ok(wrong == 0, "a map equals an array after random puts and removals");
    pf_map_free(&map);
}

/* ---- buffers ------------------------------------------------------------------------------------ */

static void test_buf(void)
{
    struct pf_buf buf = {0};
    pf_buf_add(&buf, NULL, 0);
    ok(buf.size == 0 && !buf.failed, "adding no bytes to a buffer changes nothing");
    pf_buf_str(&buf, "one ");
    pf_buf_printf(&buf, "%d %s", 2, "three");
    pf_buf_char(&buf, '\0');
    is(buf.data, "one 2 three", "texts that are added follow one another");
    for (int i = 0; i < 100000; i++)
        pf_buf_add(&buf, "0123456789", 10);
    ok(buf.size == 12 + 1000000 && !memcmp(buf.data + buf.size - 10, "0123456789", 10), "a buffer grows");
    ok(!pf_buf_reserve(&buf, SIZE_MAX - 100) && buf.failed, "a size beyond memory fails");
    size_t size = buf.size;
    char *data = buf.data;
    pf_buf_str(&buf, "x");
    pf_buf_printf(&buf, "%200000d", 1);
    ok(buf.size <= size + 1 && buf.failed && buf.data == data, "a failed buffer stays failed");
    pf_buf_free(&buf);
    ok(!buf.data && !buf.failed, "a freed buffer can be used again");
}

int main(void)
{
    test_map();
    test_random();
    test_buf();
    return done();
}
