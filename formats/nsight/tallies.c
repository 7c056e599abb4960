/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>
#include <string.h>

static bool is_key(const void *of, uint32_t number, const void *key)
{
    const struct nsight_tallies *tallies = of;
    return !memcmp(&tallies->items.at[number].key, key, sizeof(struct nsight_tally_key));
}

/* Returns the index of the tally with this key. Adds the tally if the key is new. */
static uint32_t tally_number_of(struct pf_run *run, struct nsight_tallies *tallies,
                                const struct nsight_tally_key *key)
{
    uint64_t hash = pf_siphash(0, key, sizeof *key);
    int64_t number = pf_hash_find(&tallies->table, hash, is_key, tallies, key);
    if (number != PF_NOT_THERE)
        return (uint32_t)number;
    struct nsight_tally *tally = PF_PUSH(run, tallies->items);
    *tally = (struct nsight_tally){.key = *key, .context = PF_NO_CONTEXT, .least = INT64_MAX};
    pf_run_check(run, pf_hash_add(&tallies->table, hash, (uint32_t)tallies->items.n - 1, run->error));
    return (uint32_t)tallies->items.n - 1;
}

struct nsight_tally *nsight_tally(struct nsight_pass *pass, const struct nsight_tally_key *key,
                                  int64_t duration, int64_t bytes)
{
    struct nsight_tallies *tallies = &pass->tallies;
    enum { RECENT = sizeof tallies->recent / sizeof *tallies->recent };
    uint32_t mixed = ((key->path * 31 + key->name) * 31 + key->call) * 31 + key->stream;
    uint32_t *recent = &tallies->recent[mixed % RECENT];
    if (*recent >= tallies->items.n || !is_key(tallies, *recent, key))
        *recent = tally_number_of(pass->build->run, tallies, key);
    struct nsight_tally *tally = &tallies->items.at[*recent];
    tally->count++;
    tally->bytes = nsight_plus(tally->bytes, bytes);
    tally->total = nsight_plus(tally->total, duration);
    tally->least = duration < tally->least ? duration : tally->least;
    tally->most = duration > tally->most ? duration : tally->most;
    return tally;
}

/* ---- the tables ---------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 7 };

/* Adds a tally as a row to its table of sums. nsight.c defines the table's columns. */
static void add_tally_row(struct pf_build *build, const struct nsight_tally *tally)
{
    uint32_t sum = tally->key.sum;
    struct pf_cell name = pf_build_named(build, tally->key.name);
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
    pf_build_row(build, sum, cells);
}

static int compare_text(const struct pf_cell *a, const struct pf_cell *b)
{
    if (a->type != PF_TEXT || b->type != PF_TEXT)
        return (a->type == PF_TEXT) - (b->type == PF_TEXT);
    uint32_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->text, b->text, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Orders tallies by table, context and name. */
static int by_row(const void *left, const void *right, void *strings)
{
    const struct nsight_tally_key *a = &((const struct nsight_tally *)left)->key,
                                  *b = &((const struct nsight_tally *)right)->key;
    if (a->sum != b->sum)
        return a->sum < b->sum ? -1 : 1;
    /* Adding 1 turns PF_NO_CONTEXT into 0, so rows without a context come first. */
    if (a->path != b->path)
        return a->path + 1 < b->path + 1 ? -1 : 1;
    struct pf_cell x = pf_interned(strings, a->name), y = pf_interned(strings, b->name);
    return a->name == b->name ? 0 : compare_text(&x, &y);
}

/* Tallies that differ only in call or stream become one row. They are adjacent once the tallies are sorted. */
void nsight_publish_sums(struct nsight_pass *pass)
{
    struct pf_build *build = pass->build;
    struct pf_strings *strings = build->model->contexts->strings;
    struct nsight_tally *tallies = pass->tallies.items.at;
    size_t n = pass->tallies.items.n;
    if (n)
        qsort_r(tallies, n, sizeof *tallies, by_row, strings);
    for (size_t i = 0, end; i < n; i = end) {
        struct nsight_tally row = tallies[i];
        for (end = i + 1; end < n && !by_row(&row, &tallies[end], strings); end++) {
            const struct nsight_tally *more = &tallies[end];
            row.count += more->count;
            row.bytes = nsight_plus(row.bytes, more->bytes);
            row.total = nsight_plus(row.total, more->total);
            row.least = more->least < row.least ? more->least : row.least;
            row.most = more->most > row.most ? more->most : row.most;
        }
        add_tally_row(build, &row);
    }
}
