/* SPDX-License-Identifier: MIT */
#include "formats/kit/spans.h"

#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/position.h"
#include "formats/kit/store.h"

enum { INSTANT = 1, REAL_TIME = 2, REAL_DURATION = 4 };

/* A row as it is stored. */
struct stored {
    int64_t time, duration; /* or the bits of a double */
    uint32_t context, name;
    uint8_t flags;
    char phase;
    uint8_t pad[6];
};

/* Rows that a cursor reads at once, and that are gathered before they are stored. */
enum { WINDOW = 256 };

struct pf_spans {
    struct pf_store *store;
    uint64_t count, stored;
    struct stored last[WINDOW]; /* what is not stored yet */
    uint64_t *starts; /* starts[p]: the first row of partition p; at the end, how many rows there are */
    size_t partitions, room;
};

struct pf_spans *pf_spans_new(uint64_t limit)
{
    struct pf_error error;
    struct pf_spans *spans = calloc(1, sizeof *spans);
    if (!spans || !(spans->store = pf_store_new(limit)) ||
        pf_array_reach(&spans->starts, &spans->room, 0, sizeof *spans->starts, &error)) {
        pf_spans_free(spans);
        return NULL;
    }
    return spans;
}

void pf_spans_free(struct pf_spans *spans)
{
    if (!spans)
        return;
    pf_store_free(spans->store);
    free(spans->starts);
    free(spans);
}

uint64_t pf_spans_count(const struct pf_spans *spans)
{
    return spans->count;
}

static int store(struct pf_spans *spans, struct pf_error *error)
{
    size_t size = (size_t)(spans->count - spans->stored) * sizeof *spans->last;
    if (size && pf_store_append(spans->store, spans->last, size, error))
        return -1;
    spans->stored = spans->count;
    return 0;
}

int pf_spans_add(struct pf_spans *spans, const struct pf_span_row *row, struct pf_error *error)
{
    spans->last[spans->count - spans->stored] = (struct stored){
        .time = row->time.i,
        .duration = row->duration.i,
        .context = row->context,
        .name = row->name,
        .flags = (uint8_t)((row->instant ? INSTANT : 0) | (row->time.real ? REAL_TIME : 0) |
                           (row->duration.real ? REAL_DURATION : 0)),
        .phase = row->phase,
    };
    spans->count++;
    return spans->count - spans->stored == WINDOW ? store(spans, error) : 0;
}

int pf_spans_set_duration(struct pf_spans *spans, uint64_t number, struct pf_time duration,
                          struct pf_error *error)
{
    struct stored row;
    bool kept = number >= spans->stored;
    if (kept)
        row = spans->last[number - spans->stored];
    else if (pf_store_read(spans->store, number * sizeof row, &row, sizeof row, error))
        return -1;
    row.duration = duration.i;
    row.flags = (uint8_t)((row.flags & REAL_TIME) | (duration.real ? REAL_DURATION : 0));
    if (!kept)
        return pf_store_write(spans->store, number * sizeof row, &row, sizeof row, error);
    spans->last[number - spans->stored] = row;
    return 0;
}

int pf_spans_end_partition(struct pf_spans *spans, struct pf_error *error)
{
    if (store(spans, error) ||
        pf_array_reach(&spans->starts, &spans->room, spans->partitions + 1, sizeof *spans->starts, error))
        return -1;
    spans->starts[++spans->partitions] = spans->count;
    return 0;
}

/* ---- the cursor --------------------------------------------------------------------------------- */

struct walk {
    const struct pf_spans *spans;
    uint64_t next, end;  /* rows */
    size_t partition;    /* that the next row is not before */
    uint64_t from, have; /* rows of the window */
    struct stored window[WINDOW];
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    const char *state = cursor->profile->state;
    walk->spans = *(struct pf_spans *const *)(const void *)(state + cursor->table->user);
    size_t partitions = walk->spans->partitions;
    int64_t only = cursor->only.partition;
    walk->partition = only < 0 ? 0 : (uint64_t)only < partitions ? (size_t)only : partitions;
    walk->next = walk->spans->starts[walk->partition];
    walk->end =
        walk->spans->starts[only < 0 || walk->partition == partitions ? partitions : walk->partition + 1];
    return 0;
}

static struct pf_cell time_cell(int64_t bits, bool real)
{
    struct pf_cell cell = pf_int(bits);
    cell.type = real ? PF_DOUBLE : PF_INT;
    return cell;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct pf_spans *spans = walk->spans;
    const struct pf_tree *tree = cursor->profile->contexts;
    if (walk->next >= walk->end)
        return 0;
    if (walk->next - walk->from >= walk->have) {
        uint64_t left = walk->end - walk->next;
        walk->from = walk->next;
        walk->have = left < WINDOW ? left : WINDOW;
        if (pf_store_read(spans->store, walk->from * sizeof *walk->window, walk->window,
                          walk->have * sizeof *walk->window, error))
            return -1;
    }
    const struct stored *row = &walk->window[walk->next - walk->from];
    while (walk->next >= spans->starts[walk->partition + 1])
        walk->partition++;
    bool phased = cursor->table->n_columns == PF_SPANS_PHASED_COLUMNS;
    cells[PF_SPANS_THREAD] = pf_int((int64_t)walk->partition);
    cells[PF_SPANS_TIME] = time_cell(row->time, row->flags & REAL_TIME);
    cells[PF_SPANS_DURATION] =
        row->flags & INSTANT ? pf_absent() : time_cell(row->duration, row->flags & REAL_DURATION);
    bool stacked = row->context != PF_NO_CONTEXT;
    cells[PF_SPANS_DEPTH] = stacked ? pf_int(tree->depth[row->context]) : pf_absent();
    cells[PF_SPANS_CONTEXT] = stacked ? pf_uint(pf_tree_id(tree, row->context)) : pf_absent();
    cells[PF_SPANS_NAME + phased] = pf_interned(tree->strings, row->name);
    if (phased)
        cells[PF_SPANS_NAME] = pf_text(&row->phase, 1);
    walk->next++;
    return 1;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->next, sizeof walk->next, blob, room);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    uint64_t next;
    if (pf_position_restore(&next, sizeof next, blob, size, error))
        return -1;
    if (next > walk->spans->count)
        return pf_position_refuse(error);
    /* Of a restriction: all rows, or none, follow a position in another partition. */
    size_t partition = cursor->only.partition < 0 ? 0 : walk->partition;
    uint64_t start = walk->spans->starts[partition];
    walk->next = next < start ? start : next;
    walk->partition = partition;
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
    return walk->end ? (double)walk->next / (double)walk->end : 1;
}

const struct pf_cursor_ops pf_spans_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};

#define COLUMNS_BEFORE_NAME                                                                                  \
    [PF_SPANS_THREAD] = {"thread", PF_PARTITION, 0}, [PF_SPANS_TIME] = {"time", PF_PLAIN, 0},                \
    [PF_SPANS_DURATION] = {"duration", PF_PLAIN, 0}, [PF_SPANS_DEPTH] = {"depth", PF_PLAIN, 0},              \
    [PF_SPANS_CONTEXT] = {"context", PF_PLAIN, 0}

const struct pf_column pf_spans_columns[PF_SPANS_COLUMNS] = {
    COLUMNS_BEFORE_NAME, [PF_SPANS_NAME] = {"name", PF_PLAIN, 0}};

const struct pf_column pf_spans_phased_columns[PF_SPANS_PHASED_COLUMNS] = {
    COLUMNS_BEFORE_NAME, [PF_SPANS_NAME] = {"phase", PF_PLAIN, 0},
    [PF_SPANS_NAME + 1] = {"name", PF_PLAIN, 0}};
