/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

struct nsight_entry {
    uint64_t count;
    int64_t bytes, total, least, most; /* durations in ns */
};

enum { COLUMNS_MAX = 7 };

static const struct pf_column named_columns[] = {
    {"context", PF_CONTEXT, 0}, {"count", PF_PLAIN, 0},  {"total_ns", PF_PLAIN, 0},
    {"min_ns", PF_PLAIN, 0},    {"max_ns", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
};
static const struct pf_column memcpy_columns[] = {
    {"context", PF_CONTEXT, 0}, {"kind", PF_PLAIN, 0},   {"count", PF_PLAIN, 0},  {"bytes", PF_PLAIN, 0},
    {"total_ns", PF_PLAIN, 0},  {"min_ns", PF_PLAIN, 0}, {"max_ns", PF_PLAIN, 0},
};
static const struct pf_column memset_columns[] = {
    {"context", PF_CONTEXT, 0}, {"count", PF_PLAIN, 0},  {"bytes", PF_PLAIN, 0},
    {"total_ns", PF_PLAIN, 0},  {"min_ns", PF_PLAIN, 0}, {"max_ns", PF_PLAIN, 0},
};
static const struct pf_column sync_columns[] = {
    {"context", PF_CONTEXT, 0}, {"type", PF_PLAIN, 0},   {"count", PF_PLAIN, 0},
    {"total_ns", PF_PLAIN, 0},  {"min_ns", PF_PLAIN, 0}, {"max_ns", PF_PLAIN, 0},
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

const char *const nsight_sum_names[NSIGHT_SUMS] = {"api", "kernels", "memcpy", "memset", "sync"};
const struct pf_column *const nsight_sum_columns[NSIGHT_SUMS] = {named_columns, named_columns, memcpy_columns,
                                                                 memset_columns, sync_columns};
const size_t nsight_sum_widths[NSIGHT_SUMS] = {LENGTH(named_columns), LENGTH(named_columns),
                                               LENGTH(memcpy_columns), LENGTH(memset_columns),
                                               LENGTH(sync_columns)};

int nsight_sums_add(struct nsight_sums *sums, enum nsight_sum table, uint32_t context, uint32_t name,
                    int64_t duration, int64_t bytes, struct pf_error *error)
{
    struct nsight_key key = {{table, context, name}};
    uint32_t number = nsight_keys_add(&sums->keys, &key, error);
    if (number == NSIGHT_NONE ||
        pf_array_reach(&sums->entries, &sums->room, number, sizeof *sums->entries, error))
        return -1;
    struct nsight_entry *entry = &sums->entries[number];
    if (!entry->count++)
        entry->least = INT64_MAX;
    entry->bytes = nsight_plus(entry->bytes, bytes);
    entry->total = nsight_plus(entry->total, duration);
    entry->least = duration < entry->least ? duration : entry->least;
    entry->most = duration > entry->most ? duration : entry->most;
    return 0;
}

void nsight_sums_free(struct nsight_sums *sums)
{
    nsight_keys_free(&sums->keys);
    free(sums->entries);
    *sums = (struct nsight_sums){0};
}

/* ---- publishing ---------------------------------------------------------------------------------- */

/* An entry's place in the order of the rows. */
struct place {
    enum nsight_sum table;
    int64_t context; /* -1: none */
    struct pf_cell name;
    uint32_t number;
};

static int compare_text(const struct pf_cell *a, const struct pf_cell *b)
{
    if (a->type != PF_TEXT || b->type != PF_TEXT)
        return (a->type == PF_TEXT) - (b->type == PF_TEXT);
    uint32_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->text, b->text, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    return compare_text(&a->name, &b->name);
}

static struct place *sort_entries(const struct nsight_sums *sums, const struct pf_strings *strings,
                                  struct pf_error *error)
{
    uint32_t n = sums->keys.count;
    struct place *places = calloc((size_t)n + 1, sizeof *places);
    if (!places) {
        pf_fail_memory(error);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *word = sums->keys.key[i].word;
        bool rootless = word[1] == PF_NO_CONTEXT;
        places[i] = (struct place){(enum nsight_sum)word[0], rootless ? -1 : (int64_t)word[1],
                                   pf_interned(strings, (uint32_t)word[2]), i};
    }
    qsort(places, n, sizeof *places, by_place);
    return places;
}

static int add_row(const struct nsight_sums *sums, const struct place *place, struct pf_rows *rows,
                   struct pf_error *error)
{
    const struct nsight_entry *entry = &sums->entries[place->number];
    struct pf_cell cells[COLUMNS_MAX];
    size_t n = 0;
    bool named = place->table == NSIGHT_SUM_API || place->table == NSIGHT_SUM_KERNELS;
    cells[n++] = place->context < 0 ? pf_absent() : pf_int(place->context);
    if (place->table == NSIGHT_SUM_MEMCPY || place->table == NSIGHT_SUM_SYNC)
        cells[n++] = place->name;
    cells[n++] = pf_uint(entry->count);
    if (place->table == NSIGHT_SUM_MEMCPY || place->table == NSIGHT_SUM_MEMSET)
        cells[n++] = pf_int(entry->bytes);
    cells[n++] = pf_int(entry->total);
    cells[n++] = pf_int(entry->least);
    cells[n++] = pf_int(entry->most);
    if (named)
        cells[n++] = place->name;
    return pf_rows_add(rows, cells, error);
}

static int add_rows(const struct nsight_sums *sums, const struct place *places, struct pf_rows **tables,
                    struct pf_error *error)
{
    for (size_t t = 0; t < NSIGHT_SUMS; t++)
        if (!(tables[t] = pf_rows_new(nsight_sum_widths[t])))
            return pf_fail_memory(error);
    for (uint32_t i = 0; i < sums->keys.count; i++)
        if (add_row(sums, &places[i], tables[places[i].table], error))
            return -1;
    return 0;
}

int nsight_sums_publish(const struct nsight_sums *sums, const struct pf_strings *strings,
                        struct pf_rows *tables[NSIGHT_SUMS], struct pf_error *error)
{
    struct place *places = sort_entries(sums, strings, error);
    if (!places)
        return -1;
    memset(tables, 0, NSIGHT_SUMS * sizeof *tables);
    int failed = add_rows(sums, places, tables, error);
    free(places);
    for (size_t t = 0; failed && t < NSIGHT_SUMS; t++) {
        pf_rows_free(tables[t]);
        tables[t] = NULL;
    }
    return failed;
}
