/* SPDX-License-Identifier: MIT */
#include "formats/runtime/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"
#include "formats/kit/table.h"

/* A key and its sum. */
struct sum {
    uint32_t partition, context, metric;
    struct pf_total total;
};

/* Layout of a sorter record: two words of key and a third that keeps equal keys in the order of flushes; then the sum. */
enum { KEY_PLACE, KEY_METRIC, KEY_RUN, WHOLE, REAL = WHOLE + 2, REST, HAS_REAL, WORDS, KEYS = 3 };

/* A finished sum; the sort key comes first. */
struct kept {
    uint64_t place; /* partition in the high half, context in the low half; reversed in the copy sorted by context */
    uint64_t what;  /* metric in the high half, type of the cell in the low half */
    uint64_t value[2]; /* an integer, split by pf_wide_split, or a double in the first word */
};

enum { KEPT_WORDS = sizeof(struct kept) / sizeof(uint64_t), KEPT_KEYS = 2 };

struct pf_sums {
    uint64_t limit;
    bool zeros;
    struct sum *sums; /* in memory, in order of first addition */
    size_t n_sums, room;
    bool hashed;                 /* a key was added out of order; while false, sums[] is sorted by key */
    struct pf_hash_table by_key; /* indexes into sums[], if `hashed` */
    size_t last;                 /* index of the sum that was last added to */
    struct pf_sorter *sorter;
    uint64_t run;                       /* number of flushes to the sorter */
    struct pf_store *kept, *by_context; /* of struct kept; by_context: a sorted copy; NULL: the same order */
    uint64_t count;
    uint64_t *of_partition, *of_context; /* index of the first sum of each partition or context; one more item at the end */
    uint32_t partitions, contexts;
};

struct pf_sums *pf_sums_new(uint64_t limit, bool zeros)
{
    struct pf_sums *sums = calloc(1, sizeof *sums);
    if (!sums)
        return NULL;
    sums->limit = limit;
    sums->zeros = zeros;
    sums->sorter = pf_sorter_new(WORDS, KEYS, limit / 4);
    sums->kept = pf_store_new(limit / 4);
    if (sums->sorter && sums->kept)
        return sums;
    pf_sums_free(sums);
    return NULL;
}

void pf_sums_free(struct pf_sums *sums)
{
    if (!sums)
        return;
    free(sums->sums);
    pf_hash_free(&sums->by_key);
    pf_sorter_free(sums->sorter);
    pf_store_free(sums->kept);
    pf_store_free(sums->by_context);
    free(sums->of_partition);
    free(sums->of_context);
    free(sums);
}

/* ---- adding ------------------------------------------------------------------------------------- */

static void add_total(struct pf_total *total, const struct pf_total *more)
{
    pf_total_add_whole(total, more->whole);
    if (!more->has_real)
        return;
    pf_total_add_real(total, more->real);
    total->rest += more->rest;
}

static int sums_by_key(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    uint64_t place_x = (uint64_t)x->partition << 32 | x->context;
    uint64_t place_y = (uint64_t)y->partition << 32 | y->context;
    return place_x != place_y ? (place_x < place_y ? -1 : 1)
                              : (x->metric > y->metric) - (x->metric < y->metric);
}

static bool sums_is_key(const void *of, uint32_t number, const void *key)
{
    const struct sum *sum = (const struct sum *)of + number, *wanted = key;
    return sum->context == wanted->context && sum->metric == wanted->metric &&
           sum->partition == wanted->partition;
}

/* Moves all sums in memory to the sorter. */
static int flush(struct pf_sums *sums, struct pf_error *error)
{
    for (size_t i = 0; i < sums->n_sums; i++) {
        const struct sum *sum = &sums->sums[i];
        uint64_t record[WORDS];
        record[KEY_PLACE] = (uint64_t)sum->partition << 32 | sum->context;
        record[KEY_METRIC] = sum->metric;
        record[KEY_RUN] = sums->run;
        pf_wide_split(sum->total.whole, &record[WHOLE]);
        memcpy(&record[REAL], &sum->total.real, sizeof sum->total.real);
        memcpy(&record[REST], &sum->total.rest, sizeof sum->total.rest);
        record[HAS_REAL] = sum->total.has_real;
        if (pf_sorter_add(sums->sorter, record, error))
            return -1;
    }
    sums->run++;
    sums->n_sums = 0;
    sums->hashed = false;
    pf_hash_free(&sums->by_key);
    return 0;
}

/* Makes room for one more sum. Sums and their hash table take up to half of the limit. */
static int sums_make_room(struct pf_sums *sums, struct pf_error *error)
{
    enum { TABLE = 2 * sizeof(uint64_t) };
    if (sums->n_sums < sums->room)
        return 0;
    if (sums->room && 2 * sums->room * (sizeof *sums->sums + TABLE) > sums->limit / 2)
        return flush(sums, error);
    return pf_array_room(&sums->sums, &sums->room, sums->n_sums, sizeof *sums->sums, error);
}

static uint64_t sums_hash_of(const struct sum *key)
{
    uint64_t place = (uint64_t)key->partition << 32 | key->context;
    return pf_siphash(key->metric, &place, sizeof place);
}

/* Adds the keys of all sums to the hash table, after which the order of keys does not matter. */
static int sums_hash_all(struct pf_sums *sums, struct pf_error *error)
{
    for (size_t i = 0; i < sums->n_sums; i++)
        if (pf_hash_add(&sums->by_key, sums_hash_of(&sums->sums[i]), (uint32_t)i, error))
            return -1;
    sums->hashed = true;
    return 0;
}

/* Finds or adds the total of a key; NULL with *error filled. Valid until the next call. */
static struct pf_total *sums_find(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                                  struct pf_error *error)
{
    struct sum key = {partition, context, metric, {0}};
    int64_t known = PF_NOT_THERE;
    if (sums->last < sums->n_sums && sums_is_key(sums->sums, (uint32_t)sums->last, &key))
        return &sums->sums[sums->last].total;
    if (!sums->hashed && sums->n_sums && sums_by_key(&sums->sums[sums->n_sums - 1], &key) >= 0 &&
        sums_hash_all(sums, error))
        return NULL;
    if (sums->hashed)
        known = pf_hash_find(&sums->by_key, sums_hash_of(&key), sums_is_key, sums->sums, &key);
    if (known == PF_NOT_THERE) {
        if (sums_make_room(sums, error) ||
            (sums->hashed && pf_hash_add(&sums->by_key, sums_hash_of(&key), (uint32_t)sums->n_sums, error)))
            return NULL;
        known = (int64_t)sums->n_sums;
        sums->sums[sums->n_sums++] = key;
    }
    sums->last = (size_t)known;
    return &sums->sums[known].total;
}

int pf_sums_add(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                const struct pf_cell *value, struct pf_error *error)
{
    struct pf_total *total = sums_find(sums, partition, context, metric, error);
    if (!total)
        return -1;
    pf_total_add(total, value);
    return 0;
}

/* ---- finishing ---------------------------------------------------------------------------------- */

static void sums_set_value(struct kept *kept, const struct pf_total *total)
{
    enum pf_cell_type type = PF_DOUBLE;
    double real = total->real;
    if (total->has_real) {
        /* The rounding error of an infinite sum is NaN and must not be added. */
        real = (double)total->whole + (isfinite(real) ? real + total->rest : real);
        memcpy(kept->value, &real, sizeof real);
    } else {
        type = total->whole >= INT64_MIN && total->whole <= INT64_MAX ? PF_INT : PF_WIDE;
        pf_wide_split(total->whole, kept->value);
    }
    kept->what |= type;
}

/* Appends a finished sum to `kept`, unless it is 0 and zeros are left out. */
static int sums_retain(struct pf_sums *sums, const struct sum *sum, struct pf_error *error)
{
    struct kept kept = {(uint64_t)sum->partition << 32 | sum->context, (uint64_t)sum->metric << 32, {0}};
    sums_set_value(&kept, &sum->total);
    bool zero = sum->total.has_real ? (double)sum->total.whole + sum->total.real + sum->total.rest == 0
                                    : sum->total.whole == 0;
    if (zero && !sums->zeros)
        return 0;
    sums->of_partition[sum->partition + 1]++;
    sums->of_context[sum->context + 1]++;
    sums->count++;
    return pf_store_append(sums->kept, &kept, sizeof kept, error);
}

static struct pf_total total_in(const uint64_t *record)
{
    struct pf_total total = {.whole = pf_wide_join(&record[WHOLE]), .has_real = record[HAS_REAL] != 0};
    memcpy(&total.real, &record[REAL], sizeof total.real);
    memcpy(&total.rest, &record[REST], sizeof total.rest);
    return total;
}

/* Merges sorted records with equal keys. */
static int sums_merge(struct pf_sums *sums, struct pf_error *error)
{
    const uint64_t *record;
    struct sum sum = {0};
    bool any = false;
    int more;
    while ((more = pf_sorter_next(sums->sorter, &record, error)) > 0) {
        struct sum next = {.partition = (uint32_t)(record[KEY_PLACE] >> 32),
                           .context = (uint32_t)record[KEY_PLACE],
                           .metric = (uint32_t)record[KEY_METRIC],
                           .total = total_in(record)};
        bool same = any && sums_by_key(&sum, &next) == 0;
        if (same)
            add_total(&sum.total, &next.total);
        else if (any && sums_retain(sums, &sum, error))
            return -1;
        if (!same)
            sum = next;
        any = true;
    }
    return more < 0 || (any && sums_retain(sums, &sum, error)) ? -1 : 0;
}

/* Sorts the sums, which are all in memory, and appends them to `kept`. */
static int keep_all(struct pf_sums *sums, struct pf_error *error)
{
    if (sums->hashed)
        qsort(sums->sums, sums->n_sums, sizeof *sums->sums, sums_by_key);
    for (size_t i = 0; i < sums->n_sums; i++)
        if (sums_retain(sums, &sums->sums[i], error))
            return -1;
    return 0;
}

/* Converts counts to prefix sums. Returns true if at most one count is not 0. */
static bool sums_add_up(uint64_t *starts, uint32_t n)
{
    bool one = true;
    for (uint32_t i = 0; i < n; i++) {
        one = one && (!starts[i] || !starts[i + 1]);
        starts[i + 1] += starts[i];
    }
    return one;
}

static int sort_all(struct pf_sums *sums, struct pf_store_window *window, struct pf_sorter *sorter,
                    struct pf_error *error)
{
    const uint64_t *record;
    int more;
    for (uint64_t i = 0; i < sums->count; i++) {
        struct kept kept;
        uint64_t words[KEPT_WORDS];
        const void *bytes = pf_store_at(window, i * sizeof kept, sizeof kept, error);
        if (!bytes)
            return -1;
        memcpy(&kept, bytes, sizeof kept);
        kept.place = kept.place << 32 | kept.place >> 32;
        memcpy(words, &kept, sizeof kept);
        if (pf_sorter_add(sorter, words, error))
            return -1;
    }
    if (pf_sorter_finish(sorter, error))
        return -1;
    while ((more = pf_sorter_next(sorter, &record, error)) > 0)
        if (pf_store_append(sums->by_context, record, sizeof(struct kept), error))
            return -1;
    return more;
}

/* Makes a copy of the sums and sorts it by context, then partition and metric. */
static int sort_by_context(struct pf_sums *sums, struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(KEPT_WORDS, KEPT_KEYS, sums->limit / 4);
    struct pf_store_window window = {.store = sums->kept};
    sums->by_context = pf_store_new(sums->limit / 4);
    int failed = sorter && sums->by_context ? sort_all(sums, &window, sorter, error) : pf_fail_memory(error);
    pf_store_window_free(&window);
    pf_sorter_free(sorter);
    return failed;
}

int pf_sums_finish(struct pf_sums *sums, uint32_t partitions, uint32_t contexts, struct pf_error *error)
{
    sums->partitions = partitions;
    sums->contexts = contexts;
    sums->of_partition = calloc((size_t)partitions + 2, sizeof *sums->of_partition);
    sums->of_context = calloc((size_t)contexts + 2, sizeof *sums->of_context);
    if (!sums->of_partition || !sums->of_context)
        return pf_fail_memory(error);
    if (!sums->run ? keep_all(sums, error)
                   : flush(sums, error) || pf_sorter_finish(sums->sorter, error) || sums_merge(sums, error))
        return -1;
    free(sums->sums);
    sums->sums = NULL;
    pf_hash_free(&sums->by_key);
    pf_sorter_free(sums->sorter);
    sums->sorter = NULL;
    bool one = sums_add_up(sums->of_partition, partitions);
    sums_add_up(sums->of_context, contexts);
    return one ? 0 : sort_by_context(sums, error);
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* A row number is an index into the store whose order suits the restriction. */
struct sums_cursor {
    struct pf_store_window window;
    bool swapped; /* reads the copy by context */
    pf_int128 wide;
};

static const struct pf_sums *sums_of(const struct pf_cursor *cursor)
{
    return *(struct pf_sums *const *)cursor->table->data;
}

static void sums_restrict_to(struct pf_numbers *numbers, const uint64_t *starts, uint32_t n, uint64_t item)
{
    numbers->next = item < n ? starts[item] : 0;
    numbers->end = item < n ? starts[item + 1] : 0;
}

static int sums_begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_sums *sums = sums_of(cursor);
    struct sums_cursor *look = numbers->own = calloc(1, sizeof *look);
    if (!look)
        return pf_fail_memory(error);
    look->swapped = sums->by_context && cursor->only.context >= 0;
    look->window.store = look->swapped ? sums->by_context : sums->kept;
    numbers->end = sums->count;
    if (cursor->only.context >= 0)
        sums_restrict_to(numbers, sums->of_context, sums->contexts, (uint64_t)cursor->only.context);
    else if (cursor->only.partition >= 0)
        sums_restrict_to(numbers, sums->of_partition, sums->partitions, (uint64_t)cursor->only.partition);
    return 0;
}

static void sums_free_look(void *own)
{
    struct sums_cursor *look = own;
    if (look)
        pf_store_window_free(&look->window);
    free(look);
}

static struct pf_cell sums_value_of(struct sums_cursor *look, const struct kept *kept)
{
    look->wide = pf_wide_join(kept->value);
    if ((uint32_t)kept->what == PF_WIDE)
        return pf_wide(&look->wide);
    return (struct pf_cell){.type = (uint8_t)kept->what, .u = kept->value[0]};
}

static int sums_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    struct sums_cursor *look = own;
    struct kept kept;
    const void *bytes = pf_store_at(&look->window, number * sizeof kept, sizeof kept, error);
    if (!bytes)
        return -1;
    memcpy(&kept, bytes, sizeof kept);
    uint32_t high = (uint32_t)(kept.place >> 32), low = (uint32_t)kept.place;
    uint32_t partition = look->swapped ? low : high, metric = (uint32_t)(kept.what >> 32);
    cells[PF_SUMS_PARTITION] = pf_int(partition);
    cells[PF_SUMS_CONTEXT] = pf_int(look->swapped ? high : low);
    cells[PF_SUMS_METRIC] = pf_int(metric);
    cells[PF_SUMS_VALUE] = sums_value_of(look, &kept);
    return pf_wanted(cursor->only.partition, partition) && pf_wanted(cursor->only.metric, metric);
}

const struct pf_numbered pf_sums_cursor = {PF_NUMBERED, .begin = sums_begin, .row = sums_row,
                                           .free = sums_free_look};
