/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/position.h"
#include "formats/kit/print.h"
#include "formats/nsight/nsight.h"

/*
 * The table "events": what GPUs did, kernels, copies, settings of memory and synchronisations, each in the order of
 * its table's rows.
 */

static const char *const kind_words[NSIGHT_ACTIVITIES] = {"kernel", "memcpy", "memset", "sync"};

/* Where the next row comes from: the first row of the table whose number is at least that. */
struct position {
    int64_t rowid;
    uint32_t table; /* index into nsight_activities; their count at the end */
    uint32_t unused;
};

struct walk {
    struct nsight_db *db;
    struct position at;
    bool scanning; /* the scan stands before the row at that position */
    struct nsight_scan scan;
    struct nsight_window window;
    char number[PF_NUMBER_MAX];
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct nsight_state *state = nsight_state(cursor->profile);
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    walk->at.rowid = INT64_MIN;
    walk->db = nsight_pool_take(&state->pool, state->input, error);
    return walk->db ? 0 : -1;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    nsight_scan_close(&walk->scan);
    nsight_window_free(&walk->window);
    nsight_pool_give(&nsight_state(cursor->profile)->pool, walk->db);
    free(walk);
    cursor->state = NULL;
}

/*
 * To the row at the position, or behind it. In a damaged table a search for it may come elsewhere than a walk does: it
 * is walked from its start.
 */
static int open_scan(struct walk *walk, const struct nsight_state *state, struct pf_error *error)
{
    enum nsight_table table = nsight_activities[walk->at.table];
    int64_t from = state->damage[table].damaged ? INT64_MIN : walk->at.rowid;
    if (nsight_scan_open(&walk->scan, walk->db, table, NSIGHT_ALL_COLUMNS, from, error))
        return -1;
    walk->scanning = true;
    return 0;
}

/* The next row of any of the tables. */
static int next_event(struct walk *walk, const struct nsight_state *state, struct pf_error *error)
{
    for (; walk->at.table < NSIGHT_ACTIVITIES; walk->at.table++, walk->at.rowid = INT64_MIN) {
        if (!walk->scanning && open_scan(walk, state, error))
            return -1;
        int more = nsight_scan_next(&walk->scan, error);
        while (more > 0 && walk->scan.rowid < walk->at.rowid)
            more = nsight_scan_next(&walk->scan, error);
        if (more < 0)
            return -1;
        if (more && walk->scan.rowid < INT64_MAX) {
            walk->at.rowid = walk->scan.rowid + 1;
            return 1;
        }
        nsight_scan_close(&walk->scan);
        walk->scanning = false;
    }
    return 0;
}

static struct pf_cell integer(const struct nsight_scan *scan, unsigned column)
{
    return nsight_is_set(scan, column) ? pf_int(nsight_int(scan, column)) : pf_absent();
}

static struct pf_cell name_of(struct walk *walk, const struct nsight_names *names)
{
    const struct nsight_scan *scan = &walk->scan;
    int64_t what = nsight_int(scan, ACTIVITY_WHAT);
    if (scan->table == NSIGHT_KERNEL)
        return nsight_name_cell(names, nsight_kernel_id(scan));
    if (scan->table == NSIGHT_MEMSET)
        return pf_absent();
    struct pf_cell word = scan->table == NSIGHT_MEMCPY ? nsight_copy_kind(what) : nsight_sync_type(what);
    return word.type == PF_TEXT
               ? word
               : pf_plain(walk->number, (size_t)(pf_print_int(walk->number, what) - walk->number));
}

/* True if the restriction lets the row through; *found is its call then. -1 with *error filled. */
static int matches(const struct pf_cursor *cursor, struct walk *walk, uint32_t stream,
                   struct nsight_found *found, struct pf_error *error)
{
    const struct nsight_state *state = nsight_state(cursor->profile);
    if (stream == NSIGHT_NONE || (cursor->only.partition >= 0 && stream != cursor->only.partition))
        return 0;
    if (nsight_find_call(&state->calls, &walk->window, &state->partitions, &walk->scan, found, error))
        return -1;
    return cursor->only.context < 0 || found->path == cursor->only.context;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct nsight_state *state = nsight_state(cursor->profile);
    const struct nsight_scan *scan = &walk->scan;
    struct nsight_found found;
    uint32_t stream;
    int more, match = 0;
    do {
        if ((more = next_event(walk, state, error)) <= 0)
            return more;
        stream = nsight_stream_of(&state->partitions, scan);
    } while (!(match = matches(cursor, walk, stream, &found, error)));
    if (match < 0)
        return -1;
    bool moves = scan->table == NSIGHT_MEMCPY || scan->table == NSIGHT_MEMSET;
    cells[EVENTS_THREAD] = pf_int(stream);
    cells[EVENTS_KIND] = pf_string(kind_words[walk->at.table]);
    cells[EVENTS_START] = integer(scan, ACTIVITY_START);
    cells[EVENTS_END] = integer(scan, ACTIVITY_END);
    cells[EVENTS_DEVICE] = integer(scan, ACTIVITY_DEVICE);
    cells[EVENTS_STREAM] = integer(scan, ACTIVITY_STREAM);
    cells[EVENTS_CORRELATION] = integer(scan, ACTIVITY_CORRELATION);
    cells[EVENTS_CONTEXT] = found.path == PF_NO_CONTEXT ? pf_absent() : pf_int(found.path);
    cells[EVENTS_BYTES] = moves ? integer(scan, ACTIVITY_MORE) : pf_absent();
    cells[EVENTS_NAME] = name_of(walk, &state->names);
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
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.table > NSIGHT_ACTIVITIES || at.unused)
        return pf_position_refuse(error);
    nsight_scan_close(&walk->scan);
    walk->scanning = false;
    walk->at = at;
    return 0;
}

const struct pf_cursor_ops nsight_events_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
