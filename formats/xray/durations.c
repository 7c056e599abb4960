/* SPDX-License-Identifier: MIT */
#include "formats/xray/durations.h"

#include <stdlib.h>

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

static int grow_entered(struct xray_durations *durations, struct pf_error *error)
{
    size_t room = durations->entered_room ? durations->entered_room * 2 : 256;
    uint64_t *entered = realloc(durations->entered, room * sizeof *entered);
    if (!entered)
        return pf_fail_memory(error);
    durations->entered = entered;
    durations->entered_room = room;
    return 0;
}

static int enter(struct xray_durations *durations, const struct xray_event *event, struct pf_error *error)
{
    size_t depth = durations->stack.depth;
    uint32_t number = xray_functions_find(&durations->stack.functions, event->function);
    if (number == XRAY_NO_FUNCTION)
        number = xray_functions_add(&durations->stack.functions, event->function, error);
    if (number == XRAY_NO_FUNCTION || (depth == durations->entered_room && grow_entered(durations, error)))
        return -1;
    durations->entered[depth] = event->tsc;
    return xray_stack_push(&durations->stack, number, error);
}

static int leave(struct xray_durations *durations, const struct xray_event *event, struct pf_error *error)
{
    struct xray_stack *stack = &durations->stack;
    uint32_t function = xray_functions_find(&stack->functions, event->function);
    size_t call = function == XRAY_NO_FUNCTION ? SIZE_MAX : xray_stack_find(stack, function);
    if (call == SIZE_MAX)
        return 0;
    while (stack->depth > call) {
        uint64_t entered = durations->entered[stack->depth - 1];
        uint64_t duration = event->tsc > entered ? event->tsc - entered : entered - event->tsc;
        if (durations->take(durations, stack->calls[stack->depth], duration, error))
            return -1;
        xray_stack_pop(stack);
    }
    return 0;
}

static int take_event(struct xray_durations *durations, const struct xray_event *event,
                      struct pf_error *error)
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
    for (uint64_t i = 0; i < read->count; i++) {
        struct xray_range range;
        if (xray_index_range(index, read->first + i, &range, error) || read_range(durations, &range, error))
            return -1;
    }
    return 0;
}
