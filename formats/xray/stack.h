/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_STACK_H
#define PF_XRAY_STACK_H

#include "formats/kit/table.h"
#include "formats/xray/records.h"

/*
 * The open calls of a thread. Functions are numbered in the order in which events first tell of them, so that other things
 * about them can be kept in arrays: their ids have 32 bits and may be anything. Ids are mostly small, positions in a program's
 * map: their numbers are looked up in an array, those of others in a hash table.
 */
#define XRAY_NO_FUNCTION UINT32_MAX

/* An open call. */
struct xray_call {
    uint64_t entered;  /* TSC */
    uint64_t inside;   /* ticks of the calls that it has made and that are closed */
    uint32_t function; /* number; XRAY_NO_FUNCTION: there is none, this is the place outside all calls */
    uint32_t context;
};

struct xray_stack {
    struct xray_seen {
        uint32_t id;
        uint32_t open; /* how many calls of it are open in this stack */
    } * functions;     /* by number; owned */
    size_t n_functions, functions_room;
    uint32_t *numbers; /* by id: number + 1; 0: not seen; owned */
    size_t numbers_room;
    struct pf_hash_table others; /* numbers of functions with larger ids */

    struct xray_call *calls; /* calls[1 .. depth], outermost first; calls[0] is outside all calls; owned */
    size_t depth, room;
};

void xray_stack_free(struct xray_stack *stack);

/* The general case of xray_stack_function. */
uint32_t xray_stack_function_slowly(struct xray_stack *stack, uint32_t id, struct pf_error *error);

/* The number of a function, a new one if it has not been seen; XRAY_NO_FUNCTION with *error filled. */
static inline uint32_t xray_stack_function(struct xray_stack *stack, uint32_t id, struct pf_error *error)
{
    uint32_t number = id < stack->numbers_room ? stack->numbers[id] : 0;
    return number ? number - 1 : xray_stack_function_slowly(stack, id, error);
}

/* The general case of xray_stack_reserve. */
int xray_stack_grow(struct xray_stack *stack, struct pf_error *error);

/* Makes room for one more open call. 0, or -1 with *error filled. */
static inline int xray_stack_reserve(struct xray_stack *stack, struct pf_error *error)
{
    return stack->depth + 1 < stack->room ? 0 : xray_stack_grow(stack, error);
}

static inline bool xray_is_entry(const struct xray_event *event)
{
    enum { ENTRIES = 1 << XRAY_ENTER | 1 << XRAY_ENTER_ARG };
    return ENTRIES >> event->kind & 1;
}

/* Puts a call inside the others, for which there must be room. */
static inline void xray_stack_push(struct xray_stack *stack, uint32_t function, uint32_t context,
                                   uint64_t entered)
{
    stack->calls[++stack->depth] =
        (struct xray_call){.entered = entered, .function = function, .context = context};
    stack->functions[function].open++;
}

/* Takes off the innermost call, which remains readable until the next is put there. */
static inline struct xray_call *xray_stack_pop(struct xray_stack *stack)
{
    struct xray_call *call = &stack->calls[stack->depth--];
    stack->functions[call->function].open--;
    return call;
}

/*
 * How many calls there are around the nearest open call of this function; stack->depth if none is open: an exit closes all
 * calls above that, left by an exception or a jump. Costs no more than closing them will: a trace may hold a million open calls
 * and a million exits of none of them.
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

/* Ticks from the entry of a call to its end. Clocks may step back, so the sign of the difference does not count. */
static inline uint64_t xray_duration(const struct xray_call *call, uint64_t end)
{
    return end > call->entered ? end - call->entered : call->entered - end;
}

#endif
