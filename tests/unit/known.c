/* SPDX-License-Identifier: MIT */
#include "fs/profile/known.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

static const struct pf_node top = {PF_TOP, 0}, metrics = {PF_METRICS, 0}, info = {PF_INFO, 0};

static void learn_folder(struct pf_known *known, struct pf_node folder, const char *const *names, uint32_t n)
{
    struct pf_buf entries = {0};
    for (uint32_t i = 0; i < n; i++)
        pf_known_list(&entries, (struct pf_node){PF_METRIC_DIR, i}, names[i]);
    pf_known_add_folder(known, folder, &entries);
    pf_buf_free(&entries);
}

static void fill(struct pf_known *known)
{
    pf_known_init(known);
    static const char *const names[] = {"time", "calls", "a,b"};
    learn_folder(known, metrics, names, 3);
    pf_known_add_file(known, info, 5, "text\n");
    pf_known_add_file(known, (struct pf_node){PF_METRICS_CSV, 0}, 1000000, NULL);
}

/* Looks up the size of a file and its text, which is copied to a static buffer. Returns false if neither is cached. */
static bool ask_file(struct pf_known *known, struct pf_node file, uint64_t *size, const char **text)
{
    static char copy[PF_KNOWN_TEXT_MAX + 1];
    char *own;
    if (!pf_known_file(known, file, size, &own))
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
    struct pf_known known, again;
    struct pf_buf packed = {0};
    struct pf_node entry;
    pf_known_init(&known);
    pf_known_init(&again);
    ok(pf_known_wants(&known, metrics), "a folder that is not cached should be listed");
    pf_known_add_long_folder(&known, metrics);
    ok(!pf_known_wants(&known, metrics) && pf_known_wants(&known, top),
       "but not a folder that is known to be too long");
    ok(!pf_known_lists(&known, metrics) && pf_known_find(&known, metrics, "time", &entry) == -1,
       "whose listing is not cached");
    pf_known_pack(&known, &packed);
    ok(pf_known_unpack(&again, packed.data, packed.size) && !pf_known_wants(&again, metrics),
       "nor in a later process");
    for (uint32_t i = 0; i < 1000; i++)
        pf_known_add_file(&known, (struct pf_node){PF_METRIC_INFO, i}, 5, NULL);
    ok(!pf_known_wants(&known, top), "a folder is not listed if there is no room to cache it");
    pf_buf_free(&packed);
    pf_known_free(&known);
    pf_known_free(&again);
}

static void test_learning(void)
{
    struct pf_known known;
    struct pf_node entry;
    char name[256];
    const char *text;
    uint64_t size;
    pf_known_init(&known);
    ok(!pf_known_lists(&known, top) && !ask_file(&known, info, &size, &text), "initially nothing is cached");
    pf_known_free(&known);
    fill(&known);
    ok(pf_known_lists(&known, metrics) && !pf_known_lists(&known, top),
       "a folder that was added is cached, and no other");
    ok(pf_known_entry(&known, metrics, 1, name, &entry) > 0 && !strcmp(name, "calls") && entry.item == 1 &&
           !pf_known_entry(&known, metrics, 3, name, &entry),
       "its entries are found by number");
    ok(pf_known_find(&known, metrics, "a,b", &entry) > 0 && entry.kind == PF_METRIC_DIR && entry.item == 2 &&
           !pf_known_find(&known, metrics, "a", &entry),
       "and by name");
    ok(pf_known_parent(&known, entry, &entry, name) && entry.kind == PF_METRICS && !strcmp(name, "a,b"),
       "and by their parents");
    ok(ask_file(&known, info, &size, &text) && size == 5 && !memcmp(text, "text\n", 5),
       "a small file is cached with its text");
    ok(ask_file(&known, (struct pf_node){PF_METRICS_CSV, 0}, &size, &text) && size == 1000000 && !text,
       "a large file is cached without its text");
    pf_known_free(&known);
}

static void test_limits(void)
{
    struct pf_known known;
    static char large[PF_KNOWN_TEXT_MAX + 1];
    const char *text;
    uint64_t size;
    pf_known_init(&known);
    for (uint32_t i = 0; i < 100000; i++)
        pf_known_add_file(&known, (struct pf_node){PF_PARTITION_INFO, i}, sizeof large - 1, large);
    ok(known.fields.room < 400000, "the size is bounded for any amount of data: %zu", known.fields.room);
    ok(ask_file(&known, (struct pf_node){PF_PARTITION_INFO, 0}, &size, &text) && text,
       "earlier entries stay");
    pf_known_free(&known);
    pf_known_init(&known);
    pf_known_add_file(&known, info, sizeof large, large);
    ok(ask_file(&known, info, &size, &text) && !text, "only the size of a long text is cached");
    pf_known_free(&known);
}

static void ask_all(struct pf_known *known)
{
    struct pf_node entry;
    char name[256];
    const char *text;
    uint64_t size, sum = 0;
    for (uint64_t i = 0; pf_known_entry(known, metrics, i, name, &entry) > 0; i++)
        sum += strlen(name);
    pf_known_find(known, metrics, "none", &entry);
    pf_known_parent(known, (struct pf_node){PF_METRIC_DIR, 1}, &entry, name);
    if (ask_file(known, info, &size, &text) && text)
        for (uint64_t i = 0; i < size; i++)
            sum += (unsigned char)text[i];
    static volatile uint64_t sink;
    sink = sum;
    (void)sink;
}

static void test_packing(void)
{
    struct pf_known known, copy;
    struct pf_buf packed = {0};
    struct pf_node entry;
    fill(&known);
    pf_known_pack(&known, &packed);
    pf_known_init(&copy);
    ok(pf_known_unpack(&copy, packed.data, packed.size) &&
           pf_known_find(&copy, metrics, "calls", &entry) > 0 && !copy.changed,
       "the same is cached after packing and unpacking");
    pf_known_add_file(&copy, (struct pf_node){PF_WARNINGS_CSV, 0}, 3, "abc");
    ok(copy.changed, "and more can be added");
    pf_known_free(&copy);
    unsigned sound = 0;
    for (size_t cut = 0; cut < packed.size; cut++) {
        pf_known_init(&copy);
        sound += pf_known_unpack(&copy, packed.data, cut);
        pf_known_free(&copy);
    }
    ok(sound == 3, "what is cut off is refused, except between two of the three fields");
    for (size_t at = 0; at < packed.size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            packed.data[at] ^= (char)(1u << bit);
            pf_known_init(&copy);
            if (pf_known_unpack(&copy, packed.data, packed.size))
                ask_all(&copy);
            pf_known_free(&copy);
            packed.data[at] ^= (char)(1u << bit);
        }
    ok(true, "damaged data is refused, or can be read safely");
    pf_known_free(&known);
    pf_buf_free(&packed);
}

/* A datum may hold the fields that several processes have added. */
static void test_many_fields(void)
{
    struct pf_known known, copy;
    struct pf_buf packed = {0};
    struct pf_node entry;
    fill(&known);
    pf_known_pack(&known, &packed);
    pf_known_free(&known);
    for (uint32_t i = 0; i < 5000; i++)
        pf_fields_add(&packed, PF_FIELD_SIZE, pf_node_key((struct pf_node){PF_METRIC_INFO, i}),
                      &(uint64_t){5}, 8);
    pf_known_init(&copy);
    ok(pf_known_unpack(&copy, packed.data, packed.size) && copy.count < 1000 &&
           pf_known_find(&copy, metrics, "calls", &entry) > 0,
       "of more fields than there is room for the first are taken");
    pf_known_free(&copy);
    pf_buf_free(&packed);
}

int main(void)
{
    test_learning();
    test_long_folder();
    test_limits();
    test_packing();
    test_many_fields();
    return done();
}
