/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/tree.h"

static bool is_key(const void *of, uint32_t number, const void *key)
{
    const struct nsight_tallies *tallies = of;
    return !memcmp(&tallies->items[number].key, key, sizeof tallies->items->key);
}

/* Returns the index of the item with this key, which is added if new; -1 with *error filled. */
static int64_t number_of(struct nsight_tallies *tallies, const struct nsight_tally_key *key,
                         struct pf_error *error)
{
    uint64_t hash = pf_siphash(0, key, sizeof *key);
    int64_t number = pf_hash_find(&tallies->table, hash, is_key, tallies, key);
    if (number != PF_NOT_THERE)
        return number;
    if (pf_array_room(&tallies->items, &tallies->room, tallies->count, sizeof *tallies->items, error) ||
        pf_hash_add(&tallies->table, hash, tallies->count, error))
        return -1;
    tallies->items[tallies->count] =
        (struct nsight_tally){.key = *key, .context = PF_NO_CONTEXT, .least = INT64_MAX};
    return tallies->count++;
}

struct nsight_tally *nsight_tally(struct nsight_tallies *tallies, const struct nsight_tally_key *key,
                                  int64_t duration, int64_t bytes, struct pf_error *error)
{
    enum { RECENT = sizeof tallies->recent / sizeof *tallies->recent };
    uint32_t mixed = ((key->path * 31 + key->name) * 31 + key->call) * 31 + key->stream;
    uint32_t *recent = &tallies->recent[mixed % RECENT];
    if (*recent >= tallies->count || !is_key(tallies, *recent, key)) {
        int64_t number = number_of(tallies, key, error);
        if (number < 0)
            return NULL;
        *recent = (uint32_t)number;
    }
    struct nsight_tally *tally = &tallies->items[*recent];
    tally->count++;
    tally->bytes = nsight_plus(tally->bytes, bytes);
    tally->total = nsight_plus(tally->total, duration);
    tally->least = duration < tally->least ? duration : tally->least;
    tally->most = duration > tally->most ? duration : tally->most;
    return tally;
}

void nsight_tallies_free(struct nsight_tallies *tallies)
{
    free(tallies->items);
    pf_hash_free(&tallies->table);
    *tallies = (struct nsight_tallies){0};
}

/* ---- the tables ---------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 7 };

#define CONTEXT                                                                                              \
    {                                                                                                        \
        "context", PF_CONTEXT, 0                                                                             \
    }
#define TIMES                                                                                                \
    {.name = "total_ns"}, {.name = "min_ns"},                                                                \
    {                                                                                                        \
        .name = "max_ns"                                                                                     \
    }
static const struct pf_column named_columns[] = {CONTEXT, {.name = "count"}, TIMES, {.name = "name"}};
static const struct pf_column memcpy_columns[] = {
    CONTEXT, {.name = "kind"}, {.name = "count"}, {.name = "bytes"}, TIMES};
static const struct pf_column memset_columns[] = {CONTEXT, {.name = "count"}, {.name = "bytes"}, TIMES};
static const struct pf_column sync_columns[] = {CONTEXT, {.name = "type"}, {.name = "count"}, TIMES};

#define TABLE(word, its_columns)                                                                             \
    {                                                                                                        \
        .name = (word), .columns = (its_columns), .n_columns = sizeof(its_columns) / sizeof *(its_columns),  \
        .stage = PF_MODELLED                                                                                 \
    }
const struct pf_table nsight_sum_tables[NSIGHT_SUMS] = {
    [NSIGHT_SUM_API] = TABLE("api", named_columns),
    [NSIGHT_SUM_KERNELS] = TABLE("kernels", named_columns),
    [NSIGHT_SUM_MEMCPY] = TABLE("memcpy", memcpy_columns),
    [NSIGHT_SUM_MEMSET] = TABLE("memset", memset_columns),
    [NSIGHT_SUM_SYNC] = TABLE("sync", sync_columns),
};

static int add_row(const struct nsight_tally *tally, struct pf_cell name, struct pf_rows *rows,
                   struct pf_error *error)
{
    uint32_t sum = tally->key.sum;
    struct pf_cell cells[COLUMNS_MAX];
    size_t n = 0;
    cells[n++] = tally->key.path == PF_NO_CONTEXT ? pf_absent() : pf_int(tally->key.path);
    if (sum == NSIGHT_SUM_MEMCPY || sum == NSIGHT_SUM_SYNC)
        cells[n++] = name;
    cells[n++] = pf_uint(tally->count);
    if (sum == NSIGHT_SUM_MEMCPY || sum == NSIGHT_SUM_MEMSET)
        cells[n++] = pf_int(tally->bytes);
    cells[n++] = pf_int(tally->total);
    cells[n++] = pf_int(tally->least);
    cells[n++] = pf_int(tally->most);
    if (sum == NSIGHT_SUM_API || sum == NSIGHT_SUM_KERNELS)
        cells[n++] = name;
    return pf_rows_add(rows, cells, error);
}

static int compare_text(const struct pf_cell *a, const struct pf_cell *b)
{
    if (a->type != PF_TEXT || b->type != PF_TEXT)
        return (a->type == PF_TEXT) - (b->type == PF_TEXT);
    uint32_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->text, b->text, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Orders by table, context and name. */
static int by_row(const void *left, const void *right, void *strings)
{
    const struct nsight_tally_key *a = &((const struct nsight_tally *)left)->key,
                                  *b = &((const struct nsight_tally *)right)->key;
    if (a->sum != b->sum)
        return a->sum < b->sum ? -1 : 1;
    /* + 1 wraps PF_NO_CONTEXT to 0: rows without a context come first. */
    if (a->path != b->path)
        return a->path + 1 < b->path + 1 ? -1 : 1;
    struct pf_cell x = pf_interned(strings, a->name), y = pf_interned(strings, b->name);
    return a->name == b->name ? 0 : compare_text(&x, &y);
}

/* Adds a row per table, context and name. The tallies are sorted, so those that differ only in call or stream are adjacent. */
static int add_rows(const struct nsight_tallies *tallies, struct pf_strings *strings, struct pf_rows **tables,
                    struct pf_error *error)
{
    for (uint32_t i = 0, end; i < tallies->count; i = end) {
        struct nsight_tally row = tallies->items[i];
        for (end = i + 1; end < tallies->count && !by_row(&row, &tallies->items[end], strings); end++) {
            const struct nsight_tally *more = &tallies->items[end];
            row.count += more->count;
            row.bytes = nsight_plus(row.bytes, more->bytes);
            row.total = nsight_plus(row.total, more->total);
            row.least = more->least < row.least ? more->least : row.least;
            row.most = more->most > row.most ? more->most : row.most;
        }
        if (add_row(&row, pf_interned(strings, row.key.name), tables[row.key.sum], error))
            return -1;
    }
    return 0;
}

int nsight_publish_sums(struct nsight_tallies *tallies, struct pf_strings *strings,
                        struct pf_rows *tables[NSIGHT_SUMS], struct pf_error *error)
{
    int failed = 0;
    for (size_t t = 0; t < NSIGHT_SUMS; t++)
        if (!(tables[t] = pf_rows_new(nsight_sum_tables[t].n_columns)))
            failed = pf_fail_memory(error);
    if (tallies->count)
        qsort_r(tallies->items, tallies->count, sizeof *tallies->items, by_row, strings);
    failed = failed ? failed : add_rows(tallies, strings, tables, error);
    for (size_t t = 0; failed && t < NSIGHT_SUMS; t++) {
        pf_rows_free(tables[t]);
        tables[t] = NULL;
    }
    return failed;
}
