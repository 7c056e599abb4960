/* SPDX-License-Identifier: MIT */
#include "formats/kit/fold.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/position.h"
#include "formats/kit/store.h"

/*
 * In the store, partition after partition, records sorted by context:
 * u32 context, u32 unused, then the measures, 8 bytes each, all in the machine's order.
 */
struct pf_fold {
    unsigned measures;
    const struct pf_derivation *derivations;
    size_t metrics;
    struct pf_store *store;
    uint64_t *starts; /* record number of each partition's first record; partitions + 1 of them */
    size_t partitions, starts_room;

    union pf_measure *open; /* the partition being folded: a record a context */
    unsigned char *touched; /* which of them are in use */
    uint32_t room, used;    /* contexts; used: one past the highest touched */
};

static size_t record_size(const struct pf_fold *fold)
{
    return 8 + fold->measures * sizeof(union pf_measure);
}

struct pf_fold *pf_fold_new(unsigned measures, const struct pf_derivation *derivations, size_t metrics,
                            uint64_t limit)
{
    struct pf_fold *fold = calloc(1, sizeof *fold);
    if (!fold)
        return NULL;
    fold->measures = measures;
    fold->derivations = derivations;
    fold->metrics = metrics;
    fold->store = pf_store_new(limit);
    fold->starts = calloc(1, sizeof *fold->starts);
    fold->starts_room = 1;
    if (!fold->store || !fold->starts) {
        pf_fold_free(fold);
        return NULL;
    }
    return fold;
}

void pf_fold_free(struct pf_fold *fold)
{
    if (!fold)
        return;
    pf_store_free(fold->store);
    free(fold->starts);
    free(fold->open);
    free(fold->touched);
    free(fold);
}

static int grow(struct pf_fold *fold, uint32_t context, struct pf_error *error)
{
    uint32_t room = fold->room ? fold->room : 1024;
    while (room <= context) {
        if (room > UINT32_MAX / 2)
            return pf_fail(error, EFBIG, "too many contexts");
        room *= 2;
    }
    size_t record = fold->measures * sizeof *fold->open;
    if (pf_array_resize(&fold->open, room, record, error) || pf_array_resize(&fold->touched, room, 1, error))
        return -1;
    memset((char *)fold->open + fold->room * record, 0, (room - fold->room) * record);
    memset(fold->touched + fold->room, 0, room - fold->room);
    fold->room = room;
    return 0;
}

union pf_measure *pf_fold_at(struct pf_fold *fold, uint32_t context, struct pf_error *error)
{
    if (context >= fold->room && grow(fold, context, error))
        return NULL;
    fold->touched[context] = 1;
    if (context >= fold->used)
        fold->used = context + 1;
    return fold->open + (size_t)context * fold->measures;
}

static int write_record(struct pf_fold *fold, uint32_t context, struct pf_error *error)
{
    unsigned char record[8 + PF_MEASURES_MAX * sizeof(union pf_measure)] = {0};
    size_t size = fold->measures * sizeof *fold->open;
    union pf_measure *measures = fold->open + (size_t)context * fold->measures;
    memcpy(record, &context, sizeof context);
    memcpy(record + 8, measures, size);
    memset(measures, 0, size);
    fold->touched[context] = 0;
    return pf_store_append(fold->store, record, record_size(fold), error);
}

int pf_fold_end_partition(struct pf_fold *fold, struct pf_error *error)
{
    for (uint32_t c = 0; c < fold->used; c++)
        if (fold->touched[c] && write_record(fold, c, error))
            return -1;
    fold->used = 0;
    if (pf_array_room(&fold->starts, &fold->starts_room, fold->partitions + 1, sizeof *fold->starts, error))
        return -1;
    fold->starts[++fold->partitions] = pf_store_size(fold->store) / record_size(fold);
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------------- */

enum { WINDOW = 256 }; /* records read at once */

struct position {
    uint64_t record;
    uint32_t partition, metric;
};

struct walk {
    struct position at;     /* the next value to look at */
    uint64_t first, loaded; /* records [first, first + loaded) are in the window */
    unsigned char window[];
};

static struct pf_fold *fold_of(const struct pf_cursor *cursor)
{
    return ((const struct pf_fold_state *)cursor->profile->state)->fold;
}

static const unsigned char *record_at(struct pf_fold *fold, struct walk *walk, uint64_t i, uint64_t ahead,
                                      struct pf_error *error)
{
    size_t size = record_size(fold);
    const unsigned char *memory = pf_store_memory(fold->store);
    if (memory)
        return memory + i * size;
    if (i < walk->first || i >= walk->first + walk->loaded) {
        uint64_t left = fold->starts[fold->partitions] - i;
        ahead = ahead < left ? ahead : left;
        walk->loaded = 0;
        if (pf_store_read(fold->store, i * size, walk->window, ahead * size, error))
            return NULL;
        walk->first = i;
        walk->loaded = ahead;
    }
    return walk->window + (i - walk->first) * size;
}

static uint32_t context_of(const unsigned char *record)
{
    uint32_t context;
    memcpy(&context, record, sizeof context);
    return context;
}

/* Stand at the record of the restriction's context in the partition, or at the partition's end. */
static int seek_context(const struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    uint64_t low = fold->starts[walk->at.partition], end = fold->starts[walk->at.partition + 1], high = end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const unsigned char *record = record_at(fold, walk, middle, 1, error);
        if (!record)
            return -1;
        if (context_of(record) < cursor->only.context)
            low = middle + 1;
        else
            high = middle;
    }
    walk->at.record = end;
    if (low < end) {
        const unsigned char *record = record_at(fold, walk, low, 1, error);
        if (!record)
            return -1;
        if (context_of(record) == cursor->only.context)
            walk->at.record = low;
    }
    return 0;
}

/* Stand before the first record of a partition that the restriction lets through. */
static int enter_partition(const struct pf_cursor *cursor, struct walk *walk, uint32_t partition,
                           struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    walk->at = (struct position){.partition = partition};
    if (partition >= fold->partitions)
        return 0;
    walk->at.record = fold->starts[partition];
    return cursor->only.context >= 0 ? seek_context(cursor, walk, error) : 0;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    struct walk *walk = calloc(1, sizeof *walk + WINDOW * record_size(fold));
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    return enter_partition(cursor, walk, cursor->only.partition > 0 ? (uint32_t)cursor->only.partition : 0,
                           error);
}

/* To the next record of the restriction. 1: there is one; 0: no more. */
static int next_record(struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    walk->at.record++;
    walk->at.metric = 0;
    bool over = cursor->only.context >= 0 || walk->at.record >= fold->starts[walk->at.partition + 1];
    if (over && enter_partition(cursor, walk, walk->at.partition + 1, error))
        return -1;
    return 0;
}

static struct pf_cell value_of(const struct pf_derivation *how, const unsigned char *record)
{
    union pf_measure value, present;
    memcpy(&value, record + 8 + how->measure * sizeof value, sizeof value);
    memcpy(&present, record + 8 + how->present * sizeof present, sizeof present);
    if (!present.i && !value.i)
        return pf_absent();
    if (how->scale != 0)
        return pf_double((how->real ? value.d : (double)value.i) * how->scale / how->divisor);
    return how->real ? pf_double(value.d) : pf_int(value.i);
}

/* The record's next value that the restriction lets through; false if there is none. walk->at.metric is one past its metric. */
static bool next_value(const struct pf_cursor *cursor, const struct pf_fold *fold, struct walk *walk,
                       const unsigned char *record, struct pf_cell *value)
{
    bool one = cursor->only.metric >= 0;
    uint32_t end = one ? (uint32_t)cursor->only.metric + 1 : (uint32_t)fold->metrics;
    if (one && walk->at.metric + 1 < end)
        walk->at.metric = end - 1;
    while (walk->at.metric < end && walk->at.metric < fold->metrics) {
        *value = value_of(&fold->derivations[walk->at.metric++], record);
        if (value->type != PF_ABSENT)
            return true;
    }
    return false;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    struct walk *walk = cursor->state;
    while (walk->at.partition < fold->partitions) {
        if (cursor->only.partition >= 0 && walk->at.partition != (uint64_t)cursor->only.partition)
            return 0;
        if (walk->at.record >= fold->starts[walk->at.partition + 1]) {
            if (enter_partition(cursor, walk, walk->at.partition + 1, error))
                return -1;
            continue;
        }
        const unsigned char *record = record_at(fold, walk, walk->at.record, WINDOW, error);
        if (!record)
            return -1;
        if (next_value(cursor, fold, walk, record, &cells[PF_FOLD_VALUE])) {
            cells[PF_FOLD_PARTITION] = pf_int(walk->at.partition);
            cells[PF_FOLD_CONTEXT] = pf_int(context_of(record));
            cells[PF_FOLD_METRIC] = pf_int((int64_t)walk->at.metric - 1);
            return 1;
        }
        if (next_record(cursor, walk, error))
            return -1;
    }
    return 0;
}

static size_t save_walk(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore_walk(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct pf_fold *fold = fold_of(cursor);
    struct walk *walk = cursor->state;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.partition > fold->partitions || at.metric > fold->metrics ||
        (at.partition < fold->partitions &&
         (at.record < fold->starts[at.partition] || at.record > fold->starts[at.partition + 1])))
        return pf_position_refuse(error);
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct pf_fold *fold = fold_of(cursor);
    const struct walk *walk = cursor->state;
    uint64_t records = fold->starts[fold->partitions];
    return walk->at.partition < fold->partitions && records ? (double)walk->at.record / (double)records : 1;
}

const struct pf_column pf_fold_thread_columns[PF_FOLD_COLUMNS] = {
    [PF_FOLD_PARTITION] = {"thread", PF_PARTITION, 0}, [PF_FOLD_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_FOLD_METRIC] = {"metric", PF_METRIC, 0},       [PF_FOLD_VALUE] = {"value", PF_PLAIN, 0},
    [PF_FOLD_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

const struct pf_cursor_ops pf_fold_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
