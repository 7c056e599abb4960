/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_STACK_H
#define PF_XRAY_STACK_H

#include "formats/kit/table.h"
#include "formats/xray/records.h"

/*
 * The open calls of a thread. Function ids are arbitrary 32-bit values. The stack numbers functions in order of first
 * appearance, so that data about them can be held in arrays. Most ids are small, and are mapped to numbers by an array.
 * A hash table maps the others. One thread at a time uses a stack.
 */
#define XRAY_NO_FUNCTION UINT32_MAX

/* An open call. */
struct xray_call {
    uint64_t entered;  /* TSC */
    uint64_t inside;   /* ticks of completed calls that this call made */
    uint32_t function; /* the function's number; XRAY_NO_FUNCTION: the sentinel outside all calls */
    uint32_t context;
};

struct xray_stack {
    struct xray_seen {
        uint32_t id;
        uint32_t open; /* number of its open calls in this stack */
    } * functions;     /* by number; owned */
    size_t n_functions, functions_room;
    uint32_t *numbers; /* number + 1 of each small id, or 0 if it was not seen; owned */
    size_t numbers_room;
    struct pf_hash_table others; /* larger id -> number */

    struct xray_call *calls; /* calls[1 .. depth], outermost first; calls[0] is the sentinel; owned */
    size_t depth, room;
};

void xray_stack_free(struct xray_stack *stack);

/* Slow path of xray_stack_function. */
uint32_t xray_stack_function_slowly(struct xray_stack *stack, uint32_t id, struct pf_error *error);

/* Finds or adds a function. Returns its number; XRAY_NO_FUNCTION with *error filled. */
static inline uint32_t xray_stack_function(struct xray_stack *stack, uint32_t id, struct pf_error *error)
{
    uint32_t number = id < stack->numbers_room ? stack->numbers[id] : 0;
    return number ? number - 1 : xray_stack_function_slowly(stack, id, error);
}

/* Slow path of xray_stack_reserve. */
int xray_stack_grow(struct xray_stack *stack, struct pf_error *error);

/* Makes room for one more open call. Returns 0, or -1 with *error filled. */
static inline int xray_stack_reserve(struct xray_stack *stack, struct pf_error *error)
{
    return stack->depth + 1 < stack->room ? 0 : xray_stack_grow(stack, error);
}

/* Finds or adds a function, and makes room for one more open call. Returns the function's number. */
static inline uint32_t xray_stack_function_in(struct pf_run *run, struct xray_stack *stack, uint32_t id)
{
    uint32_t function = xray_stack_function(stack, id, run->error);
    if (function == XRAY_NO_FUNCTION || xray_stack_reserve(stack, run->error))
        pf_run_fail(run);
    return function;
}

static inline bool xray_is_entry(const struct xray_event *event)
{
    enum { ENTRIES = 1 << XRAY_ENTER | 1 << XRAY_ENTER_ARG };
    return ENTRIES >> event->kind & 1;
}

/* Pushes a call. The caller has reserved room for it. */
static inline void xray_stack_push(struct xray_stack *stack, uint32_t function, uint32_t context,
                                   uint64_t entered)
{
    stack->calls[++stack->depth] =
        (struct xray_call){.entered = entered, .function = function, .context = context};
    stack->functions[function].open++;
}

/* Pops the innermost call, which remains readable until the next push. */
static inline struct xray_call *xray_stack_pop(struct xray_stack *stack)
{
    struct xray_call *call = &stack->calls[stack->depth--];
    stack->functions[call->function].open--;
    return call;
}

/*
 * Returns the number of calls around the innermost open call of a function; stack->depth if the function has no open
 * call. An exit of the function closes all calls beyond this depth, because an exception or a jump has left the inner
 * ones. A trace may have a million open calls and a million exits without a call. The cost is therefore constant if the
 * function has no open call, and otherwise proportional to the number of calls that the exit closes.
 */
static inline size_t xray_stack_around(const struct xray_stack *stack, uint32_t function)
{
    size_t i = stack->depth;
    if (!stack->functions[function].open)
        return i;
    while (stack->calls[i].function != function)
        i--;
    return i - 1;
}

/*
 * Returns the absolute difference of a call's entry and `end`, in ticks, because a clock that stepped back must not
 * give a huge value.
 */
static inline uint64_t xray_duration(const struct xray_call *call, uint64_t end)
{
    return end > call->entered ? end - call->entered : call->entered - end;
}

#endif
