/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/tree.h"

/* An entry of the store: process, number (ordered), path << 32 | call. A record of the sorter has the rank among
 * its equals before the last word. */
enum { PROCESS, NUMBER, FOUND, ENTRY_WORDS };
enum { RANK = FOUND, RANKED_FOUND, RECORD_WORDS };
enum { ENTRY_SIZE = ENTRY_WORDS * sizeof(uint64_t) };

/* Entries that are read at once. */
enum { WINDOW = 1024 };

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error)
{
    *lookup = (struct nsight_lookup){.sorter = pf_sorter_new(RECORD_WORDS, RANK + 1, limit)};
    return lookup->sorter ? 0 : pf_fail_memory(error);
}

void nsight_lookup_free(struct nsight_lookup *lookup)
{
    pf_sorter_free(lookup->sorter);
    pf_store_free(lookup->store);
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

static int append_all(struct nsight_lookup *lookup, struct pf_error *error)
{
    const uint64_t *record;
    uint64_t last[2] = {0};
    int more;
    while ((more = pf_sorter_next(lookup->sorter, &record, error)) > 0) {
        if (lookup->count && last[0] == record[PROCESS] && last[1] == record[NUMBER])
            continue;
        last[0] = record[PROCESS];
        last[1] = record[NUMBER];
        uint64_t entry[ENTRY_WORDS] = {record[PROCESS], record[NUMBER], record[RANKED_FOUND]};
        if (pf_store_append(lookup->store, entry, sizeof entry, error))
            return -1;
        lookup->count++;
    }
    return more;
}

int nsight_lookup_finish(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error)
{
    lookup->store = pf_store_new(limit);
    if (!lookup->store)
        return pf_fail_memory(error);
    if (pf_sorter_finish(lookup->sorter, error) || append_all(lookup, error))
        return -1;
    pf_sorter_free(lookup->sorter);
    lookup->sorter = NULL;
    return 0;
}

/* ---- finding ------------------------------------------------------------------------------------ */

/* Where a key stands relative to that of an entry: below 0, before it; 0, there. */
static int compare(uint64_t process, uint64_t number, const uint64_t *entry)
{
    if (process != entry[PROCESS])
        return process < entry[PROCESS] ? -1 : 1;
    return number < entry[NUMBER] ? -1 : number > entry[NUMBER];
}

/* Entry i: from memory, or through the window: neighbours are mostly asked for next. NULL with *error filled. */
static const uint64_t *entry_at(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t i,
                                struct pf_error *error)
{
    const uint64_t *memory = pf_store_memory(lookup->store);
    if (memory)
        return memory + i * ENTRY_WORDS;
    if (!window->entries && !(window->entries = malloc(WINDOW * ENTRY_SIZE))) {
        pf_fail_memory(error);
        return NULL;
    }
    if (!window->count || i - window->first >= window->count) {
        uint64_t left = lookup->count - (window->first = i / WINDOW * WINDOW);
        window->count = left < WINDOW ? left : WINDOW;
        if (pf_store_read(lookup->store, window->first * ENTRY_SIZE, window->entries,
                          window->count * ENTRY_SIZE, error)) {
            window->count = 0;
            return NULL;
        }
    }
    return window->entries + (i - window->first) * ENTRY_WORDS;
}

/* True if the key, if it is anywhere, is in the window. */
static bool is_in_window(const struct nsight_window *window, uint64_t process, uint64_t number)
{
    return window->count && compare(process, number, window->entries) >= 0 &&
           compare(process, number, window->entries + (window->count - 1) * ENTRY_WORDS) <= 0;
}

int nsight_lookup_find(const struct nsight_lookup *lookup, struct nsight_window *window, uint64_t process,
                       int64_t number, struct nsight_found *found, struct pf_error *error)
{
    uint64_t key = pf_ordered(number), low = 0, high = lookup->count;
    *found = (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
    if (is_in_window(window, process, key)) {
        low = window->first;
        high = low + window->count;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint64_t *entry = entry_at(lookup, window, middle, error);
        if (!entry)
            return -1;
        int order = compare(process, key, entry);
        if (!order) {
            *found = (struct nsight_found){(uint32_t)(entry[FOUND] >> 32), (uint32_t)entry[FOUND]};
            return 0;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

void nsight_window_free(struct nsight_window *window)
{
    free(window->entries);
    *window = (struct nsight_window){0};
}
