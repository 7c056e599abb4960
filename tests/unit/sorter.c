/* SPDX-License-Identifier: MIT */
/* Tests sorting and searching in bounded memory, which the reader of Nsight Systems exports needs. */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/sorter.h"
#include "formats/kit/tree.h"
#include "formats/nsight/nsight.h"
#include "tests/unit/tap.h"

static struct pf_error error;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 20;
}

/* Sorts n records (key, number, checksum) by their first `keys` words. True if all n are returned in the order of key, then number. */
static bool sorts_by(unsigned keys, size_t n, uint64_t limit, bool presorted)
{
    struct pf_sorter *sorter = pf_sorter_new(3, keys, limit);
    uint64_t random = 7, sum = 0;
    const uint64_t *record;
    uint64_t last[2] = {0, 0};
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = presorted ? i / 3 : next_random(&random) % (n / 2 + 1);
        sum += key * 3 + i;
        if (pf_sorter_add(sorter, (uint64_t[]){key, i, key * 3 + i}, &error))
            abort();
    }
    if (pf_sorter_finish(sorter, &error))
        abort();
    bool sorted = true;
    while (pf_sorter_next(sorter, &record, &error) > 0) {
        sorted &= !seen++ || record[0] > last[0] || (record[0] == last[0] && record[1] > last[1]);
        sorted &= record[2] == record[0] * 3 + record[1];
        memcpy(last, record, sizeof last);
        sum -= record[2];
    }
    sorted &= pf_sorter_next(sorter, &record, &error) == 0;
    pf_sorter_free(sorter);
    return sorted && seen == n && sum == 0;
}

static bool sorts(size_t n, uint64_t limit, bool presorted)
{
    return sorts_by(2, n, limit, presorted);
}

static void test_sorter(void)
{
    ok(sorts(0, 1 << 20, false), "a sorter without records returns none");
    ok(sorts(1000, 1 << 20, false), "records that fit into memory are sorted");
    ok(sorts(1000, 1 << 20, true), "records that are sorted already stay sorted");
    ok(sorts(200000, 1 << 20, false), "records that exceed memory are sorted in a file");
    ok(sorts(4096, 0, false), "as many records as fit into memory are sorted");
    ok(sorts(4097, 0, false), "one record more than fits into memory is sorted");
    ok(sorts(100000, 0, true), "runs whose keys do not overlap are merged");
    ok(sorts_by(1, 1000, 1 << 20, false) && sorts_by(1, 200000, 0, false),
       "equal records stay in the order of their addition, also in a file");
    ok(pf_signed(pf_ordered(-5)) == -5 && pf_ordered(-5) < pf_ordered(3), "signed numbers keep their order");
}

/* Returns the process of entry i: two processes alternate, or if `ordered` is nonzero, one has the first half. */
static uint64_t process_of(size_t i, size_t n, size_t ordered)
{
    return ordered ? i >= n / 2 : i % 2;
}

/* The n entries to add to a lookup, and the result. The first `ordered` entries are in ascending order, the others in descending order. */
struct search {
    size_t n, ordered;
    uint64_t limit;
    struct nsight_lookup lookup; /* not local to the body, because the end of the run frees it later */
    bool right;
};

static void search_all(struct pf_run *run, void *arg)
{
    struct search *search = arg;
    struct nsight_lookup *lookup = &search->lookup;
    size_t n = search->n, ordered = search->ordered;
    nsight_lookup_begin(run, lookup, search->limit);
    for (size_t k = 0; k < n; k++) {
        size_t i = k < ordered ? k : n - 1 - (k - ordered);
        nsight_lookup_add(run, lookup, process_of(i, n, ordered), (int64_t)i * 3 - 500,
                          (struct nsight_found){(uint32_t)i, 1});
    }
    nsight_lookup_finish(run, lookup);
    search->right = true;
    for (size_t i = 0; i < n && search->right; i++) {
        uint64_t process = process_of(i, n, ordered);
        struct nsight_found found = nsight_lookup_find(run, lookup, process, (int64_t)i * 3 - 500),
                            other = nsight_lookup_find(run, lookup, process, (int64_t)i * 3 - 499);
        search->right = found.path == i && found.call == 1 && other.path == PF_NO_CONTEXT;
    }
}

static void find_equal(struct pf_run *run, void *arg)
{
    struct search *search = arg;
    struct nsight_lookup *lookup = &search->lookup;
    nsight_lookup_begin(run, lookup, 0);
    nsight_lookup_add(run, lookup, 0, 4, (struct nsight_found){PF_NO_CONTEXT, 1});
    nsight_lookup_add(run, lookup, 0, 4, (struct nsight_found){8, 2});
    nsight_lookup_add(run, lookup, 0, 4, (struct nsight_found){9, 3});
    nsight_lookup_finish(run, lookup);
    struct nsight_found found = nsight_lookup_find(run, lookup, 0, 4);
    search->right = found.path == 8 && found.call == 2;
}

static bool is_right(void (*body)(struct pf_run *run, void *arg), struct search search)
{
    struct pf_model model = {.warnings = pf_rows_new(5)};
    if (!model.warnings || pf_run(&model, body, &search, &error))
        abort();
    pf_rows_free(model.warnings);
    return search.right;
}

static bool finds_all(size_t n, uint64_t limit, size_t ordered)
{
    return is_right(search_all, (struct search){.n = n, .ordered = ordered, .limit = limit});
}

static void test_lookup(void)
{
    ok(finds_all(0, 1 << 20, 0), "a lookup without entries finds none");
    ok(finds_all(5000, 1 << 20, 0), "a lookup in memory finds its entries and no others");
    ok(finds_all(5000, 0, 0), "a lookup in a file finds its entries and no others");
    ok(finds_all(1500000, 0, 0), "a lookup finds each of 1500000 entries");
    ok(finds_all(5000, 1 << 20, 5000) && finds_all(5000, 0, 5000),
       "a lookup finds entries that were added in order");
    ok(finds_all(5000, 1 << 20, 3000) && finds_all(5000, 0, 3000),
       "a lookup finds entries of which only the first were added in order");

    ok(is_right(find_equal, (struct search){0}), "of equal entries, the first with a path is found");
}

int main(void)
{
    test_sorter();
    test_lookup();
    return done();
}
