/* SPDX-License-Identifier: MIT */
#include "formats/perun/sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"

struct slot {
    uint32_t snapshot, context, metric;
    bool used;
    struct perun_total total;
};

/* Records on their way through the sorter: two words of key and a third that tells equal ones apart. */
enum { KEY_PLACE, KEY_METRIC, KEY_RUN, WHOLE, REAL = WHOLE + 2, REST, HAS_REAL, WORDS, KEYS = 3 };

/* As kept: 24 bytes. */
struct kept {
    uint32_t snapshot, context, metric, type;
    union {
        int64_t i;
        uint64_t u;
        double d;
    };
};

struct perun_sums {
    uint64_t limit;
    struct slot *slots;
    uint64_t mask, used, room; /* room: how many may be used before they are sorted */
    struct slot *last;
    struct pf_sorter *sorter;
    uint64_t run;
    struct pf_store *kept, *by_context; /* struct kept; their numbers in the order of contexts */
    uint64_t count;
    uint64_t *of_snapshot, *of_context; /* where they start; one more at the end */
    uint32_t snapshots, contexts;
};

enum { FIRST_SLOTS = 1024 };

struct perun_sums *perun_sums_new(uint64_t limit)
{
    struct perun_sums *sums = calloc(1, sizeof *sums);
    if (!sums)
        return NULL;
    sums->limit = limit;
    sums->room = limit / 4 / sizeof *sums->slots;
    sums->room = sums->room < FIRST_SLOTS ? FIRST_SLOTS : sums->room;
    sums->slots = calloc(FIRST_SLOTS, sizeof *sums->slots);
    sums->mask = FIRST_SLOTS - 1;
    sums->sorter = pf_sorter_new(WORDS, KEYS, limit / 4);
    sums->kept = pf_store_new(limit / 4);
    sums->by_context = pf_store_new(limit / 4);
    if (sums->slots && sums->sorter && sums->kept && sums->by_context)
        return sums;
    perun_sums_free(sums);
    return NULL;
}

void perun_sums_free(struct perun_sums *sums)
{
    if (!sums)
        return;
    free(sums->slots);
    pf_sorter_free(sums->sorter);
    pf_store_free(sums->kept);
    pf_store_free(sums->by_context);
    free(sums->of_snapshot);
    free(sums->of_context);
    free(sums);
}

/* ---- one sum ------------------------------------------------------------------------------------ */

static void add_total(struct perun_total *total, const struct perun_total *more)
{
    perun_total_add_whole(total, more->whole);
    if (!more->has_real)
        return;
    perun_total_add_real(total, more->real);
    total->rest += more->rest;
}

/* ---- adding ------------------------------------------------------------------------------------- */

static struct slot *slot_of(const struct perun_sums *sums, uint32_t snapshot, uint32_t context,
                            uint32_t metric)
{
    uint64_t hash = ((uint64_t)snapshot << 32 | context) * 0x9e3779b97f4a7c15u + metric * 0xff51afd7ed558ccdu;
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        struct slot *slot = &sums->slots[i & sums->mask];
        if (!slot->used || (slot->context == context && slot->snapshot == snapshot && slot->metric == metric))
            return slot;
    }
}

static int grow(struct perun_sums *sums, struct pf_error *error)
{
    struct slot *old = sums->slots;
    uint64_t old_mask = sums->mask;
    struct slot *slots = calloc(2 * (sums->mask + 1), sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    sums->slots = slots;
    sums->mask = 2 * sums->mask + 1;
    for (uint64_t i = 0; i <= old_mask; i++)
        if (old[i].used)
            *slot_of(sums, old[i].snapshot, old[i].context, old[i].metric) = old[i];
    free(old);
    return 0;
}

/* All that is in memory goes to the sorter. */
static int flush(struct perun_sums *sums, struct pf_error *error)
{
    for (uint64_t i = 0; i <= sums->mask; i++) {
        struct slot *slot = &sums->slots[i];
        uint64_t record[WORDS];
        if (!slot->used)
            continue;
        record[KEY_PLACE] = (uint64_t)slot->snapshot << 32 | slot->context;
        record[KEY_METRIC] = slot->metric;
        record[KEY_RUN] = sums->run;
        memcpy(&record[WHOLE], &slot->total.whole, sizeof slot->total.whole);
        memcpy(&record[REAL], &slot->total.real, sizeof slot->total.real);
        memcpy(&record[REST], &slot->total.rest, sizeof slot->total.rest);
        record[HAS_REAL] = slot->total.has_real;
        if (pf_sorter_add(sums->sorter, record, error))
            return -1;
        slot->used = false;
    }
    sums->run++;
    sums->used = 0;
    return 0;
}

/* The slot of a key, made if there is none; NULL: *error filled. */
static struct slot *find(struct perun_sums *sums, uint32_t snapshot, uint32_t context, uint32_t metric,
                         struct pf_error *error)
{
    struct slot *slot = sums->last;
    if (slot && slot->used && slot->context == context && slot->snapshot == snapshot &&
        slot->metric == metric)
        return slot;
    if (2 * sums->used > sums->mask && sums->used < sums->room && grow(sums, error))
        return NULL;
    if (2 * sums->used > sums->mask && flush(sums, error))
        return NULL;
    slot = slot_of(sums, snapshot, context, metric);
    if (!slot->used) {
        *slot = (struct slot){snapshot, context, metric, true, {0}};
        sums->used++;
    }
    return sums->last = slot;
}

int perun_sums_add(struct perun_sums *sums, uint32_t snapshot, uint32_t context, uint32_t metric,
                   const struct pf_cell *value, struct pf_error *error)
{
    struct slot *slot = find(sums, snapshot, context, metric, error);
    if (!slot)
        return -1;
    perun_total_add(&slot->total, value);
    return 0;
}

int perun_sums_add_total(struct perun_sums *sums, uint32_t snapshot, uint32_t context, uint32_t metric,
                         const struct perun_total *total, struct pf_error *error)
{
    struct slot *slot = find(sums, snapshot, context, metric, error);
    if (!slot)
        return -1;
    add_total(&slot->total, total);
    return 0;
}

/* ---- finishing ---------------------------------------------------------------------------------- */

static struct pf_cell value_of(const struct perun_total *total)
{
    if (total->has_real) {
        /* What rounding left out of an infinite sum is no number. */
        double real = isfinite(total->real) ? total->real + total->rest : total->real;
        return pf_double((double)total->whole + real);
    }
    if (total->whole >= INT64_MIN && total->whole <= INT64_MAX)
        return pf_int((int64_t)total->whole);
    if (total->whole > 0 && total->whole <= (pf_int128)UINT64_MAX)
        return pf_uint((uint64_t)total->whole);
    return pf_double((double)total->whole);
}

/* The sum of one key is over. */
static int keep(struct perun_sums *sums, const struct slot *slot, struct pf_error *error)
{
    struct pf_cell value = value_of(&slot->total);
    struct kept kept = {slot->snapshot, slot->context, slot->metric, value.type, {.u = value.u}};
    sums->of_snapshot[slot->snapshot + 1]++;
    sums->of_context[slot->context + 1]++;
    sums->count++;
    return pf_store_append(sums->kept, &kept, sizeof kept, error);
}

static struct perun_total total_in(const uint64_t *record)
{
    struct perun_total total = {.has_real = record[HAS_REAL] != 0};
    memcpy(&total.whole, &record[WHOLE], sizeof total.whole);
    memcpy(&total.real, &record[REAL], sizeof total.real);
    memcpy(&total.rest, &record[REST], sizeof total.rest);
    return total;
}

/* Sorted records of equal keys become one. */
static int merge(struct perun_sums *sums, struct pf_error *error)
{
    const uint64_t *record;
    struct slot slot = {0};
    int more;
    while ((more = pf_sorter_next(sums->sorter, &record, error)) > 0) {
        uint32_t snapshot = (uint32_t)(record[KEY_PLACE] >> 32), context = (uint32_t)record[KEY_PLACE];
        bool same = slot.used && slot.snapshot == snapshot && slot.context == context &&
                    slot.metric == record[KEY_METRIC];
        if (!same && slot.used && keep(sums, &slot, error))
            return -1;
        if (!same)
            slot = (struct slot){snapshot, context, (uint32_t)record[KEY_METRIC], true, {0}};
        struct perun_total total = total_in(record);
        add_total(&slot.total, &total);
    }
    return more < 0 || (slot.used && keep(sums, &slot, error)) ? -1 : 0;
}

static void add_up(uint64_t *starts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        starts[i + 1] += starts[i];
}

/* The numbers of the sums by context: the sums of each come in the order of snapshots and metrics. */
static int sort_by_context(struct perun_sums *sums, struct pf_error *error)
{
    struct pf_sorter *sorter = pf_sorter_new(2, 2, sums->limit / 4);
    const uint64_t *record;
    int more = sorter ? 1 : pf_fail_memory(error);
    for (uint64_t i = 0; i < sums->count && more > 0; i++) {
        struct kept kept;
        more = pf_store_read(sums->kept, i * sizeof kept, &kept, sizeof kept, error) ||
                       pf_sorter_add(sorter, (uint64_t[]){kept.context, i}, error)
                   ? -1
                   : 1;
    }
    if (more > 0 && pf_sorter_finish(sorter, error))
        more = -1;
    while (more > 0 && (more = pf_sorter_next(sorter, &record, error)) > 0)
        if (pf_store_append(sums->by_context, &record[1], sizeof record[1], error))
            more = -1;
    pf_sorter_free(sorter);
    return more < 0 ? -1 : 0;
}

int perun_sums_finish(struct perun_sums *sums, uint32_t snapshots, uint32_t contexts, struct pf_error *error)
{
    sums->snapshots = snapshots;
    sums->contexts = contexts;
    sums->of_snapshot = calloc((size_t)snapshots + 2, sizeof *sums->of_snapshot);
    sums->of_context = calloc((size_t)contexts + 2, sizeof *sums->of_context);
    if (!sums->of_snapshot || !sums->of_context)
        return pf_fail_memory(error);
    if (flush(sums, error) || pf_sorter_finish(sums->sorter, error) || merge(sums, error))
        return -1;
    free(sums->slots);
    sums->slots = NULL;
    pf_sorter_free(sums->sorter);
    sums->sorter = NULL;
    add_up(sums->of_snapshot, snapshots);
    add_up(sums->of_context, contexts);
    return sort_by_context(sums, error);
}

/* ---- reading ------------------------------------------------------------------------------------ */

uint64_t perun_sums_count(const struct perun_sums *sums)
{
    return sums->count;
}

void perun_sums_of_snapshot(const struct perun_sums *sums, uint32_t snapshot, uint64_t *start, uint64_t *end)
{
    bool known = snapshot < sums->snapshots;
    *start = known ? sums->of_snapshot[snapshot] : 0;
    *end = known ? sums->of_snapshot[snapshot + 1] : 0;
}

void perun_sums_of_context(const struct perun_sums *sums, uint32_t context, uint64_t *start, uint64_t *end)
{
    bool known = context < sums->contexts;
    *start = known ? sums->of_context[context] : 0;
    *end = known ? sums->of_context[context + 1] : 0;
}

int perun_sums_at(const struct perun_sums *sums, bool by_context, uint64_t i, struct perun_sum *sum,
                  struct pf_error *error)
{
    struct kept kept;
    if (by_context && pf_store_read(sums->by_context, i * sizeof i, &i, sizeof i, error))
        return -1;
    if (pf_store_read(sums->kept, i * sizeof kept, &kept, sizeof kept, error))
        return -1;
    *sum = (struct perun_sum){
        kept.snapshot, kept.context, kept.metric, {.type = (uint8_t)kept.type, .u = kept.u}};
    return 0;
}
