/* SPDX-License-Identifier: MIT */
/* Which parts of an XRay file are whose: also where there are more of them than memory should hold. */
#include "formats/xray/index.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

/* Threads take turns: the worst that a file can do. */
static bool sorts(uint32_t n_threads, uint64_t n_runs)
{
    struct xray_index index;
    struct xray_runs runs;
    struct pf_error error;
    bool sorted = !xray_index_init(&index, &error) && !xray_runs_init(&runs, &error);
    index.threads = calloc(n_threads, sizeof *index.threads);
    index.n_threads = n_threads;
    for (uint64_t i = 0; i < n_runs; i++) {
        struct xray_range range = {32 * i, 32 * i + 32};
        sorted &= !xray_runs_add(&runs, (uint32_t)(i % n_threads), &range, &error);
    }
    sorted &= !xray_runs_sort(&runs, &index, NULL, &error) && index.n_ranges == n_runs &&
              index.bytes == 32 * n_runs;
    for (uint32_t t = 0; t < n_threads; t++)
        for (uint64_t i = 0; i < index.threads[t].count && sorted; i++) {
            struct xray_range range;
            sorted = !xray_index_range(&index, index.threads[t].first + i, &range, &error) &&
                     range.body == 32 * (i * n_threads + t) && range.end == range.body + 32;
        }
    ok(!n_runs || !!pf_store_memory(index.ranges) == (n_runs < 1000000),
       "%ju ranges are held in memory, or not", (uintmax_t)n_runs);
    xray_runs_free(&runs);
    xray_index_free(&index);
    return sorted;
}

static void finds_threads(void)
{
    struct xray_threads threads = {0};
    struct pf_error error;
    uint32_t found;
    bool same = true;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++) {
            same &=
                !xray_threads_find(&threads, i & 1, (int32_t)(i & 2), (int64_t)(i / 4) << 32, &found, &error);
            /* Odd ones have a process, which tells them apart from the even ones with the same numbers. */
            same &= found == i;
        }
    ok(same, "threads are told apart by their ids and by whether they have a process");
    size_t count;
    free(xray_threads_take(&threads, &count));
    ok(count == 1000, "each is there once");
}

int main(void)
{
    ok(sorts(1, 0), "no ranges");
    ok(sorts(3, 10), "ranges are sorted by thread, and keep their order in each");
    ok(sorts(2, 1100000), "also where they go to a file");
    finds_threads();
    return done();
}
