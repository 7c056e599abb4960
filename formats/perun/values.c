/* SPDX-License-Identifier: MIT */
/* The table values: the sums. A position is the number of a sum, or of one in the list by context. */
#include <errno.h>
#include <stdlib.h>

#include "formats/perun/model.h"

struct cursor {
    bool by_context;
    uint64_t next, end;
};

static int values_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    cursor->state = state;
    state->end = perun_sums_count(perun->sums);
    state->by_context = cursor->only.context >= 0;
    if (state->by_context)
        perun_sums_of_context(perun->sums, (uint32_t)cursor->only.context, &state->next, &state->end);
    else if (cursor->only.partition >= 0)
        perun_sums_of_snapshot(perun->sums, (uint32_t)cursor->only.partition, &state->next, &state->end);
    return 0;
}

static int values_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state;
    const struct pf_restriction *only = &cursor->only;
    while (state->next < state->end) {
        struct perun_sum sum;
        if (perun_sums_at(perun->sums, state->by_context, state->next, &sum, error))
            return -1;
        state->next++;
        if ((only->partition >= 0 && sum.snapshot != only->partition) ||
            (only->metric >= 0 && sum.metric != only->metric))
            continue;
        cells[0] = pf_int(sum.snapshot);
        cells[1] = pf_int(sum.context);
        cells[2] = pf_int(sum.metric);
        cells[3] = sum.value;
        return 1;
    }
    return 0;
}

static size_t values_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct cursor *state = cursor->state;
    if (room >= sizeof state->next)
        memcpy(blob, &state->next, sizeof state->next);
    return sizeof state->next;
}

static int values_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct cursor *state = cursor->state;
    uint64_t next;
    if (size != sizeof next)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(&next, blob, sizeof next);
    if (next > state->end)
        return pf_fail(error, EINVAL, "not a position");
    state->next = next;
    return 0;
}

static void values_close(struct pf_cursor *cursor)
{
    free(cursor->state);
}

static double values_progress(const struct pf_cursor *cursor)
{
    const struct cursor *state = cursor->state;
    return state->end ? (double)state->next / (double)state->end : 1;
}

const struct pf_cursor_ops perun_values_cursor = {values_open,    values_next,  values_save,
                                                  values_restore, values_close, values_progress};
