/* SPDX-License-Identifier: MIT */
#include "fs/profile/cached.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

static const struct pf_node top = {PF_TOP, 0}, metrics = {PF_METRICS, 0}, info = {PF_INFO, 0};

static void cache_folder(struct pf_cached *cached, struct pf_node folder, const char *const *names,
                         uint32_t n)
{
    struct pf_buf entries = {0};
    for (uint32_t i = 0; i < n; i++)
        pf_cached_add_entry(&entries, (struct pf_node){PF_METRIC_DIR, i}, names[i]);
    pf_cached_put_folder(cached, folder, &entries);
    pf_buf_free(&entries);
}

static void fill(struct pf_cached *cached)
{
    pf_cached_init(cached);
    static const char *const names[] = {"time", "calls", "a,b"};
    cache_folder(cached, metrics, names, 3);
    pf_cached_put_file(cached, info, 5, "text\n");
    pf_cached_put_file(cached, (struct pf_node){PF_METRICS_CSV, 0}, 1000000, NULL);
}

/* Looks up the size of a file and its text, which is copied to a static buffer. Returns false if neither is cached. */
static bool ask_file(struct pf_cached *cached, struct pf_node file, uint64_t *size, const char **text)
{
    static char copy[PF_CACHED_TEXT_MAX + 1];
    char *own;
    if (!pf_cached_get_file(cached, file, size, &own))
        return false;
    if (own)
        memcpy(copy, own, *size + 1);
    *text = own ? copy : NULL;
    free(own);
    return true;
}

/* The fact that a folder is too long to cache is itself cached; otherwise each look-up would list the folder again. */
static void test_long_folder(void)
{
    struct pf_cached cached, again;
    struct pf_buf packed = {0};
    struct pf_node entry;
    pf_cached_init(&cached);
    pf_cached_init(&again);
    ok(pf_cached_wants_folder(&cached, metrics), "a folder that is not cached should be listed");
    pf_cached_put_long_folder(&cached, metrics);
    ok(!pf_cached_wants_folder(&cached, metrics) && pf_cached_wants_folder(&cached, top),
       "a folder that is known to be too long should not be listed");
    ok(!pf_cached_has_folder(&cached, metrics) && pf_cached_find(&cached, metrics, "time", &entry) == -1,
       "the listing of a folder that is too long is not cached");
    pf_cached_pack(&cached, &packed);
    ok(pf_cached_unpack(&again, packed.data, packed.size) && !pf_cached_wants_folder(&again, metrics),
       "a folder that is too long is not listed in a later process");
    for (uint32_t i = 0; i < 1000; i++)
        pf_cached_put_file(&cached, (struct pf_node){PF_METRIC_INFO, i}, 5, NULL);
    ok(!pf_cached_wants_folder(&cached, top), "a folder is not listed if there is no room to cache it");
    pf_buf_free(&packed);
    pf_cached_free(&cached);
    pf_cached_free(&again);
}

static void test_put_and_get(void)
{
    struct pf_cached cached;
    struct pf_node entry;
    char name[256];
    const char *text;
    uint64_t size;
    pf_cached_init(&cached);
    ok(!pf_cached_has_folder(&cached, top) && !ask_file(&cached, info, &size, &text),
       "initially nothing is cached");
    pf_cached_free(&cached);
    fill(&cached);
    ok(pf_cached_has_folder(&cached, metrics) && !pf_cached_has_folder(&cached, top),
       "a folder that was added is cached, and no other folder");
    ok(pf_cached_get_entry(&cached, metrics, 1, name, &entry) > 0 && !strcmp(name, "calls") &&
           entry.item == 1 && !pf_cached_get_entry(&cached, metrics, 3, name, &entry),
       "entries of a cached folder are found by number");
    ok(pf_cached_find(&cached, metrics, "a,b", &entry) > 0 && entry.kind == PF_METRIC_DIR &&
           entry.item == 2 && !pf_cached_find(&cached, metrics, "a", &entry),
       "entries of a cached folder are found by name");
    ok(pf_cached_get_parent(&cached, entry, &entry, name) && entry.kind == PF_METRICS && !strcmp(name, "a,b"),
       "the parent of an entry of a cached folder is found");
    ok(ask_file(&cached, info, &size, &text) && size == 5 && !memcmp(text, "text\n", 5),
       "a small file is cached with its text");
    ok(ask_file(&cached, (struct pf_node){PF_METRICS_CSV, 0}, &size, &text) && size == 1000000 && !text,
       "a large file is cached without its text");
    pf_cached_free(&cached);
}

static void test_limits(void)
{
    struct pf_cached cached;
    static char large[PF_CACHED_TEXT_MAX + 1];
    const char *text;
    uint64_t size;
    pf_cached_init(&cached);
    for (uint32_t i = 0; i < 100000; i++)
        pf_cached_put_file(&cached, (struct pf_node){PF_PARTITION_INFO, i}, sizeof large - 1, large);
    ok(cached.fields.room < 400000, "the size is bounded for any amount of data: %zu", cached.fields.room);
    ok(ask_file(&cached, (struct pf_node){PF_PARTITION_INFO, 0}, &size, &text) && text,
       "earlier entries stay when the cache is full");
    pf_cached_free(&cached);
    pf_cached_init(&cached);
    pf_cached_put_file(&cached, info, sizeof large, large);
    ok(ask_file(&cached, info, &size, &text) && !text, "only the size of a long text is cached");
    pf_cached_free(&cached);
}

static void ask_all(struct pf_cached *cached)
{
    struct pf_node entry;
    char name[256];
    const char *text;
    uint64_t size, sum = 0;
    for (uint64_t i = 0; pf_cached_get_entry(cached, metrics, i, name, &entry) > 0; i++)
        sum += strlen(name);
    pf_cached_find(cached, metrics, "none", &entry);
    pf_cached_get_parent(cached, (struct pf_node){PF_METRIC_DIR, 1}, &entry, name);
    if (ask_file(cached, info, &size, &text) && text)
        for (uint64_t i = 0; i < size; i++)
            sum += (unsigned char)text[i];
    static volatile uint64_t sink;
    sink = sum;
    (void)sink;
}

static void test_packing(void)
{
    struct pf_cached cached, copy;
    struct pf_buf packed = {0};
    struct pf_node entry;
    fill(&cached);
    pf_cached_pack(&cached, &packed);
    pf_cached_init(&copy);
    ok(pf_cached_unpack(&copy, packed.data, packed.size) &&
           pf_cached_find(&copy, metrics, "calls", &entry) > 0 && !copy.changed,
       "the same data is cached after packing and unpacking");
    pf_cached_put_file(&copy, (struct pf_node){PF_WARNINGS_CSV, 0}, 3, "abc");
    ok(copy.changed, "data can be added after unpacking");
    pf_cached_free(&copy);
    unsigned sound = 0;
    for (size_t cut = 0; cut < packed.size; cut++) {
        pf_cached_init(&copy);
        sound += pf_cached_unpack(&copy, packed.data, cut);
        pf_cached_free(&copy);
    }
    ok(sound == 3, "truncated data is refused, except at the ends of the three fields");
    for (size_t at = 0; at < packed.size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            packed.data[at] ^= (char)(1u << bit);
            pf_cached_init(&copy);
            if (pf_cached_unpack(&copy, packed.data, packed.size))
                ask_all(&copy);
            pf_cached_free(&copy);
            packed.data[at] ^= (char)(1u << bit);
        }
    ok(true, "damaged data is refused, or can be read safely");
    pf_cached_free(&cached);
    pf_buf_free(&packed);
}

/* A datum may hold the fields that several processes have added. */
static void test_many_fields(void)
{
    struct pf_cached cached, copy;
    struct pf_buf packed = {0};
    struct pf_node entry;
    fill(&cached);
    pf_cached_pack(&cached, &packed);
    pf_cached_free(&cached);
    for (uint32_t i = 0; i < 5000; i++)
        pf_fields_add(&packed, PF_FIELD_SIZE, pf_node_key((struct pf_node){PF_METRIC_INFO, i}),
                      &(uint64_t){5}, 8);
    pf_cached_init(&copy);
    ok(pf_cached_unpack(&copy, packed.data, packed.size) && copy.count < 1000 &&
           pf_cached_find(&copy, metrics, "calls", &entry) > 0,
       "the first fields are taken if there are more than there is room for");
    pf_cached_free(&copy);
    pf_buf_free(&packed);
}

int main(void)
{
    test_put_and_get();
    test_long_folder();
    test_limits();
    test_packing();
    test_many_fields();
    return done();
}
