/* SPDX-License-Identifier: MIT */
#include "formats/xray/fold.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/store.h"

/*
 * The store has the records of all partitions, in order of partition and context. A record is a u32 context and the
 * measures, 8 bytes each, in host byte order.
 */
enum { MEASURES_AT = sizeof(uint32_t) };

static size_t fold_record_size(const struct xray_fold *fold)
{
    return MEASURES_AT + fold->measures * sizeof(union xray_measure);
}

struct xray_fold *xray_fold_new(unsigned measures, const struct pf_derivation *derivations, size_t metrics,
                                uint64_t limit)
{
    struct xray_fold *fold = calloc(1, sizeof *fold);
    if (!fold)
        return NULL;
    fold->measures = measures;
    fold->derivations = derivations;
    fold->metrics = metrics;
    fold->store = pf_store_new(limit);
    fold->kept = UINT64_MAX;
    fold->starts = calloc(1, sizeof *fold->starts);
    fold->starts_room = 1;
    if (!fold->store || !fold->starts) {
        xray_fold_free(fold);
        return NULL;
    }
    return fold;
}

void xray_fold_free(struct xray_fold *fold)
{
    if (!fold)
        return;
    pf_store_free(fold->store);
    free(fold->starts);
    free(fold->open);
    free(fold->is_touched);
    free(fold->touched);
    free(fold);
}

/* Moves the record of a context from the open partition to `record`. */
static void take_fold_record(struct xray_fold *fold, uint32_t context, unsigned char *record)
{
    memcpy(record, &context, sizeof context);
    memcpy(record + MEASURES_AT, fold->open + (size_t)context * fold->measures,
           fold->measures * sizeof *fold->open);
    fold->is_touched[context] = false;
}

/*
 * Appends the records of the open partition to the store and empties touched[], which must be sorted. Works in batches,
 * since a record is small.
 */
static int write_records(struct xray_fold *fold, struct pf_error *error)
{
    enum { AT_ONCE = 128, RECORD_MAX = MEASURES_AT + PF_MEASURES_MAX * sizeof(union xray_measure) };
    unsigned char records[AT_ONCE * RECORD_MAX];
    size_t size = fold_record_size(fold), n = 0;
    for (uint32_t i = 0; i < fold->n_touched; i++) {
        take_fold_record(fold, fold->touched[i], records + n++ * size);
        if (n == AT_ONCE && pf_store_append(fold->store, records, n * size, error))
            return -1;
        n %= AT_ONCE;
    }
    fold->n_touched = 0;
    return pf_store_append(fold->store, records, n * size, error);
}

/*
 * Room of the open partition, in contexts. It doubles up to LARGE_ROOM, and then grows by an eighth. If it exceeds
 * LARGE_ROOM, the memory is freed at the end of the partition, unless the partition is kept in it.
 */
enum { ROOM_MIN = 1024, LARGE_ROOM = 1 << 18 };

static void free_open(struct xray_fold *fold)
{
    free(fold->open);
    fold->open = NULL;
    fold->room = 0;
}

/*
 * Keeps the ended partition in open[] until a later one needs the memory. Contexts without events get a zero record. This
 * is for large partitions in which most contexts have events, typically that of the only thread.
 */
static void keep_partition(struct xray_fold *fold, uint32_t contexts)
{
    size_t size = fold->measures * sizeof *fold->open;
    for (uint32_t c = 0; c < contexts; c++)
        if (!fold->is_touched[c])
            memset(fold->open + (size_t)c * fold->measures, 0, size);
    fold->kept = fold->starts[fold->partitions];
    fold->room = 0;
    fold->n_touched = 0;
}

/* Writes the kept partition to the store, without its zero records. The partitions after it are empty, so only their starts change. */
static int write_kept(struct xray_fold *fold, struct pf_error *error)
{
    uint32_t contexts = (uint32_t)(fold->starts[fold->partitions] - fold->kept);
    for (uint32_t c = 0; c < contexts; c++)
        if (fold->is_touched[c])
            fold->touched[fold->n_touched++] = c;
    if (write_records(fold, error))
        return -1;
    for (size_t i = fold->partitions; fold->starts[i] > fold->kept; i--)
        fold->starts[i] = pf_store_size(fold->store) / fold_record_size(fold);
    fold->kept = UINT64_MAX;
    free_open(fold);
    return 0;
}

int xray_fold_grow(struct xray_fold *fold, uint32_t context, struct pf_error *error)
{
    if (fold->kept != UINT64_MAX && write_kept(fold, error))
        return -1;
    uint32_t room = fold->room ? fold->room : ROOM_MIN;
    while (room <= context) {
        if (room > UINT32_MAX / 2)
            return pf_fail(error, EFBIG, "too many contexts");
        room += room < LARGE_ROOM ? room : room / 8;
    }
    size_t record = fold->measures * sizeof *fold->open;
    if (room > fold->touched_room) {
        if (pf_array_resize(&fold->is_touched, room, sizeof *fold->is_touched, error) ||
            pf_array_resize(&fold->touched, room, sizeof *fold->touched, error))
            return -1;
        memset(fold->is_touched + fold->touched_room, 0, room - fold->touched_room);
        fold->touched_room = room;
    }
    if (pf_array_resize(&fold->open, room, record, error))
        return -1;
    fold->room = room;
    return 0;
}

static int fold_by_context(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/*
 * Sorts the touched contexts. Returns the number of contexts up to the highest touched one. Takes time in proportion to the
 * touched contexts, not to all, because a trace may have many short threads. Touched contexts that lie close together are
 * listed from is_touched, which is faster than a sort.
 */
static uint32_t sort_touched(struct xray_fold *fold)
{
    enum { CLOSE = 16 };
    uint32_t contexts = 0, n = 0;
    for (uint32_t i = 0; i < fold->n_touched; i++)
        if (fold->touched[i] >= contexts)
            contexts = fold->touched[i] + 1;
    if (contexts / CLOSE > fold->n_touched) {
        qsort(fold->touched, fold->n_touched, sizeof *fold->touched, fold_by_context);
        return contexts;
    }
    for (uint32_t c = 0; c < contexts; c++)
        if (fold->is_touched[c])
            fold->touched[n++] = c;
    return contexts;
}

int xray_fold_end_partition(struct xray_fold *fold, struct pf_error *error)
{
    uint64_t records = fold->n_touched, held = fold->starts[fold->partitions];
    uint32_t contexts = sort_touched(fold);
    if (pf_array_room(&fold->starts, &fold->starts_room, fold->partitions + 1, sizeof *fold->starts, error))
        return -1;
    if (fold->room > LARGE_ROOM && records >= contexts / 4 * 3) {
        keep_partition(fold, contexts);
        records = contexts;
    } else if (pf_store_expect(fold->store, records * fold_record_size(fold), error) ||
               write_records(fold, error)) {
        return -1;
    } else if (fold->room > LARGE_ROOM) {
        free_open(fold);
    }
    fold->starts[++fold->partitions] = held + records;
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* State of a cursor. The value of metric m of record r has the number r * metrics + m. */
struct fold_look {
    struct pf_store_window window;
    uint64_t low, high; /* the first and the last wanted metric */
    bool all;           /* the metrics between these two are wanted, too */
    uint32_t partition; /* of the last record that was read */
    uint64_t next;      /* the number after the current one */
};

static struct xray_fold *fold_of(const struct pf_cursor *cursor)
{
    return ((const struct xray_fold_state *)cursor->model->state)->fold;
}

/* Sets the wanted metrics: all, or the metric of the restriction and, if cursor->partner is set, the metric's partner. */
static void set_wanted_metrics(const struct pf_cursor *cursor, struct fold_look *look)
{
    int64_t metric = cursor->only.metric;
    look->all = metric < 0;
    look->low = look->all ? 0 : (uint64_t)metric;
    look->high = look->all ? fold_of(cursor)->metrics - 1 : look->low;
    if (look->all || !cursor->partner || look->low >= cursor->model->n_metrics)
        return;
    int partner = cursor->model->metrics[metric].partner;
    if (partner > metric)
        look->high = (uint64_t)partner;
    else if (partner >= 0)
        look->low = (uint64_t)partner;
}

static bool fold_is_wanted(const struct fold_look *look, uint64_t metric)
{
    return look->all || metric == look->low || metric == look->high;
}

/* Returns the number of a record's first wanted metric. */
static uint64_t fold_number_of(const struct pf_cursor *cursor, const struct fold_look *look, uint64_t record)
{
    return record * fold_of(cursor)->metrics + look->low;
}

static int begin_fold_rows(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct xray_fold *fold = fold_of(cursor);
    uint64_t from = 0, to = fold->partitions;
    struct fold_look *look = numbers->own = calloc(1, sizeof *look);
    if (!look)
        return pf_fail_memory(error);
    look->window.store = fold->store;
    set_wanted_metrics(cursor, look);
    if (cursor->only.partition >= 0) {
        from = (uint64_t)cursor->only.partition < to ? (uint64_t)cursor->only.partition : to;
        to = from < to ? from + 1 : to;
    }
    numbers->next = fold_number_of(cursor, look, fold->starts[from]);
    numbers->end = fold->starts[to] * fold->metrics;
    return 0;
}

static void free_fold_look(void *own)
{
    struct fold_look *look = own;
    if (look)
        pf_store_window_free(&look->window);
    free(look);
}

/* Returns the partition of a record. Tries `guess` and the partitions after it first. */
static uint32_t partition_of(const struct xray_fold *fold, uint32_t guess, uint64_t record)
{
    if (record < fold->starts[guess])
        guess = 0;
    while (record >= fold->starts[guess + 1])
        guess++;
    return guess;
}

/*
 * Sets *found to the first record in [low, end) whose context is not below `wanted`, or to `end` if there is none. The
 * records are in one partition. Returns 0, or -1 with *error filled.
 */
static int seek_context(const struct xray_fold *fold, uint64_t low, uint64_t end, uint32_t wanted,
                        uint64_t *found, struct pf_error *error)
{
    /* The kept partition has a record for each context, in order. */
    uint64_t kept = fold->kept + wanted;
    if (low >= fold->kept)
        low = kept < low ? low : kept < end ? kept : end;
    while (low < end && low < fold->kept) {
        uint64_t middle = low + (end - low) / 2;
        uint32_t context;
        if (pf_store_read(fold->store, middle * fold_record_size(fold), &context, sizeof context, error))
            return -1;
        if (context < wanted)
            low = middle + 1;
        else
            end = middle;
    }
    *found = low;
    return 0;
}

/* Returns the measures of a record, and sets *context to its context; NULL with *error filled. */
static const void *measures_of(const struct xray_fold *fold, struct fold_look *look, uint64_t record,
                               uint32_t *context, struct pf_error *error)
{
    if (record >= fold->kept) {
        *context = (uint32_t)(record - fold->kept);
        return fold->open + (size_t)*context * fold->measures;
    }
    const unsigned char *bytes =
        pf_store_at(&look->window, record * fold_record_size(fold), fold_record_size(fold), error);
    if (!bytes)
        return NULL;
    memcpy(context, bytes, sizeof *context);
    return bytes + MEASURES_AT;
}

static struct pf_cell derived_value(const struct pf_derivation *how, const unsigned char *measures)
{
    union xray_measure value, present;
    memcpy(&value, measures + how->measure * sizeof value, sizeof value);
    memcpy(&present, measures + how->present * sizeof present, sizeof present);
    if (!present.i && !value.i)
        return pf_absent();
    if (how->scale != 0)
        return pf_double((how->real ? value.d : (double)value.i) * how->scale / how->divisor);
    return how->real ? pf_double(value.d) : pf_int(value.i);
}

static int fold_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct xray_fold *fold = fold_of(cursor);
    const struct pf_restriction *only = &cursor->only;
    struct fold_look *look = own;
    uint64_t record = number / fold->metrics, metric = number % fold->metrics;
    uint32_t context;
    look->partition = partition_of(fold, look->partition, record);
    uint64_t end_of_partition = fold->starts[look->partition + 1];
    const void *measures = measures_of(fold, look, record, &context, error);
    if (!measures)
        return -1;
    if (only->context >= 0 && context != only->context) {
        uint64_t found = end_of_partition;
        if (context < only->context &&
            seek_context(fold, record, end_of_partition, (uint32_t)only->context, &found, error))
            return -1;
        /* Continue with the record of the wanted context, or with the next partition. */
        look->next = fold_number_of(cursor, look, found);
        return 0;
    }
    if (metric < look->high)
        look->next = look->all ? number + 1 : record * fold->metrics + look->high;
    else
        look->next = fold_number_of(cursor, look, only->context >= 0 ? end_of_partition : record + 1);
    cells[XRAY_FOLD_PARTITION] = pf_int(look->partition);
    cells[XRAY_FOLD_CONTEXT] = pf_int(context);
    cells[XRAY_FOLD_METRIC] = pf_int((int64_t)metric);
    cells[XRAY_FOLD_VALUE] = derived_value(&fold->derivations[metric], measures);
    return cells[XRAY_FOLD_VALUE].type != PF_ABSENT && fold_is_wanted(look, metric) &&
           pf_wanted(only->partition, look->partition);
}

static uint64_t fold_after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    (void)number;
    return ((const struct fold_look *)own)->next;
}

const struct pf_column xray_fold_thread_columns[XRAY_FOLD_COLUMNS] = {
    [XRAY_FOLD_PARTITION] = {"thread", PF_PARTITION, 0}, [XRAY_FOLD_CONTEXT] = {"context", PF_CONTEXT, 0},
    [XRAY_FOLD_METRIC] = {"metric", PF_METRIC, 0},       [XRAY_FOLD_VALUE] = {"value", PF_PLAIN, 0},
    [XRAY_FOLD_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

const struct pf_numbered xray_fold_cursor = {PF_NUMBERED, .begin = begin_fold_rows, .row = fold_row,
                                             .after = fold_after, .free = free_fold_look};
