/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/position.h"
#include "formats/xray/functions.h"

/*
 * The table "durations": how long the completed calls of each function took, over all threads, in ticks.
 */

struct walk {
    uint64_t next; /* index of the next function */
    struct xray_function_text text;
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    cursor->state = calloc(1, sizeof(struct walk));
    return cursor->state ? 0 : pf_fail_memory(error);
}

void xray_function_cells(const struct xray_state *state, const struct xray_function *function,
                         struct pf_cell *cells, struct xray_function_text *text)
{
    text->sum = (pf_int128)function->sum;
    cells[XRAY_DURATIONS_FUNCTION] = pf_uint(function->id);
    cells[XRAY_DURATIONS_COUNT] = pf_uint(function->count);
    cells[XRAY_DURATIONS_MIN] = pf_uint(function->min);
    cells[XRAY_DURATIONS_MEDIAN] = pf_uint(function->median);
    cells[XRAY_DURATIONS_P90] = pf_uint(function->p90);
    cells[XRAY_DURATIONS_P99] = pf_uint(function->p99);
    cells[XRAY_DURATIONS_MAX] = pf_uint(function->max);
    cells[XRAY_DURATIONS_SUM] =
        function->sum <= UINT64_MAX ? pf_uint((uint64_t)function->sum) : pf_wide(&text->sum);
    cells[XRAY_DURATIONS_NAME] = xray_name(&state->names, function->id, text->name);
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    (void)error;
    struct walk *walk = cursor->state;
    const struct xray_state *state = xray_state(cursor->profile);
    if (walk->next >= state->n_functions)
        return 0;
    xray_function_cells(state, &state->functions[walk->next++], cells, &walk->text);
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
    if (next > xray_state(cursor->profile)->n_functions)
        return pf_position_refuse(error);
    walk->next = next;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

const struct pf_cursor_ops xray_durations_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
