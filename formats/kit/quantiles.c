/* SPDX-License-Identifier: MIT */
#include "formats/kit/quantiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/store.h"

/*
 * If all numbers fit the limit they stay in memory. Else each group has a region in a store, of its size,
 * and a staging area in memory whose share is the group's share of the numbers: so all groups are written in
 * runs of about the same number, and seldom.
 */
enum {
    SORTED_MAX = 65536, /* larger groups are selected from by histograms, smaller ones sorted */
    DIGIT = 16,         /* bits of a number that one histogram tells apart */
    BINS = 1 << DIGIT,
    RANKS_MAX = 8, /* asked for at once */
};

struct group {
    uint64_t count; /* as announced */
    uint64_t added;
    uint64_t staged; /* of these: in the staging area only. It is never left full where there is a store. */
    uint64_t region; /* number of its first number in the store */
    uint64_t stage;  /* number of its first number in the staging area */
    uint64_t room;   /* in the staging area */
    uint64_t bits;   /* all bits that occur in its numbers */
};

struct pf_quantiles {
    struct group *groups;
    size_t n_groups;
    uint64_t *staged;
    struct pf_store *store; /* NULL: the staging area holds everything */
    size_t work_room;       /* numbers: those of the largest group, at most SORTED_MAX */
    uint64_t *work;         /* work_room numbers, twice */
    uint64_t *histogram;    /* RANKS_MAX times BINS; NULL until needed */
};

/* ---- adding ------------------------------------------------------------------------------------- */

/* Lays out the regions; the staging area has room for `budget` numbers and one more a group. */
static uint64_t lay_out(struct pf_quantiles *quantiles, const uint64_t *counts, uint64_t total,
                        uint64_t budget)
{
    uint64_t region = 0, stage = 0;
    for (size_t i = 0; i < quantiles->n_groups; i++) {
        struct group *group = &quantiles->groups[i];
        double share = total ? (double)counts[i] / (double)total : 0;
        uint64_t room = total <= budget ? counts[i] : (uint64_t)(share * (double)budget) + 1;
        group->count = counts[i];
        group->room = room < counts[i] ? room : counts[i];
        group->region = region;
        group->stage = stage;
        region += counts[i];
        if (counts[i] > quantiles->work_room)
            quantiles->work_room = counts[i] < SORTED_MAX ? (size_t)counts[i] : SORTED_MAX;
        stage += group->room;
    }
    return stage;
}

struct pf_quantiles *pf_quantiles_new(const uint64_t *counts, size_t groups, uint64_t limit,
                                      struct pf_error *error)
{
    uint64_t total = 0, budget = limit / sizeof(uint64_t);
    for (size_t i = 0; i < groups; i++) {
        if (counts[i] > INT64_MAX / sizeof(uint64_t) - total) {
            pf_fail(error, EFBIG, "too many numbers");
            return NULL;
        }
        total += counts[i];
    }
    struct pf_quantiles *quantiles = calloc(1, sizeof *quantiles);
    if (quantiles)
        quantiles->groups = calloc(groups + 1, sizeof *quantiles->groups);
    if (quantiles && quantiles->groups) {
        quantiles->n_groups = groups;
        uint64_t staged = lay_out(quantiles, counts, total, budget);
        quantiles->staged = malloc((staged + 1) * sizeof(uint64_t));
        quantiles->work = malloc((2 * quantiles->work_room + 1) * sizeof(uint64_t));
        quantiles->store = total > budget ? pf_store_new(0) : NULL;
    }
    if (!quantiles || !quantiles->staged || !quantiles->work || (total > budget && !quantiles->store)) {
        pf_quantiles_free(quantiles);
        pf_fail_memory(error);
        return NULL;
    }
    return quantiles;
}

void pf_quantiles_free(struct pf_quantiles *quantiles)
{
    if (!quantiles)
        return;
    pf_store_free(quantiles->store);
    free(quantiles->groups);
    free(quantiles->staged);
    free(quantiles->work);
    free(quantiles->histogram);
    free(quantiles);
}

/* Writes the staged numbers behind those written before. */
static int write_staged(struct pf_quantiles *quantiles, struct group *group, struct pf_error *error)
{
    uint64_t at = group->region + group->added - group->staged;
    size_t size = group->staged * sizeof(uint64_t);
    group->staged = 0;
    return pf_store_write(quantiles->store, at * sizeof(uint64_t), quantiles->staged + group->stage, size,
                          error);
}

int pf_quantiles_add(struct pf_quantiles *quantiles, size_t group_index, uint64_t value,
                     struct pf_error *error)
{
    if (group_index >= quantiles->n_groups)
        return pf_fail(error, EINVAL, "no such group of numbers");
    struct group *group = &quantiles->groups[group_index];
    if (group->added == group->count)
        return pf_fail(error, EINVAL, "more numbers than were announced");
    quantiles->staged[group->stage + group->staged++] = value;
    group->bits |= value;
    group->added++;
    if (quantiles->store && group->staged == group->room)
        return write_staged(quantiles, group, error);
    return 0;
}

/* ---- selecting in memory ------------------------------------------------------------------------ */

/* One pass of a radix sort: by 8 bits. Returns false if all numbers have the same there. */
static bool sort_by_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    size_t starts[257] = {0};
    for (size_t i = 0; i < n; i++)
        starts[(from[i] >> shift & 255) + 1]++;
    if (starts[(from[0] >> shift & 255) + 1] == n)
        return false;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < n; i++)
        to[starts[from[i] >> shift & 255]++] = from[i];
    return true;
}

static void insertion_sort(uint64_t *numbers, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t number = numbers[i];
        size_t j = i;
        for (; j && numbers[j - 1] > number; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = number;
    }
}

/* Sorts numbers[0 .. n) with as much room behind; returns where the sorted ones stand. A radix sort: input
 * cannot make it slow. */
static const uint64_t *sort(uint64_t *numbers, uint64_t *other, size_t n, uint64_t bits)
{
    enum { FEW = 48 };
    if (n < FEW) {
        insertion_sort(numbers, n);
        return numbers;
    }
    for (unsigned shift = 0; shift < 64 && bits >> shift; shift += 8) {
        if (sort_by_digit(numbers, other, n, shift)) {
            uint64_t *sorted = other;
            other = numbers;
            numbers = sorted;
        }
    }
    return numbers;
}

static int read_numbers(const struct pf_quantiles *quantiles, const struct group *group, uint64_t first,
                        size_t n, uint64_t *numbers, struct pf_error *error)
{
    if (!quantiles->store) {
        memcpy(numbers, quantiles->staged + group->stage + first, n * sizeof *numbers);
        return 0;
    }
    return pf_store_read(quantiles->store, (group->region + first) * sizeof *numbers, numbers,
                         n * sizeof *numbers, error);
}

static int get_by_sorting(struct pf_quantiles *quantiles, const struct group *group, const uint64_t *ranks,
                          size_t n, uint64_t *result, struct pf_error *error)
{
    size_t count = (size_t)group->added;
    if (read_numbers(quantiles, group, 0, count, quantiles->work, error))
        return -1;
    const uint64_t *sorted =
        sort(quantiles->work, quantiles->work + quantiles->work_room, count, group->bits);
    for (size_t i = 0; i < n; i++)
        result[i] = sorted[ranks[i]];
    return 0;
}

/* ---- selecting by histograms -------------------------------------------------------------------- */

/* One rank being looked for: among the numbers that share the known upper bits. */
struct search {
    uint64_t rank; /* among those */
    uint64_t upper;
    size_t histogram; /* searches of the same upper bits share one */
};

/* Counts the digit at `shift` of each number, once for each different upper part. */
static int count_digits(struct pf_quantiles *quantiles, const struct group *group, unsigned shift,
                        const uint64_t *uppers, size_t n_uppers, struct pf_error *error)
{
    memset(quantiles->histogram, 0, n_uppers * BINS * sizeof *quantiles->histogram);
    size_t n;
    for (uint64_t first = 0; first < group->added; first += n) {
        uint64_t left = group->added - first;
        n = left < quantiles->work_room ? (size_t)left : quantiles->work_room;
        if (read_numbers(quantiles, group, first, n, quantiles->work, error))
            return -1;
        for (size_t i = 0; i < n; i++) {
            uint64_t number = quantiles->work[i] >> shift;
            for (size_t u = 0; u < n_uppers; u++)
                if (number >> DIGIT == uppers[u])
                    quantiles->histogram[u * BINS + number % BINS]++;
        }
    }
    return 0;
}

/* Narrows a search down by the digit that its rank falls on. */
static void narrow(struct search *search, const uint64_t *histogram)
{
    const uint64_t *bins = histogram + search->histogram * BINS;
    uint64_t digit = 0;
    for (; digit + 1 < BINS && search->rank >= bins[digit]; digit++)
        search->rank -= bins[digit];
    search->upper = search->upper << DIGIT | digit;
}

/* The different upper parts of the searches; each search learns which is its. */
static size_t list_uppers(struct search *searches, size_t n, uint64_t *uppers)
{
    size_t n_uppers = 0;
    for (size_t i = 0; i < n; i++) {
        size_t u = 0;
        while (u < n_uppers && uppers[u] != searches[i].upper)
            u++;
        if (u == n_uppers)
            uppers[n_uppers++] = searches[i].upper;
        searches[i].histogram = u;
    }
    return n_uppers;
}

static int get_by_counting(struct pf_quantiles *quantiles, const struct group *group, const uint64_t *ranks,
                           size_t n, uint64_t *result, struct pf_error *error)
{
    if (!quantiles->histogram)
        quantiles->histogram = malloc(RANKS_MAX * (size_t)BINS * sizeof *quantiles->histogram);
    if (!quantiles->histogram)
        return pf_fail_memory(error);
    struct search searches[RANKS_MAX];
    uint64_t uppers[RANKS_MAX];
    for (size_t i = 0; i < n; i++)
        searches[i] = (struct search){.rank = ranks[i]};
    int shift = 64 - DIGIT;
    while (shift > 0 && !(group->bits >> shift))
        shift -= DIGIT;
    for (; shift >= 0; shift -= DIGIT) {
        size_t n_uppers = list_uppers(searches, n, uppers);
        if (count_digits(quantiles, group, (unsigned)shift, uppers, n_uppers, error))
            return -1;
        for (size_t i = 0; i < n; i++)
            narrow(&searches[i], quantiles->histogram);
    }
    for (size_t i = 0; i < n; i++)
        result[i] = searches[i].upper;
    return 0;
}

int pf_quantiles_get(struct pf_quantiles *quantiles, size_t group_index, const uint64_t *ranks, size_t n,
                     uint64_t *result, struct pf_error *error)
{
    if (group_index >= quantiles->n_groups)
        return pf_fail(error, EINVAL, "no such group of numbers");
    struct group *group = &quantiles->groups[group_index];
    for (size_t i = 0; i < n; i++)
        if (ranks[i] >= group->count || group->added != group->count)
            return pf_fail(error, EINVAL, "no number of this rank");
    if (quantiles->store && group->staged && write_staged(quantiles, group, error))
        return -1;
    for (size_t done = 0; done < n; done += RANKS_MAX) {
        size_t some = n - done < RANKS_MAX ? n - done : RANKS_MAX;
        int failed = group->added <= SORTED_MAX
                         ? get_by_sorting(quantiles, group, ranks + done, some, result + done, error)
                         : get_by_counting(quantiles, group, ranks + done, some, result + done, error);
        if (failed)
            return -1;
    }
    return 0;
}
