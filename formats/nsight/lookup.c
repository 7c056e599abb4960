/* SPDX-License-Identifier: MIT */
#include "formats/nsight/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/tree.h"

struct nsight_fence {
    uint64_t process, number;
};

/* An entry of the store: process, number (ordered), path << 32 | call. A record of the sorter has the rank among
 * its equals before the last word. */
enum { PROCESS, NUMBER, FOUND, ENTRY_WORDS };
enum { RANK = FOUND, RANKED_FOUND, RECORD_WORDS };
enum { ENTRY_SIZE = ENTRY_WORDS * sizeof(uint64_t) };

/* So many keys are held in memory however many entries there are. */
enum { FENCES = 16384 };

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error)
{
    *lookup = (struct nsight_lookup){.sorter = pf_sorter_new(RECORD_WORDS, RANK + 1, limit), .step = 64};
    return lookup->sorter ? 0 : pf_fail_memory(error);
}

void nsight_lookup_free(struct nsight_lookup *lookup)
{
    pf_sorter_free(lookup->sorter);
    pf_store_free(lookup->store);
    free(lookup->fences);
    *lookup = (struct nsight_lookup){0};
}

int nsight_lookup_add(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                      struct nsight_found found, struct pf_error *error)
{
    uint64_t has_no_path = found.path == PF_NO_CONTEXT;
    uint64_t record[RECORD_WORDS] = {process, pf_ordered(number), has_no_path << 63 | lookup->added++,
                                     (uint64_t)found.path << 32 | found.call};
    return pf_sorter_add(lookup->sorter, record, error);
}

/* ---- finishing ----------------------------------------------------------------------------------- */

/* Halves the fences and doubles their distance. */
static void thin_out(struct nsight_lookup *lookup)
{
    for (uint32_t i = 0; i < lookup->n_fences / 2; i++)
        lookup->fences[i] = lookup->fences[2 * i];
    lookup->n_fences /= 2;
    lookup->step *= 2;
}

static int append(struct nsight_lookup *lookup, const uint64_t *record, struct pf_error *error)
{
    uint64_t entry[ENTRY_WORDS] = {record[PROCESS], record[NUMBER], record[RANKED_FOUND]};
    if (lookup->n_fences == FENCES)
        thin_out(lookup);
    if (lookup->count % lookup->step == 0)
        lookup->fences[lookup->n_fences++] = (struct nsight_fence){record[PROCESS], record[NUMBER]};
    lookup->count++;
    return pf_store_append(lookup->store, entry, sizeof entry, error);
}

static int append_all(struct nsight_lookup *lookup, struct pf_error *error)
{
    const uint64_t *record;
    struct nsight_fence last = {0};
    int more;
    while ((more = pf_sorter_next(lookup->sorter, &record, error)) > 0) {
        if (lookup->count && last.process == record[PROCESS] && last.number == record[NUMBER])
            continue;
        last = (struct nsight_fence){record[PROCESS], record[NUMBER]};
        if (append(lookup, record, error))
            return -1;
    }
    return more;
}

int nsight_lookup_finish(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error)
{
    lookup->store = pf_store_new(limit);
    lookup->fences = malloc(FENCES * sizeof *lookup->fences);
    if (!lookup->store || !lookup->fences)
        return pf_fail_memory(error);
    if (pf_sorter_finish(lookup->sorter, error) || append_all(lookup, error))
        return -1;
    pf_sorter_free(lookup->sorter);
    lookup->sorter = NULL;
    return 0;
}

/* ---- finding ------------------------------------------------------------------------------------- */

static bool is_after(uint64_t process, uint64_t number, uint64_t other_process, uint64_t other_number)
{
    return process != other_process ? process > other_process : number > other_number;
}

/* The entries between two fences in which a key stands if it is there: the last fence that is not after it. */
static uint64_t block_of(const struct nsight_lookup *lookup, uint64_t process, uint64_t number)
{
    uint32_t low = 0, high = lookup->n_fences;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct nsight_fence *fence = &lookup->fences[middle];
        if (is_after(fence->process, fence->number, process, number))
            high = middle;
        else
            low = middle;
    }
    return low * lookup->step;
}

static const uint64_t *load(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t first,
                            uint64_t count, struct pf_error *error)
{
    const uint64_t *memory = pf_store_memory(lookup->store);
    if (memory)
        return memory + first * ENTRY_WORDS;
    if (window->entries && window->first == first && window->count == count)
        return window->entries;
    uint64_t *entries = realloc(window->entries, count * ENTRY_SIZE);
    if (!entries) {
        pf_fail_memory(error);
        return NULL;
    }
    window->entries = entries;
    window->count = 0;
    if (pf_store_read(lookup->store, first * ENTRY_SIZE, entries, count * ENTRY_SIZE, error))
        return NULL;
    window->first = first;
    window->count = count;
    return entries;
}

static struct nsight_found find_in(const uint64_t *entries, uint64_t count, uint64_t process, uint64_t number)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint64_t *entry = entries + middle * ENTRY_WORDS;
        if (entry[PROCESS] == process && entry[NUMBER] == number)
            return (struct nsight_found){(uint32_t)(entry[FOUND] >> 32), (uint32_t)entry[FOUND]};
        if (is_after(entry[PROCESS], entry[NUMBER], process, number))
            high = middle;
        else
            low = middle + 1;
    }
    return (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
}

int nsight_lookup_find(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t process,
                       int64_t number, struct nsight_found *found, struct pf_error *error)
{
    *found = (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
    if (!lookup->count)
        return 0;
    uint64_t key = pf_ordered(number), first = block_of(lookup, process, key);
    uint64_t left = lookup->count - first, count = left < lookup->step ? left : lookup->step;
    const uint64_t *entries = load(lookup, window, first, count, error);
    if (!entries)
        return -1;
    *found = find_in(entries, count, process, key);
    return 0;
}

void nsight_window_free(struct nsight_window *window)
{
    free(window->entries);
    *window = (struct nsight_window){0};
}
