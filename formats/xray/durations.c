/* SPDX-License-Identifier: MIT */
#include "formats/xray/durations.h"

#include <stdlib.h>

#include "formats/kit/array.h"

void xray_durations_init(struct xray_durations *durations)
{
    xray_decoder_init(&durations->decoder, durations->state->input, &durations->state->header);
}

void xray_durations_free(struct xray_durations *durations)
{
    xray_decoder_free(&durations->decoder);
    xray_stack_free(&durations->stack);
    free(durations->entered);
    durations->entered = NULL;
}

/* Room for one more open call. */
static int make_room(struct xray_durations *durations, struct pf_error *error)
{
    struct xray_stack *stack = &durations->stack;
    if (stack->depth + 1 >= stack->room && xray_stack_grow(stack, error))
        return -1;
    if (durations->entered_room >= stack->room)
        return 0;
    if (pf_array_resize(&durations->entered, stack->room, sizeof *durations->entered, error))
        return -1;
    durations->entered[0] = 0;
    durations->entered_room = stack->room;
    return 0;
}

static int hand_over(struct xray_durations *durations, struct pf_error *error)
{
    size_t n = durations->n_ended;
    durations->n_ended = 0;
    return n ? durations->take(durations, durations->ended, n, error) : 0;
}

/* Notes the innermost call as one that ends, or would; there is always room for one. */
static inline void note_end(struct xray_durations *durations, uint32_t function, uint64_t tsc)
{
    uint64_t entered = durations->entered[durations->stack.depth];
    durations->ended[durations->n_ended] =
        (struct xray_duration){.ticks = tsc > entered ? tsc - entered : entered - tsc, .function = function};
}

/* An exit of a call that is not the innermost. */
static int leave(struct xray_durations *durations, uint32_t function, uint64_t tsc, struct pf_error *error)
{
    struct xray_stack *stack = &durations->stack;
    size_t call = xray_stack_find(stack, function);
    while (call != SIZE_MAX && stack->depth > call) {
        note_end(durations, stack->calls[stack->depth], tsc);
        xray_stack_pop(stack);
        if (++durations->n_ended == XRAY_DURATIONS_AT_ONCE && hand_over(durations, error))
            return -1;
    }
    return 0;
}

/*
 * Entries and exits alternate as in a random walk: what depends on which it is would be predicted wrongly half
 * the time. So an entry and the exit of the innermost call are one case: both write what either needs, and only
 * the counts differ.
 */
static inline int take_event(struct xray_durations *durations, const struct xray_event *event,
                             struct pf_error *error)
{
    enum { ENTRIES = 1 << XRAY_ENTER | 1 << XRAY_ENTER_ARG };
    struct xray_stack *stack = &durations->stack;
    if (event->kind > XRAY_ENTER_ARG)
        return 0;
    uint32_t number = xray_functions_find(&stack->functions, event->function);
    unsigned entering = ENTRIES >> event->kind & 1;
    if (number == XRAY_NO_FUNCTION) {
        if (!entering)
            return 0;
        number = xray_functions_add(&stack->functions, event->function, error);
        if (number == XRAY_NO_FUNCTION)
            return -1;
    }
    if (stack->depth + 1 >= stack->room && make_room(durations, error))
        return -1;
    size_t depth = stack->depth;
    if (!(entering | (stack->calls[depth] == number)))
        return leave(durations, number, event->tsc, error);
    note_end(durations, number, event->tsc);
    durations->n_ended += !entering;
    stack->calls[depth + 1] = number;
    durations->entered[depth + 1] = event->tsc;
    stack->functions.seen[number].open += 2 * entering - 1;
    stack->depth = depth + 2 * (size_t)entering - 1;
    return durations->n_ended == XRAY_DURATIONS_AT_ONCE ? hand_over(durations, error) : 0;
}

int xray_durations_step(const struct xray_durations *durations, uint64_t done, struct pf_error *error)
{
    return pf_pass_step(durations->pass, durations->done + done, durations->state->index.bytes, error);
}

static int read_range(struct xray_durations *durations, const struct xray_range *range,
                      struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 32768 };
    struct xray_decoder *decoder = &durations->decoder;
    struct xray_event event;
    int more;
    xray_decoder_begin(decoder, range->body, range->end);
    for (uint64_t events = 1; (more = xray_next_event(decoder, &event, error)) > 0; events++) {
        if (events % EVENTS_PER_STEP == 0 &&
            xray_durations_step(durations, xray_decoder_offset(decoder) - range->body, error))
            return -1;
        if (take_event(durations, &event, error))
            return -1;
    }
    durations->done += range->end - range->body;
    return more < 0 ? -1 : xray_durations_step(durations, 0, error);
}

int xray_durations_read(struct xray_durations *durations, size_t thread, struct pf_error *error)
{
    const struct xray_index *index = &durations->state->index;
    const struct xray_thread *read = &index->threads[thread];
    xray_stack_clear(&durations->stack);
    durations->n_ended = 0;
    for (uint64_t i = 0; i < read->count; i++) {
        struct xray_range range;
        if (xray_index_range(index, read->first + i, &range, error) || read_range(durations, &range, error))
            return -1;
    }
    return hand_over(durations, error);
}
