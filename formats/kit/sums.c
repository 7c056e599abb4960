/* SPDX-License-Identifier: MIT */
#include "formats/kit/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/position.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"

/* Most sums are integers of 64 bits, and stand in the slot itself; others in `totals`. */
enum { FREE, WHOLE_SUM, FIRST_TOTAL };
struct slot {
    uint32_t partition, context, metric;
    uint32_t use; /* FREE, WHOLE_SUM, or FIRST_TOTAL and on: index of a total */
    int64_t whole;
};

/* A key and its sum. */
struct sum {
    uint32_t partition, context, metric;
    bool any;
    struct pf_total total;
};

/* Records on their way through the sorter: two words of key and a third that tells equal ones apart. */
enum { KEY_PLACE, KEY_METRIC, KEY_RUN, WHOLE, REAL = WHOLE + 2, REST, HAS_REAL, WORDS, KEYS = 3 };

/* A sum as kept: what it is sorted by stands in front. */
struct kept {
    uint64_t place; /* partition, context; in the copy by context the reverse: high and low half */
    uint64_t what;  /* metric, type of the cell */
    uint64_t value[2];
};

enum { KEPT_WORDS = sizeof(struct kept) / sizeof(uint64_t), KEPT_KEYS = 2 };

struct pf_sums {
    uint64_t limit;
    bool zeros;
    struct slot *slots;
    uint64_t mask, used;
    struct slot *last;
    struct pf_total *totals;
    size_t n_totals, totals_room;
    struct pf_sorter *sorter;
    uint64_t run;
    struct pf_store *kept, *by_context; /* of struct kept; by_context is NULL where the orders are the same */
    uint64_t count;
    uint64_t *of_partition, *of_context; /* where they start; one more at the end */
    uint32_t partitions, contexts;
};

enum { FIRST_SLOTS = 1024 };

struct pf_sums *pf_sums_new(uint64_t limit, bool zeros)
{
    struct pf_sums *sums = calloc(1, sizeof *sums);
    if (!sums)
        return NULL;
    sums->limit = limit;
    sums->zeros = zeros;
    sums->slots = calloc(FIRST_SLOTS, sizeof *sums->slots);
    sums->mask = FIRST_SLOTS - 1;
    sums->sorter = pf_sorter_new(WORDS, KEYS, limit / 4);
    sums->kept = pf_store_new(limit / 4);
    if (sums->slots && sums->sorter && sums->kept)
        return sums;
    pf_sums_free(sums);
    return NULL;
}

void pf_sums_free(struct pf_sums *sums)
{
    if (!sums)
        return;
    free(sums->slots);
    free(sums->totals);
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

static struct slot *slot_of(const struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric)
{
    uint64_t hash =
        ((uint64_t)partition << 32 | context) * 0x9e3779b97f4a7c15u + metric * 0xff51afd7ed558ccdu;
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        struct slot *slot = &sums->slots[i & sums->mask];
        if (slot->use == FREE ||
            (slot->context == context && slot->partition == partition && slot->metric == metric))
            return slot;
    }
}

static int grow(struct pf_sums *sums, struct pf_error *error)
{
    struct slot *old = sums->slots;
    uint64_t old_mask = sums->mask;
    struct slot *slots = calloc(2 * (sums->mask + 1), sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    sums->slots = slots;
    sums->mask = 2 * sums->mask + 1;
    for (uint64_t i = 0; i <= old_mask; i++)
        if (old[i].use != FREE)
            *slot_of(sums, old[i].partition, old[i].context, old[i].metric) = old[i];
    free(old);
    return 0;
}

static struct sum sum_in(const struct pf_sums *sums, const struct slot *slot)
{
    struct sum sum = {slot->partition, slot->context, slot->metric, true, {.whole = slot->whole}};
    if (slot->use >= FIRST_TOTAL)
        sum.total = sums->totals[slot->use - FIRST_TOTAL];
    return sum;
}

/* All that is in memory goes to the sorter. */
static int flush(struct pf_sums *sums, struct pf_error *error)
{
    for (uint64_t i = 0; i <= sums->mask; i++) {
        uint64_t record[WORDS];
        if (sums->slots[i].use == FREE)
            continue;
        struct sum sum = sum_in(sums, &sums->slots[i]);
        record[KEY_PLACE] = (uint64_t)sum.partition << 32 | sum.context;
        record[KEY_METRIC] = sum.metric;
        record[KEY_RUN] = sums->run;
        memcpy(&record[WHOLE], &sum.total.whole, sizeof sum.total.whole);
        memcpy(&record[REAL], &sum.total.real, sizeof sum.total.real);
        memcpy(&record[REST], &sum.total.rest, sizeof sum.total.rest);
        record[HAS_REAL] = sum.total.has_real;
        if (pf_sorter_add(sums->sorter, record, error))
            return -1;
        sums->slots[i].use = FREE;
    }
    sums->run++;
    sums->used = sums->n_totals = 0;
    return 0;
}

/* Makes room for one more slot: in memory up to half of the limit. */
static int make_room(struct pf_sums *sums, struct pf_error *error)
{
    if (4 * sums->used < 3 * sums->mask)
        return 0;
    uint64_t bytes = (sums->mask + 1) * sizeof *sums->slots + sums->n_totals * sizeof *sums->totals;
    return 2 * bytes <= sums->limit / 2 ? grow(sums, error) : flush(sums, error);
}

/* The slot of a key, made if there is none; NULL: *error filled. */
static struct slot *find(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                         struct pf_error *error)
{
    struct slot *slot = sums->last;
    if (slot && slot->use != FREE && slot->context == context && slot->partition == partition &&
        slot->metric == metric)
        return slot;
    sums->last = NULL;
    if (make_room(sums, error))
        return NULL;
    slot = slot_of(sums, partition, context, metric);
    if (slot->use == FREE) {
        *slot = (struct slot){partition, context, metric, WHOLE_SUM, 0};
        sums->used++;
    }
    return sums->last = slot;
}

/* What a slot holds as a total, made of it if need be; NULL: *error filled. */
static struct pf_total *total_of(struct pf_sums *sums, struct slot *slot, struct pf_error *error)
{
    if (slot->use == WHOLE_SUM) {
        if (pf_array_room(&sums->totals, &sums->totals_room, sums->n_totals, sizeof *sums->totals, error))
            return NULL;
        sums->totals[sums->n_totals] = (struct pf_total){.whole = slot->whole};
        slot->use = FIRST_TOTAL + (uint32_t)sums->n_totals++;
    }
    return &sums->totals[slot->use - FIRST_TOTAL];
}

int pf_sums_add(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                const struct pf_cell *value, struct pf_error *error)
{
    struct slot *slot = find(sums, partition, context, metric, error);
    if (!slot)
        return -1;
    int64_t whole;
    if (slot->use == WHOLE_SUM && value->type == PF_INT &&
        !__builtin_add_overflow(slot->whole, value->i, &whole)) {
        slot->whole = whole;
        return 0;
    }
    struct pf_total *total = total_of(sums, slot, error);
    if (!total)
        return -1;
    pf_total_add(total, value);
    return 0;
}

int pf_sums_add_total(struct pf_sums *sums, uint32_t partition, uint32_t context, uint32_t metric,
                      const struct pf_total *more, struct pf_error *error)
{
    struct slot *slot = find(sums, partition, context, metric, error);
    struct pf_total *total = slot ? total_of(sums, slot, error) : NULL;
    if (!total)
        return -1;
    add_total(total, more);
    return 0;
}

/* ---- finishing ---------------------------------------------------------------------------------- */

static void take_value(struct kept *kept, const struct pf_total *total)
{
    enum pf_cell_type type = PF_DOUBLE;
    double real = total->real;
    if (total->has_real) {
        /* What rounding left out of an infinite sum is no number. */
        real = (double)total->whole + (isfinite(real) ? real + total->rest : real);
        memcpy(kept->value, &real, sizeof real);
    } else {
        type = total->whole >= INT64_MIN && total->whole <= INT64_MAX ? PF_INT : PF_WIDE;
        memcpy(kept->value, &total->whole, sizeof kept->value);
    }
    kept->what |= type;
}

/* The sum of one key is over. */
static int keep(struct pf_sums *sums, const struct sum *sum, struct pf_error *error)
{
    struct kept kept = {(uint64_t)sum->partition << 32 | sum->context, (uint64_t)sum->metric << 32, {0}};
    take_value(&kept, &sum->total);
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
    struct pf_total total = {.has_real = record[HAS_REAL] != 0};
    memcpy(&total.whole, &record[WHOLE], sizeof total.whole);
    memcpy(&total.real, &record[REAL], sizeof total.real);
    memcpy(&total.rest, &record[REST], sizeof total.rest);
    return total;
}

/* Sorted records of equal keys become one. */
static int merge(struct pf_sums *sums, struct pf_error *error)
{
    const uint64_t *record;
    struct sum sum = {0};
    int more;
    while ((more = pf_sorter_next(sums->sorter, &record, error)) > 0) {
        uint32_t partition = (uint32_t)(record[KEY_PLACE] >> 32), context = (uint32_t)record[KEY_PLACE];
        bool same = sum.any && sum.partition == partition && sum.context == context &&
                    sum.metric == record[KEY_METRIC];
        if (!same && sum.any && keep(sums, &sum, error))
            return -1;
        if (!same)
            sum = (struct sum){partition, context, (uint32_t)record[KEY_METRIC], true, {0}};
        struct pf_total total = total_in(record);
        add_total(&sum.total, &total);
    }
    return more < 0 || (sum.any && keep(sums, &sum, error)) ? -1 : 0;
}

static int by_key(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    uint64_t place_x = (uint64_t)x->partition << 32 | x->context;
    uint64_t place_y = (uint64_t)y->partition << 32 | y->context;
    return place_x != place_y ? (place_x < place_y ? -1 : 1)
                              : (x->metric > y->metric) - (x->metric < y->metric);
}

/* All sums are in memory: they are sorted there. */
static int keep_all(struct pf_sums *sums, struct pf_error *error)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i <= sums->mask; i++)
        if (sums->slots[i].use != FREE)
            sums->slots[n++] = sums->slots[i];
    qsort(sums->slots, n, sizeof *sums->slots, by_key);
    for (uint64_t i = 0; i < n; i++) {
        struct sum sum = sum_in(sums, &sums->slots[i]);
        if (keep(sums, &sum, error))
            return -1;
    }
    return 0;
}

/* Counts become the places where each starts. True if all belong to the same one. */
static bool add_up(uint64_t *starts, uint32_t n)
{
    bool one = true;
    for (uint32_t i = 0; i < n; i++) {
        one = one && (!starts[i] || !starts[i + 1]);
        starts[i + 1] += starts[i];
    }
    return one;
}

static int sort_all(struct pf_sums *sums, struct pf_sorter *sorter, struct pf_error *error)
{
    const uint64_t *record;
    int more;
    for (uint64_t i = 0; i < sums->count; i++) {
        struct kept kept;
        uint64_t words[KEPT_WORDS];
        if (pf_store_read(sums->kept, i * sizeof kept, &kept, sizeof kept, error))
            return -1;
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

/* A copy of the sums by context: those of each come in the order of partitions and metrics. */
static int sort_by_context(struct pf_sums *sums, struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(KEPT_WORDS, KEPT_KEYS, sums->limit / 4);
    sums->by_context = pf_store_new(sums->limit / 4);
    int failed = sorter && sums->by_context ? sort_all(sums, sorter, error) : pf_fail_memory(error);
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
                   : flush(sums, error) || pf_sorter_finish(sums->sorter, error) || merge(sums, error))
        return -1;
    free(sums->slots);
    free(sums->totals);
    sums->slots = NULL;
    sums->totals = NULL;
    pf_sorter_free(sums->sorter);
    sums->sorter = NULL;
    bool one = add_up(sums->of_partition, partitions);
    add_up(sums->of_context, contexts);
    return one ? 0 : sort_by_context(sums, error);
}

/* ---- the table ---------------------------------------------------------------------------------- */

enum { WINDOW = 64 }; /* sums read at once */

struct walk {
    const struct pf_store *store;
    bool swapped;              /* the store is the one by context */
    uint64_t next, start, end; /* a position is the number of a sum */
    uint64_t first, loaded;    /* sums [first, first + loaded) are in the window */
    pf_int128 wide;
    struct kept window[WINDOW];
};

static const struct pf_sums *sums_of(const struct pf_cursor *cursor)
{
    return ((const struct pf_sums_state *)cursor->profile->state)->sums;
}

static void restrict_to(struct walk *walk, const uint64_t *starts, uint32_t n, uint64_t item)
{
    walk->start = walk->next = item < n ? starts[item] : 0;
    walk->end = item < n ? starts[item + 1] : 0;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_sums *sums = sums_of(cursor);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->swapped = sums->by_context && cursor->only.context >= 0;
    walk->store = walk->swapped ? sums->by_context : sums->kept;
    walk->end = sums->count;
    if (cursor->only.context >= 0)
        restrict_to(walk, sums->of_context, sums->contexts, (uint64_t)cursor->only.context);
    else if (cursor->only.partition >= 0)
        restrict_to(walk, sums->of_partition, sums->partitions, (uint64_t)cursor->only.partition);
    return 0;
}

/* Sum i; NULL: *error filled. */
static const struct kept *kept_at(struct walk *walk, uint64_t i, struct pf_error *error)
{
    if (i - walk->first >= walk->loaded) {
        uint64_t n = walk->end - i < WINDOW ? walk->end - i : WINDOW;
        walk->loaded = 0;
        if (pf_store_read(walk->store, i * sizeof *walk->window, walk->window, n * sizeof *walk->window,
                          error))
            return NULL;
        walk->first = i;
        walk->loaded = n;
    }
    return &walk->window[i - walk->first];
}

static struct pf_cell value_of(struct walk *walk, const struct kept *kept)
{
    memcpy(&walk->wide, kept->value, sizeof walk->wide);
    if ((uint32_t)kept->what == PF_WIDE)
        return pf_wide(&walk->wide);
    return (struct pf_cell){.type = (uint8_t)kept->what, .u = kept->value[0]};
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct pf_restriction *only = &cursor->only;
    while (walk->next < walk->end) {
        const struct kept *kept = kept_at(walk, walk->next, error);
        if (!kept)
            return -1;
        walk->next++;
        uint32_t high = (uint32_t)(kept->place >> 32), low = (uint32_t)kept->place;
        uint32_t partition = walk->swapped ? low : high, metric = (uint32_t)(kept->what >> 32);
        if ((only->partition >= 0 && partition != only->partition) ||
            (only->metric >= 0 && metric != only->metric))
            continue;
        cells[PF_SUMS_PARTITION] = pf_int(partition);
        cells[PF_SUMS_CONTEXT] = pf_int(walk->swapped ? high : low);
        cells[PF_SUMS_METRIC] = pf_int(metric);
        cells[PF_SUMS_VALUE] = value_of(walk, kept);
        return 1;
    }
    return 0;
}

static size_t save_walk(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->next, sizeof walk->next, blob, room);
}

static int restore_walk(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    uint64_t next;
    if (pf_position_restore(&next, sizeof next, blob, size, error))
        return -1;
    if (next < walk->start || next > walk->end)
        return pf_position_refuse(error);
    walk->next = next;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    return walk->end > walk->start ? (double)(walk->next - walk->start) / (double)(walk->end - walk->start)
                                   : 1;
}

const struct pf_cursor_ops pf_sums_cursor = {open_walk,    next_row,   save_walk,
                                             restore_walk, close_walk, progress};
