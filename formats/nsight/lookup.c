/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/print.h"
#include "formats/kit/tree.h"

/* ---- names --------------------------------------------------------------------------------------- */

/* Longer names are cut. */
enum { NAME_MAX_BYTES = 64 * 1024 };

static uint32_t read_name(struct nsight_model *model, int64_t id, struct pf_error *error)
{
    struct pf_strings *strings = model->tree->strings;
    size_t size;
    const char *text;
    if (pf_sql_find(model->sql, NSIGHT_STRINGS, id, &text, &size, error))
        return PF_NO_STRING;
    size = size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES;
    if (text && size <= model->names.left) {
        model->names.left -= size;
        return pf_intern(strings, text, size, error);
    }
    char number[1 + PF_NUMBER_MAX] = "#";
    return pf_intern(strings, number, (size_t)(pf_print_int(number + 1, id) - number), error);
}

uint32_t nsight_name(struct nsight_model *model, int64_t id, struct pf_error *error)
{
    uint32_t string = pf_ids_find(&model->names.ids, (uint64_t)id);
    if (string != PF_NO_ID)
        return string;
    string = read_name(model, id, error);
    return string == PF_NO_STRING || pf_ids_add(&model->names.ids, (uint64_t)id, string, error) < 0
               ? PF_NO_STRING
               : string;
}

/* ---- contexts ------------------------------------------------------------------------------------ */

/*
 * An entry of the store: process, number (pf_ordered), path << 32 | call. A record of the sorter has a rank before the last word,
 * which orders entries with equal keys.
 */
enum { PROCESS, NUMBER, FOUND, ENTRY_WORDS };
enum { RANK = FOUND, RANKED_FOUND, RECORD_WORDS };
enum { ENTRY_SIZE = ENTRY_WORDS * sizeof(uint64_t) };

int nsight_lookup_init(struct nsight_lookup *lookup, uint64_t limit, struct pf_error *error)
{
    *lookup = (struct nsight_lookup){.limit = limit, .store = pf_store_new(limit)};
    lookup->window.store = lookup->store;
    return lookup->store ? 0 : pf_fail_memory(error);
}

void nsight_lookup_free(struct nsight_lookup *lookup)
{
    pf_sorter_free(lookup->sorter);
    pf_store_window_free(&lookup->window);
    pf_store_free(lookup->store);
    *lookup = (struct nsight_lookup){0};
}

/* Compares a key with an entry's key, like memcmp. */
static int compare(uint64_t process, uint64_t number, const uint64_t *entry)
{
    if (process != entry[PROCESS])
        return process < entry[PROCESS] ? -1 : 1;
    return number < entry[NUMBER] ? -1 : number > entry[NUMBER];
}

static int append(struct nsight_lookup *lookup, const uint64_t entry[ENTRY_WORDS], struct pf_error *error)
{
    memcpy(lookup->last, entry, sizeof lookup->last);
    lookup->count++;
    return pf_store_append(lookup->store, entry, ENTRY_SIZE, error);
}

static int add_to_sorter(struct nsight_lookup *lookup, const uint64_t entry[ENTRY_WORDS],
                         struct pf_error *error)
{
    uint64_t has_no_path = entry[FOUND] >> 32 == PF_NO_CONTEXT;
    uint64_t record[RECORD_WORDS] = {entry[PROCESS], entry[NUMBER], has_no_path << 63 | lookup->added++,
                                     entry[FOUND]};
    return pf_sorter_add(lookup->sorter, record, error);
}

/* Switches to sorting after an entry arrived out of order: moves all entries from the store to a new sorter. */
static int begin_sorting(struct nsight_lookup *lookup, struct pf_error *error)
{
    uint64_t limit = lookup->limit;
    struct nsight_lookup sorted = {.limit = limit, .sorter = pf_sorter_new(RECORD_WORDS, RANK + 1, limit)};
    int failed = sorted.sorter ? 0 : pf_fail_memory(error);
    for (uint64_t i = 0; i < lookup->count && !failed; i++) {
        const uint64_t *entry = pf_store_at(&lookup->window, i * ENTRY_SIZE, ENTRY_SIZE, error);
        failed = entry ? add_to_sorter(&sorted, entry, error) : -1;
    }
    if (!failed && !(sorted.window.store = sorted.store = pf_store_new(limit)))
        failed = pf_fail_memory(error);
    if (failed) {
        nsight_lookup_free(&sorted);
        return -1;
    }
    nsight_lookup_free(lookup);
    *lookup = sorted;
    return 0;
}

int nsight_lookup_add(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                      struct nsight_found found, struct pf_error *error)
{
    uint64_t entry[ENTRY_WORDS] = {process, pf_ordered(number), (uint64_t)found.path << 32 | found.call};
    if (!lookup->sorter) {
        if (!lookup->count || compare(process, entry[NUMBER], lookup->last) > 0)
            return append(lookup, entry, error);
        if (begin_sorting(lookup, error))
            return -1;
    }
    return add_to_sorter(lookup, entry, error);
}

static int append_sorted(struct nsight_lookup *lookup, struct pf_error *error)
{
    const uint64_t *record;
    int more;
    while ((more = pf_sorter_next(lookup->sorter, &record, error)) > 0) {
        uint64_t entry[ENTRY_WORDS] = {record[PROCESS], record[NUMBER], record[RANKED_FOUND]};
        bool known = lookup->count && !compare(record[PROCESS], record[NUMBER], lookup->last);
        if (!known && append(lookup, entry, error))
            return -1;
    }
    return more;
}

int nsight_lookup_finish(struct nsight_lookup *lookup, struct pf_error *error)
{
    if (!lookup->sorter)
        return 0;
    if (pf_sorter_finish(lookup->sorter, error) || append_sorted(lookup, error))
        return -1;
    pf_sorter_free(lookup->sorter);
    lookup->sorter = NULL;
    return 0;
}

/* Steps up to this many entries mostly stay in the store's window. Moving the window costs more than reading a single entry. */
enum { NEAR = 1024 };

static int read_entry(struct nsight_lookup *lookup, uint64_t at, uint64_t entry[ENTRY_WORDS],
                      struct pf_error *error)
{
    if (!lookup->near)
        return pf_store_read(lookup->store, at * ENTRY_SIZE, entry, ENTRY_SIZE, error);
    const void *found = pf_store_at(&lookup->window, at * ENTRY_SIZE, ENTRY_SIZE, error);
    if (found)
        memcpy(entry, found, ENTRY_SIZE);
    return found ? 0 : -1;
}

/* Galloping search: starts after the last hit, where the key mostly is, doubles its steps, and ends as a binary search. */
int nsight_lookup_find(struct nsight_lookup *lookup, uint64_t process, int64_t number,
                       struct nsight_found *found, struct pf_error *error)
{
    uint64_t key = pf_ordered(number), low = 0, high = lookup->count, leap = 0, entry[ENTRY_WORDS];
    unsigned slot = process % NSIGHT_SLOTS;
    uint64_t at = lookup->next[slot];
    *found = (struct nsight_found){PF_NO_CONTEXT, PF_NO_CONTEXT};
    lookup->near &= slot == lookup->slot;
    lookup->slot = slot;
    while (low < high) {
        if (read_entry(lookup, at, entry, error))
            return -1;
        int order = compare(process, key, entry);
        if (!order) {
            *found = (struct nsight_found){(uint32_t)(entry[FOUND] >> 32), (uint32_t)entry[FOUND]};
            break;
        }
        if (order < 0)
            high = at;
        else
            low = at + 1;
        lookup->near &= leap <= NEAR;
        uint64_t step = leap < (high - low) / 2 ? leap : (high - low) / 2;
        at = order < 0 ? high - 1 - step : low + step;
        leap = 2 * leap + 1;
    }
    lookup->near |= leap <= NEAR;
    uint64_t next = low < high ? at + 1 : low;
    lookup->next[slot] = next < lookup->count ? next : 0;
    return 0;
}
