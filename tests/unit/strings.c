/* SPDX-License-Identifier: MIT */
#include "formats/kit/strings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/rows.h"
#include "tests/unit/tap.h"

/* ---- strings ------------------------------------------------------------------------------------ */

static uint32_t intern(struct pf_strings *strings, const char *text)
{
    struct pf_error error;
    return pf_intern(strings, text, strlen(text), &error);
}

static bool reads(const struct pf_strings *strings, uint32_t id, const char *text, size_t size)
{
    struct pf_cell cell = pf_interned(strings, id);
    return cell.type == PF_TEXT && cell.size == size && !memcmp(cell.text, text, size);
}

static void test_strings(void)
{
    struct pf_error error;
    struct pf_strings *strings = pf_strings_new();
    ok(intern(strings, "main") == 0 && intern(strings, "f") == 1 && intern(strings, "main") == 0,
       "equal strings have one number, assigned in order of first appearance");
    uint32_t empty = pf_intern(strings, NULL, 0, &error);
    ok(empty == intern(strings, "") && reads(strings, empty, "", 0), "the empty string has one number");
    ok(pf_intern(strings, "a\0b", 3, &error) != pf_intern(strings, "a\0c", 3, &error),
       "strings may hold any bytes");
    ok(pf_strings_count(strings) == 5, "the pool counts distinct strings");
    ok(pf_interned(strings, PF_NO_STRING).type == PF_ABSENT && pf_interned(strings, 5).type == PF_ABSENT,
       "a number without a string is an absent cell");
    ok(pf_interned(strings, 0).plain && !pf_interned(strings, intern(strings, "a,b")).plain,
       "a string cell states whether the string needs quotes in CSV");
    pf_strings_free(strings);
}

static void test_many_strings(void)
{
    struct pf_error error;
    struct pf_strings *strings = pf_strings_new();
    char name[32], *large = malloc(300000);
    memset(large, 'x', 300000);
    const char *first = pf_interned(strings, intern(strings, "the first")).text;
    uint32_t big = pf_intern(strings, large, 300000, &error);
    for (int i = 0; i < 200000; i++) {
        snprintf(name, sizeof name, "name %d", i % 100000);
        intern(strings, name);
    }
    ok(pf_strings_count(strings) == 100002, "a hundred thousand strings have distinct numbers");
    ok(pf_interned(strings, 0).text == first, "the address of a string never changes");
    ok(reads(strings, big, large, 300000), "a string may be larger than the pool's chunks");
    int right = 0;
    for (int i = 0; i < 100000; i++) {
        int size = snprintf(name, sizeof name, "name %d", i);
        right += reads(strings, (uint32_t)i + 2, name, (size_t)size);
    }
    ok(right == 100000, "the number of a string returns its text");
    free(large);
    pf_strings_free(strings);
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void test_rows(void)
{
    struct pf_error error;
    struct pf_rows *rows = pf_rows_new(4);
    char text[32];
    ok(pf_rows_count(rows) == 0, "a new list of rows is empty");
    ok(pf_rows_count(NULL) == 0, "NULL counts as an empty list of rows");
    bool added = true;
    for (int i = 0; i < 3000; i++) {
        pf_int128 wide = (pf_int128)i << 100;
        int size = snprintf(text, sizeof text, "row %d", i % 50);
        struct pf_cell cells[] = {pf_int(i), pf_text(text, (size_t)size),
                                  i % 100 ? pf_absent() : pf_wide(&wide), pf_double(i / 4.0)};
        added &= !pf_rows_add(rows, cells, &error);
        memset(text, '#', sizeof text);
    }
    ok(added && pf_rows_count(rows) == 3000, "rows are added");
    int right = 0;
    for (int i = 0; i < 3000; i++) {
        const struct pf_cell *row = pf_rows_at(rows, (size_t)i);
        int size = snprintf(text, sizeof text, "row %d", i % 50);
        bool wide = i % 100 ? row[2].type == PF_ABSENT : *row[2].wide == (pf_int128)i << 100;
        right += row[0].i == i && row[1].size == (size_t)size && !memcmp(row[1].text, text, (size_t)size) &&
                 wide && row[3].d == i / 4.0;
    }
    ok(right == 3000, "rows are read as they were added, text and wide integers copied");
    pf_rows_free(rows);
    pf_rows_free(NULL);

    rows = pf_rows_new(0);
    for (int i = 0; i < 300; i++)
        added &= !pf_rows_add(rows, NULL, &error);
    ok(added && pf_rows_count(rows) == 300, "rows without columns are counted");
    pf_rows_free(rows);
}

int main(void)
{
    test_strings();
    test_many_strings();
    test_rows();
    return done();
}
