/* SPDX-License-Identifier: MIT */
#include "formats/kit/counter.h"

#include <stdio.h>

#include "tests/unit/tap.h"

/* What the counter shows is what printing shows. */
static bool shows(struct pf_counter *counter, uint64_t value)
{
    char want[PF_NUMBER_MAX];
    size_t size = (size_t)(pf_print_uint(want, value) - want);
    struct pf_cell cell = pf_counter_cell(counter, value);
    return cell.type == PF_TEXT && cell.plain && cell.padded && cell.size == size &&
           !memcmp(cell.text, want, size);
}

static void counts(void)
{
    struct pf_counter counter = {0};
    bool all = true;
    for (uint64_t i = 0; i < 11000; i++)
        all &= shows(&counter, i);
    ok(all, "a counter shows each number as it is printed");
}

static void jumps(void)
{
    static const uint64_t values[] = {5, 6, 6, 99, 100, 101, 7, 0, 1, 999999, 1000000, UINT64_MAX, 0, 1};
    struct pf_counter counter = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ok(shows(&counter, values[i]), "a counter may be set to any number: %ju", (uintmax_t)values[i]);
}

int main(void)
{
    counts();
    jumps();
    return done();
}
