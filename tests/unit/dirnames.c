/* SPDX-License-Identifier: MIT */
#include "fs/profile/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* Folder names made from items, and look-ups of items by these names. */

struct item {
    const char *text;
    uint32_t parent;
    uint64_t id;
};

static struct pf_cell text_of(const void *of, uint32_t i)
{
    return pf_string(((const struct item *)of)[i].text);
}

static uint32_t item_parent(const void *of, uint32_t i)
{
    return ((const struct item *)of)[i].parent;
}

static uint64_t id_of(const void *of, uint32_t i)
{
    return ((const struct item *)of)[i].id;
}

static bool is_listed(const void *names, unsigned folder, const char *name)
{
    (void)folder;
    for (const char *const *at = names; *at; at++)
        if (!strcmp(*at, name))
            return true;
    return false;
}

static struct pf_dirnames *names_of(const struct item *items, uint32_t count, bool ids,
                                    const char *const *reserved)
{
    struct pf_error error;
    struct pf_items all = {.of = items,
                           .count = count,
                           .text = text_of,
                           .parent = item_parent,
                           .id = ids ? id_of : NULL,
                           .reserved = reserved ? is_listed : NULL,
                           .reserved_by = reserved};
    return pf_dirnames_new(&all, &error);
}

static void is_called(const struct pf_dirnames *names, uint32_t item, const char *want, const char *behaviour)
{
    char name[PF_NAME_MAX + 1];
    size_t size = pf_dirname(names, item, name);
    is(name, want, behaviour);
    if (size != strlen(name))
        ok(false, "the length of %s", name);
}

/* True if the name of every item finds the item below its own parent and below no other. */
static bool all_found(const struct pf_dirnames *names, const struct item *items, uint32_t count)
{
    char name[PF_NAME_MAX + 1];
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        pf_dirname(names, i, name);
        found += pf_dirname_find(names, items[i].parent, name) == i &&
                 pf_dirname_find(names, ~items[i].parent, name) == PF_NO_ITEM;
    }
    return found == count;
}

static void test_equal_names(void)
{
    const struct item items[] = {{"main", 0, 0}, {"f", 0, 0},   {"f", 0, 0}, {"g", 0, 0},
                                 {"f", 1, 0},    {"a/b", 0, 0}, {"", 0, 0},  {NULL, 0, 0}};
    struct pf_dirnames *names = names_of(items, 8, false, NULL);
    is_called(names, 0, "main", "a unique name is used unchanged");
    is_called(names, 1, "f~1", "the first of equal siblings has a suffix");
    is_called(names, 2, "f~2", "the second of equal siblings has a suffix");
    is_called(names, 4, "f", "an equal name in another folder has no suffix");
    is_called(names, 5, "a%2Fb", "characters that file names cannot have are escaped");
    is_called(names, 6, "~6", "an empty name becomes its id");
    is_called(names, 7, "~7", "a missing name becomes its id");
    ok(all_found(names, items, 8), "each item is found by its name in its own folder only");
    ok(pf_dirname_find(names, 0, "f") == PF_NO_ITEM, "an ambiguous name finds nothing");
    ok(pf_dirname_find(names, 0, "main~0") == PF_NO_ITEM, "a suffix that was not assigned finds nothing");
    ok(pf_dirname_find(names, 0, "f~0") == PF_NO_ITEM, "the suffix of another item finds nothing");
    ok(pf_dirname_find(names, 0, "f~99") == PF_NO_ITEM, "a suffix beyond all items finds nothing");
    ok(pf_dirname_find(names, 0, "a/b") == PF_NO_ITEM, "the original text of a changed name finds nothing");
    ok(pf_dirname_find(names, 0, "") == PF_NO_ITEM && pf_dirname_find(names, 0, "h") == PF_NO_ITEM,
       "unknown names are not found");
    pf_dirnames_free(names);
}

static void test_reserved(void)
{
    static const char *const reserved[] = {"info.txt", "values.csv", NULL};
    const struct item items[] = {{"info.txt", 0, 0}, {"values.csv", 5, 0}, {"Info.txt", 0, 0},
                                 {"x~7", 0, 0},      {"x", 0, 0},          {"x~07", 0, 0}};
    struct pf_dirnames *names = names_of(items, 6, false, reserved);
    is_called(names, 0, "info.txt~0", "a name of one of our own files gets a suffix");
    is_called(names, 1, "values.csv~1", "a name of one of our own files gets a suffix in every folder");
    is_called(names, 2, "Info.txt", "a name that differs from our own file's in case gets no suffix");
    is_called(names, 3, "x~7~3", "a name that ends like a suffix gets one of its own");
    is_called(names, 5, "x~07~5", "a name that ends like a suffix with a leading zero gets one of its own");
    ok(all_found(names, items, 6), "items with reserved names are all found");
    ok(pf_dirname_find(names, 0, "info.txt") == PF_NO_ITEM, "the name of our own file finds no item");
    pf_dirnames_free(names);
}

static void test_ids(void)
{
    const struct item items[] = {{"f", 0, 900}, {"f", 0, 17}, {"g", 0, UINT64_MAX},
                                 {"", 0, 3},    {"f", 2, 44}, {"f", 2, 45}};
    struct pf_dirnames *names = names_of(items, 6, true, NULL);
    is_called(names, 0, "f~900", "suffixes are the format's ids");
    is_called(names, 1, "f~17", "suffixes are the format's ids in any order");
    is_called(names, 2, "g", "unique names need no suffix");
    is_called(names, 3, "~3", "an empty name becomes the format's id");
    ok(all_found(names, items, 6), "all items are found by names with ids");
    ok(pf_dirname_find(names, 2, "f~900") == PF_NO_ITEM, "an id is not found in another folder");
    ok(pf_dirname_find(names, 0, "f~1") == PF_NO_ITEM, "the item's number is not its id");
    pf_dirnames_free(names);
}

/* Escaping and shortening can map two texts to one name. */
static void test_made_equal(void)
{
    static char a[400], b[400];
    memset(a, 'x', 398);
    memset(b, 'x', 398);
    b[397] = 'y';
    const struct item items[] = {{a, 0, 0}, {b, 0, 0}, {"a/b", 0, 0}, {"a%2Fb", 0, 0}, {"%2", 0, 0}};
    struct pf_dirnames *names = names_of(items, 5, false, NULL);
    char name[PF_NAME_MAX + 1], other[PF_NAME_MAX + 1];
    size_t size = pf_dirname(names, 0, name);
    pf_dirname(names, 1, other);
    ok(size <= PF_NAME_MAX && strcmp(name, other) != 0, "texts that are shortened alike have distinct names");
    pf_dirname(names, 2, name);
    pf_dirname(names, 3, other);
    ok(strcmp(name, other) != 0, "a name and its escaped form have distinct names");
    ok(all_found(names, items, 5), "items whose texts map to one name are all found");
    pf_dirnames_free(names);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_equal_names(uint32_t count, bool *right)
{
    struct item *items = calloc(count, sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct item){"operator()", 0, i * UINT64_C(3) + 5};
    double start = seconds();
    struct pf_dirnames *names = names_of(items, count, true, NULL);
    *right = all_found(names, items, count);
    double took = seconds() - start;
    pf_dirnames_free(names);
    free(items);
    return took;
}

static void test_many(void)
{
    bool few, many;
    time_equal_names(1000, &few);
    double short_time = time_equal_names(12500, &few), long_time = time_equal_names(100000, &many);
    ok(few && many, "a hundred thousand items of one name are all found");
    ok(long_time < 40 * short_time + 0.5, "names of equal items are found in linear time");

    struct item *chain = calloc(100000, sizeof *chain);
    for (uint32_t i = 0; i < 100000; i++)
        chain[i] = (struct item){i % 2 ? "f" : "g", i / 3, 0};
    struct pf_dirnames *names = names_of(chain, 100000, false, NULL);
    ok(all_found(names, chain, 100000), "items of many small folders are all found");
    pf_dirnames_free(names);
    free(chain);
}

static void test_none(void)
{
    struct pf_dirnames *names = names_of(NULL, 0, true, NULL);
    ok(names && pf_dirname_find(names, 0, "f") == PF_NO_ITEM &&
           pf_dirname_find(names, 0, "f~0") == PF_NO_ITEM,
       "a look-up without items finds nothing");
    pf_dirnames_free(names);
}

int main(void)
{
    alarm(HANG_SECONDS);
    test_equal_names();
    test_reserved();
    test_ids();
    test_made_equal();
    test_many();
    test_none();
    return done();
}
