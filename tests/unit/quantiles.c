/* SPDX-License-Identifier: MIT */
#include "formats/kit/quantiles.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

static uint64_t state = 1;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Three groups of different sizes, filled in turns with numbers of so many bits: every rank asked for is what
 * sorting gives. */
static bool same_as_sorting(size_t n, unsigned bits, uint64_t limit)
{
    uint64_t counts[] = {n, n / 7 + 1, 1};
    uint64_t *numbers[3];
    struct pf_error error = {0};
    struct pf_quantiles *quantiles = pf_quantiles_new(counts, 3, limit, &error);
    for (size_t g = 0; g < 3; g++)
        numbers[g] = malloc(counts[g] * sizeof(uint64_t));
    bool same = quantiles;
    for (size_t i = 0; i < n && same; i++) {
        for (size_t g = 0; g < 3 && same; g++) {
            if (i >= counts[g])
                continue;
            numbers[g][i] = bits ? next_random() >> (64 - bits) : 5;
            same = !pf_quantiles_add(quantiles, g, numbers[g][i], &error);
        }
    }
    for (size_t g = 0; g < 3 && same; g++) {
        uint64_t count = counts[g], result[10];
        uint64_t ranks[10] = {0,         count / 2, count * 9 / 10, count * 99 / 100, count - 1,
                              count / 3, count / 4, count / 5,      count / 6,        count / 2};
        qsort(numbers[g], count, sizeof(uint64_t), by_value);
        same = !pf_quantiles_get(quantiles, g, ranks, 10, result, &error);
        for (size_t i = 0; i < 10; i++)
            same &= result[i] == numbers[g][ranks[i]];
    }
    for (size_t g = 0; g < 3; g++)
        free(numbers[g]);
    pf_quantiles_free(quantiles);
    return same;
}

static void refuses(void)
{
    struct pf_error error = {0};
    uint64_t counts[] = {2, 0}, rank = 0, result;
    struct pf_quantiles *quantiles = pf_quantiles_new(counts, 2, 0, &error);
    ok(pf_quantiles_get(quantiles, 0, &rank, 1, &result, &error) == -1 && error.code == EINVAL,
       "no rank before all numbers are there");
    pf_quantiles_add(quantiles, 0, 7, &error);
    pf_quantiles_add(quantiles, 0, 6, &error);
    ok(pf_quantiles_add(quantiles, 0, 5, &error) == -1 && error.code == EINVAL, "a full group takes no more");
    ok(pf_quantiles_add(quantiles, 2, 5, &error) == -1 && error.code == EINVAL, "there is no third group");
    ok(!pf_quantiles_get(quantiles, 0, &rank, 1, &result, &error) && result == 6, "rank 0 is the smallest");
    rank = 2;
    ok(pf_quantiles_get(quantiles, 0, &rank, 1, &result, &error) == -1, "two numbers have no rank 2");
    ok(pf_quantiles_get(quantiles, 1, &rank, 1, &result, &error) == -1, "an empty group has no ranks");
    pf_quantiles_free(quantiles);
    counts[0] = counts[1] = UINT64_MAX / 2;
    ok(!pf_quantiles_new(counts, 2, 1 << 20, &error) && error.code == EFBIG, "too many numbers are refused");
}

int main(void)
{
    static const size_t sizes[] = {1, 10, 100, 5000, 65536, 65537, 200000};
    static const unsigned widths[] = {0, 3, 20, 37, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        bool same = true, spilled = true;
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            same &= same_as_sorting(sizes[s], widths[w], 64 << 20);
            spilled &= same_as_sorting(sizes[s], widths[w], sizes[s]);
        }
        ok(same, "%zu numbers in memory: ranks as by sorting", sizes[s]);
        ok(spilled, "%zu numbers in a file: ranks as by sorting", sizes[s]);
    }
    refuses();
    return done();
}
