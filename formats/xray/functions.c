/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/quantiles.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/*
 * The table "functions": how long the completed calls of each function took, over all threads, in ticks.
 * Counts, extremes and sums are known from the model pass; the ranks between need the durations themselves,
 * which a second pass hands to the quantiles.
 */

/* Durations held in memory before they go to a file. */
enum { DURATIONS_LIMIT = 8 * 1024 * 1024 };

struct durations {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t done; /* bytes of buffers */
    struct xray_decoder decoder;
    struct xray_stack stack;
    uint64_t *entered; /* by depth in the stack */
    size_t entered_room;
    uint32_t *groups; /* number of a function in the stack -> index in the list of functions */
    size_t groups_room;
    struct pf_quantiles *quantiles;
};

/* ---- the pass ----------------------------------------------------------------------------------- */

/* The index of a function in the list, which is sorted; any if it is not there: no call of it ends. */
static uint32_t index_of(const struct xray_state *state, uint32_t id)
{
    uint32_t low = 0, high = state->n_functions;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (state->functions[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t new_function(struct durations *durations, uint32_t id, struct pf_error *error)
{
    uint32_t number = xray_functions_add(&durations->stack.functions, id, error);
    if (number != XRAY_NO_FUNCTION && number >= durations->groups_room) {
        size_t room = durations->stack.functions.room;
        uint32_t *groups = realloc(durations->groups, room * sizeof *groups);
        if (!groups) {
            pf_fail_memory(error);
            return XRAY_NO_FUNCTION;
        }
        durations->groups = groups;
        durations->groups_room = room;
    }
    if (number != XRAY_NO_FUNCTION)
        durations->groups[number] = index_of(durations->state, id);
    return number;
}

static int grow_entered(struct durations *durations, struct pf_error *error)
{
    size_t room = durations->entered_room ? durations->entered_room * 2 : 256;
    uint64_t *entered = realloc(durations->entered, room * sizeof *entered);
    if (!entered)
        return pf_fail_memory(error);
    durations->entered = entered;
    durations->entered_room = room;
    return 0;
}

static int enter(struct durations *durations, const struct xray_event *event, struct pf_error *error)
{
    size_t depth = durations->stack.depth;
    uint32_t number = xray_functions_find(&durations->stack.functions, event->function);
    if (number == XRAY_NO_FUNCTION)
        number = new_function(durations, event->function, error);
    if (number == XRAY_NO_FUNCTION || (depth == durations->entered_room && grow_entered(durations, error)))
        return -1;
    durations->entered[depth] = event->tsc;
    return xray_stack_push(&durations->stack, number, error);
}

/* Closes calls by the rules of the model pass. */
static int leave(struct durations *durations, const struct xray_event *event, struct pf_error *error)
{
    struct xray_stack *stack = &durations->stack;
    uint32_t function = xray_functions_find(&stack->functions, event->function);
    size_t call = function == XRAY_NO_FUNCTION ? SIZE_MAX : xray_stack_find(stack, function);
    if (call == SIZE_MAX)
        return 0;
    while (stack->depth > call) {
        uint64_t entered = durations->entered[stack->depth - 1];
        uint64_t duration = event->tsc > entered ? event->tsc - entered : entered - event->tsc;
        uint32_t group = durations->groups[stack->calls[stack->depth]];
        if (pf_quantiles_add(durations->quantiles, group, duration, error))
            return -1;
        xray_stack_pop(stack);
    }
    return 0;
}

static int take_event(struct durations *durations, const struct xray_event *event, struct pf_error *error)
{
    switch (event->kind) {
    case XRAY_ENTER:
    case XRAY_ENTER_ARG:
        return enter(durations, event, error);
    case XRAY_EXIT:
    case XRAY_TAIL_EXIT:
        return leave(durations, event, error);
    default:
        return 0;
    }
}

static int step(struct durations *durations, uint64_t done, struct pf_error *error)
{
    return pf_pass_step(durations->pass, durations->done + done, durations->state->index.bytes, error);
}

static int read_buffer(struct durations *durations, const struct xray_buffer *buffer, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 65536 };
    struct xray_decoder *decoder = &durations->decoder;
    struct xray_event event;
    int more;
    xray_decoder_begin(decoder, buffer->body, buffer->end);
    for (uint64_t events = 1; (more = xray_next_event(decoder, &event, error)) > 0; events++) {
        if (events % EVENTS_PER_STEP == 0 &&
            step(durations, xray_decoder_offset(decoder) - buffer->body, error))
            return -1;
        if (take_event(durations, &event, error))
            return -1;
    }
    durations->done += buffer->end - buffer->body;
    return more < 0 ? -1 : step(durations, 0, error);
}

static int read_log(struct durations *durations, struct pf_error *error)
{
    const struct xray_index *index = &durations->state->index;
    for (size_t i = 0; i < index->n_buffers; i++) {
        const struct xray_buffer *buffer = &index->buffers[i];
        if (i && buffer->thread != buffer[-1].thread)
            xray_stack_clear(&durations->stack);
        if (read_buffer(durations, buffer, error))
            return -1;
    }
    return 0;
}

/* ---- ranks -------------------------------------------------------------------------------------- */

static int set_ranks(struct durations *durations, struct xray_function *functions, uint32_t n,
                     struct pf_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        struct xray_function *function = &functions[i];
        uint64_t count = function->count, result[3];
        /* floor(0.9 n) and floor(0.99 n) without overflow: of the hundreds, then of the rest. */
        uint64_t hundreds = count / 100, rest = count % 100;
        uint64_t ranks[3] = {count / 2, hundreds * 90 + rest * 90 / 100, hundreds * 99 + rest * 99 / 100};
        if (pf_quantiles_get(durations->quantiles, i, ranks, 3, result, error))
            return -1;
        function->median = result[0];
        function->p90 = result[1];
        function->p99 = result[2];
        if (i % 64 == 0 && pf_pass_step(durations->pass, i, n, error))
            return -1;
    }
    return 0;
}

static struct pf_quantiles *new_quantiles(const struct xray_state *state, struct pf_error *error)
{
    uint64_t *counts = malloc(((size_t)state->n_functions + 1) * sizeof *counts);
    if (!counts) {
        pf_fail_memory(error);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n_functions; i++)
        counts[i] = state->functions[i].count;
    struct pf_quantiles *quantiles = pf_quantiles_new(counts, state->n_functions, DURATIONS_LIMIT, error);
    free(counts);
    return quantiles;
}

int xray_load_functions(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct durations durations = {.state = state, .pass = pass, .quantiles = new_quantiles(state, error)};
    int failed = -1;
    xray_decoder_init(&durations.decoder, state->input, state->header.version);
    if (durations.quantiles)
        failed =
            read_log(&durations, error) || set_ranks(&durations, state->functions, state->n_functions, error)
                ? -1
                : 0;
    pf_quantiles_free(durations.quantiles);
    xray_decoder_free(&durations.decoder);
    xray_stack_free(&durations.stack);
    free(durations.entered);
    free(durations.groups);
    return failed;
}

/* ---- the table ---------------------------------------------------------------------------------- */

struct walk {
    uint64_t next; /* index of the next function */
    char name[XRAY_NAME_MAX];
    pf_int128 sum;
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    cursor->state = calloc(1, sizeof(struct walk));
    return cursor->state ? 0 : pf_fail_memory(error);
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    (void)error;
    struct walk *walk = cursor->state;
    const struct xray_state *state = xray_state(cursor->profile);
    if (walk->next >= state->n_functions)
        return 0;
    const struct xray_function *function = &state->functions[walk->next++];
    walk->sum = (pf_int128)function->sum;
    cells[XRAY_FUNCTIONS_FUNCTION] = pf_uint(function->id);
    cells[XRAY_FUNCTIONS_COUNT] = pf_uint(function->count);
    cells[XRAY_FUNCTIONS_MIN] = pf_uint(function->min);
    cells[XRAY_FUNCTIONS_MEDIAN] = pf_uint(function->median);
    cells[XRAY_FUNCTIONS_P90] = pf_uint(function->p90);
    cells[XRAY_FUNCTIONS_P99] = pf_uint(function->p99);
    cells[XRAY_FUNCTIONS_MAX] = pf_uint(function->max);
    cells[XRAY_FUNCTIONS_SUM] =
        function->sum <= UINT64_MAX ? pf_uint((uint64_t)function->sum) : pf_wide(&walk->sum);
    cells[XRAY_FUNCTIONS_NAME] = xray_name(&state->names, function->id, walk->name);
    return 1;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->next)
        memcpy(blob, &walk->next, sizeof walk->next);
    return sizeof walk->next;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    uint64_t next;
    if (size != sizeof next)
        return pf_fail(error, EINVAL, "not a position in the functions");
    memcpy(&next, blob, sizeof next);
    if (next > xray_state(cursor->profile)->n_functions)
        return pf_fail(error, EINVAL, "not a position in the functions");
    walk->next = next;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

const struct pf_cursor_ops xray_functions_cursor = {open_walk, next_row, save, restore, close_walk};
