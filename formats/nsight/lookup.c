/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <string.h>

#include "formats/kit/print.h"

/* ---- names --------------------------------------------------------------------------------------- */

/* Maximum size of a name in bytes. Longer names are cut. */
enum { NAME_MAX_BYTES = 64 * 1024 };

static uint32_t read_name(struct nsight_pass *pass, int64_t id)
{
    struct pf_slice text = pf_sql_find(pass->build->run, pass->sql, NSIGHT_STRINGS, id);
    size_t size = pf_size(text) < NAME_MAX_BYTES ? pf_size(text) : NAME_MAX_BYTES;
    if (text.at && size <= pass->names.left) {
        pass->names.left -= size;
        return pf_build_name(pass->build, text.at, size);
    }
    char number[1 + PF_NUMBER_MAX] = "#";
    return pf_build_name(pass->build, number, (size_t)(pf_print_int(number + 1, id) - number));
}

uint32_t nsight_name(struct nsight_pass *pass, int64_t id)
{
    struct pf_run *run = pass->build->run;
    uint32_t string = pf_ids_find(&pass->names.ids, (uint64_t)id);
    if (string == PF_NO_ID) {
        string = read_name(pass, id);
        pf_run_check(run, pf_ids_add(&pass->names.ids, (uint64_t)id, string, run->error));
    }
    return string;
}

/* ---- contexts ------------------------------------------------------------------------------------ */

/*
 * An entry of the store has the words PROCESS, NUMBER and FOUND. NUMBER is pf_ordered of the number. FOUND has the path
 * in its upper half and the call in its lower half. A record of the sorter also has a RANK before the last word, which
 * sorts entries with equal keys.
 */
enum { PROCESS, NUMBER, FOUND, ENTRY_WORDS };
enum { RANK = FOUND, RANKED_FOUND, RECORD_WORDS };
enum { ENTRY_SIZE = ENTRY_WORDS * sizeof(uint64_t) };

static void free_lookup(struct nsight_lookup *lookup)
{
    pf_sorter_free(lookup->sorter);
    pf_store_window_free(&lookup->window);
    pf_store_free(lookup->store);
}

/* Replaces the store by an empty one. */
static void renew_store(struct pf_run *run, struct nsight_lookup *lookup)
{
    pf_store_window_free(&lookup->window);
    pf_store_free(lookup->store);
    lookup->window.store = lookup->store = NULL;
    lookup->window.store = lookup->store = pf_run_memory(run, pf_store_new(lookup->limit));
    lookup->count = 0;
}

void nsight_lookup_begin(struct pf_run *run, struct nsight_lookup *lookup, uint64_t limit)
{
    *lookup = (struct nsight_lookup){.limit = limit};
    PF_OWN(run, lookup, free_lookup);
    renew_store(run, lookup);
}

/* Compares a key with an entry's key, like memcmp. */
static int compare(uint64_t process, uint64_t number, const uint64_t *entry)
{
    if (process != entry[PROCESS])
        return process < entry[PROCESS] ? -1 : 1;
    return number < entry[NUMBER] ? -1 : number > entry[NUMBER];
}

static void lookup_append(struct pf_run *run, struct nsight_lookup *lookup, const uint64_t entry[ENTRY_WORDS])
{
    memcpy(lookup->last, entry, sizeof lookup->last);
    lookup->count++;
    pf_run_check(run, pf_store_append(lookup->store, entry, ENTRY_SIZE, run->error));
}

static void add_to_sorter(struct pf_run *run, struct nsight_lookup *lookup, const uint64_t entry[ENTRY_WORDS])
{
    /* The rank sorts entries with a path before entries without a path, and otherwise in the order in which they were added. */
    uint64_t has_no_path = entry[FOUND] >> 32 == PF_NO_CONTEXT;
    uint64_t record[RECORD_WORDS] = {entry[PROCESS], entry[NUMBER], has_no_path << 63 | lookup->added++,
                                     entry[FOUND]};
    pf_run_check(run, pf_sorter_add(lookup->sorter, record, run->error));
}

static const uint64_t *entry_at(struct pf_run *run, struct nsight_lookup *lookup, uint64_t at)
{
    const uint64_t *entry = pf_store_at(&lookup->window, at * ENTRY_SIZE, ENTRY_SIZE, run->error);
    if (!entry)
        pf_run_fail(run);
    return entry;
}

/* Moves all entries from the store to a new sorter, because an entry arrives out of order. */
static void begin_sorting(struct pf_run *run, struct nsight_lookup *lookup)
{
    lookup->sorter = pf_run_memory(run, pf_sorter_new(RECORD_WORDS, RANK + 1, lookup->limit));
    for (uint64_t i = 0; i < lookup->count; i++)
        add_to_sorter(run, lookup, entry_at(run, lookup, i));
    renew_store(run, lookup);
}

void nsight_lookup_add(struct pf_run *run, struct nsight_lookup *lookup, uint64_t process, int64_t number,
                       struct nsight_found found)
{
    uint64_t entry[ENTRY_WORDS] = {process, pf_ordered(number), (uint64_t)found.path << 32 | found.call};
    bool in_order = !lookup->count || compare(process, entry[NUMBER], lookup->last) > 0;
    if (!lookup->sorter && !in_order)
        begin_sorting(run, lookup);
    if (lookup->sorter)
        add_to_sorter(run, lookup, entry);
    else
        lookup_append(run, lookup, entry);
}

void nsight_lookup_finish(struct pf_run *run, struct nsight_lookup *lookup)
{
    const uint64_t *record;
    if (!lookup->sorter)
        return;
    pf_run_check(run, pf_sorter_finish(lookup->sorter, run->error));
    while (pf_run_check(run, pf_sorter_next(lookup->sorter, &record, run->error))) {
        uint64_t entry[ENTRY_WORDS] = {record[PROCESS], record[NUMBER], record[RANKED_FOUND]};
        if (!lookup->count || compare(record[PROCESS], record[NUMBER], lookup->last) != 0)
            lookup_append(run, lookup, entry);
    }
    pf_sorter_free(lookup->sorter);
    lookup->sorter = NULL;
}

/*
 * While a search takes steps of up to this many entries, it reads through the store's window, which mostly holds its
 * next entry, too. For longer steps, moving the window costs more than reading a single entry.
 */
enum { NEAR = 1024 };

static void read_lookup_entry(struct pf_run *run, struct nsight_lookup *lookup, uint64_t at,
                              uint64_t entry[ENTRY_WORDS])
{
    if (lookup->near)
        memcpy(entry, entry_at(run, lookup, at), ENTRY_SIZE);
    else
        pf_run_check(run, pf_store_read(lookup->store, at * ENTRY_SIZE, entry, ENTRY_SIZE, run->error));
}

/*
 * A galloping search. It starts after the entry that was found last, since most keys are there or close by. Its steps double until they
 * pass the key; from then on it is a binary search.
 */
struct nsight_found nsight_lookup_find(struct pf_run *run, struct nsight_lookup *lookup, uint64_t process,
                                       int64_t number)
{
    uint64_t key = pf_ordered(number), low = 0, high = lookup->count, leap = 0, entry[ENTRY_WORDS];
    unsigned slot = process % NSIGHT_SLOTS;
    uint64_t at = lookup->next[slot];
    struct nsight_found found = {PF_NO_CONTEXT, PF_NO_CONTEXT};
    lookup->near &= slot == lookup->slot;
    lookup->slot = slot;
    while (low < high) {
        read_lookup_entry(run, lookup, at, entry);
        int order = compare(process, key, entry);
        if (!order) {
            found = (struct nsight_found){(uint32_t)(entry[FOUND] >> 32), (uint32_t)entry[FOUND]};
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
    return found;
}
