/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/position.h"
#include "formats/xray/functions.h"

/* The table "durations" of each thread: thread after thread, the functions of each by id. */

/* The position of the next row. */
struct position {
    uint64_t thread; /* the number of threads at the end */
    uint64_t next;   /* index in its list */
};

struct walk {
    struct position at;
    struct xray_function_text text;
};

static const struct xray_lists *lists_of(const struct pf_cursor *cursor)
{
    return &xray_state(cursor->profile)->lists;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    if (cursor->only.partition >= 0)
        walk->at.thread = (uint64_t)cursor->only.partition;
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct xray_lists *lists = lists_of(cursor);
    struct xray_function function;
    while (walk->at.thread < lists->count && walk->at.next == lists->items[walk->at.thread].count)
        walk->at = (struct position){cursor->only.partition < 0 ? walk->at.thread + 1 : lists->count, 0};
    if (walk->at.thread == lists->count)
        return 0;
    if (xray_lists_at(lists, (size_t)walk->at.thread, (uint32_t)walk->at.next, &function, error))
        return -1;
    walk->at.next++;
    cells[0] = pf_int((int64_t)walk->at.thread);
    xray_function_cells(xray_state(cursor->profile), &function, cells + 1, &walk->text);
    return 1;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct xray_lists *lists = lists_of(cursor);
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (position.thread > lists->count ||
        position.next > (position.thread < lists->count ? lists->items[position.thread].count : 0))
        return pf_position_refuse(error);
    /* The rows of a restriction that follow a position in another thread: all, or none. */
    uint64_t only = (uint64_t)cursor->only.partition;
    if (cursor->only.partition >= 0 && position.thread != only)
        position = (struct position){position.thread < only ? only : lists->count, 0};
    walk->at = position;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

const struct pf_cursor_ops xray_thread_durations_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
