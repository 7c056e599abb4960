/* SPDX-License-Identifier: MIT */
#include "formats/kit/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

enum { ITEMS = 10000 };

static void grows_item_by_item(void)
{
    struct pf_error error = {0};
    uint32_t *items = NULL;
    size_t room = 0, count = 0, moves = 0;
    bool good = true;
    while (count < ITEMS && good) {
        size_t before = room;
        good = !pf_array_room(&items, &room, count, sizeof *items, &error) && room > count;
        moves += room != before;
        if (good)
            items[count] = (uint32_t)count * 7;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        good &= items[i] == (uint32_t)i * 7;
    ok(good && count == ITEMS, "an array grows item by item and keeps its items");
    ok(moves < 16, "an array that grows item by item moves seldom");
    ok(!pf_array_grow(&items, &room, 5 * (size_t)ITEMS, sizeof *items, &error) && room >= 5 * (size_t)ITEMS &&
           items[ITEMS - 1] == (ITEMS - 1) * 7,
       "an array grows by many items at once");
    free(items);
}

static void refuses_what_no_memory_holds(void)
{
    struct pf_error error = {0};
    uint64_t *items = NULL;
    size_t room = 0;
    ok(!pf_array_resize(&items, 3, sizeof *items, &error) && items, "an array may have an exact size");
    uint64_t *before = items;
    room = 3;
    ok(pf_array_grow(&items, &room, SIZE_MAX / 4, sizeof *items, &error) && error.code == ENOMEM,
       "a size that overflows is refused");
    ok(pf_array_grow(&items, &room, SIZE_MAX, sizeof *items, &error) && error.code == ENOMEM,
       "a size that cannot be reached by doubling is refused");
    ok(items == before && room == 3, "a refused growth leaves the array unchanged");
    free(items);
}

static void reaches_items_in_any_order(void)
{
    static const size_t order[] = {700, 3, 699, 5000, 0};
    struct pf_error error = {0};
    uint32_t *items = NULL;
    size_t room = 0, set = 0;
    bool good = true;
    for (size_t i = 0; i < sizeof order / sizeof *order && good; i++) {
        good = !pf_array_reach(&items, &room, order[i], sizeof *items, &error) && room > order[i];
        if (good)
            items[order[i]]++;
    }
    for (size_t i = 0; i < room; i++)
        set += items[i];
    ok(good && items[700] == 1 && items[5000] == 1 && set == sizeof order / sizeof *order,
       "items can be reached in any order, and are zero until they are set");
    ok(pf_array_reach(&items, &room, SIZE_MAX, sizeof *items, &error) && error.code == ENOMEM &&
           items[3] == 1,
       "an item beyond the largest index is refused");
    free(items);
}

int main(void)
{
    grows_item_by_item();
    reaches_items_in_any_order();
    refuses_what_no_memory_holds();
    return done();
}
